"""A process that ends anywhere while it fills the index leaves one that the next one completes."""

from pathlib import Path

import pytest
from tests.adapters.catalog.test_index_writer import read_tables
from tests.crash.fork_server import ForkServer
from tests.crash.victim import open_scene
from tests.world import World, open_world

from imprint import failpoints
from imprint.adapters.catalog.catalog import CatalogBase
from imprint.adapters.catalog.transaction import Transaction
from imprint.bootstrap import build_indexer

POSTS = 12
COMMITS = (4, 7, 11)
"""Among the first commits of a service are those of the follower and of leases too."""


async def prepare(folder: Path) -> None:
    """A chain with posts, purchases, transfers and prices that no index knows."""
    async with open_world(folder) as world:
        author, readers = world.wallet(0), [world.wallet(1), world.wallet(2)]
        for number in range(POSTS):
            file = await world.create(author, f"Words {number}.")
            world.create_post(author, file["cid"])
            world.buy(readers[number % 2], number + 1)
            if number % 3 == 0:
                world.transfer(readers[number % 2], readers[(number + 1) % 2], number + 1)
                world.set_price(author, number + 1, number)


async def free_leases(catalog: CatalogBase) -> None:
    """What the process held expires after some seconds; this does not wait for it."""

    async def free(tx: Transaction) -> None:
        await tx.execute("DELETE FROM leases")

    await catalog.transact((), free)


async def expect_complete(world: World) -> None:
    """Index on from what is there, and compare that with a fresh build."""
    catalog = world.adapters.catalog
    assert isinstance(catalog, CatalogBase)
    await free_leases(catalog)
    indexer = build_indexer(world.settings, world.adapters)
    assert await indexer.index_once()
    followed = await read_tables(catalog)
    assert len(followed["posts"]) == len(followed["purchases"]) == POSTS
    await world.adapters.index_writer.restart_index(indexer.source)
    assert await indexer.index_once()
    assert await read_tables(catalog) == followed


@pytest.mark.parametrize("commit", COMMITS)
async def test_a_process_that_ends_while_it_indexes_leaves_nothing_twice(
    tmp_path: Path, fork_server: ForkServer, commit: int
):
    await prepare(tmp_path)
    at = f"during_commit:{commit}"
    async with open_scene(tmp_path, fork_server, at, CHAIN_FOLLOW_SECONDS="1") as scene:
        scene.victim.process.spawn()
        assert await scene.victim.end() == failpoints.KILLED
    async with open_world(tmp_path) as world:
        await expect_complete(world)
