"""Per-signer quotas, and behaviour when disk space is low."""

import secrets
from pathlib import Path

import pytest
from tests.world import World, open_world, picture, problem

FULL = (413, "quota_exceeded")
LOW = (503, "storage_unavailable")
WORDS = "x" * 50_000


async def stored(world: World) -> int:
    """The number of stored documents."""
    inventory = world.adapters.inventory
    assert inventory is not None
    return len([cid async for cid in inventory.list_documents("private")])


async def test_deleted_drafts_count_towards_the_quota_until_they_are_destroyed(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path, QUOTA_BYTES="180000") as world:
        alice = world.wallet(1)
        for _ in range(3):
            draft = await world.create(alice, WORDS)
            assert (await world.send_delete(alice, draft["cid"])).status_code == 200
        assert problem(await world.send_create(alice, WORDS)) == FULL
        assert await stored(world) == 3
        world.clock.advance(25 * 3600)
        collector = world.collector()
        assert await collector.collect() == 3
        await world.create(alice, WORDS)


async def test_a_refused_write_stores_nothing_and_spends_no_nonce(tmp_path: Path) -> None:
    async with open_world(tmp_path, QUOTA_DRAFTS="1") as world:
        alice = world.wallet(1)
        first = await world.create(alice)
        nonce = f"{alice.address}_{secrets.token_hex(8)}"
        for _ in range(2):
            assert problem(await world.send_create(alice, WORDS, nonce=nonce)) == FULL
        assert await stored(world) == 1
        await world.send_delete(alice, first["cid"])
        assert (await world.send_create(alice, WORDS, nonce=nonce)).status_code == 200


async def test_updates_and_thumbnails_count_towards_the_quota(tmp_path: Path) -> None:
    async with open_world(tmp_path, QUOTA_BYTES="120000") as world:
        alice = world.wallet(1)
        draft = await world.create(alice, WORDS)
        updated = await world.update(alice, draft["cid"], WORDS)
        assert problem(await world.send_update(alice, updated["cid"], WORDS)) == FULL
        await world.publish(alice, updated["cid"])
        await world.update(alice, updated["cid"], "short")


async def test_a_thumbnail_that_exceeds_the_quota_is_refused(tmp_path: Path) -> None:
    async with open_world(tmp_path, QUOTA_BYTES="1000") as world:
        alice = world.wallet(1)
        draft = await world.create(alice, "short")
        image = picture("PNG", (512, 512))
        assert problem(await world.send_publish(alice, draft["cid"], image=image)) == FULL
        assert (await world.metadata(draft["cid"]))["thumbnail_cid"] is None


async def test_posts_do_not_count_towards_the_quota(tmp_path: Path) -> None:
    async with open_world(tmp_path, QUOTA_DRAFTS="1", QUOTA_BYTES="60000") as world:
        alice = world.wallet(1)
        for _ in range(3):
            draft = await world.create(alice, WORDS)
            assert problem(await world.send_create(alice, "short")) == FULL
            await world.deliver_a(world.create_post(alice, draft["cid"]))


async def test_without_a_limit_nothing_is_refused(tmp_path: Path) -> None:
    async with open_world(tmp_path, QUOTA_DRAFTS="0", QUOTA_BYTES="0") as world:
        for _ in range(3):
            await world.create(world.wallet(1), WORDS)


async def test_low_disk_space_stops_only_requests_that_store_documents(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        alice = world.wallet(1)
        drafts = [await world.create(alice) for _ in range(2)]
        disk = world.adapters.disk
        disk.low = True
        cid = drafts[0]["cid"]
        nonce = f"{alice.address}_{secrets.token_hex(8)}"
        assert problem(await world.send_create(alice, "words", nonce=nonce)) == LOW
        assert problem(await world.send_update(alice, cid)) == LOW
        assert problem(await world.send_publish(alice, cid)) == LOW
        assert (await world.read_draft(alice, cid)).status_code == 200
        assert (await world.send_delete(alice, cid)).status_code == 200
        await world.deliver_a(world.create_post(alice, drafts[1]["cid"]))
        assert (await world.metadata(drafts[1]["cid"]))["post_id"] == "1"
        condition = (await world.client.get("/readyz")).json()
        assert (condition["status"], condition["checks"]["disk"]) == ("degraded", "low")
        disk.low = False
        assert (await world.send_create(alice, "words", nonce=nonce)).status_code == 200


@pytest.mark.parametrize("floor", [str(2**53), "0"])
async def test_the_minimum_free_disk_space_is_configurable(tmp_path: Path, floor: str) -> None:
    async with open_world(tmp_path, MIN_FREE_DISK_BYTES=floor) as world:
        response = await world.send_create(world.wallet(1), "words")
        assert response.status_code == (200 if floor == "0" else 503)
