"""Restarts on the same folder: everything confirmed before a restart is still there."""

from datetime import timedelta
from pathlib import Path

import pytest
from tests.web.conftest import EVERY_DATABASE
from tests.world import open_world, problem

pytestmark = EVERY_DATABASE


async def test_drafts_and_posts_survive_a_restart(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        clock = world.clock
        alice, bob = world.wallet(1), world.wallet(2)
        draft = await world.create(alice, "A draft.")
        thumbnail = await world.publish(alice, draft["cid"], "kept")
        post_id, _ = await world.post(alice, "A post.")
        world.buy(bob, post_id)
        before = await world.metadata(draft["cid"])
    async with open_world(tmp_path, clock=clock) as world:
        assert await world.metadata(draft["cid"]) == before
        assert (await world.read_draft(alice, draft["cid"])).json()["content"] == "A draft."
        assert (await world.read_post(bob, post_id)).json()["content"] == "A post."
        assert (await world.client.get(f"/ipfs/{thumbnail}")).status_code == 200


async def test_spent_nonces_survive_a_restart(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        clock = world.clock
        alice = world.wallet(1)
        body = alice.sign("create") | {"content": "Once."}
        made = (await world.client.post("/create/group", json=body)).json()["updatedUpload"]
        login = alice.sign_login(alice.login_message())
        assert (await world.client.post("/auth/login", json=login)).status_code == 200
    async with open_world(tmp_path, clock=clock) as world:
        again = await world.client.post("/create/group", json=body)
        assert problem(again) == (409, "nonce_used")
        assert again.json()["file"] == made
        assert problem(await world.client.post("/auth/login", json=login)) == (409, "nonce_used")


async def test_sessions_and_page_tokens_survive_a_restart(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        clock = world.clock
        alice = world.wallet(1)
        for _ in range(13):
            await world.create(alice)
        session = await world.login(alice)
        owner = {"owner": alice.address}
        page = await world.client.get("/pendingFilesByOwner", params=owner, headers=session)
        token = page.json()["next_page_token"]
    async with open_world(tmp_path, clock=clock) as world:
        page = await world.client.get("/pendingFilesByOwner", params=owner, headers=session)
        assert len(page.json()["files"]) == 12
        rest = await world.client.get("/filesByNextPageToken", params={"next_page_token": token})
        assert len(rest.json()["files"]) == 1


async def test_deliveries_survive_a_restart(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        clock = world.clock
        alice = world.wallet(1)
        block = world.create_post(alice, (await world.create(alice))["cid"])
        body = world.body_b(block)
        assert (await world.send_b(body, nonce="a" * 32)).json()["applied"] == 1
    async with open_world(tmp_path, clock=clock) as world:
        assert (await world.send_b(body, nonce="a" * 32)).json()["duplicate"] is True
        (event,) = (await world.deliver_a(block)).json()["events"]
        assert event["status"] == "already_onchain"


async def test_the_development_chain_continues_after_a_restart(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        clock = world.clock
        alice = world.wallet(1)
        post_id, _ = await world.post(alice)
        head = world.chain.head
        marketplace = world.marketplace
    async with open_world(tmp_path, clock=clock) as world:
        assert world.chain.head == head
        assert world.marketplace == marketplace
        next_id, _ = await world.post(alice)
        assert next_id == post_id + 1


async def test_an_event_that_arrives_after_a_restart_finds_its_draft(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        clock = world.clock
        alice = world.wallet(1)
        file = await world.create(alice)
        block = world.create_post(alice, file["cid"])
    async with open_world(tmp_path, clock=clock) as world:
        assert (await world.deliver_a(block)).json()["applied"] == 1


async def test_file_numbers_increase_even_if_the_clock_was_set_back(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        clock = world.clock
        before = await world.create(world.wallet(1))
    clock.advance(-3600)
    async with open_world(tmp_path, clock=clock) as world:
        after = await world.create(world.wallet(1))
    assert int(after["name"].partition("_")[2]) > int(before["name"].partition("_")[2])


@pytest.mark.parametrize(("hours", "restored"), [(23, True), (25, False)])
async def test_a_deleted_version_can_be_restored_only_within_its_grace_period(
    tmp_path: Path, hours: int, restored: bool
) -> None:
    async with open_world(tmp_path) as world:
        alice = world.wallet(1)
        file = await world.create(alice, "Published.")
        assert (await world.send_delete(alice, file["cid"])).status_code == 200
        world.clock.advance(hours * 3600)
        grace = timedelta(hours=world.settings.retention.grace_hours)
        await world.collector(grace).collect()
        block = world.create_post(alice, file["cid"], 0)
        (event,) = (await world.deliver_a(block)).json()["events"]
        response = await world.read_free(event["postId"])
        if restored:
            assert response.json()["content"] == "Published."
        else:
            assert event["status"] == "unknown_file"
            assert problem(response) == (404, "not_found")
