"""Refusals of contract wallets over HTTP: each has its own code, and spends no nonce."""

import secrets
from collections.abc import Callable
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract_wallets import (
    ACCEPTED_WALLETS,
    EITHER_WALLETS,
    KINDS,
    MARK,
    WALLET_BEHAVIOURS,
    ContractWallet,
    creation,
    deploy_on,
    deployment,
    hostile_wallet,
    new_owner,
    open_wallet,
    predict,
    wrap,
)
from tests.world import World, problem

from imprint.auth.signatures import MAX_SIGNATURE_BYTES

pytestmark = pytest.mark.asyncio(loop_scope="module")

INVALID = (401, "signature_invalid")
DOWN = (503, "chain_unavailable")


Send = Callable[[World, ContractWallet, str, str], Any]

SENDS: dict[str, Send] = {
    "create": lambda town, wallet, cid, nonce: town.send_create(wallet, nonce=nonce),
    "update": lambda town, wallet, cid, nonce: town.send_update(wallet, cid, nonce=nonce),
    "publish": lambda town, wallet, cid, nonce: town.send_publish(wallet, cid, nonce=nonce),
    "delete": lambda town, wallet, cid, nonce: town.send_delete(wallet, cid, nonce=nonce),
    "login": lambda town, wallet, cid, nonce: town.client.post(
        "/auth/login", json=wallet.sign_login(wallet.login_message(nonce=nonce))
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("action", SENDS)
async def test_a_signature_by_another_key_is_refused_and_spends_no_nonce(
    town: World, action: str, kind: str
) -> None:
    wallet, nonce = open_wallet(town, kind), secrets.token_hex(8)
    thief = ContractWallet(new_owner(), town.clock, wallet.contract, wallet.enclose)
    cid = (await town.create(wallet))["cid"]
    assert problem(await SENDS[action](town, thief, cid, nonce)) == INVALID
    assert (await SENDS[action](town, wallet, cid, nonce)).status_code == 200


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("action", SENDS)
async def test_a_write_refused_while_the_chain_is_down_spends_no_nonce(
    town: World, action: str, kind: str
) -> None:
    wallet, nonce = open_wallet(town, kind), secrets.token_hex(8)
    cid = (await town.create(wallet))["cid"]
    town.node.fault = lambda said: b"no JSON"
    try:
        assert problem(await SENDS[action](town, wallet, cid, nonce)) == DOWN
    finally:
        town.node.fault = None
    assert (await SENDS[action](town, wallet, cid, nonce)).status_code == 200


@pytest.mark.parametrize("action", SENDS)
async def test_a_malformed_verdict_from_the_node_is_refused(town: World, action: str) -> None:
    wallet = open_wallet(town)
    cid = (await town.create(wallet))["cid"]
    town.node.fault = lambda said: said.replace(b'"0x01"', b'"0x0000000001"')
    try:
        response = await SENDS[action](town, wallet, cid, secrets.token_hex(8))
    finally:
        town.node.fault = None
    assert problem(response) == DOWN


@pytest.mark.parametrize("behaviour", WALLET_BEHAVIOURS)
async def test_a_hostile_wallet_is_either_accepted_or_refused_as_invalid(
    town: World, behaviour: str
) -> None:
    contract = deploy_on(town.chain, hostile_wallet(behaviour, "http://169.254.169.254/"))
    wallet = ContractWallet(new_owner(), town.clock, contract)
    response = await town.send_create(wallet)
    if behaviour in ACCEPTED_WALLETS or (behaviour in EITHER_WALLETS and response.is_success):
        assert response.status_code == 200
    else:
        assert problem(response) == INVALID


async def test_an_address_without_code_can_sign_only_with_its_key(town: World) -> None:
    alice, eve = town.stranger(), town.stranger()
    body = eve.sign("create") | {"content": "Words.", "address": alice.address}
    assert problem(await town.client.post("/create/group", json=body)) == INVALID


async def test_a_signature_for_the_zero_address_is_refused(town: World) -> None:
    asked = town.node.asked
    body = town.stranger().sign("create") | {"content": "Words.", "address": "0x" + "00" * 20}
    assert problem(await town.client.post("/create/group", json=body)) == INVALID
    assert town.node.asked == asked


@pytest.mark.parametrize(
    "signature",
    [
        "",
        "0",
        "0x0",
        "0xabc",
        "0xzz",
        "0Xab",
        "ab" * 65,
        "0x" + "ab " * 40,
        "0x" + "a_" * 65,
        " 0x" + "ab" * 65,
        "0x" + "ab" * 65 + "\n",
        "0x" + "\u0661" * 130,
        "0x" + "ab" * (MAX_SIGNATURE_BYTES + 1),
        "0x" + "ab" * 30000,
    ],
)
async def test_a_malformed_signature_is_refused_without_calling_the_chain(
    town: World, signature: str
) -> None:
    wallet = open_wallet(town)
    asked = town.node.asked
    body = wallet.sign("create") | {"content": "Words.", "signature": signature}
    assert problem(await town.client.post("/create/group", json=body)) == INVALID
    body = wallet.sign_login(wallet.login_message()) | {"signature": signature}
    assert problem(await town.client.post("/auth/login", json=body)) == INVALID
    assert town.node.asked == asked


@pytest.mark.parametrize("size", [0, 1, 64, 66, 500, MAX_SIGNATURE_BYTES])
async def test_signatures_of_unusual_sizes_are_checked_by_the_contract(
    town: World, size: int
) -> None:
    contract = deploy_on(town.chain, hostile_wallet("Accept"))
    wallet = ContractWallet(new_owner(), town.clock, contract, lambda _: b"\xab" * size)
    assert (await town.send_create(wallet)).status_code == 200
    await town.login(wallet)


# Malformed signatures of ERC-6492


def _malformed(factory: str, prepare: bytes, inner: bytes) -> dict[str, bytes]:
    """ERC-6492 wrappers malformed in every known way, keyed by type of fault."""
    good = wrap(factory, prepare, inner)

    def with_word(place: int, value: int) -> bytes:
        return good[: 32 * place] + value.to_bytes(32) + good[32 * place + 32 :]

    return {
        "only the mark": MARK,
        "the mark twice": MARK + MARK,
        "no mark": good[:-32],
        "half a mark": good[:-16],
        "bytes after the mark": good + b"\0",
        "one word": bytes(32) + MARK,
        "two words": bytes(64) + MARK,
        "three empty words": bytes(96) + MARK,
        "no head": inner + MARK,
        "a factory of 32 bytes": with_word(0, 2**255 + int(factory, 16)),
        "another factory": with_word(0, 7),
        "an offset beyond the end": with_word(1, 10**6),
        "an offset of 2^256-1": with_word(1, 2**256 - 1),
        "an offset that wraps around": with_word(2, 2**256 - 32),
        "an offset into the mark": with_word(2, len(good) - 32),
        "an odd offset": with_word(2, 97),
        "the head as the signature": with_word(2, 0),
        "the call as the signature": with_word(2, 96),
        "a length beyond the end": with_word(3, 10**6),
        "a length of 2^256-1": with_word(3, 2**256 - 1),
        "a length of 2^64": with_word(3, 2**64),
        "no call": wrap(factory, b"", inner),
        "another call": wrap(factory, b"\xff" * 4, inner),
        "an empty signature": wrap(factory, prepare, b""),
        "the zero address as factory": wrap("0x" + "00" * 20, prepare, inner),
        "a wrapper in a wrapper": wrap(factory, prepare, good),
        "cut in the middle": good[: len(good) // 2] + MARK,
    }


@pytest.mark.parametrize("name", _malformed("0x" + "11" * 20, b"call", bytes(65)))
async def test_a_malformed_wrapper_is_refused(town: World, name: str) -> None:
    owner = new_owner()
    code = creation("OwnedWallet", owner.address)
    factory, prepare = deploy_on(town.chain, creation("WalletFactory")), deployment(code)
    contract = predict(factory, code)
    bad = ContractWallet(
        owner, town.clock, contract, lambda inner: _malformed(factory, prepare, inner)[name]
    )
    good = ContractWallet(owner, town.clock, contract, lambda inner: wrap(factory, prepare, inner))
    nonce = secrets.token_hex(8)
    assert problem(await town.send_create(bad, nonce=nonce)) == INVALID
    assert (await town.send_create(good, nonce=nonce)).status_code == 200


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def wallet(town: World) -> ContractWallet:
    """A contract wallet that is already deployed."""
    return open_wallet(town)


word = st.integers(0, 2**256 - 1) | st.integers(0, 700) | st.just(2**256 - 32)


@settings(max_examples=60, deadline=None)
@given(head=st.lists(word, max_size=8), tail=st.binary(max_size=200), marks=st.integers(0, 2))
async def test_arbitrary_bytes_are_refused_with_4xx(
    town: World, wallet: ContractWallet, head: list[int], tail: bytes, marks: int
) -> None:
    signature = b"".join(each.to_bytes(32) for each in head) + tail + MARK * marks
    bad = ContractWallet(wallet.account, town.clock, wallet.contract, lambda _: signature)
    assert problem(await town.send_create(bad)) == INVALID
