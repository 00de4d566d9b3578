"""The walk of a post on a real node, from a draft to a reader who bought it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from tests.anvil.client import Client
from tests.anvil.conftest import MakeService
from tests.anvil.deliveries import deliver_a, deliver_b
from tests.anvil.node import PRICE, Anvil, post_id_of
from tests.processes import Service
from tests.world import problem

LEGACY = Path(__file__).parents[1] / "contracts" / "LegacyMarketplace.json"


def walk(
    anvil: Anvil, client: Client, alice: LocalAccount, bob: LocalAccount, **options: Any
) -> None:
    draft = client.create(alice, "A first line.")
    draft = client.update(alice, draft["cid"], "A better line.")
    thumbnail = client.publish(alice, draft["cid"], "essays, #Ink")
    receipt = anvil.create_post(alice, draft["cid"], thumbnail, PRICE, ["essays", "ink"])
    post_id = post_id_of(receipt)
    assert client.status(draft["cid"]) == "pending"

    said = client.deliver(receipt, **options)
    assert said["events"] == [
        {"postId": str(post_id), "postCid": draft["cid"], "status": "onchain"}
    ]
    post = client.metadata(draft["cid"])
    assert post["keyvalues"]["status"] == "onchain"
    assert post["tx_hash"] == receipt["transactionHash"]
    assert post["hashtags"] == ["essays", "ink"]

    session = client.log_in(bob)
    assert problem(client.read_post(bob, post_id, session)) == (403, "not_entitled")
    anvil.buy(bob, post_id)
    assert client.read_post(bob, post_id, session).json()["content"] == "A better line."
    assert client.read_post(alice, post_id).json()["content"] == "A better line."


@pytest.mark.parametrize(
    "options",
    [{"provider": "a"}, {"provider": "b"}, {"provider": "b", "compress": True}],
    ids=["a", "b", "b-compressed"],
)
def test_a_draft_becomes_a_post_that_its_buyer_reads(
    anvil: Anvil, client: Client, alice: LocalAccount, bob: LocalAccount, options: dict[str, Any]
) -> None:
    walk(anvil, client, alice, bob, **options)


def test_a_marketplace_without_hashtags_works_unchanged(
    anvil: Anvil,
    make_service: MakeService,
    open_client: Callable[[Service], Client],
    alice: LocalAccount,
    bob: LocalAccount,
) -> None:
    legacy = anvil.deploy(json.loads(LEGACY.read_text(encoding="utf-8")))
    service = make_service(MARKETPLACE_ADDRESS=legacy)
    service.start()
    client = open_client(service)
    walk(anvil, client, alice, bob)
    post_id, _ = client.post(anvil, alice, "Words for all.", price=0)
    assert client.read_free(post_id).json()["content"] == "Words for all."


def test_an_event_from_both_providers_takes_effect_once(
    anvil: Anvil, client: Client, alice: LocalAccount
) -> None:
    file = client.create(alice)
    receipt = anvil.create_post(alice, file["cid"])
    first = client.deliver(receipt, "b")
    before = client.metadata(file["cid"])
    second = client.deliver(receipt, "a")
    assert [said["events"][0]["status"] for said in (first, second)] == [
        "onchain",
        "already_onchain",
    ]
    assert client.metadata(file["cid"]) == before


def test_the_same_delivery_again_has_no_effect(
    anvil: Anvil, client: Client, alice: LocalAccount
) -> None:
    file = client.create(alice)
    signed = deliver_b(anvil.create_post(alice, file["cid"]), client.secret_b)
    assert client.send(signed, "b").json()["duplicate"] is False
    again = client.send(signed, "b")
    assert (again.status_code, again.json()["duplicate"]) == (200, True)


def test_a_delivery_that_somebody_else_signed_is_refused(
    anvil: Anvil, client: Client, alice: LocalAccount
) -> None:
    file = client.create(alice)
    forged = deliver_a(anvil.create_post(alice, file["cid"]), "whsec_of-somebody-else-entirely")
    assert problem(client.send(forged, "a")) == (401, "webhook_signature_invalid")
    assert client.status(file["cid"]) == "pending"


def test_a_stranger_who_publishes_a_draft_gets_nothing(
    anvil: Anvil, client: Client, alice: LocalAccount, bob: LocalAccount
) -> None:
    file = client.create(alice)
    receipt = anvil.create_post(bob, file["cid"], price=0)
    (event,) = client.deliver(receipt)["events"]
    assert event["status"] == "author_mismatch"
    assert client.status(file["cid"]) == "pending"
    assert problem(client.read_post(bob, post_id_of(receipt))) == (404, "not_found")
    assert client.delete(alice, file["cid"]).status_code == 200


def test_a_draft_on_the_chain_cannot_be_deleted_before_its_delivery(
    anvil: Anvil, client: Client, alice: LocalAccount
) -> None:
    file = client.create(alice)
    anvil.create_post(alice, file["cid"])
    assert problem(client.delete(alice, file["cid"])) == (409, "already_onchain")
