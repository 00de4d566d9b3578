"""A real node that reorganizes: posts leave, come back in other blocks, and change places."""

import time
from collections.abc import Callable

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
    """Wait until these cids have these post ids; None is a draft."""
    deadline = time.monotonic() + TIMEOUT
    while (found := {cid: client.metadata(cid)["post_id"] for cid in expected}) != expected:
        assert time.monotonic() < deadline, (found, expected)
        time.sleep(0.02)


def raw_transaction(anvil: Anvil, receipt: Receipt) -> str:
    return str(anvil.rpc("eth_getRawTransactionByHash", receipt["transactionHash"]))


def replace_blocks(anvil: Anvil, depth: int, transactions: list[tuple[str, int]]) -> None:
    """Replace the newest blocks; each transaction goes into the new block of that number."""
    anvil.rpc("anvil_reorg", depth, transactions)


# The node forgets what the world was like hundreds of blocks ago, and then a reorg loses it.
SHORT_ENOUGH = [range(2, 26), range(26, 38), range(38, 48), range(48, 57), range(57, DEPTH + 1)]


@pytest.mark.parametrize("depths", SHORT_ENOUGH, ids=str)
def test_posts_change_places_in_reorgs_of_every_depth(
    anvil: Anvil, client: Client, alice: LocalAccount, bob: LocalAccount, depths: range
) -> None:
    anvil.mine(DEPTH)
    began = time.monotonic()
    for depth in depths:
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
    print(f"\n{len(depths)} reorgs followed in {time.monotonic() - began:.1f} s")


@pytest.mark.parametrize("depth", [1, 7, 32, 64])
def test_a_post_that_left_the_chain_is_a_draft_until_it_is_published_again(
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


def test_a_post_id_given_to_somebody_else_is_theirs(
    anvil: Anvil, client: Client, alice: LocalAccount, bob: LocalAccount
) -> None:
    anvil.mine(DEPTH)
    hers, his = client.create(alice, "Hers.")["cid"], client.create(bob, "His.")["cid"]
    anvil.create_post(alice, hers)
    wait_for(client, {hers: "1", his: None})
    anvil.reorg(1)
    anvil.create_post(bob, his)
    wait_for(client, {hers: None, his: "1"})
    assert client.read_post(bob, 1).json()["content"] == "His."


def test_a_reorg_deeper_than_configured_raises_an_alarm_and_changes_nothing(
    anvil: Anvil,
    make_service: MakeService,
    open_client: Callable[[Service], Client],
    alice: LocalAccount,
) -> None:
    service = make_service(CHAIN_FOLLOW_SECONDS="0.1", CHAIN_REORG_DEPTH="5")
    service.start()
    client = open_client(service)
    anvil.mine(20)
    cid = client.create(alice)["cid"]
    anvil.create_post(alice, cid)
    anvil.mine(8)
    wait_for(client, {cid: "1"})
    anvil.reorg(12)
    anvil.mine(3)
    deadline = time.monotonic() + TIMEOUT
    while "deeper than the configured depth" not in service.tail(400):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.5)
    assert client.metadata(cid)["post_id"] == "1"
