"""A process killed at any point while indexing leaves an index that the next one completes."""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.stores.posts.test_index_writer import read_tables
from tests.crash.fork_server import ForkServer
from tests.crash.victim import TIMEOUT, Scene, open_scene
from tests.postgresql import records_of
from tests.processes import Process
from tests.world import World, open_world

from imprint import failpoints
from imprint.adapters.database.transaction import Transaction
from imprint.bootstrap import build_indexer
from imprint.bootstrap.stores import Stores

POSTS = 6
LOGS_AT_ONCE = 8
"""Maximum number of logs per response of the node, so that indexing takes several steps."""

INDEXING = ("during_restart", "during_step", "during_step:2", "after_step")
"""The failpoints reached while indexing."""

COMMAND = """
import sys
from imprint import failpoints
from imprint.cli import main

failpoints.arm(sys.argv.pop(1))
main()
"""
"""Runs `imprint` and crashes at the failpoint given as the first argument."""


def send_few_logs(said: bytes) -> bytes:
    """Replace large results with the error of a node that limits the number of logs."""
    body = json.loads(said)
    for each in body if isinstance(body, list) else [body]:
        found = each.get("result")
        if isinstance(found, list) and len(found) > LOGS_AT_ONCE:
            del each["result"]
            each["error"] = {"code": -32005, "message": "query returned too many results"}
    return json.dumps(body).encode()


async def prepare(folder: Path) -> None:
    """Create a chain with posts, purchases, transfers and price changes, none indexed yet."""
    async with open_world(folder) as world:
        author, readers = world.wallet(0), [world.wallet(1), world.wallet(2)]
        for number in range(POSTS):
            file = await world.create(author, f"Words {number}.")
            world.create_post(author, file["cid"])
            world.buy(readers[number % 2], number + 1)
            if number % 3 == 0:
                world.transfer(readers[number % 2], readers[(number + 1) % 2], number + 1)
                world.set_price(author, number + 1, number)


async def database_of(folder: Path) -> dict[str, str]:
    """Return the database settings of the world in this folder."""
    return {
        name.removeprefix("IMPRINT_"): text for name, text in (await records_of(folder)).items()
    }


async def free_leases(stores: Stores) -> None:
    """Expire the leases of the killed process without waiting."""

    async def free(tx: Transaction) -> None:
        await tx.execute("DELETE FROM leases")

    await stores.database.transact((), free)


async def texts_of(stores: Stores) -> set[int]:
    """Return the posts whose texts were read or are pending.

    A paid post without a document is left out. It may be pending for a while if a reorg gave it the
    id of another post, and is then skipped.
    """

    async def read(tx: Transaction) -> set[int]:
        texts = (
            "SELECT place FROM post_texts "
            "UNION SELECT p.place FROM posts p JOIN text_facts t ON t.cid = p.cid "
            "UNION SELECT w.place FROM pending_texts w LEFT JOIN posts p ON p.place = w.place "
            "WHERE p.place IS NULL OR p.price = :free OR EXISTS (SELECT 1 FROM files f "
            "WHERE f.post_id = p.post_id AND f.cid = p.cid AND f.state = 'onchain')"
        )
        return {row["place"] for row in await tx.fetchall(texts, free=bytes(32))}

    return await stores.database.read(read)


async def compared(stores: Stores) -> dict[str, Any]:
    """Return the index content, treating indexed and pending texts as equivalent."""
    return {**await read_tables(stores), "pending_texts": await texts_of(stores)}


async def expect_complete(world: World) -> None:
    """Continue indexing and compare the result with a fresh build."""
    stores = world.adapters.stores
    await free_leases(stores)
    indexer = build_indexer(world.settings, world.adapters)
    assert await indexer.index_once()
    followed = await compared(stores)
    assert len(followed["posts"]) == len(followed["purchases"]) == POSTS
    await world.adapters.stores.index_writer.restart_index(indexer.source)
    assert await indexer.index_once()
    assert await compared(stores) == followed


async def blocks_indexed(folder: Path) -> tuple[bool, bool]:
    """Return whether the index has blocks and whether it is complete."""
    async with open_world(folder) as world:
        stores = world.adapters.stores
        await free_leases(stores)
        state = await world.adapters.stores.index_writer.index_state()
        return (False, False) if state is None else (state.block is not None, state.complete)


@pytest.mark.rotates
@pytest.mark.parametrize("at", INDEXING)
async def test_no_block_is_applied_twice_after_a_kill_while_indexing(
    tmp_path: Path, fork_server: ForkServer, records: None, at: str
):
    await prepare(tmp_path)
    given = {"CHAIN_FOLLOW_SECONDS": "0.2", **await database_of(tmp_path)}
    async with open_scene(tmp_path, fork_server, at, **given) as scene:
        scene.world.node.fault = send_few_logs
        scene.victim.process.spawn()
        assert await scene.victim.end() == failpoints.KILLED
    # A step is applied as a whole or not at all.
    assert await blocks_indexed(tmp_path) == (at in ("during_step:2", "after_step"), False)
    async with open_world(tmp_path) as world:
        await expect_complete(world)


def start_rebuild(scene: Scene, at: str) -> Process:
    """Run `imprint reconcile` until it crashes at a failpoint."""
    given = {"DATA_DIR": str(scene.victim.folder), **scene.victim.given}
    environ = {f"IMPRINT_{name}": text for name, text in given.items()}
    command = [sys.executable, "-c", COMMAND, at, "reconcile", "--from-block", "0"]
    process = Process(command, scene.victim.folder / "reconcile.log", environ)
    process.spawn()
    return process


async def wait_for_posts(scene: Scene) -> None:
    """Wait until the index is complete."""
    deadline = time.monotonic() + TIMEOUT
    while (await scene.world.client.get("/stats")).json().get("posts") != POSTS:
        assert time.monotonic() < deadline, scene.victim.process.tail()
        await asyncio.sleep(0.05)


async def test_a_service_completes_an_index_rebuild_that_was_killed(
    tmp_path: Path, fork_server: ForkServer, records: None
):
    await prepare(tmp_path)
    async with open_world(tmp_path) as world:
        assert await build_indexer(world.settings, world.adapters).index_once()
    assert await blocks_indexed(tmp_path) == (True, True)
    given = {"CHAIN_FOLLOW_SECONDS": "0.2", **await database_of(tmp_path)}
    async with open_scene(tmp_path, fork_server, **given) as scene:
        scene.world.node.fault = send_few_logs
        killed = start_rebuild(scene, "during_step:2")
        assert await asyncio.to_thread(killed.wait, TIMEOUT) == failpoints.KILLED, killed.tail()
    assert await blocks_indexed(tmp_path) == (True, False)
    async with open_scene(tmp_path, fork_server, **given) as scene:
        await scene.victim.start(scene.world.client)
        await wait_for_posts(scene)
        scene.victim.process.kill()
    assert await blocks_indexed(tmp_path) == (True, True)
    async with open_world(tmp_path) as world:
        await expect_complete(world)
