"""A full disk stops only writes, which continue once there is space again."""

import asyncio
import os
import secrets
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from tests.crash.fork_server import ForkServer
from tests.crash.ledger import find_faults
from tests.crash.victim import open_scene
from tests.world import World, problem

MEGABYTE = 1024 * 1024
SIZE = 8 * MEGABYTE
CONTENT = 64 * 1024


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a separate small disk."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("needs the right to mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


async def fill(world: World) -> tuple[int, str]:
    """Write until the service refuses a write, and return the refusal."""
    for _ in range(1000):
        response = await world.send_create(world.wallet(0), secrets.token_hex(CONTENT // 2))
        if response.status_code != 200:
            return problem(response)
    raise AssertionError("the disk never filled up")


async def wait_for_condition(world: World, status: str) -> None:
    """Wait until the service has noticed the change in free space."""
    for _ in range(300):
        if (await world.client.get("/readyz")).json()["status"] == status:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"the service is never {status}")


def take_the_rest(path: Path) -> None:
    """Append to a file until the disk is full."""
    with path.open("ab") as file, suppress(OSError):
        while True:
            os.write(file.fileno(), bytes(1024))


async def test_writes_wait_for_disk_space_but_reads_do_not(disk: Path, fork_server: ForkServer):
    async with open_scene(disk, fork_server, MIN_FREE_DISK_BYTES="0") as scene:
        world, author = scene.world, scene.world.wallet(0)
        await scene.victim.start(world.client)
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(MEGABYTE))
        file = await world.create(author, "Kept words.")
        session = await world.login(author)
        status, code = await fill(world)
        assert (status, code) in {(503, "storage_unavailable"), (503, "database_unavailable")}
        take_the_rest(ballast)
        params = {"cid": file["cid"]}
        for _ in range(20):
            refused = await world.send_create(author, "More words.")
            assert refused.status_code == 503, refused.text
            read = await world.client.get("/fileByCid", params=params, headers=session)
            assert read.json()["content"] == "Kept words."
            assert (await world.metadata(file["cid"]))["cid"] == file["cid"]
        assert (await world.client.get("/healthz")).status_code == 200
        await wait_for_condition(world, "degraded")
        assert (await world.client.get("/readyz")).status_code == 200
        with closing(sqlite3.connect(disk / "imprint.db")) as catalog:
            assert catalog.execute("PRAGMA integrity_check").fetchall() == [("ok",)]

        ballast.unlink()
        again = await world.send_create(author, "Words with room.")
        assert again.status_code == 200, again.text
        await wait_for_condition(world, "ready")
        scene.victim.process.kill()
    assert find_faults(disk) == []


async def test_drafts_alone_cannot_fill_the_disk(disk: Path, fork_server: ForkServer):
    floor = 3 * MEGABYTE
    async with open_scene(disk, fork_server, MIN_FREE_DISK_BYTES=str(floor)) as scene:
        world, author = scene.world, scene.world.wallet(0)
        await scene.victim.start(world.client)
        file = await world.create(author, "Kept words.")
        ballast = disk / "ballast"
        usage = os.statvfs(disk)
        ballast.write_bytes(bytes(usage.f_bavail * usage.f_frsize - floor // 2))
        await wait_for_condition(world, "degraded")
        assert problem(await world.send_create(author)) == (503, "storage_unavailable")
        assert (await world.send_delete(author, file["cid"])).status_code == 200
        ballast.unlink()
        await wait_for_condition(world, "ready")
        assert (await world.send_create(author)).status_code == 200
        scene.victim.process.kill()
    assert find_faults(disk) == []
