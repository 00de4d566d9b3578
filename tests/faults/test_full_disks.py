"""Full disks: a service that restarts serves reads, readiness reflects writes, and freeing space
helps."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.faults.disks import fill, fill_with_files, small_disk
from tests.faults.scene import Replica, Scene, open_scene
from tests.postgresql import Server, keeping_records_on
from tests.world import problem

REFUSALS = 20
"""Number of refused writes on a full disk. Readiness is checked after each."""

MOST_WRITES = 500
"""Number of writes, at least one of which must fail: some rows may fit existing pages."""

PAUSE = 2.5
"""Seconds without writes, during which readiness relies on its probes."""

REFUSED = {(503, "storage_unavailable"), (503, "database_unavailable")}


async def wait_until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


async def expect_reads(scene: Scene, file: dict[str, Any], session: dict[str, str]) -> None:
    """Check that the draft still exists with its content."""
    client, params = scene.world.client, {"cid": file["cid"]}
    read = await client.get("/fileByCid", params=params, headers=session)
    assert (read.status_code, read.json().get("content")) == (200, "Kept words.")
    assert (await scene.world.metadata(file["cid"]))["cid"] == file["cid"]


async def wait_for_status(scene: Scene, status: str) -> None:
    """Wait until the service reports this status, while it stays able to serve reads."""
    deadline = time.monotonic() + 60
    while (said := await scene.world.client.get("/readyz")).json()["status"] != status:
        assert said.status_code == 200, said.text
        assert time.monotonic() < deadline, said.text
        await asyncio.sleep(0.05)


async def expect_no_writes(scene: Scene) -> None:
    """Check that a write is refused with an error that allows a retry."""
    assert problem(await scene.world.send_create(scene.world.wallet(0), "x" * 30_000)) in REFUSED


@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_reads_are_served_after_a_restart_on_a_full_disk(tmp_path: Path, end: str):
    with small_disk(tmp_path / "disk", 16) as disk:
        given = {"DATA_DIR": str(disk / "data"), "MIN_FREE_DISK_BYTES": "0"}
        async with open_scene(tmp_path, **given) as scene:
            replica = scene.replica()
            await replica.start()
            author = scene.world.wallet(0)
            file = await scene.world.create(author, "Kept words.")
            session = await scene.world.login(author)
            await wait_until((disk / "data" / "content" / "reserve").exists)
            if end == "stop":
                assert replica.process.stop() == 0
            else:
                replica.process.kill()
            others = fill(disk)

            await replica.start("/healthz")
            fill(disk)
            await expect_reads(scene, file, session)
            await expect_no_writes(scene)
            await wait_for_status(scene, "degraded")
            await expect_reads(scene, file, session)

            others.unlink()
            await wait_for_status(scene, "ready")
            assert (await scene.world.send_create(author)).status_code == 200
            reserves = [disk / "data" / "reserve", disk / "data" / "content" / "reserve"]
            await wait_until(lambda: all(each.stat().st_size >= 2**20 for each in reserves))


@pytest.mark.parametrize("lack", ["space", "files"])
async def test_a_start_without_a_disk_reserve_waits_for_space(tmp_path: Path, lack: str):
    with small_disk(tmp_path / "disk", 16, files=200) as disk:
        given = {"DATA_DIR": str(disk / "data"), "MIN_FREE_DISK_BYTES": "0"}
        async with open_scene(tmp_path, **given) as scene:
            replica = scene.replica()
            await replica.start()
            file = await scene.world.create(scene.world.wallet(0), "Kept words.")
            session = await scene.world.login(scene.world.wallet(0))
            assert replica.process.stop() == 0
            for reserve in disk.rglob("reserve"):
                reserve.unlink()
            others = fill(disk) if lack == "space" else fill_with_files(disk)

            replica.process.spawn()
            await replica.wait_for(503)
            assert (await scene.world.client.get("/healthz")).status_code == 200
            await replica.wait_for_log("No space left on device")

            shutil.rmtree(others) if lack == "files" else others.unlink()
            await replica.wait_for(200)
            await expect_reads(scene, file, session)


async def look_after_refusals(scene: Scene) -> list[tuple[int, str]]:
    """Write until enough writes were refused, and return the readiness after each refusal."""
    said: list[tuple[int, str]] = []
    for number in range(MOST_WRITES):
        wallet = scene.world.wallet(number % 8)
        response = await scene.world.send_create(wallet, "x" * 30_000)
        if response.status_code != 200:
            assert problem(response) in REFUSED
            ready = await scene.world.client.get("/readyz")
            said.append((ready.status_code, ready.json()["status"]))
        if len(said) == REFUSALS:
            break
    return said


async def expect_true_readiness(scene: Scene, replica: Replica, disk: Path) -> None:
    """Check that readiness matches the outcome of writes.

    Readiness is degraded while the disk is full, because reads continue, and ready once there
    is space.
    """
    others = fill(disk)
    assert await look_after_refusals(scene) == [(200, "degraded")] * REFUSALS
    await asyncio.sleep(PAUSE)
    assert (await scene.world.client.get("/readyz")).json()["status"] == "degraded"
    others.unlink()
    await wait_for_status(scene, "ready")
    created = await scene.world.send_create(scene.world.wallet(0))
    assert created.status_code == 200, created.text


async def test_readiness_matches_whether_writes_succeed_on_a_full_service_disk(tmp_path: Path):
    with small_disk(tmp_path / "disk", 16) as disk:
        given = {"DATA_DIR": str(disk / "data"), "MIN_FREE_DISK_BYTES": "0"}
        async with open_scene(tmp_path, **given) as scene:
            replica = scene.replica()
            await replica.start()
            await expect_true_readiness(scene, replica, disk)


async def test_readiness_matches_whether_writes_succeed_on_a_full_postgresql_disk(tmp_path: Path):
    # The server runs as another user, who cannot enter the folders of tests.
    with (
        tempfile.TemporaryDirectory(prefix="imprint-disk-", dir="/tmp") as folder,
        small_disk(Path(folder), 160) as disk,
    ):
        server = Server(disk)
        server.make()
        server.start()
        try:
            with keeping_records_on(server):
                async with open_scene(tmp_path) as scene:
                    replica = scene.replica()
                    await replica.start()
                    await expect_true_readiness(scene, replica, disk)
        finally:
            server.stop()
