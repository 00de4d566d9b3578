"""The life of a post on a real node, from a draft to a reader who bought it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from tests.anvil.client import Client
from tests.anvil.conftest import MakeService
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
    [{"provider": "a"}, {"provider": "b", "compress": True}],
    ids=["a", "b"],
)
def test_a_draft_becomes_a_post_that_its_buyer_can_read(
    anvil: Anvil, client: Client, alice: LocalAccount, bob: LocalAccount, options: dict[str, Any]
) -> None:
    walk(anvil, client, alice, bob, **options)


def test_a_marketplace_without_hashtags_still_works(
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
