"""Concurrent requests: one wins, the others are refused, and nothing is lost."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.web.conftest import EVERY_DATABASE
from tests.world import TickingClock, World, open_world, problem

pytestmark = [pytest.mark.asyncio(loop_scope="module"), *EVERY_DATABASE]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def moving_town(
    tmp_path_factory: pytest.TempPathFactory, records: None
) -> AsyncIterator[World]:
    async with open_world(tmp_path_factory.mktemp("moving"), clock=TickingClock()) as opened:
        yield opened


def _tally(responses: list[Any]) -> Counter[str]:
    return Counter("ok" if each.status_code == 200 else problem(each)[1] for each in responses)


async def test_one_request_sent_fifty_times_takes_effect_once(town: World) -> None:
    alice = town.stranger()
    body = alice.sign("create") | {"content": "Once."}
    responses = await asyncio.gather(
        *(town.client.post("/create/group", json=body) for _ in range(50))
    )
    assert _tally(responses) == {"ok": 1, "nonce_used": 49}
    (winner,) = [each for each in responses if each.status_code == 200]
    for each in responses:
        if each is not winner:
            assert each.json()["file"] == winner.json()["updatedUpload"]
    headers = await town.login(alice)
    listed = await town.client.get(
        "/pendingFilesByOwner", params={"owner": alice.address}, headers=headers
    )
    assert len(listed.json()["files"]) == 1


@pytest.mark.parametrize("action", ["update", "publish", "delete"])
async def test_any_write_sent_twice_concurrently_takes_effect_once(
    town: World, action: str
) -> None:
    alice = town.stranger()
    cid = (await town.create(alice))["cid"]
    send: Any = {
        "update": town.send_update,
        "publish": town.send_publish,
        "delete": town.send_delete,
    }[action]
    responses = await asyncio.gather(*(send(alice, cid, nonce="same") for _ in range(8)))
    tally = _tally(responses)
    assert tally.pop("ok") == 1
    assert tally.keys() <= {"nonce_used", "not_pending", "not_found"}


async def test_fifty_updates_of_one_draft_have_one_winner(moving_town: World) -> None:
    town = moving_town
    alice = town.stranger()
    old = await town.create(alice)
    responses = await asyncio.gather(
        *(town.send_update(alice, old["cid"], f"Version {n}.") for n in range(50))
    )
    tally = _tally(responses)
    assert tally.pop("ok") == 1
    assert tally.keys() <= {"not_pending", "not_found"}
    ((index, winner),) = [(n, each) for n, each in enumerate(responses) if each.status_code == 200]
    new = winner.json()["upload"]
    assert (await town.read_draft(alice, new["cid"])).json()["content"] == f"Version {index}."
    assert new["group_id"] == old["group_id"]


async def test_the_losers_of_a_race_can_reuse_their_nonces(town: World) -> None:
    alice = town.stranger()
    old = await town.create(alice)
    responses = await asyncio.gather(
        *(town.send_update(alice, old["cid"], nonce=f"n{n}") for n in range(5))
    )
    ((_, winner),) = [(n, each) for n, each in enumerate(responses) if each.status_code == 200]
    cid = winner.json()["upload"]["cid"]
    for number, response in enumerate(responses):
        if response is not winner:
            retried = await town.send_update(alice, cid, "Mine now.", nonce=f"n{number}")
            assert retried.status_code == 200
            cid = retried.json()["upload"]["cid"]


async def test_one_owner_can_create_fifty_drafts_concurrently(moving_town: World) -> None:
    town = moving_town
    alice = town.stranger()
    responses = await asyncio.gather(*(town.send_create(alice, f"Draft {n}.") for n in range(50)))
    assert _tally(responses) == {"ok": 50}
    names = {each.json()["updatedUpload"]["name"] for each in responses}
    assert len(names) == 50


async def test_a_concurrent_update_and_delete_have_one_winner(town: World) -> None:
    for _ in range(5):
        alice = town.stranger()
        cid = (await town.create(alice))["cid"]
        updated, deleted = await asyncio.gather(
            town.send_update(alice, cid), town.send_delete(alice, cid)
        )
        assert [updated.status_code, deleted.status_code].count(200) == 1
        if updated.status_code == 200:
            assert problem(deleted) in ((409, "not_pending"), (404, "not_found"))
            kept = updated.json()["upload"]["cid"]
            assert (await town.read_draft(alice, kept)).status_code == 200
        else:
            assert problem(updated) in ((409, "not_pending"), (404, "not_found"))


async def test_an_update_after_publication_is_refused(town: World) -> None:
    alice = town.wallet(1)
    file = await town.create(alice, "Published.")
    block = town.create_post(alice, file["cid"], 0)
    (event,) = (await town.deliver_a(block)).json()["events"]
    assert problem(await town.send_update(alice, file["cid"])) == (409, "not_pending")
    assert (await town.read_free(event["postId"])).json()["content"] == "Published."


@pytest.mark.parametrize("write", ["update", "delete"])
async def test_published_content_survives_a_write_that_races_with_its_event(
    town: World, write: str
) -> None:
    alice = town.wallet(1)
    send: Any = {"update": town.send_update, "delete": town.send_delete}[write]
    for _ in range(6):
        file = await town.create(alice, "Published.")
        block = town.create_post(alice, file["cid"], 0)
        written, delivered = await asyncio.gather(send(alice, file["cid"]), town.deliver_a(block))
        (event,) = delivered.json()["events"]
        assert event["status"] == "onchain"
        assert (await town.read_free(event["postId"])).json()["content"] == "Published."
        if written.status_code == 200 and write == "update":
            newer = await town.read_draft(alice, written.json()["upload"]["cid"])
            assert newer.json()["content"] == "Other words."
        elif written.status_code != 200:
            assert problem(written) in ((409, "not_pending"), (409, "already_onchain"))


async def test_a_delete_before_the_transaction_does_not_lose_the_post(town: World) -> None:
    alice = town.wallet(1)
    file = await town.create(alice, "Published.")
    assert (await town.send_delete(alice, file["cid"])).status_code == 200
    block = town.create_post(alice, file["cid"], 0)
    (event,) = (await town.deliver_b(block)).json()["events"]
    assert event["status"] == "onchain"
    assert (await town.read_free(event["postId"])).json()["content"] == "Published."


async def test_concurrent_publishes_leave_one_consistent_result(town: World) -> None:
    alice = town.stranger()
    cid = (await town.create(alice))["cid"]
    responses = await asyncio.gather(
        town.send_publish(alice, cid, "one"), town.send_publish(alice, cid, "two")
    )
    assert _tally(list(responses)) == {"ok": 2}
    results = {
        tag: response.json()["thumbnailCid"]
        for tag, response in zip(("one", "two"), responses, strict=True)
    }
    found = await town.metadata(cid)
    (tag,) = found["hashtags"]
    assert found["thumbnail_cid"] == results[tag]


async def test_one_login_sent_twenty_times_creates_one_session(town: World) -> None:
    alice = town.stranger()
    body = alice.sign_login(alice.login_message())
    responses = await asyncio.gather(
        *(town.client.post("/auth/login", json=body) for _ in range(20))
    )
    assert _tally(responses) == {"ok": 1, "nonce_used": 19}


async def test_a_delivery_sent_ten_times_concurrently_is_applied_once(town: World) -> None:
    alice = town.wallet(1)
    file = await town.create(alice)
    body = town.body_b(town.create_post(alice, file["cid"]))
    responses = await asyncio.gather(*(town.send_b(body, nonce="d" * 32) for _ in range(10)))
    assert {each.status_code for each in responses} == {200}
    assert sum(each.json()["applied"] for each in responses) == 1
    assert sum(each.json()["duplicate"] for each in responses) == 9
