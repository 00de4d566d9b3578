"""Concurrent garbage collectors, with wrong clocks or paused, destroy no live documents."""

import asyncio
import io
import random
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
from PIL import Image
from tests.faults.scene import LONG, PresentClockAhead, Replica, Scene, open_scene
from tests.processes import PLAIN
from tests.world import Wallet, World

SKEWS = (-900.0, 0.0, 900.0)
"""Seconds by which the clocks of the replicas are wrong."""

AUTHORS = 6

THEFT_SECONDS = 0.02
"""Seconds between two deletions of the lease, so that all collectors acquire it at once."""

STEPS = 600 if LONG else 14
"""The number of actions of each author, made in sequence."""

EAGER = {"JANITOR_SECONDS": "0.02", "GRACE_HOURS": "0", "RATE_LIMITS": "off"}
"""Settings with which documents are destroyed as soon as nothing refers to them."""

SETTLED = (200, 503)
"""Statuses of a write that took effect, or was refused because its document was not safe."""


def paint(seed: int, side: int) -> bytes:
    """Create a picture with `side` pixels per side, always the same for the same seed."""
    pixels = random.Random(seed).randbytes(3 * side * side)
    file = io.BytesIO()
    Image.frombytes("RGB", (side, side), pixels).save(file, "PNG")
    return file.getvalue()


PICTURES = [paint(seed, side) for seed, side in enumerate([8] * 8 + [160] * 2)]
"""More pictures than authors, so that some are unused. The last two are stored as files."""


@asynccontextmanager
async def behind(scene: Scene, replica: Replica) -> AsyncIterator[World]:
    """Open the world through this replica. Its authors use the replica's clock."""
    ahead = 0.0 if replica.clock is None else replica.clock.ahead
    async with httpx2.AsyncClient(base_url=replica.url, timeout=30, verify=PLAIN) as client:
        yield replace(scene.world, client=client, clock=PresentClockAhead(ahead=ahead))


@dataclass(slots=True)
class Author:
    """An author who publishes, replaces and deletes drafts, with pictures that others use too."""

    world: World
    wallet: Wallet
    random: random.Random
    draft: str = ""
    thumbnail: str = ""
    published: int = 0
    statuses: list[int] = field(default_factory=list)

    async def work(self, steps: int) -> None:
        for _ in range(steps):
            await self._look()
            if not self.draft or self.random.random() < 0.1:
                await self._begin_again()
            elif self.random.random() < 0.15:
                response = await self.world.send_update(self.wallet, self.draft)
                self.draft = self._note(response).get("upload", {}).get("cid", self.draft)
            else:
                image = self.random.choice(PICTURES)
                response = await self.world.send_publish(self.wallet, self.draft, image=image)
                self.thumbnail = self._note(response).get("thumbnailCid", self.thumbnail)
                self.published += response.status_code == 200

    async def _look(self) -> None:
        """Check that this author's thumbnail exists, regardless of what others do."""
        if self.thumbnail:
            response = await self.world.client.get(f"/ipfs/{self.thumbnail}")
            assert response.status_code == 200, (self.thumbnail, response.text)

    async def _begin_again(self) -> None:
        if self.draft:
            response = await self.world.send_delete(self.wallet, self.draft)
            if self._note(response):
                self.draft = self.thumbnail = ""
        if not self.draft:
            response = await self.world.send_create(self.wallet)
            self.draft = self._note(response).get("updatedUpload", {}).get("cid", "")

    def _note(self, response: httpx2.Response) -> dict[str, Any]:
        assert response.status_code in SETTLED, response.text
        self.statuses.append(response.status_code)
        body: dict[str, Any] = response.json()
        return body if response.status_code == 200 else {}


@asynccontextmanager
async def stolen_leases(scene: Scene) -> AsyncIterator[None]:
    """Delete the collector's lease repeatedly, as if every clock were wrong."""
    stealing = asyncio.create_task(_steal(scene))
    try:
        yield
    finally:
        stealing.cancel()
        with suppress(asyncio.CancelledError):
            await stealing


async def _steal(scene: Scene) -> None:
    theft = "DELETE FROM leases WHERE name = 'janitor'"
    url = scene.given.get("DATABASE_URL", "")
    if url.startswith("postgresql"):
        connection = await asyncpg.connect(url)
        try:
            while True:
                await connection.execute(theft)
                await asyncio.sleep(THEFT_SECONDS)
        finally:
            await connection.close()
    with closing(sqlite3.connect(scene.folder / "data" / "imprint.db", timeout=0)) as database:
        while True:
            with suppress(sqlite3.OperationalError):
                database.execute(theft)
                database.commit()
            await asyncio.sleep(THEFT_SECONDS)


async def check_readable(scene: Scene, authors: list[Author]) -> None:
    """Check that every draft and every thumbnail in the records can be read."""
    replica = scene.replica()
    await replica.start()
    async with behind(scene, replica) as world:
        for author in authors:
            if not author.draft:
                continue
            wallet = replace(author.wallet, clock=world.clock)
            response = await world.read_draft(wallet, author.draft)
            assert response.status_code == 200, response.text
            thumbnail = (await world.metadata(author.draft))["thumbnail_cid"]
            if thumbnail:
                response = await world.client.get(f"/ipfs/{thumbnail}")
                assert response.status_code == 200, (thumbnail, response.text)


async def test_collectors_with_clocks_15_minutes_apart_destroy_no_live_documents(
    tmp_path: Path, records: None
):
    async with open_scene(tmp_path, **EAGER, WRITE_LEASE_SECONDS="7200") as scene:
        replicas = [scene.replica(ahead=ahead) for ahead in SKEWS]
        await asyncio.gather(*(replica.start() for replica in replicas))
        async with AsyncExitStack() as stack:
            worlds = [await stack.enter_async_context(behind(scene, each)) for each in replicas]
            authors = [
                Author(world, world.wallet(n), random.Random(n))
                for n in range(AUTHORS)
                for world in [worlds[n % len(worlds)]]
            ]
            await stack.enter_async_context(stolen_leases(scene))
            await asyncio.gather(*(author.work(STEPS) for author in authors))
        for replica in replicas:
            replica.process.stop()
            assert "was destroyed" not in replica.log, replica.process.tail()
        assert all(author.published for author in authors)
        await check_readable(scene, authors)
        destroyed = sum(replica.log.count("documents destroyed") for replica in replicas)
        assert destroyed > 0


async def test_a_paused_collector_does_not_destroy_documents_published_meanwhile(
    tmp_path: Path, records: None
):
    async with open_scene(tmp_path, **EAGER, WRITE_LEASE_SECONDS="7200") as scene:
        stopped, other = scene.replica(), scene.replica()
        await asyncio.gather(stopped.start(), other.start())
        async with behind(scene, other) as world, stolen_leases(scene):
            authors = [Author(world, world.wallet(n), random.Random(n)) for n in range(AUTHORS)]
            work = asyncio.gather(*(author.work(STEPS) for author in authors))
            while not work.done():
                # The replica may hold SQLite's lock while it is paused, so keep the pause short.
                stopped.process.freeze()
                await asyncio.wait([work], timeout=0.3)
                stopped.process.thaw()
                await asyncio.wait([work], timeout=0.1)
            await work
        for replica in (stopped, other):
            replica.process.stop()
            assert "was destroyed" not in replica.log, replica.process.tail()
        assert all(author.published for author in authors)
        await check_readable(scene, authors)
        assert "documents destroyed" in stopped.log + other.log
