"""A service that gets no deliveries follows a real node."""

import json
import time
from collections.abc import Callable

import pytest
from eth_account.signers.local import LocalAccount
from tests.anvil.client import Client
from tests.anvil.conftest import MakeService
from tests.anvil.node import Anvil, open_account, post_id_of
from tests.anvil.test_walk import LEGACY
from tests.processes import Service
from tests.world import problem

PATIENCE = 30.0

FOLLOW_SECONDS = "2"
"""The setting for the seconds between polls of the chain, with the service's default value."""


@pytest.fixture
def service(make_service: MakeService) -> Service:
    opened = make_service(CHAIN_FOLLOW_SECONDS=FOLLOW_SECONDS, RATE_LIMITS="off")
    opened.start()
    return opened


def wait_for(happened: Callable[[], bool], seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "It did not happen in time."
        time.sleep(0.05)


def test_a_legacy_marketplace_is_followed_without_changes(
    anvil: Anvil,
    make_service: MakeService,
    open_client: Callable[[Service], Client],
    alice: LocalAccount,
    bob: LocalAccount,
) -> None:
    legacy = anvil.deploy(json.loads(LEGACY.read_text(encoding="utf-8")))
    service = make_service(MARKETPLACE_ADDRESS=legacy, CHAIN_FOLLOW_SECONDS="0.2")
    service.start()
    client = open_client(service)
    file = client.create(alice, "Words for sale.")
    post_id = post_id_of(anvil.create_post(alice, file["cid"]))
    wait_for(lambda: client.status(file["cid"]) == "onchain")
    assert client.metadata(file["cid"])["post_id"] == str(post_id)
    anvil.buy(bob, post_id)
    assert client.read_post(bob, post_id).json()["content"] == "Words for sale."


def test_transferring_a_token_revokes_access_before_the_cache_expires(
    anvil: Anvil,
    make_service: MakeService,
    open_client: Callable[[Service], Client],
    alice: LocalAccount,
    bob: LocalAccount,
) -> None:
    carol = open_account(3)
    service = make_service(CHAIN_FOLLOW_SECONDS="0.2", CHAIN_CACHE_SECONDS="60")
    service.start()
    client = open_client(service)
    post_id, _ = client.post(anvil, alice)
    session = client.log_in(bob)
    assert problem(client.read_post(bob, post_id, session)) == (403, "not_entitled")
    anvil.buy(bob, post_id)
    assert client.read_post(bob, post_id, session).status_code == 200
    anvil.transfer(bob, carol, post_id)
    wait_for(lambda: client.read_post(bob, post_id, session).status_code == 403)
    assert client.read_post(carol, post_id).status_code == 200
    anvil.transfer(carol, bob, post_id)
    assert client.read_post(bob, post_id, session).status_code == 200


def test_a_service_catches_up_from_its_cursor_after_downtime(
    anvil: Anvil, service: Service, client: Client, alice: LocalAccount
) -> None:
    early = client.create(alice)["cid"]
    late = client.create(alice)["cid"]
    anvil.create_post(alice, early)
    wait_for(lambda: client.status(early) == "onchain")
    service.kill()
    anvil.mine(400)
    anvil.create_post(alice, late)
    anvil.mine(400)
    service.start()
    wait_for(lambda: client.status(late) == "onchain")
