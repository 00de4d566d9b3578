"""Who may read follows what the chain says: tokens that move, prices that change."""

import time
from collections.abc import Callable

import httpx2
import pytest
from eth_account.signers.local import LocalAccount
from tests.anvil.client import Client
from tests.anvil.conftest import MakeService
from tests.anvil.node import PRICE, Anvil, Reverted
from tests.processes import Service
from tests.world import problem

CACHE_SECONDS = 1


@pytest.fixture
def service(make_service: MakeService) -> Service:
    opened = make_service(CHAIN_CACHE_SECONDS=str(CACHE_SECONDS))
    opened.start()
    return opened


def wait_for(status: int, ask: Callable[[], httpx2.Response]) -> httpx2.Response:
    """The first response with this status: what is cached is forgotten after its time."""
    deadline = time.monotonic() + CACHE_SECONDS + 30
    while (response := ask()).status_code != status and time.monotonic() < deadline:
        time.sleep(0.05)
    return response


def test_a_transferred_token_moves_the_right_to_read_at_once(
    anvil: Anvil, client: Client, alice: LocalAccount, bob: LocalAccount, carol: LocalAccount
) -> None:
    post_id, _ = client.post(anvil, alice)
    anvil.buy(bob, post_id)
    session = client.log_in(bob)
    assert client.read_post(bob, post_id, session).status_code == 200

    anvil.transfer(bob, carol, post_id)
    assert client.read_post(carol, post_id).json()["content"] == "Words for sale."
    refused = problem(wait_for(403, lambda: client.read_post(bob, post_id, session)))
    assert refused == (403, "not_entitled")


def test_a_price_of_zero_opens_a_post_and_a_new_price_closes_it(
    anvil: Anvil, client: Client, alice: LocalAccount
) -> None:
    post_id, _ = client.post(anvil, alice, "Words for all.")
    assert problem(client.read_free(post_id)) == (403, "not_free")
    anvil.set_price(alice, post_id, 0)
    # "Not free" is kept for a second at most.
    opened = wait_for(200, lambda: client.read_free(post_id))
    assert opened.json()["content"] == "Words for all."
    anvil.set_price(alice, post_id, PRICE)
    assert problem(wait_for(403, lambda: client.read_free(post_id))) == (403, "not_free")


def test_a_failed_purchase_gives_no_right_to_read(
    anvil: Anvil, client: Client, alice: LocalAccount, bob: LocalAccount
) -> None:
    post_id, _ = client.post(anvil, alice)
    with pytest.raises(Reverted):
        anvil.buy(bob, post_id, PRICE - 1)
    assert problem(client.read_post(bob, post_id)) == (403, "not_entitled")


def test_a_post_that_left_the_chain_is_not_served(
    anvil: Anvil, client: Client, alice: LocalAccount
) -> None:
    post_id, _ = client.post(anvil, alice)
    anvil.reorg(1)
    assert problem(client.read_post(alice, post_id)) == (404, "not_found")
