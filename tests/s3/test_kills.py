"""A service killed at any step leaves its change to the bucket either complete or absent."""

import asyncio
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from tests.crash.authors import Author
from tests.crash.fork_server import ForkServer
from tests.crash.test_failpoints import DONE, collect, read, write
from tests.crash.victim import LEASE_SECONDS, open_scene
from tests.faults.scene import LONG
from tests.s3.server import MinioServer
from tests.world import MovableClock, World, open_world

from imprint import failpoints
from imprint.adapters.content.bucket import BucketStore
from imprint.domain.drafts.files import Network
from imprint.services.tasks.leases import LEASE_TIME

STORING = ("after_intent", "during_put", "unsynced_put", "before_commit", "after_commit")
CASES = [(kind, at) for kind in ("create", "publish") for at in STORING]
COLLECTING = ("after_condemn", "after_remove", "after_purge")
KILLS = 50 if LONG else 8
AUTHORS = 8


async def stored(world: World) -> dict[Network, list[str]]:
    """The documents in the bucket, by network."""
    content = world.adapters.content
    assert isinstance(content, BucketStore)
    return {network: [cid async for cid in content.list_documents(network)] for network in Network}


def present() -> MovableClock:
    return MovableClock(datetime.now(UTC))


@pytest.mark.parametrize(("kind", "at"), CASES)
async def test_a_write_interrupted_by_a_crash_is_complete_or_absent(
    tmp_path: Path, fork_server: ForkServer, server: MinioServer, kind: str, at: str
) -> None:
    given = server.settings(server.make_bucket())
    async with open_world(tmp_path, **given) as world:
        target = (await world.create(world.wallet(0), "Words."))["cid"]
    async with open_scene(tmp_path, fork_server, at, **given) as scene:
        await scene.victim.start(scene.world.client, "/healthz")
        with pytest.raises(httpx2.TransportError):
            await write(scene.world, kind, target)
        assert await scene.victim.end() == failpoints.KILLED
    async with open_world(tmp_path, clock=present(), **given) as world:
        again = await write(world, kind, target)
        assert again.status_code == (409 if at in DONE else 200), again.text
        assert await read(world, world.wallet(0), target) == "Words."
        await collect(world)
        counts = {network: len(cids) for network, cids in (await stored(world)).items()}
        made = {"create": (2, 0), "publish": (1, 1)}[kind]
        assert (counts[Network.PRIVATE], counts[Network.PUBLIC]) == made


@pytest.mark.parametrize("at", COLLECTING)
async def test_a_collection_interrupted_by_a_crash_is_completed_by_the_next_one(
    tmp_path: Path, fork_server: ForkServer, server: MinioServer, at: str
) -> None:
    given = server.settings(server.make_bucket())
    async with open_world(tmp_path, **given) as world:
        author = world.wallet(0)
        kept = (await world.create(author, "Kept."))["cid"]
        gone = (await world.create(author, "Gone."))["cid"]
        await world.publish(author, gone)
        assert (await world.send_delete(author, gone)).status_code == 200
    collecting = {"JANITOR_SECONDS": "1", "GRACE_HOURS": "0"}
    async with open_scene(tmp_path, fork_server, at, **given, **collecting) as scene:
        scene.victim.process.spawn()
        assert await scene.victim.end() == failpoints.KILLED
    async with open_world(tmp_path, clock=present(), **given) as world:
        await collect(world, timedelta(0))
        assert await read(world, world.wallet(0), kept) == "Kept."
        assert await stored(world) == {Network.PRIVATE: [kept], Network.PUBLIC: []}


async def test_no_acknowledged_write_is_lost(
    tmp_path: Path, fork_server: ForkServer, server: MinioServer
) -> None:
    given = server.settings(server.make_bucket())
    chance = random.Random(5)
    async with open_scene(tmp_path, fork_server, **given) as scene:
        world = scene.world
        authors = [Author(world, world.stranger(), random.Random(n)) for n in range(AUTHORS)]
        await scene.victim.start(world.client)
        stopping = asyncio.Event()
        writing = [asyncio.create_task(each.write_until(stopping)) for each in authors]
        for _ in range(KILLS):
            await asyncio.sleep(chance.uniform(0.02, 0.2))
            scene.victim.process.kill()
            await scene.victim.start(world.client)
        stopping.set()
        await asyncio.gather(*writing)
    faults = [fault for each in authors for fault in each.faults]
    async with open_world(tmp_path, clock=present(), **given) as world:
        for author in authors:
            faults += await author.find_losses(world)
        world.clock.advance(LEASE_TIME.total_seconds() + LEASE_SECONDS)
        while await world.collector(timedelta(0)).collect():
            pass
        left = await stored(world)
        assert len(left[Network.PRIVATE]) == sum(len(each.drafts) for each in authors)
    assert faults == []
