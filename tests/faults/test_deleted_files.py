"""Deleting or replacing a catalog or its log under a running service.

No write is acknowledged and then lost.
"""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from tests.faults.scene import Replica, Scene, open_scene

WRITERS = 4
BEFORE = 20
"""Number of writes acknowledged before the file is removed."""

REFUSED = 8
"""Number of writes refused after the file is removed."""


def delete(*suffixes: str) -> Callable[[Path], None]:
    def act(catalog: Path) -> None:
        for suffix in suffixes:
            catalog.with_name(catalog.name + suffix).unlink()

    return act


def replace(suffix: str) -> Callable[[Path], None]:
    def act(catalog: Path) -> None:
        path = catalog.with_name(catalog.name + suffix)
        copy = path.with_name(path.name + ".copy")
        shutil.copyfile(path, copy)
        copy.rename(path)

    return act


def move_folder(catalog: Path) -> None:
    folder = catalog.parent
    moved = folder.with_name("moved")
    folder.rename(moved)
    folder.mkdir()
    shutil.copytree(moved / "content", folder / "content")


FAULTS: dict[str, Callable[[Path], None]] = {
    "log deleted": delete("-wal"),
    "index of the log deleted": delete("-shm"),
    "log and its index deleted": delete("-wal", "-shm"),
    "catalog deleted": delete(""),
    "everything deleted": delete("", "-wal", "-shm"),
    "catalog replaced": replace(""),
    "log replaced": replace("-wal"),
    "folder moved": move_folder,
}

KEPT = {"log deleted", "index of the log deleted", "log and its index deleted"}
"""Cases in which all acknowledged writes are present again after a kill."""


async def write_until_refused(scene: Scene, act: Callable[[], None]) -> tuple[list[str], list[str]]:
    """Create drafts continuously and run `act` in between.

    Returns the drafts acknowledged before `act` and after it.
    """
    before: list[str] = []
    after: list[str] = []
    acted, refused = asyncio.Event(), 0

    async def write(number: int) -> None:
        nonlocal refused
        wallet = scene.world.wallet(number)
        while refused < REFUSED:
            late = acted.is_set()
            try:
                response = await scene.world.send_create(wallet, "Words.")
            except httpx2.TransportError as error:
                raise AssertionError("The service broke a connection.") from error
            if response.status_code == 200:
                (after if late else before).append(response.json()["updatedUpload"]["cid"])
            else:
                assert acted.is_set(), response.text
                assert response.status_code == 503, response.text
                refused += 1
            if len(before) >= BEFORE and not acted.is_set():
                act()
                acted.set()

    await asyncio.wait_for(asyncio.gather(*map(write, range(WRITERS))), 60)
    return before, after


async def found_after_a_kill(scene: Scene, replica: Replica, cids: list[str]) -> set[str]:
    replica.process.kill()
    again = scene.replica()
    await again.start()
    async with httpx2.AsyncClient(base_url=again.url, timeout=20, verify=False) as client:
        found = set()
        for cid in cids:
            response = await client.get("/filesMetaData", params={"cid": cid})
            if response.status_code == 200:
                found.add(cid)
    return found


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_kill_after_database_files_vanish_loses_no_acknowledged_writes(
    tmp_path: Path, fault: str
):
    async with open_scene(tmp_path, RATE_LIMITS="off") as scene:
        replica = scene.replica()
        await replica.start()
        catalog = tmp_path / "data" / "imprint.db"
        before, after = await write_until_refused(scene, lambda: FAULTS[fault](catalog))
        await replica.wait_for(503)
        reads = await scene.world.client.get("/filesMetaData", params={"cid": before[0]})
        assert reads.status_code == 503, reads.text
        deleted = "while the service was running"
        await replica.wait_for_log(deleted, catalog.name)
        said = [line for line in replica.log.splitlines() if deleted in line]
        assert len([line for line in said if catalog.name in line]) == 1, replica.log
        if fault in KEPT:
            assert await found_after_a_kill(scene, replica, before + after) >= {*before, *after}
        else:
            assert after == []


async def test_files_that_are_moved_back_are_used_again(tmp_path: Path):
    async with open_scene(tmp_path, RATE_LIMITS="off") as scene:
        replica = scene.replica()
        await replica.start()
        file = await scene.world.create(scene.world.wallet(0), "Words.")
        catalog, aside = tmp_path / "data" / "imprint.db", tmp_path / "aside.db"
        catalog.rename(aside)
        await replica.wait_for(503)
        aside.rename(catalog)
        await replica.wait_for(200)
        assert (await scene.world.metadata(file["cid"]))["cid"] == file["cid"]
        await scene.world.create(scene.world.wallet(0), "More words.")


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
async def test_small_documents_are_refused_if_their_file_or_log_is_missing(
    tmp_path: Path, suffix: str
):
    async with open_scene(tmp_path, RATE_LIMITS="off") as scene:
        replica = scene.replica()
        await replica.start()
        await scene.world.create(scene.world.wallet(0), "Words.")
        (tmp_path / "data" / "content" / "private" / f"small.db{suffix}").unlink()
        response = await scene.world.send_create(scene.world.wallet(0), "Words.")
        assert (response.status_code, response.json()["code"]) == (503, "storage_unavailable")
        await replica.wait_for_log("while the service was running")
        await replica.wait_for(503)
