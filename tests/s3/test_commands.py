"""Commands, and services without a local disk, with documents in a bucket."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.faults.scene import Scene, open_scene
from tests.faults.test_backups import end_leases
from tests.postgresql import Server, keeping_records_on, records_of
from tests.s3.conftest import access_to
from tests.s3.server import MinioServer, run_command
from tests.world import picture

from imprint.adapters.content.bucket import open_objects

NOWHERE = "/proc/imprint-has-no-disk"
"""A folder that cannot be created."""


async def command(given: Mapping[str, str], *words: str) -> str:
    """Run a command, which must exit with 0, and return its output."""
    done = await asyncio.to_thread(run_command, given, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


async def test_replicas_share_nothing_on_disk(
    tmp_path: Path, server: MinioServer, postgresql: Server
) -> None:
    given = {**server.settings(server.make_bucket()), "DATA_DIR": NOWHERE}
    given |= {"JANITOR_SECONDS": "1", "GRACE_HOURS": "0"}
    with keeping_records_on(postgresql):
        address = (await records_of(tmp_path))["IMPRINT_DATABASE_URL"]
    async with open_scene(tmp_path, **given, DATABASE_URL=address) as scene:
        first, second = scene.replica(WORKERS="2"), scene.replica()
        await asyncio.gather(first.start(), second.start())
        world, author = scene.world, scene.world.wallet(0)
        files = [await world.create(author, f"Words {number}.") for number in range(5)]
        image = picture()
        await world.send_publish(author, files[0]["cid"], image=image)
        first.process.kill()
        world.client.base_url = second.url
        for number, file in enumerate(files):
            response = await world.read_draft(author, file["cid"])
            assert response.json()["content"] == f"Words {number}."
        # The same picture is stored again by the other replica.
        again = await world.send_publish(author, files[1]["cid"], image=image)
        assert (await world.send_delete(author, files[0]["cid"])).status_code == 200
        thumbnail = again.json()["thumbnailCid"]
        assert (await world.client.get(f"/ipfs/{thumbnail}")).status_code == 200
        assert "cannot be created" not in second.log
        report = await command(scene.given, "gc", "--dry-run", "--json")
        assert json.loads(report)["strays"] is not None
        checked = await asyncio.to_thread(run_command, scene.given, "check", "--write")
        assert "Documents can be stored and read" in checked.stdout
        assert "cannot be created" not in checked.stdout + checked.stderr


async def test_documents_move_to_a_bucket_and_back(tmp_path: Path, server: MinioServer) -> None:
    bucket = server.make_bucket()
    there = server.settings(bucket)
    async with open_scene(tmp_path) as scene:
        world, author = scene.world, scene.world.wallet(0)
        replica = scene.replica()
        await replica.start()
        files = [await world.create(author, f"Words {number}.") for number in range(12)]
        thumbnail = await world.publish(author, files[0]["cid"])
        keys = {name: text for name, text in there.items() if name != "CONTENT_STORE"}
        said = await command(
            {**scene.given, **keys}, "migrate-content", "--to", there["CONTENT_STORE"]
        )
        assert "13 documents were copied; the other store now has all 13." in said
        assert replica.process.stop() == 0
        again = await command(
            {**scene.given, **keys}, "migrate-content", "--to", there["CONTENT_STORE"]
        )
        assert "0 documents were copied; the other store now has all 13." in again
        moved = scene.replica(**there)
        await moved.start()
        world.client.base_url = moved.url
        await expect_all(scene, files, thumbnail)
        files.append(await world.create(author, f"Words {len(files)}."))
        new = tmp_path / "new"
        in_bucket = {**scene.given, **there}
        said = await command(in_bucket, "migrate-content", "--to", f"embedded:{new}")
        assert "14 documents were copied; the other store now has all 14." in said
        assert moved.process.stop() == 0
        (tmp_path / "data" / "imprint.db").rename(new / "imprint.db")
        back = scene.replica(DATA_DIR=str(new))
        await back.start()
        world.client.base_url = back.url
        await expect_all(scene, files, thumbnail)


async def expect_all(scene: Scene, files: list[dict[str, str]], thumbnail: str) -> None:
    world = scene.world
    for number, file in enumerate(files):
        response = await world.read_draft(world.wallet(0), file["cid"])
        assert response.status_code == 200, response.text
        assert response.json()["content"] == f"Words {number}."
    assert (await world.client.get(f"/ipfs/{thumbnail}")).status_code == 200


async def test_a_backup_contains_the_documents_in_the_bucket(
    tmp_path: Path, server: MinioServer
) -> None:
    bucket = server.make_bucket()
    there = server.settings(bucket)
    async with open_scene(tmp_path, **there) as scene:
        world, author = scene.world, scene.world.wallet(0)
        replica = scene.replica()
        await replica.start()
        files = [await world.create(author, f"Words {number}.") for number in range(6)]
        thumbnail = await world.publish(author, files[0]["cid"])
        saved, restored = tmp_path / "saved.tar", tmp_path / "restored"
        await command(scene.given, "backup", "--out", str(saved))
        report = await asyncio.to_thread(run_command, scene.given, "check", "--deep", "--write")
        for line in ("6 records and their documents are", "Documents can be stored and read"):
            assert line in report.stdout
        replica.process.kill()
        objects = open_objects(access_to(server, bucket))
        objects.delete(f"private/{files[1]['cid']}/0")
        mended = await asyncio.to_thread(run_command, scene.given, "repair", "--backup", str(saved))
        assert mended.returncode == 0, mended.stdout + mended.stderr
        assert bytes(objects.get(f"private/{files[1]['cid']}/0").bytes())
        await command({}, "restore", str(saved), "--to", str(restored))
        back = scene.replica(CONTENT_STORE="embedded", DATA_DIR=str(restored))
        await back.start()
        world.client.base_url = back.url
        await expect_all(scene, files, thumbnail)
        back.process.stop()
        # The restored data is another installation, so it gets its own prefix.
        refused = await asyncio.to_thread(
            run_command,
            {**scene.given, "CONTENT_STORE": "embedded", "DATA_DIR": str(restored)},
            "migrate-content",
            "--to",
            there["CONTENT_STORE"],
        )
        assert refused.returncode != 0
        assert "belongs to the installation" in refused.stderr
        other = there["CONTENT_STORE"] + "-2"
        own = {**scene.given, "CONTENT_STORE": "embedded", "DATA_DIR": str(restored)}
        # The copy was made while the backup held the lease of the garbage collector.
        end_leases(restored)
        await command(own, "migrate-content", "--to", other)
        moved = scene.replica(CONTENT_STORE=other, DATA_DIR=str(restored))
        await moved.start()
        world.client.base_url = moved.url
        await expect_all(scene, files, thumbnail)


@pytest.mark.parametrize("in_bucket", [True, False], ids=["bucket", "files"])
async def test_a_postgresql_backup_is_restored_to_a_folder_and_back(
    tmp_path: Path, server: MinioServer, postgresql: Server, in_bucket: bool
) -> None:
    there = server.settings(server.make_bucket())
    with keeping_records_on(postgresql):
        address = (await records_of(tmp_path))["IMPRINT_DATABASE_URL"]
    given = {**there, "DATABASE_URL": address} if in_bucket else {"DATABASE_URL": address}
    async with open_scene(tmp_path, **given) as scene:
        world, author = scene.world, scene.world.wallet(0)
        running = scene.replica()
        await running.start()
        files = [await world.create(author, f"Words {number}.") for number in range(6)]
        thumbnail = await world.publish(author, files[0]["cid"])
        saved, restored = tmp_path / "saved.tar", tmp_path / "restored"
        said = await command(scene.given, "backup", "--out", str(saved), "--json")
        assert json.loads(said)["documents"]["private"] == 6
        await world.create(author, "Words after the backup.")
        running.process.kill()
        await command({}, "restore", str(saved), "--to", str(restored))
        folder = {
            **scene.given,
            "CONTENT_STORE": "embedded",
            "DATA_DIR": str(restored),
            "DATABASE_URL": f"sqlite:///{restored / 'imprint.db'}",
        }
        back = scene.replica(**folder)
        await back.start()
        world.client.base_url = back.url
        await expect_all(scene, files, thumbnail)
        assert back.process.stop() == 0
        # Move the data back to a server and a bucket, where it gets its own prefix.
        await postgresql.execute("DROP DATABASE IF EXISTS restored WITH (FORCE)")
        target = await postgresql.create_database("restored")
        prefix = there["CONTENT_STORE"] + "-restored"
        keys = {name: text for name, text in there.items() if name != "CONTENT_STORE"}
        await command({**folder, **keys}, "migrate-content", "--to", prefix)
        await command({}, "migrate-catalog", "--from", folder["DATABASE_URL"], "--to", target)
        moved = scene.replica(**keys, CONTENT_STORE=prefix, DATABASE_URL=target, DATA_DIR=NOWHERE)
        await moved.start()
        world.client.base_url = moved.url
        await expect_all(scene, files, thumbnail)
