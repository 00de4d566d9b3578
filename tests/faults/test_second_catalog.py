"""A second catalog on the same content, or a wrong folder, is refused and destroys nothing."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.documents import list_documents
from tests.faults.scene import LONG, Replica, Scene, open_scene
from tests.faults.test_restarts import until
from tests.migrated_catalog import put_migrated_catalog
from tests.postgresql import records_of

DRAFTS = 60 if LONG else 8

FAST = {"JANITOR_SECONDS": "1", "GRACE_HOURS": "0", "WRITE_LEASE_SECONDS": "5"}
"""Settings with which the collector destroys strays after a few seconds."""


def run_command(given: Mapping[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command with these settings, named without their prefix."""
    environ = {f"IMPRINT_{name}": text for name, text in given.items()}
    return subprocess.run(
        [sys.executable, "-m", "imprint", *words],
        env={"PATH": "/usr/bin:/bin", **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


async def other_records(folder: Path) -> str:
    """The URL of an empty catalog: on the database server of `records`, or a file."""
    path = folder / "other" / "imprint.db"
    put_migrated_catalog(path)
    address = (await records_of(folder / "other")).get("IMPRINT_DATABASE_URL")
    return address or f"sqlite:///{path}"


async def fill(scene: Scene) -> list[tuple[int, str]]:
    """Create drafts by several wallets, some with a thumbnail. Returns their wallets and cids."""
    made = []
    for number in range(DRAFTS):
        author = scene.world.wallet(number % 3)
        file = await scene.world.create(author, f"Number {number}. " * (1 if number % 4 else 9_000))
        if number % 2:
            await scene.world.publish(author, file["cid"])
        made.append((number % 3, file["cid"]))
    return made


async def expect_all(scene: Scene, files: list[tuple[int, str]]) -> None:
    for wallet, cid in files:
        response = await scene.world.read_draft(scene.world.wallet(wallet), cid)
        assert response.status_code == 200, response.text


async def expect_refused(replica: Replica, words: str) -> None:
    replica.process.spawn()
    assert await asyncio.to_thread(replica.process.wait, 60) == 2, replica.log
    assert "Imprint cannot start." in replica.log
    assert words in replica.log
    assert "imprint adopt" in replica.log


async def test_a_second_catalog_is_refused_until_it_adopts_the_documents(tmp_path: Path) -> None:
    async with open_scene(tmp_path, **FAST) as scene:
        first = scene.replica()
        await first.start()
        files = await fill(scene)
        documents = list_documents(tmp_path / "data" / "content")
        assert len(documents) >= DRAFTS
        staging = scene.replica(DATABASE_URL=await other_records(tmp_path), WORKERS="2")
        for _ in range(2):
            await expect_refused(staging, "The content store belongs to the installation")
        assert list_documents(tmp_path / "data" / "content") == documents
        await expect_all(scene, files)
        assert first.process.stop() == 0
        # The refused replica has claimed nothing, so the first replica starts again.
        await first.start()
        await expect_all(scene, files)
        assert first.process.stop() == 0
        adopted = await asyncio.to_thread(run_command, staging.given, "adopt", "--yes")
        assert adopted.returncode == 0, adopted.stderr
        assert "0 of them known here" in adopted.stdout
        quiet = scene.replica(DATABASE_URL=staging.given["DATABASE_URL"], JANITOR_SECONDS="0")
        await quiet.start()
        await expect_refused(first, "The content store belongs to the installation")
        assert list_documents(tmp_path / "data" / "content") == documents


async def test_a_service_stops_storing_and_destroying_once_another_adopts_its_store(
    tmp_path: Path,
) -> None:
    async with open_scene(tmp_path, **FAST) as scene:
        first = scene.replica()
        await first.start()
        files = await fill(scene)
        thief = {**first.given, "DATABASE_URL": await other_records(tmp_path)}
        adopted = await asyncio.to_thread(run_command, thief, "adopt", "--yes")
        assert adopted.returncode == 0, adopted.stderr
        await first.wait_for(503)
        documents = list_documents(tmp_path / "data" / "content")
        author, cid = scene.world.wallet(files[0][0]), files[0][1]
        assert (await scene.world.send_create(author, "Too late.")).status_code == 503
        assert (await scene.world.send_delete(author, cid)).status_code == 200
        await expect_all(scene, files[1:])
        # Wait for two rounds of the collector, whose grace period is over.
        while first.log.count("nothing is destroyed in a content store") < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        assert list_documents(tmp_path / "data" / "content") == documents
        back = await asyncio.to_thread(run_command, first.given, "adopt", "--yes")
        assert back.returncode == 0, back.stderr
        await first.wait_for(200)
        assert (await scene.world.send_create(author, "In time.")).status_code == 200


async def test_a_lost_catalog_is_not_replaced_by_an_empty_one(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        first = scene.replica(WORKERS="2")
        await first.start()
        files = await fill(scene)
        saved = tmp_path / "saved.tar"
        backup = await asyncio.to_thread(run_command, first.given, "backup", "--out", str(saved))
        assert backup.returncode == 0, backup.stderr
        assert first.process.stop() == 0
        catalog = tmp_path / "data" / "imprint.db"
        catalog.unlink()
        for _ in range(2):
            # Start the service again, as a service manager would.
            first.process.spawn()
            assert await asyncio.to_thread(first.process.wait, 60) == 2, first.log
            assert "run `imprint repair --backup` with your last backup" in first.log
            assert not catalog.exists()
        repair = await asyncio.to_thread(run_command, first.given, "repair", "--backup", str(saved))
        assert f"{DRAFTS} came from the backup" in repair.stdout, repair.stdout
        await first.start()
        await expect_all(scene, files)


async def test_several_replicas_can_start_on_a_new_folder_at_the_same_time(
    tmp_path: Path, records: None
) -> None:
    async with open_scene(tmp_path) as scene:
        replicas = [scene.replica(WORKERS="2") for _ in range(3 if LONG else 2)]
        await asyncio.gather(*(each.start() for each in replicas))
        marker = (tmp_path / "data" / "content" / "installation").read_text().strip()
        await fill(scene)
        # Each worker logs the marker, but a replica is ready as soon as its first worker is.
        await until(lambda: all(replica.log.count(marker) == 2 for replica in replicas))


async def test_an_emptied_or_wrong_folder_is_refused(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as scene:
        first = scene.replica()
        await first.start()
        files = await fill(scene)
        assert first.process.stop() == 0
        content = tmp_path / "data" / "content"
        content.rename(tmp_path / "unmounted")
        await expect_refused(first, "Is a disk not mounted")
        # Nothing was stored there, so the disk can be mounted again.
        assert list_documents(content) == set()
        shutil.rmtree(content)
        (tmp_path / "unmounted").rename(content)
        await first.start()
        await expect_all(scene, files)
