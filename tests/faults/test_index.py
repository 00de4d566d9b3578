"""The post index while processes pause and resume, and while the database is unavailable."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.crash.test_index import compared, free_leases
from tests.faults.scene import TIMEOUT, Replica, Scene, open_scene
from tests.postgresql import Server
from tests.world import DEFAULT_PRICE

from imprint.bootstrap import build_indexer, open_adapters
from imprint.services.posts.indexer import take_index

MARK = "In the middle of a step."
"""A post's description, which only the indexing process requests, after reading the logs."""

PAUSE = 0.2
"""Seconds in which a process waiting for its node finishes its database work."""


async def fill(scene: Scene, first: int, count: int) -> None:
    """Create posts and buy each of them."""
    world = scene.world
    for number in range(first, first + count):
        file = await world.create(world.wallet(0), f"Words {number}.")
        world.create_post(world.wallet(0), file["cid"])
        world.buy(world.wallet(1), number)


async def wait_for_posts(scene: Scene, url: str, count: int) -> None:
    """Wait until the index of a replica has `count` posts."""
    deadline, posts = time.monotonic() + TIMEOUT, -1
    while time.monotonic() < deadline:
        response = await scene.world.client.get(f"{url}/stats")
        posts = response.json().get("posts", -1) if response.status_code == 200 else -1
        if posts == count:
            return
        await asyncio.sleep(0.1)
    raise TimeoutError(f"{posts} posts")


async def wait_for_log(replica: Replica, *texts: str) -> None:
    """Wait until a replica has logged one of these messages."""
    deadline = time.monotonic() + TIMEOUT
    while not any(text in replica.log for text in texts):
        assert time.monotonic() < deadline, replica.process.tail()
        await asyncio.sleep(0.05)


async def tables(scene: Scene, *, rebuilt: bool = False) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of the index, optionally after rebuilding it."""
    adapters = open_adapters(scene.world.settings)
    try:
        stores = adapters.stores
        if rebuilt:
            await free_leases(stores)
            async with take_index(stores.leases, lambda _: None) as lease:
                indexer = build_indexer(scene.world.settings, adapters)
                await indexer.rebuild(lease, lambda done, total: None)
        return await compared(stores)
    finally:
        await adapters.close()


async def end_leases(scene: Scene) -> None:
    """Expire the leases as if their holders had been gone for some seconds."""
    adapters = open_adapters(scene.world.settings)
    try:
        await free_leases(adapters.stores)
    finally:
        await adapters.close()


async def interrupt_step(scene: Scene, interrupt: Callable[[], object]) -> None:
    """Publish the sixth post and interrupt when the indexer has requested its description."""
    happened = asyncio.Event()

    def look(said: bytes) -> bytes:
        if MARK.encode().hex().encode() in said and not happened.is_set():
            happened.set()
            interrupt()
        return said

    scene.world.node.fault = look
    post = ("unknown", "A title", "bafkreithumbnail", MARK, DEFAULT_PRICE, [])
    scene.world.create_post_with(scene.world.wallet(0), post)
    async with asyncio.timeout(TIMEOUT):
        await happened.wait()


def freeze_without_locks(scene: Scene, replica: Replica) -> None:
    """Freeze a replica at a moment when it holds no locks."""
    path = scene.world.settings.storage.data_dir / "imprint.db"
    while True:
        time.sleep(PAUSE)
        replica.process.freeze()
        if not path.exists():
            return
        try:
            with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
                return
        except sqlite3.OperationalError:
            replica.process.thaw()


async def test_a_frozen_replica_does_not_apply_a_step_twice(tmp_path: Path, records: None):
    given = {"CHAIN_FOLLOW_SECONDS": "0.2", "CHAIN_TIMEOUT_SECONDS": "60"}
    async with open_scene(tmp_path, **given) as scene:
        one, other = scene.replica(), scene.replica()
        await one.start()
        await fill(scene, 1, 5)
        await wait_for_posts(scene, one.url, 5)
        await interrupt_step(scene, lambda: freeze_without_locks(scene, one))
        await end_leases(scene)
        await other.start()
        scene.world.client.base_url = other.url
        await wait_for_posts(scene, other.url, 6)
        one.process.thaw()
        # A step that was frozen for long has lost its request to the node, and is abandoned.
        await wait_for_log(one, "another process changed the index", "chain node failed")
        await fill(scene, 7, 3)
        await wait_for_posts(scene, one.url, 9)
        for replica in (one, other):
            replica.process.kill()
        followed = await tables(scene)
        assert len(followed["purchases"]) == 8
        assert await tables(scene, rebuilt=True) == followed


async def test_a_step_is_repeated_after_the_database_is_available_again(
    tmp_path: Path, own_server: Server
):
    async with open_scene(tmp_path, CHAIN_FOLLOW_SECONDS="0.2") as scene:
        replica = scene.replica()
        await replica.start()
        await fill(scene, 1, 5)
        await wait_for_posts(scene, replica.url, 5)
        await interrupt_step(scene, own_server.kill)
        assert (await scene.world.client.get("/posts")).status_code == 503
        await asyncio.to_thread(own_server.start)
        await wait_for_posts(scene, replica.url, 6)
        await fill(scene, 7, 1)
        await wait_for_posts(scene, replica.url, 7)
        replica.process.kill()
        followed = await tables(scene)
        assert len(followed["purchases"]) == 6
        assert await tables(scene, rebuilt=True) == followed
