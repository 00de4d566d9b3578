"""Deploying the marketplace through healthy, refusing and lying nodes."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from tests.adapters.chain.chain_node import ChainNode, change_result, run_chain_node
from tests.world import World

from imprint.adapters.chain.deployment import (
    ContractDeployment,
    DeploymentTransaction,
    NotDeployed,
)
from imprint.adapters.chain.json_rpc import JsonRpc
from imprint.bootstrap.deployment import contract_address
from imprint.domain.formats.addresses import Address, parse_address
from imprint.marketplace import artifact

STRANGER: LocalAccount = Account.from_key("0x" + "11" * 32)
"""An account without any coins."""


@pytest.fixture
async def node(town: World) -> AsyncIterator[ChainNode]:
    async with run_chain_node(town.chain) as node:
        yield node


@pytest.fixture
async def deployment(node: ChainNode) -> AsyncIterator[ContractDeployment]:
    rpc = JsonRpc([node.address])
    yield ContractDeployment(rpc, poll_seconds=0.01)
    await rpc.close()


def sender_in(town: World) -> Address:
    return parse_address(town.wallet(3).address)


def signed(town: World, prepared: DeploymentTransaction) -> tuple[bytes, str]:
    transaction = town.wallet(3).account.sign_transaction(prepared.fields())
    return bytes(transaction.raw_transaction), "0x" + bytes(transaction.hash).hex()


async def prepare(town: World, deployment: ContractDeployment) -> DeploymentTransaction:
    return await deployment.prepare(sender_in(town), artifact().bytecode)


async def test_a_signed_transaction_creates_the_marketplace(
    town: World, deployment: ContractDeployment
) -> None:
    prepared = await prepare(town, deployment)
    raw, transaction_hash = signed(town, prepared)
    await deployment.send(raw, transaction_hash)
    deployed = await deployment.wait(transaction_hash)
    assert deployed.chain_id == town.settings.chain.id
    assert deployed.address == contract_address(prepared)
    assert deployed.block == town.chain.head.number
    assert town.chain.account(deployed.address).code


async def test_resending_the_same_transaction_is_not_an_error(
    town: World, deployment: ContractDeployment
) -> None:
    raw, transaction_hash = signed(town, await prepare(town, deployment))
    await deployment.send(raw, transaction_hash)
    await deployment.send(raw, transaction_hash)
    first = await deployment.wait(transaction_hash)
    assert first == await deployment.wait(transaction_hash)


async def test_the_refusal_of_an_account_without_funds_names_the_required_amount(
    deployment: ContractDeployment,
) -> None:
    sender = parse_address(STRANGER.address)
    with pytest.raises(NotDeployed, match=r"has 0 wei.*Send it some coins"):
        await deployment.prepare(sender, artifact().bytecode)


async def test_a_lost_response_to_the_transaction_is_not_an_error(
    town: World, node: ChainNode, deployment: ContractDeployment
) -> None:
    raw, transaction_hash = signed(town, await prepare(town, deployment))

    def lose(asked: list[dict[str, Any]], sent: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [] if asked[0]["method"] == "eth_sendRawTransaction" else sent

    node.change = lose
    await deployment.send(raw, transaction_hash)
    assert (await deployment.wait(transaction_hash)).block == town.chain.head.number


async def test_a_contract_created_by_another_wallet_is_awaited(
    town: World, deployment: ContractDeployment
) -> None:
    prepared = await prepare(town, deployment)
    address = contract_address(prepared)
    waiting = asyncio.create_task(deployment.wait_for_code(prepared, address))
    raw, transaction_hash = signed(town, prepared)
    await deployment.send(raw, transaction_hash)
    deployed = await waiting
    assert deployed.address == address
    assert prepared.head < deployed.block <= town.chain.head.number


async def test_a_nonce_used_by_another_transaction_ends_the_wait(
    town: World, deployment: ContractDeployment
) -> None:
    prepared = await prepare(town, deployment)
    other = await deployment.prepare(sender_in(town), "0x00")
    raw, transaction_hash = signed(town, other)
    await deployment.send(raw, transaction_hash)
    with pytest.raises(NotDeployed, match="another transaction"):
        await deployment.wait_for_code(prepared, Address("0x" + "ab" * 20))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"status": "0x0"}, "was reverted"),
        ({"contractAddress": None}, "created no contract"),
        ({"contractAddress": "0x12"}, "malformed"),
        ({"blockNumber": "latest"}, "malformed"),
        ({"transactionHash": 5}, "malformed"),
        ({"transactionHash": "0x" + "22" * 32}, "another transaction"),
    ],
    ids=str,
)
async def test_a_receipt_that_does_not_prove_a_deployment_is_refused(
    town: World,
    node: ChainNode,
    deployment: ContractDeployment,
    change: dict[str, object],
    reason: str,
) -> None:
    raw, transaction_hash = signed(town, await prepare(town, deployment))
    await deployment.send(raw, transaction_hash)
    node.change = change_result("eth_getTransactionReceipt", lambda receipt: {**receipt, **change})
    with pytest.raises(NotDeployed, match=reason):
        await deployment.wait(transaction_hash)


async def test_legacy_gas_pricing_is_used_on_a_chain_without_a_base_fee(
    town: World, node: ChainNode, deployment: ContractDeployment
) -> None:
    node.change = change_result(
        "eth_getBlockByNumber",
        lambda block: {name: value for name, value in block.items() if name != "baseFeePerGas"},
    )
    fields = (await prepare(town, deployment)).fields()
    assert "gasPrice" in fields
    assert "maxFeePerGas" not in fields
