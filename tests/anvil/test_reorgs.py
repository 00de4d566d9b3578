"""Reorgs on a real node: posts leave the chain, return in other blocks, and change positions."""

import time

import pytest
from eth_account.signers.local import LocalAccount
from tests.anvil.client import Client
from tests.anvil.conftest import MakeService
from tests.anvil.node import Anvil, Receipt, post_id_of
from tests.processes import Service
from tests.world import problem

TIMEOUT = 30.0
DEPTH = 64


@pytest.fixture
def service(make_service: MakeService) -> Service:
    opened = make_service(
        CHAIN_FOLLOW_SECONDS="0.1", CHAIN_REORG_DEPTH=str(DEPTH), RATE_LIMITS="off"
    )
    opened.start()
    return opened


def wait_for(client: Client, expected: dict[str, str | None]) -> None:
    """Wait until the CIDs have the given post ids. None means a draft."""
    deadline = time.monotonic() + TIMEOUT
    while (found := {cid: client.metadata(cid)["post_id"] for cid in expected}) != expected:
        assert time.monotonic() < deadline, (found, expected)
        time.sleep(0.02)


def raw_transaction(anvil: Anvil, receipt: Receipt) -> str:
    return str(anvil.rpc("eth_getRawTransactionByHash", receipt["transactionHash"]))


def replace_blocks(anvil: Anvil, depth: int, transactions: list[tuple[str, int]]) -> None:
    """Replace the newest blocks. Each transaction names the new block it goes into."""
    anvil.rpc("anvil_reorg", depth, transactions)


# Not every depth is tested, because the node forgets states that are hundreds of blocks old.
DEPTHS = (2, 3, 33, DEPTH - 1, DEPTH)


def test_posts_change_positions_in_reorgs_up_to_the_configured_depth(
    anvil: Anvil, client: Client, alice: LocalAccount, bob: LocalAccount
) -> None:
    anvil.mine(DEPTH)
    for depth in DEPTHS:
        hers, his = client.create(alice)["cid"], client.create(bob)["cid"]
        first = anvil.create_post(alice, hers)
        second = anvil.create_post(bob, his)
        one, two = post_id_of(first), post_id_of(second)
        if depth > 2:
            anvil.mine(depth - 2)
        wait_for(client, {hers: str(one), his: str(two)})
        swapped = [(raw_transaction(anvil, second), 0), (raw_transaction(anvil, first), 1)]
        replace_blocks(anvil, depth, swapped)
        wait_for(client, {hers: str(two), his: str(one)})


@pytest.mark.parametrize("depth", [1, DEPTH])
def test_a_post_that_left_the_chain_is_a_draft_until_published_again(
    anvil: Anvil, client: Client, alice: LocalAccount, depth: int
) -> None:
    anvil.mine(DEPTH)
    cid = client.create(alice, "Words.")["cid"]
    receipt = anvil.create_post(alice, cid)
    if depth > 1:
        anvil.mine(depth - 1)
    wait_for(client, {cid: "1"})
    anvil.reorg(depth)
    wait_for(client, {cid: None})
    assert problem(client.read_post(alice, 1)) == (404, "not_found")
    client.deliver(receipt)
    wait_for(client, {cid: None})
    anvil.create_post(alice, cid)
    wait_for(client, {cid: "1"})
    assert client.read_post(alice, 1).json()["content"] == "Words."
