"""Killed backups, and backups of damaged catalogs."""

import asyncio
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import asyncpg
import pytest
from tests.cli.installations import environment_of, files_in, run
from tests.faults.broken_files import DAMAGES, flip_text, settle
from tests.faults.scene import LONG, Scene, open_scene
from tests.postgresql import keeping_records_on
from tests.processes import Process
from tests.world import open_world

SECONDS = 60.0
ATTEMPTS = 20


def start_backup(scene: Scene, out: Path, name: str) -> Process:
    environ = {f"IMPRINT_{key}": text for key, text in scene.given.items()}
    command = [sys.executable, "-m", "imprint", "backup", "--out", str(out)]
    process = Process(command, scene.folder / f"{name}.log", environ)
    process.spawn()
    return process


async def wait_until(condition: Callable[[], bool], process: Process) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert process.runs, process.tail()
        assert time.monotonic() < deadline, process.tail()
        await asyncio.sleep(0)


def end_leases(folder: Path, dead: Process | None = None) -> None:
    """Expire the leases as if their holder had been gone for a minute."""
    with closing(sqlite3.connect(folder / "imprint.db", timeout=30)) as connection:
        holder = "%" if dead is None else f"%, process {dead.pid} #%"
        connection.execute("UPDATE leases SET held_until = 0 WHERE holder LIKE ?", (holder,))
        connection.commit()


async def end_leases_of(scene: Scene, dead: Process) -> None:
    """Expire the leases of a dead process, in whichever database the scene uses."""
    if "DATABASE_URL" not in scene.given:
        end_leases(scene.folder / "data", dead)
        return
    connection = await asyncpg.connect(scene.given["DATABASE_URL"])
    try:
        ended = "UPDATE leases SET held_until = 0 WHERE holder LIKE $1"
        await connection.execute(ended, f"%, process {dead.pid} #%")
    finally:
        await connection.close()


def _holds(condition: Callable[[], bool]) -> bool:
    """Return whether a condition holds for files that may vanish at any moment."""
    with suppress(FileNotFoundError):
        return condition()
    return False


def _is_finished(out: Path) -> bool:
    return out.exists()


def _discard(out: Path) -> None:
    if out.is_dir():
        shutil.rmtree(out)
    else:
        out.unlink()


async def start_until(scene: Scene, out: Path, name: str, condition: Callable[[], bool]) -> Process:
    """Start a backup and freeze it when the condition holds. Retries if the backup already
    finished."""
    for attempt in range(ATTEMPTS):
        process = start_backup(scene, out, f"{name}-{attempt}")
        deadline = time.monotonic() + SECONDS
        while process.runs and not _holds(condition):
            assert time.monotonic() < deadline, process.tail()
            await asyncio.sleep(0)
        if process.runs:
            process.freeze()
        if process.runs and not _is_finished(out):
            return process
        process.kill()
        assert _is_finished(out), process.tail()
        _discard(out)
    raise AssertionError("Every backup was over before it could be stopped.")


def begun(out: Path, moment: str) -> bool:
    half, scratch = out.with_name(f"{out.name}.partial"), out.with_name(f".imprint-{out.name}")
    if moment == "copying the catalog":
        return (scratch / "imprint.db.partial").exists() or (scratch / "imprint.db").exists()
    if moment == "writing":
        return half.is_dir() and any(half.iterdir())
    return half.exists()


def leftovers(folder: Path) -> list[Path]:
    return [*folder.glob("*.partial"), *folder.glob(".imprint-*")]


MOMENTS = ("waiting", "copying the catalog", "writing")


async def test_a_killed_backup_can_be_restarted_under_the_same_name(tmp_path: Path, records: None):
    async with open_scene(tmp_path) as scene:
        world, replica = scene.world, scene.replica()
        await replica.start()
        author = world.wallet(1)
        for number in range(20):
            await world.create(author, f"Draft {number}.")
        for moment in MOMENTS:
            out = tmp_path / "saved"
            name = f"killed-{moment.split()[0]}"
            killed = await start_until(scene, out, name, partial(begun, out, moment))
            killed.kill()
            again = start_backup(scene, out, f"again-{moment.split()[0]}")
            if not LONG:
                await asyncio.sleep(1)
                await end_leases_of(scene, killed)
            assert await asyncio.to_thread(again.wait, 120) == 0, again.tail()
            assert "started over" in again.tail()
            assert leftovers(tmp_path) == []
            restored = await asyncio.to_thread(run, {}, "restore", out, "--to", tmp_path / "new")
            assert restored.exit_code == 0, restored.output
            assert len(await asyncio.to_thread(files_in, tmp_path / "new")) == 20
            shutil.rmtree(out)
            shutil.rmtree(tmp_path / "new")


async def test_a_waiting_backup_reports_its_deadline_and_a_used_name_is_refused(
    tmp_path: Path,
):
    async with open_scene(tmp_path) as scene:
        world, replica = scene.world, scene.replica()
        await replica.start()
        for number in range(50):
            await world.create(world.wallet(1), f"Draft {number}.")
        half = tmp_path / "one.tar.partial"
        first = await start_until(
            scene, tmp_path / "one.tar", "first", lambda: half.stat().st_size > 4096
        )
        refused = start_backup(scene, tmp_path / "one.tar", "refused")
        # Start both attempts at once, because the lease of the frozen backup ends after a minute.
        second = start_backup(scene, tmp_path / "two.tar", "second")
        assert await asyncio.to_thread(refused.wait, 60) == 2
        assert "is being written by another process" in refused.tail()
        await wait_until(lambda: "waiting for backup" in second.tail(), second)
        assert "UTC" in second.tail()
        first.thaw()
        assert await asyncio.to_thread(first.wait, 60) == 0, first.tail()
        assert await asyncio.to_thread(second.wait, 60) == 0, second.tail()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of an installation with several drafts and posts."""
    folder: Path = tmp_path_factory.mktemp("filled") / "data"
    folder.mkdir()

    async def fill() -> None:
        async with open_world(folder) as world:
            for number in range(40):
                author = world.wallet(1 + number % 3)
                if number % 5:
                    await world.create(author, f"Draft {number}. " * 10)
                else:
                    await world.post(author, f"Post {number}.")

    with keeping_records_on(None):
        asyncio.run(fill())
    settle(folder / "imprint.db")
    return folder


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_backup_of_a_damaged_catalog_is_refused_or_can_be_restored(
    filled: Path, tmp_path: Path, damage: str
):
    folder = tmp_path / "data"
    shutil.copytree(filled, folder)
    DAMAGES[damage](folder / "imprint.db")
    (tmp_path / "earlier").mkdir()
    saved = run(environment_of(folder), "backup", "--out", tmp_path / "saved")
    assert saved.exception is None or isinstance(saved.exception, SystemExit), saved.exc_info
    assert (tmp_path / "earlier").exists()
    if saved.exit_code:
        assert saved.output.strip()
        assert not (tmp_path / "saved").exists()
        assert leftovers(tmp_path) == []
    else:
        restored = run({}, "restore", tmp_path / "saved", "--to", tmp_path / "restored")
        assert restored.exit_code == 0, restored.output
        assert files_in(tmp_path / "restored") == files_in(filled)


def test_a_damaged_document_is_reported_with_a_hint_to_repair(filled: Path, tmp_path: Path):
    folder = tmp_path / "data"
    shutil.copytree(filled, folder)
    settle(folder / "content" / "private" / "small.db")
    flip_text(folder / "content" / "private" / "small.db", "Draft 7. Draft 7. ")
    saved = run(environment_of(folder), "backup", "--out", tmp_path / "saved")
    assert saved.exit_code == 1
    assert "imprint repair" in saved.output
    assert "cannot be read, or is damaged" in saved.output
    assert not (tmp_path / "saved").exists()
