"""Hostile wallets and factories get the same verdicts on a real node as on the test chain."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from tests.anvil.node import CHAIN_ID, Anvil, open_account
from tests.contract_wallets import (
    ACCEPTED_FACTORIES,
    ACCEPTED_WALLETS,
    EITHER_WALLETS,
    FACTORY_BEHAVIOURS,
    WALLET_BEHAVIOURS,
    creation,
    deployment,
    hostile_factory,
    hostile_wallet,
    new_owner,
    predict,
    sign_digest,
    wrap,
)

from imprint.adapters.chain.block_calls import BlockCalls
from imprint.adapters.chain.contract_wallets import JsonRpcContractWallets
from imprint.adapters.chain.json_rpc import JsonRpc
from imprint.auth.signatures import MAX_SIGNATURE_BYTES
from imprint.domain.formats.addresses import Address, keccak256, parse_address

DIGEST = keccak256(b"what is signed")
SIGNATURES = [b"", b"\xff" * 65, b"\xff" * MAX_SIGNATURE_BYTES]
INNER = [b"", b"\xff" * 65, b"\xff" * 12_000]


def deploy(node: Anvil, code: bytes) -> Address:
    return parse_address(node.transact(open_account(0), None, code)["contractAddress"])


@pytest.fixture
async def wallets(anvil: Anvil) -> AsyncIterator[JsonRpcContractWallets]:
    rpc = JsonRpc([anvil.url])
    calls = BlockCalls(rpc, CHAIN_ID, lambda: datetime.now(UTC))
    # Much longer than any call takes: the test does not depend on the speed of the machine.
    yield JsonRpcContractWallets(calls, timeout=60)
    await rpc.close()


async def test_every_wallet_gets_a_verdict(anvil: Anvil, wallets: JsonRpcContractWallets) -> None:
    factory = deploy(anvil, creation("WalletFactory"))
    for behaviour in WALLET_BEHAVIOURS:
        code = hostile_wallet(behaviour, "http://169.254.169.254/")
        deployed, prepare = deploy(anvil, code), deployment(code)
        verdicts = {await wallets.accepts(deployed, DIGEST, each) for each in SIGNATURES}
        for inner in INNER:
            signature = wrap(factory, prepare, inner)
            verdicts.add(await wallets.accepts(deployed, DIGEST, signature))
            verdicts.add(await wallets.accepts(predict(factory, code), DIGEST, signature))
        if behaviour not in EITHER_WALLETS:
            assert verdicts == {behaviour in ACCEPTED_WALLETS}, behaviour


async def test_every_factory_gets_a_verdict(anvil: Anvil, wallets: JsonRpcContractWallets) -> None:
    owner, spends = new_owner(), hostile_wallet("LoopForever")
    code = creation("OwnedWallet", owner.address)
    spender = deploy(anvil, spends)
    for behaviour in FACTORY_BEHAVIOURS:
        factory = deploy(anvil, hostile_factory(behaviour, "http://169.254.169.254/"))
        signature = wrap(factory, deployment(code), sign_digest(owner, DIGEST))
        accepted = await wallets.accepts(predict(factory, code), DIGEST, signature)
        assert accepted is (behaviour in ACCEPTED_FACTORIES), behaviour
        for inner in INNER:
            everything = wrap(factory, deployment(spends), inner)
            assert not await wallets.accepts(spender, DIGEST, everything), behaviour
