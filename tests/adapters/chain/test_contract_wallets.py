"""Signatures of contract wallets, verified by the contracts themselves on the development chain."""

from collections.abc import AsyncIterator

import pytest
from tests.adapters.chain.wallet_chain import DIGEST, WalletChain, open_wallet_chain
from tests.contract_wallets import (
    calldata,
    creation,
    deploy_on,
    deployment,
    funded_owner,
    new_owner,
    predict,
    send_to,
    sign_digest,
    wrap,
)

from imprint.auth.signatures import CURVE_ORDER, MAX_SIGNATURE_BYTES
from imprint.domain.formats.addresses import keccak256

OTHER_DIGEST = keccak256(b"something else")
BAD_SIGNATURE = bytes(65)


@pytest.fixture
async def chain() -> AsyncIterator[WalletChain]:
    async with open_wallet_chain() as opened:
        yield opened


async def test_a_wallet_accepts_the_signature_of_its_owner(chain: WalletChain) -> None:
    wallet = chain.deploy("OwnedWallet", chain.owner.address)
    assert await chain.accepts(wallet, chain.sign())


async def test_a_wallet_refuses_the_signature_of_another_key(chain: WalletChain) -> None:
    wallet = chain.deploy("OwnedWallet", chain.owner.address)
    assert not await chain.accepts(wallet, sign_digest(new_owner(), DIGEST))


async def test_a_wallet_refuses_a_signature_for_another_digest(chain: WalletChain) -> None:
    wallet = chain.deploy("OwnedWallet", chain.owner.address)
    assert not await chain.accepts(wallet, chain.sign(OTHER_DIGEST))


async def test_a_wallet_may_accept_a_high_s_signature(chain: WalletChain) -> None:
    wallet = chain.deploy("OwnedWallet", chain.owner.address)
    signature = chain.sign()
    high = CURVE_ORDER - int.from_bytes(signature[32:64])
    flipped = signature[:32] + high.to_bytes(32) + bytes([27 + 28 - signature[64]])
    assert await chain.accepts(wallet, flipped)


async def test_a_change_of_owner_takes_effect_on_the_next_call(chain: WalletChain) -> None:
    former, later = funded_owner(1), new_owner()
    wallet = chain.deploy("OwnedWallet", former.address)
    signatures = [sign_digest(each, DIGEST) for each in (former, later)]
    assert [await chain.accepts(wallet, each) for each in signatures] == [True, False]
    handover = calldata("OwnedWallet", "setOwner", later.address)
    send_to(chain.chain, wallet, handover, sender=former.address.lower())
    assert [await chain.accepts(wallet, each) for each in signatures] == [False, True]


async def test_a_proxy_wallet_accepts_the_signature_of_its_owner(chain: WalletChain) -> None:
    code = chain.deploy("OwnedWallet", new_owner().address)
    proxy = chain.deploy("WalletProxy", code, chain.owner.address)
    assert await chain.accepts(proxy, chain.sign())
    assert not await chain.accepts(code, chain.sign())


@pytest.mark.parametrize(
    ("signers", "accepted"),
    [((0, 1), True), ((1, 2), True), ((0,), False), ((0, 0), False), ((1, 0), False)],
)
async def test_a_multisig_wallet_needs_signatures_of_enough_owners(
    chain: WalletChain, signers: tuple[int, ...], accepted: bool
) -> None:
    owners = sorted((new_owner() for _ in range(3)), key=lambda each: int(each.address, 16))
    wallet = chain.deploy("MultiOwnerWallet", [each.address for each in owners], 2)
    signature = b"".join(sign_digest(owners[each], DIGEST) for each in signers)
    assert await chain.accepts(wallet, signature) is accepted


async def test_an_address_without_code_accepts_no_signatures(chain: WalletChain) -> None:
    assert not await chain.accepts(chain.owner.address, chain.sign())
    assert not await chain.accepts(chain.owner.address, wrap(chain.factory, b"", chain.sign()))


@pytest.mark.parametrize("number", range(1, 11))
async def test_a_precompiled_contract_is_not_a_wallet(chain: WalletChain, number: int) -> None:
    address = "0x" + number.to_bytes(20).hex()
    assert not await chain.accepts(address, chain.sign())
    assert not await chain.accepts(address, wrap(address, chain.sign(), chain.sign()))


# Counterfactual wallets


async def test_a_wallet_that_is_not_deployed_yet_accepts_its_owners_signature(
    chain: WalletChain,
) -> None:
    code = chain.owned_code()
    signature = wrap(chain.factory, deployment(code), chain.sign())
    assert await chain.accepts(predict(chain.factory, code), signature)


async def test_simulating_a_deployment_leaves_no_state(chain: WalletChain) -> None:
    code, head = chain.owned_code(), chain.chain.head
    wallet = predict(chain.factory, code)
    before = chain.chain.account(chain.factory)
    for _ in range(2):
        assert await chain.accepts(wallet, wrap(chain.factory, deployment(code), chain.sign()))
    assert not await chain.accepts(wallet, chain.sign())
    assert not chain.chain.account(wallet).code
    assert chain.chain.account(chain.factory) == before
    assert chain.chain.head is head


async def test_the_same_signature_is_accepted_after_the_deployment(chain: WalletChain) -> None:
    code = chain.owned_code()
    wallet = predict(chain.factory, code)
    send_to(chain.chain, chain.factory, deployment(code))
    assert await chain.accepts(wallet, wrap(chain.factory, deployment(code), chain.sign()))
    assert await chain.accepts(wallet, chain.sign())


async def test_the_factory_of_a_deployed_wallet_is_ignored(chain: WalletChain) -> None:
    wallet = chain.deploy("OwnedWallet", chain.owner.address)
    assert await chain.accepts(wallet, wrap("0x" + "00" * 20, b"anything", chain.sign()))


async def test_a_counterfactual_wallet_refuses_the_signature_of_another_key(
    chain: WalletChain,
) -> None:
    code = chain.owned_code()
    signature = wrap(chain.factory, deployment(code), sign_digest(new_owner(), DIGEST))
    assert not await chain.accepts(predict(chain.factory, code), signature)


async def test_a_wallet_deployed_at_another_address_is_refused(
    chain: WalletChain,
) -> None:
    victim = predict(chain.factory, creation("OwnedWallet", new_owner().address))
    own = wrap(chain.factory, deployment(chain.owned_code()), chain.sign())
    assert not await chain.accepts(victim, own)


async def test_a_factory_without_code_deploys_nothing(chain: WalletChain) -> None:
    code = chain.owned_code()
    signature = wrap(new_owner().address, deployment(code), chain.sign())
    assert not await chain.accepts(predict(chain.factory, code), signature)


async def test_a_signature_wrapper_can_prepare_a_wallet_before_the_check(
    chain: WalletChain,
) -> None:
    wallet = chain.deploy("PreparedWallet", chain.owner.address)
    prepare = calldata("PreparedWallet", "prepare")
    assert not await chain.accepts(wallet, chain.sign())
    assert await chain.accepts(wallet, wrap(wallet, prepare, chain.sign()))
    assert not await chain.accepts(wallet, wrap(wallet, prepare, BAD_SIGNATURE))
    assert not await chain.accepts(wallet, chain.sign())


async def test_a_nested_wrapper_is_passed_to_the_wallet(chain: WalletChain) -> None:
    code = chain.owned_code()
    once = wrap(chain.factory, deployment(code), chain.sign())
    twice = wrap(chain.factory, deployment(code), once)
    assert not await chain.accepts(predict(chain.factory, code), twice)


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 64, 65, 66, 1000, MAX_SIGNATURE_BYTES])
async def test_a_wallet_receives_a_signature_of_any_size(chain: WalletChain, size: int) -> None:
    signature = bytes(range(256)) * (size // 256) + bytes(range(size % 256))
    echo = deploy_on(chain.chain, _compare(DIGEST, signature))
    assert await chain.accepts(echo, signature)
    assert not await chain.accepts(echo, signature + b"\0")
    assert await chain.accepts(echo, wrap(chain.factory, b"", signature))


def _compare(digest: bytes, signature: bytes) -> bytes:
    """Return the creation code of a wallet that accepts only this digest and signature."""
    question = keccak256(
        bytes.fromhex("1626ba7e")
        + digest
        + (64).to_bytes(32)
        + len(signature).to_bytes(32)
        + signature
        + bytes(-len(signature) % 32)
    )
    # keccak256(calldata) == question ? magic << 224 : 0
    runtime = (
        bytes.fromhex("365f5f37365f207f")
        + question
        + bytes.fromhex("14631626ba7e60e01b025f5260205ff3")
    )
    size = len(runtime)
    return bytes([0x60, size, 0x60, 0x0A, 0x5F, 0x39, 0x60, size, 0x5F, 0xF3]) + runtime
