"""A node that is down or silent: access is denied, and the response comes soon."""

import time
from collections.abc import Callable

import httpx2
from eth_account.signers.local import LocalAccount
from tests.anvil.client import Client
from tests.anvil.node import Anvil
from tests.world import problem

LONGEST_WAIT = 2.0 + 4.0
"""Seconds within which a client has a response: two as promised, four for a busy machine."""

PATIENCE = 30.0


def assert_unavailable(ask: Callable[[], httpx2.Response]) -> None:
    began = time.monotonic()
    response = ask()
    waited = time.monotonic() - began
    assert problem(response) == (503, "chain_unavailable")
    assert int(response.headers["retry-after"]) > 0
    assert waited < LONGEST_WAIT


def test_a_dead_node_is_reported_in_time(
    anvil: Anvil, client: Client, alice: LocalAccount, bob: LocalAccount
) -> None:
    post_id, _ = client.post(anvil, alice)
    draft = client.create(alice)
    session = client.log_in(bob)
    anvil.kill()
    assert_unavailable(lambda: client.read_post(bob, post_id, session))
    assert_unavailable(lambda: client.read_free(post_id))
    assert_unavailable(lambda: client.delete(alice, draft["cid"]))


def test_a_silent_node_is_reported_in_time_and_used_when_it_is_back(
    anvil: Anvil, client: Client, alice: LocalAccount
) -> None:
    post_id, _ = client.post(anvil, alice, "Words for all.", price=0)
    anvil.process.freeze()
    assert_unavailable(lambda: client.read_free(post_id))
    anvil.process.thaw()
    assert client.read_free(post_id).json()["content"] == "Words for all."


def test_drafts_and_deliveries_need_no_node(
    anvil: Anvil, client: Client, alice: LocalAccount
) -> None:
    published = client.create(alice)
    receipt = anvil.create_post(alice, published["cid"])
    anvil.kill()
    draft = client.create(alice)
    draft = client.update(alice, draft["cid"], "Other words.")
    assert client.publish(alice, draft["cid"])
    (event,) = client.deliver(receipt)["events"]
    assert event["status"] == "onchain"


def test_a_service_without_its_node_is_degraded_and_says_so(anvil: Anvil, client: Client) -> None:
    assert client.http.get("/readyz").json()["status"] == "ready"
    anvil.kill()
    deadline = time.monotonic() + PATIENCE
    while (condition := client.http.get("/readyz").json())["status"] == "ready":
        # What was found is kept for a moment.
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert condition["status"] == "degraded"
    assert condition["checks"]["chain"] == "unavailable"
    assert condition["checks"]["database"] == condition["checks"]["storage"] == "ok"
