"""Hostile wallets and factories: each gets a verdict, and none looks like a node failure."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adapters.chain.chain_node import Responses
from tests.adapters.chain.wallet_chain import DIGEST, WalletChain, open_wallet_chain
from tests.contract_wallets import (
    ACCEPTED_FACTORIES,
    ACCEPTED_WALLETS,
    EITHER_WALLETS,
    FACTORY_BEHAVIOURS,
    MARK,
    WALLET_BEHAVIOURS,
    calldata,
    deploy_on,
    deployment,
    hostile_factory,
    hostile_wallet,
    new_owner,
    predict,
    sign_digest,
    wrap,
)
from tests.hypothesis_settings import SHARED_FIXTURE

from imprint.adapters.chain.contract_wallets import CALLER
from imprint.auth.signatures import MAX_SIGNATURE_BYTES
from imprint.devchain.calls import Request, call, to_message
from imprint.domain.formats.addresses import Address

pytestmark = pytest.mark.asyncio(loop_scope="module")

SIZES = [0, 65, 4096, MAX_SIGNATURE_BYTES]
INNER = [b"", b"\xff" * 65, b"\xff" * 12_000]
MANY = settings(SHARED_FIXTURE, max_examples=150)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chain() -> AsyncIterator[WalletChain]:
    async with open_wallet_chain() as opened:
        yield opened


@asynccontextmanager
async def listen() -> AsyncIterator[tuple[int, asyncio.Queue[str]]]:
    """Listen on a loopback port and record its connections."""
    received: asyncio.Queue[str] = asyncio.Queue()

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.put_nowait("connected")
        writer.close()

    server = await asyncio.start_server(note, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        yield port, received


@pytest.mark.parametrize("behaviour", WALLET_BEHAVIOURS)
async def test_a_hostile_deployed_wallet_gets_a_verdict(chain: WalletChain, behaviour: str) -> None:
    wallet = deploy_on(chain.chain, hostile_wallet(behaviour))
    signatures = [b"\xff" * size for size in SIZES]
    signatures += [wrap(chain.factory, deployment(chain.owned_code()), each) for each in INNER]
    verdicts = {await chain.accepts(wallet, each) for each in signatures}
    assert len(verdicts) == 1
    if behaviour not in EITHER_WALLETS:
        assert verdicts == {behaviour in ACCEPTED_WALLETS}


@pytest.mark.parametrize("behaviour", WALLET_BEHAVIOURS)
async def test_a_hostile_counterfactual_wallet_gets_a_verdict(
    chain: WalletChain, behaviour: str
) -> None:
    code = hostile_wallet(behaviour)
    wallet = predict(chain.factory, code)
    verdicts = {
        await chain.accepts(wallet, wrap(chain.factory, deployment(code), each)) for each in INNER
    }
    assert len(verdicts) == 1
    if behaviour not in EITHER_WALLETS:
        assert verdicts == {behaviour in ACCEPTED_WALLETS}


@pytest.mark.parametrize("behaviour", FACTORY_BEHAVIOURS)
async def test_a_signature_with_a_hostile_factory_gets_the_expected_verdict(
    chain: WalletChain, behaviour: str
) -> None:
    factory = deploy_on(chain.chain, hostile_factory(behaviour))
    code = chain.owned_code()
    wallet = predict(factory, code)
    signature = wrap(factory, deployment(code), chain.sign())
    assert await chain.accepts(wallet, signature) is (behaviour in ACCEPTED_FACTORIES)
    stolen = wrap(factory, deployment(code), sign_digest(new_owner(), DIGEST))
    assert not await chain.accepts(wallet, stolen)


@pytest.mark.parametrize("factory_behaviour", FACTORY_BEHAVIOURS)
@pytest.mark.parametrize("behaviour", ["UseAllGas", "LoopForever", "ReturnMegabyte", "LookUp"])
async def test_a_signature_of_a_wallet_that_uses_all_gas_still_gets_a_verdict(
    chain: WalletChain, behaviour: str, factory_behaviour: str
) -> None:
    factory = deploy_on(chain.chain, hostile_factory(factory_behaviour))
    code = hostile_wallet(behaviour)
    wallet = deploy_on(chain.chain, code)
    for size in (0, 8_000, 14_000):
        signature = wrap(factory, deployment(code), b"\xff" * size)
        assert not await chain.accepts(wallet, signature)


@pytest.mark.parametrize("behaviour", FACTORY_BEHAVIOURS)
async def test_a_factory_cannot_make_a_wallet_accept_a_signature(
    chain: WalletChain, behaviour: str
) -> None:
    victim = chain.deploy("OwnedWallet", new_owner().address)
    factory = deploy_on(chain.chain, hostile_factory(behaviour))
    signature = wrap(factory, deployment(chain.owned_code()), chain.sign())
    assert not await chain.accepts(victim, signature)


@pytest.mark.parametrize("behaviour", ["WriteAndAccept", "WriteTransientAndAccept"])
async def test_a_signature_check_writes_no_state(chain: WalletChain, behaviour: str) -> None:
    wallet = deploy_on(chain.chain, hostile_wallet(behaviour))
    head = chain.chain.head
    assert not await chain.accepts(wallet, chain.sign())
    written = Request(to=wallet, data=calldata("HostileWallet", "written"))
    assert call(chain.chain, to_message(written)) == bytes(32)
    assert chain.chain.head is head


async def test_a_factory_writes_no_state(chain: WalletChain) -> None:
    factory = deploy_on(chain.chain, hostile_factory("DeployAndDestroyItself"))
    code = chain.owned_code()
    for _ in range(2):
        signature = wrap(factory, deployment(code), chain.sign())
        assert await chain.accepts(predict(factory, code), signature)
    assert chain.chain.account(factory).code


@pytest.mark.parametrize("kind", ["wallet", "counterfactual wallet", "factory"])
async def test_no_url_named_by_a_wallet_is_requested(chain: WalletChain, kind: str) -> None:
    async with listen() as (port, received):
        for place in (
            f"http://127.0.0.1:{port}/{{data}}",
            "http://169.254.169.254/latest/meta-data",
        ):
            code = hostile_wallet("LookUp", place)
            wallet, signature = deploy_on(chain.chain, code), b""
            if kind == "counterfactual wallet":
                wallet = predict(chain.factory, code)
                signature = wrap(chain.factory, deployment(code), b"")
            if kind == "factory":
                factory = deploy_on(chain.chain, hostile_factory("LookUp", place))
                wallet, signature = predict(factory, code), wrap(factory, deployment(code), b"")
            assert not await chain.accepts(wallet, signature)
        # Check that the listener works: otherwise this test could never fail.
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        await received.get()
    assert received.empty()


async def test_no_verdict_is_cached(chain: WalletChain) -> None:
    wallet = deploy_on(chain.chain, hostile_wallet("AcceptByBlock"))
    verdicts = []
    for _ in range(4):
        verdicts.append(await chain.accepts(wallet, b""))
        chain.chain.mine()
    assert verdicts in ([True, False] * 2, [False, True] * 2)


async def test_the_call_does_not_come_from_the_zero_address(chain: WalletChain) -> None:
    asked: list[Any] = []

    def note(calls: list[dict[str, Any]], sent: Responses) -> Responses:
        asked.extend(each["params"][0] for each in calls if each["method"] == "eth_call")
        return sent

    wallet = deploy_on(chain.chain, hostile_wallet("AcceptByOrigin"))
    chain.node.change = note
    try:
        assert not await chain.accepts(wallet, b"")
    finally:
        chain.node.change = lambda calls, sent: sent
    (question,) = asked
    assert question["from"] == CALLER
    assert int(CALLER, 16) != 0
    assert "to" not in question


# Malformed wrappers


word = st.one_of(
    st.integers(0, 800), st.sampled_from([2**255, 2**256 - 1, 2**256 - 32, 2**64, 2**160])
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def prepared(chain: WalletChain) -> Address:
    """A wallet, owned by `chain.owner`, that rejects all signatures until it is prepared."""
    return chain.deploy("PreparedWallet", chain.owner.address)


@MANY
@given(
    changes=st.dictionaries(st.integers(0, 9), word, max_size=3),
    length=st.none() | st.integers(0, 400),
    more=st.binary(max_size=40),
)
async def test_a_damaged_wrapper_is_decoded_as_the_standard_requires(
    chain: WalletChain, prepared: Address, changes: dict[int, int], length: int | None, more: bytes
) -> None:
    prepare, signature = calldata("PreparedWallet", "prepare"), chain.sign()
    encoded = bytearray(wrap(prepared, prepare, signature)[:-32])
    for place, value in changes.items():
        encoded[32 * place : 32 * place + 32] = value.to_bytes(32)
    damaged = bytes(encoded[:length]) + more
    read = _decode(damaged)
    good = read is not None and read[0] == prepared and read[1][:4] == prepare
    expected = good and read is not None and read[2] == signature
    assert await chain.accepts(prepared, damaged + MARK) is expected


def _decode(encoded: bytes) -> tuple[str, bytes, bytes] | None:
    """Decode an address and two byte strings like Solidity's `abi.decode`, or return None if it
    would revert."""
    if len(encoded) < 96:
        return None
    factory, *offsets = (int.from_bytes(encoded[at : at + 32]) for at in (0, 32, 64))
    parts = []
    for offset in offsets:
        start = offset + 32
        size = int.from_bytes(encoded[offset:start])
        if start > len(encoded) or start + size > len(encoded):
            return None
        parts.append(encoded[start : start + size])
    return (f"0x{factory:040x}", parts[0], parts[1]) if factory >> 160 == 0 else None


@MANY
@given(signature=st.binary(max_size=300), marked=st.booleans())
async def test_arbitrary_bytes_get_a_verdict(
    chain: WalletChain, prepared: Address, signature: bytes, marked: bool
) -> None:
    assert not await chain.accepts(prepared, signature + (MARK if marked else b""))


@pytest.mark.parametrize("place", range(10))
@pytest.mark.parametrize(
    "value", [0, 1, 31, 32, 95, 96, 97, 2**64, 2**255, 2**256 - 32, 2**256 - 1]
)
async def test_a_wrapper_with_one_wrong_abi_word_gets_a_verdict(
    chain: WalletChain, place: int, value: int
) -> None:
    wallet = deploy_on(chain.chain, hostile_wallet("LoopForever"))
    encoded = bytearray(wrap(chain.factory, deployment(b""), b"\xff" * 65))
    encoded[32 * place : 32 * place + 32] = value.to_bytes(32)
    assert not await chain.accepts(wallet, bytes(encoded))
