"""The post index in SQLite: damaged pages, a full disk, and a restored file."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.cli.installations import run
from tests.faults.broken_files import pages_of, settle, zero_page
from tests.faults.disks import fill as fill_disk
from tests.faults.disks import small_disk
from tests.faults.scene import open_scene
from tests.faults.test_index import fill, interrupt_step, tables, wait_for_log, wait_for_posts

from imprint.settings import read_settings


async def test_damage_in_the_index_causes_503_but_files_are_still_served(tmp_path: Path):
    async with open_scene(tmp_path, CHAIN_FOLLOW_SECONDS="0.2") as scene:
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
            # Files can be created and read although every step of the index fails.
            file = await scene.world.create(scene.world.wallet(0), f"More words {number}.")
            await scene.world.metadata(file["cid"])
        missing = "bafkreieq5jui4j25lacwomsqgjeswwl3y5zcdrresptwgmfylxo2depppq"
        response = await client.get("/filesMetaData", params={"cid": missing})
        assert response.status_code == 404
        await wait_for_log(replica, "The index of posts is damaged")
        replica.process.stop()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM files").fetchone() == (8,)


async def test_a_full_disk_stops_indexing_but_not_reads(tmp_path: Path):
    with small_disk(tmp_path / "disk", 16) as disk:
        given = {"DATA_DIR": str(disk / "data"), "MIN_FREE_DISK_BYTES": "0"}
        async with open_scene(tmp_path, CHAIN_FOLLOW_SECONDS="0.2", **given) as scene:
            replica, client = scene.replica(), scene.world.client
            await replica.start()
            await fill(scene, 1, 5)
            await wait_for_posts(scene, replica.url, 5)
            await interrupt_step(scene, lambda: fill_disk(disk))
            await wait_for_log(replica, "chore=indexer code=database_unavailable")
            for path in ("/posts", "/posts/5", "/stats", "/posts?q=title", "/filesMetaData"):
                response = await client.get(path)
                assert response.status_code == 200, response.text
            assert (await client.get("/stats")).json()["posts"] == 5
            (disk / "others").unlink()
            await wait_for_posts(scene, replica.url, 6)
            replica.process.kill()
            followed = await tables(scene)
            assert await tables(scene, rebuilt=True) == followed


async def test_a_restored_index_is_correct_after_catching_up(tmp_path: Path):
    async with open_scene(tmp_path, CHAIN_FOLLOW_SECONDS="0.2") as scene:
        replica, world = scene.replica(), scene.world
        await replica.start()
        await fill(scene, 1, 3)
        await wait_for_posts(scene, replica.url, 3)
        kept = world.chain.snapshot()
        await fill(scene, 4, 2)
        await wait_for_posts(scene, replica.url, 5)
        assert replica.process.stop() == 0
        saved, new = tmp_path / "saved", tmp_path / "new"
        environ = {f"IMPRINT_{name}": text for name, text in scene.given.items()}
        for arguments in (("backup", "--out", saved), ("restore", saved, "--to", new)):
            done = await asyncio.to_thread(run, environ, *arguments)
            assert done.exit_code == 0, done.output
        # Since the backup, two posts are gone, and another was published and bought.
        assert world.chain.restore(kept)
        world.create_post(world.wallet(2), "unknown")
        world.buy(world.wallet(3), 4)
        restored = scene.replica(DATA_DIR=str(new))
        await restored.start()
        world.client.base_url = restored.url
        await wait_for_posts(scene, restored.url, 4)
        restored.process.kill()
        world.settings = read_settings({**environ, "IMPRINT_DATA_DIR": str(new)})
        followed = await tables(scene)
        assert [row[2] for row in followed["posts"]].count(world.wallet(2).address.lower()) == 1
        assert len(followed["purchases"]) == 4
        assert await tables(scene, rebuilt=True) == followed
