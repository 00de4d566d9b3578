"""The index of posts while processes stop and go on, and while its pages are damaged."""

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.adapters.catalog.test_index_writer import read_tables
from tests.faults.broken_files import pages_of, settle, zero_page
from tests.faults.scene import TIMEOUT, Scene, open_scene

from imprint.adapters.catalog.catalog import CatalogBase
from imprint.bootstrap import build_indexer, open_adapters
from imprint.services.indexer import take_index


async def fill(scene: Scene, first: int, count: int) -> None:
    """Posts that are bought."""
    world = scene.world
    for number in range(first, first + count):
        file = await world.create(world.wallet(0), f"Words {number}.")
        world.create_post(world.wallet(0), file["cid"])
        world.buy(world.wallet(1), number)


async def wait_for_posts(scene: Scene, url: str, count: int) -> None:
    """Wait until the index of a replica has so many posts."""
    deadline, posts = time.monotonic() + TIMEOUT, -1
    while time.monotonic() < deadline:
        response = await scene.world.client.get(f"{url}/stats")
        posts = response.json().get("posts", -1) if response.status_code == 200 else -1
        if posts == count:
            return
        await asyncio.sleep(0.1)
    raise TimeoutError(f"{posts} posts")


async def tables(scene: Scene, *, rebuilt: bool = False) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of the index, also after it was built anew."""
    adapters = open_adapters(scene.world.settings)
    try:
        catalog = adapters.catalog
        assert isinstance(catalog, CatalogBase)
        if rebuilt:
            async with take_index(catalog, lambda _: None) as lease:
                indexer = build_indexer(scene.world.settings, adapters)
                await indexer.rebuild(lease, lambda done, total: None)
        return await read_tables(catalog)
    finally:
        await adapters.close()


async def test_a_replica_that_was_frozen_while_another_indexed_applies_nothing_twice(
    tmp_path: Path, records: None
):
    async with open_scene(tmp_path, CHAIN_FOLLOW_SECONDS="1") as scene:
        one, other = scene.replica(), scene.replica()
        await one.start()
        await fill(scene, 1, 5)
        await wait_for_posts(scene, one.url, 5)
        await other.start()
        scene.world.client.base_url = other.url
        one.process.freeze()
        await fill(scene, 6, 5)
        await wait_for_posts(scene, other.url, 10)
        one.process.thaw()
        await fill(scene, 11, 5)
        await wait_for_posts(scene, one.url, 15)
        for replica in (one, other):
            replica.process.stop()
        followed = await tables(scene)
        assert len(followed["purchases"]) == 15
        assert await tables(scene, rebuilt=True) == followed


async def test_damage_in_the_index_is_503_there_and_files_go_on(tmp_path: Path):
    async with open_scene(tmp_path, CHAIN_FOLLOW_SECONDS="1") as scene:
        replica = scene.replica()
        await replica.start()
        await fill(scene, 1, 3)
        await wait_for_posts(scene, replica.url, 3)
        replica.process.stop()
        path = tmp_path / "data" / "imprint.db"
        settle(path)
        zero_page(path, pages_of(path, "posts")[0])
        await replica.start("/healthz")
        client = scene.world.client
        assert (await client.get("/posts")).status_code == 503
        assert (await client.get("/readyz")).json()["checks"]["records"] == "damaged"
        for number in range(5):
            # A step of the index that fails does not take them along.
            file = await scene.world.create(scene.world.wallet(0), f"More words {number}.")
            await scene.world.metadata(file["cid"])
        missing = "bafkreieq5jui4j25lacwomsqgjeswwl3y5zcdrresptwgmfylxo2depppq"
        response = await client.get("/filesMetaData", params={"cid": missing})
        assert response.status_code == 404
        assert "The index of posts is damaged" in replica.log
        replica.process.stop()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM files").fetchone() == (8,)
