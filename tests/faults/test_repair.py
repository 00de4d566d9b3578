"""Damaged catalogs and stores are repaired from a backup and the chain, and losses are listed."""

import asyncio
import json
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.cli.installations import environment_beside, run
from tests.faults.broken_files import (
    DAMAGES,
    PAGE,
    cut,
    flip,
    flip_text,
    pages_of,
    settle,
    zero_page,
)
from tests.faults.scene import LONG, Scene, open_scene
from tests.postgresql import Server, keeping_records_on, records_of
from tests.processes import Process
from tests.world import World, open_world

from imprint.adapters.database.transaction import CHECKED_TABLES, record_checksum
from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import Cid

FILES = 40
POSTED = 8
RECORDS = """
SELECT f.*, g.hashtags, g.thumbnail_cid FROM files f JOIN file_groups g ON g.id = f.group_id"""
EXACT = ("id", "group_id", "owner", "name", "size", "state", "post_id", "hashtags", "thumbnail_cid")
POSSIBLY_LOST = (
    "Spent nonces",
    "Ended sessions",
    "Private feeds that could not be read",
    "Decisions of the operator that could not be read",
    "Reports of readers that could not be read",
    "Profiles that could not be read",
    "Corrections of posts that could not be read",
    "Anything written after the backup",
    "Files that no backup has, if there are more",
)
"""Entries for rows without a name, which a report may have even if the backup is complete."""


async def fill(world: World, files: int = FILES) -> None:
    """Create drafts, some with versions, tags and thumbnails, and posts by three authors."""
    for number in range(files):
        author = world.wallet(1 + number % 3)
        if number % (FILES // POSTED) == 0:
            await world.post(author, f"Post {number}.")
            continue
        draft = await world.create(author, f"Draft {number}. " * (1 + number))
        if number % 7 == 0:
            await world.publish(author, draft["cid"], f"tag{number % 4}")
        if number % 11 == 0:
            await world.update(author, draft["cid"], f"Draft {number}, corrected.")


def records(folder: Path) -> dict[str, dict[str, Any]]:
    """Return every row of the catalog by its cid."""
    with closing(sqlite3.connect(folder / "imprint.db")) as connection:
        connection.row_factory = sqlite3.Row
        return {row["cid"]: dict(row) for row in connection.execute(RECORDS)}


def unchecked(found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the rows without their checksums, which a repair fills in."""
    return {cid: row | {"checksum": None} for cid, row in found.items()}


def nonces(folder: Path) -> set[Any]:
    with closing(sqlite3.connect(folder / "imprint.db")) as connection:
        return set(connection.execute("SELECT signer, nonce, action, file_id FROM nonces"))


async def copy_of(world: World, folder: Path) -> Path:
    """Copy the data folder as it is on disk."""
    source = world.settings.storage.data_dir
    for path in source.rglob("*.db"):
        settle(path)
    shutil.rmtree(folder, ignore_errors=True)
    await asyncio.to_thread(shutil.copytree, source, folder)
    return folder


async def repair(world: World, folder: Path, *arguments: str | Path) -> tuple[int, dict[str, Any]]:
    """Run a repair, and return its exit status and report."""
    environ = environment_beside(world) | {"IMPRINT_DATA_DIR": str(folder)}
    result = await asyncio.to_thread(run, environ, "repair", "--json", *arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    start = result.output.index("{")
    return result.exit_code, json.loads(result.output[start:])


def differences(
    before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]], columns: tuple[str, ...]
) -> list[str]:
    """The differences between live files. Other versions are ignored."""
    found = []
    for cid, row in before.items():
        if row["state"] not in ("pending", "onchain"):
            continue
        now = after.get(cid)
        if now is None:
            found.append(f"{row['name']} is gone")
            continue
        found += [f"{row['name']}: {c} was {row[c]}" for c in columns if now[c] != row[c]]
    return found


async def save(world: World, out: Path) -> Path:
    """Make a backup of the current state."""
    saved = await asyncio.to_thread(run, environment_beside(world), "backup", "--out", out)
    assert saved.exit_code == 0, saved.output
    return out


def contents(folder: Path) -> dict[Path, bytes]:
    """The top-level files of a data folder, which do not include documents."""
    return {path: path.read_bytes() for path in folder.glob("*") if path.is_file()}


async def test_with_a_backup_all_damage_is_repaired(tmp_path: Path):
    async with open_world(tmp_path / "world") as world:
        await fill(world)
        saved = await save(world, tmp_path / "saved.tar")
        before = records(world.settings.storage.data_dir)
        spent = nonces(world.settings.storage.data_dir)
        for name, damage in DAMAGES.items():
            folder = await copy_of(world, tmp_path / "copy")
            damage(folder / "imprint.db")
            status, report = await repair(world, folder, "--backup", saved)
            assert report["found"], name
            after = records(folder)
            assert differences(before, after, EXACT) == [], name
            assert after.keys() == before.keys(), name
            assert nonces(folder) == spent, name
            named = [each for each in report["lost"] if not each.startswith(POSSIBLY_LOST)]
            assert named == [], name
            assert status == int(bool(report["lost"])), name
            assert list(folder.glob("imprint.db.damaged-*")), name


async def test_without_a_backup_a_catalog_with_lost_records_is_left_unchanged(tmp_path: Path):
    async with open_world(tmp_path / "world") as world:
        await fill(world)
        before = records(world.settings.storage.data_dir)
        for name, damage in DAMAGES.items():
            folder = await copy_of(world, tmp_path / "copy")
            damage(folder / "imprint.db")
            files = contents(folder)
            status, report = await repair(world, folder)
            assert report["found"], name
            if status:
                assert report["lost"], name
                assert report["notes"][0].startswith("Nothing was changed"), name
                assert contents(folder) == files, name
            else:
                assert differences(before, records(folder), EXACT) == [], name


async def test_records_newer_than_the_backup_are_kept_and_lost_ones_are_listed(tmp_path: Path):
    async with open_world(tmp_path / "world") as world:
        author = world.wallet(1)
        await fill(world)
        deleted = await world.create(author, "Deleted later. " * 5)
        changed = await world.create(author, "Changed later. " * 5)
        saved = await save(world, tmp_path / "saved.tar")
        await world.send_delete(author, deleted["cid"])
        newer = await world.update(author, changed["cid"], "Changed. " * 5)
        for number in range(40):
            newest = await world.create(author, f"Newest {number}. " * 5)
        before = records(world.settings.storage.data_dir)
        live = {cid for cid, row in before.items() if row["state"] in ("pending", "onchain")}
        folder = await copy_of(world, tmp_path / "first")
        pages = sorted(pages_of(folder / "imprint.db", "files")[1:])
        assert len(pages) > 4
        for page in pages[:2]:
            zero_page(folder / "imprint.db", page)
        status, report = await repair(world, folder, "--backup", saved)
        assert (status, report["lost"]) == (0, [])
        assert report["from_backup"] > 0
        assert differences(before, records(folder), EXACT) == []
        folder = await copy_of(world, tmp_path / "last")
        zero_page(folder / "imprint.db", pages[-1])
        status, report = await repair(world, folder, "--backup", saved)
        after = records(folder)
        gone = live - after.keys()
        assert (status, newest["cid"] in gone, newer["cid"] in after) == (1, True, True)
        for cid in gone:
            name = before[cid]["name"]
            assert f"The file {name} with the document {cid}." in report["lost"]
        assert after[deleted["cid"]]["state"] == "deleted"
        assert after[changed["cid"]]["state"] == "superseded"


async def test_an_unreadable_file_is_replaced_entirely_by_the_backup(tmp_path: Path):
    async with open_world(tmp_path / "world") as world:
        await fill(world)
        saved = await save(world, tmp_path / "saved.tar")
        before = records(world.settings.storage.data_dir)
        late = await world.create(world.wallet(1), "Later than the backup.")
        _, post = await world.post(world.wallet(2), "A later post.")
        folder = await copy_of(world, tmp_path / "copy")
        damaged = (folder / "imprint.db").read_bytes()[4096:]
        (folder / "imprint.db").write_bytes(bytes(4096) + damaged)
        status, report = await repair(world, folder, "--backup", saved)
        assert (status, report["kept"], report["from_backup"]) == (1, 0, len(before))
        assert differences(before, records(folder), EXACT) == []
        assert report["found"][0].startswith("The catalog cannot be opened")
        for cid, owner in ((late["cid"], world.wallet(1)), (post["cid"], world.wallet(2))):
            (named,) = [each for each in report["lost"] if cid in each]
            assert owner.address in named
        (kept,) = folder.glob("imprint.db.damaged-*Z")
        assert str(kept) in report["notes"][0]
        assert kept.read_bytes()[4096:] == damaged


FRAME = 24 + PAGE
FEW_FILES = 16
"""Number of drafts, so few that SQLite has not checkpointed the log into the database yet."""


def place_in_header(_: Path, at: int) -> int:
    return at


def place_in_first_frame(_: Path, at: int) -> int:
    return 32 + at


def place_in_middle_frame(log: Path, at: int) -> int:
    frames = (log.stat().st_size - 32) // FRAME
    return 32 + FRAME * (frames // 2) + at


LOG_DAMAGES = [
    (place_in_header, 3),
    (place_in_header, 17),
    (place_in_first_frame, 9),
    *((place_in_middle_frame, at) for at in (9, 17, 2000)),
]
"""Bytes to damage: the header's magic number and salt, and a frame's salt, checksum and content."""


@pytest.mark.parametrize(("place", "at"), LOG_DAMAGES)
async def test_a_damaged_log_is_discarded_only_with_a_backup_or_consent(
    tmp_path: Path, place: Callable[[Path, int], int], at: int
):
    async with open_world(tmp_path / "world") as world:
        await fill(world, FEW_FILES)
        saved = await save(world, tmp_path / "saved.tar")
        source, folder = world.settings.storage.data_dir, tmp_path / "copy"
        before = records(source)
        late = await world.create(world.wallet(1), "Later than the backup.")
        without = shutil.ignore_patterns("*-shm")
        await asyncio.to_thread(shutil.copytree, source, folder, ignore=without)
        for log in ("imprint.db-wal", "content/private/small.db-wal"):
            flip(folder / log, place(folder / log, at))
        again = await asyncio.to_thread(shutil.copytree, folder, tmp_path / "again")
        environ = environment_beside(world) | {"IMPRINT_DATA_DIR": str(folder)}
        refused = await asyncio.to_thread(run, environ, "check")
        assert (refused.exit_code, "imprint repair" in refused.output) == (1, True)
        files = contents(folder)
        status, report = await repair(world, folder)
        assert (status, "log is damaged" in report["found"][0]) == (1, True)
        assert files.items() <= contents(folder).items()
        status, report = await repair(world, folder, "--backup", saved)
        assert (status, report["from_backup"]) == (1, len(before))
        assert sum("small.db is damaged" in each for each in report["found"]) == 1, report
        assert differences(before, records(folder), EXACT) == []
        assert not any("document" in each for each in report["lost"] if late["cid"] not in each)
        deep = await asyncio.to_thread(run, environ, "check", "--deep")
        assert deep.exit_code == 0, deep.output
        if place is place_in_middle_frame:
            status, report = await repair(world, again, "--accept-loss")
            assert (status, list(again.glob("imprint.db.damaged-*")) != []) == (1, True)
            assert 0 < report["kept"] < len(before)


async def test_commits_before_the_log_damage_are_kept_if_the_backup_is_older(tmp_path: Path):
    async with open_world(tmp_path / "world") as world:
        await fill(world)
        saved = await save(world, tmp_path / "saved.tar")
        source, folder = world.settings.storage.data_dir, tmp_path / "copy"
        settle(source / "imprint.db")
        newer = [await world.create(world.wallet(1), f"Newer {number}.") for number in range(20)]
        without = shutil.ignore_patterns("*-shm")
        await asyncio.to_thread(shutil.copytree, source, folder, ignore=without)
        log = folder / "imprint.db-wal"
        flip(log, 32 + log.stat().st_size // FRAME // 2 * FRAME + 2000)
        status, report = await repair(world, folder, "--backup", saved)
        kept = [file["cid"] in records(folder) for file in newer]
        assert (status, report["from_backup"], kept[0], kept[-1]) == (1, 0, True, False)
        for file in newer[kept.index(False) :]:
            assert any(file["cid"] in each for each in report["lost"])


async def test_damage_in_a_database_index_loses_nothing(tmp_path: Path):
    async with open_world(tmp_path / "world") as world:
        await fill(world)
        before = records(world.settings.storage.data_dir)
        folder = await copy_of(world, tmp_path / "copy")
        for index in ("files_by_id", "files_by_cid", "files_live", "events_by_cid"):
            zero_page(folder / "imprint.db", pages_of(folder / "imprint.db", index)[-1])
        status, report = await repair(world, folder)
        assert (status, report["lost"]) == (0, [])
        assert unchecked(records(folder)) == unchecked(before)


def set_checksums(path: Path) -> None:
    """Set the checksum of every file and group."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        for table in CHECKED_TABLES:
            for row in connection.execute(f"SELECT * FROM {table}").fetchall():
                connection.execute(
                    f"UPDATE {table} SET checksum = ? WHERE id = ?",
                    (record_checksum(table, row), row["id"]),
                )


@pytest.mark.parametrize("column", ["id", "cid", "name", "owner", "group_id", "tx_hash"])
async def test_a_record_with_a_flipped_byte_is_reported_and_restored(tmp_path: Path, column: str):
    async with open_world(tmp_path / "world") as world:
        for number in range(3):
            await world.post(world.wallet(1), f"Post {number}.")
        saved = await save(world, tmp_path / "saved.tar")
        folder = await copy_of(world, tmp_path / "copy")
        catalog = folder / "imprint.db"
        set_checksums(catalog)
        settle(catalog)
        before = records(folder)
        row = before[min(before)]
        page = pages_of(catalog, "files")[-1]
        start = (page - 1) * PAGE
        row_start = catalog.read_bytes().index(row["id"].encode(), start)
        flip(catalog, catalog.read_bytes().index(row[column].encode(), row_start) + 20)
        files = contents(folder)
        status, report = await repair(world, folder)
        named = f"file {row['name']} with the document {row['cid']}"
        assert (status, report["lost"]) == (1, [f"The {named}."])
        assert f"The record of the {named} cannot be read." in report["found"]
        assert files.items() <= contents(folder).items()
        status, report = await repair(world, folder, "--backup", saved)
        assert (status, report["lost"], report["from_backup"]) == (0, [], 1)
        assert unchecked(records(folder)) == unchecked(before)


async def test_a_thumbnail_can_be_destroyed_after_its_fence_is_lost(tmp_path: Path):
    async with open_world(tmp_path / "world") as world:
        author = world.wallet(1)
        for number in range(3):
            gone = await world.create(author, f"Gone {number}.")
            await world.send_delete(author, gone["cid"])
            world.clock.advance(25 * 3600)
            assert await collect(world) == 1
        draft = await world.create(author, "With a picture.")
        thumbnail = await world.publish(author, draft["cid"])
        folder = await copy_of(world, tmp_path / "copy")
        catalog = folder / "imprint.db"
        zero_page(catalog, pages_of(catalog, "counters")[0])
        _, report = await repair(world, folder)
        assert "A part of the table counters cannot be read." in report["found"]
        async with open_world(folder, clock=world.clock) as again:
            assert (await again.send_delete(author, draft["cid"])).status_code == 200
            world.clock.advance(25 * 3600)
            assert await collect(again) == 2
            assert await again.adapters.content.read(Cid(thumbnail), Network.PUBLIC) is None


async def collect(world: World) -> int:
    """Run the garbage collector, and return how many documents it destroyed."""
    return await world.collector().collect()


async def test_a_dry_run_changes_nothing(tmp_path: Path):
    async with open_world(tmp_path / "world") as world:
        await fill(world)
        folder = await copy_of(world, tmp_path / "copy")
        saved = await save(world, tmp_path / "saved.tar")
        cut(folder / "imprint.db", 0.6)
        files = contents(folder)
        _, report = await repair(world, folder, "--dry-run", "--backup", saved)
        assert (report["found"] != [], report["from_backup"] > 0) == (True, True)
        assert contents(folder) == files


@pytest.mark.parametrize("log_too", [False, True])
async def test_a_missing_catalog_is_restored_from_the_backup(tmp_path: Path, log_too: bool):
    async with open_world(tmp_path / "world") as world:
        await fill(world)
        saved = await save(world, tmp_path / "saved.tar")
        source, folder = world.settings.storage.data_dir, tmp_path / "copy"
        without = shutil.ignore_patterns("*-shm", *(["imprint.db-wal"] if log_too else []))
        await asyncio.to_thread(shutil.copytree, source, folder, ignore=without)
        before = records(source)
        (folder / "imprint.db").unlink()
        status, report = await repair(world, folder)
        assert (status, report["found"]) == (1, ["There is no catalog."])
        assert not (folder / "imprint.db").exists()
        await repair(world, folder, "--backup", saved)
        assert differences(before, records(folder), EXACT) == []
        environ = environment_beside(world) | {"IMPRINT_DATA_DIR": str(folder)}
        deep = await asyncio.to_thread(run, environ, "check", "--deep")
        assert deep.exit_code == 0, deep.output


async def test_a_service_runs_again_after_a_repair_killed_at_any_moment(tmp_path: Path):
    async with open_scene(tmp_path) as scene:
        world, replica = scene.world, scene.replica()
        await replica.start()
        author = world.wallet(1)
        drafts = [await world.create(author, f"Draft {n}.") for n in range(15)]
        refused = command(scene, "refused", "repair")
        refused.spawn()
        assert await asyncio.to_thread(refused.wait, 60) == 2
        assert "Another process" in refused.tail()
        saved = command(scene, "saved", "backup", "--out", str(tmp_path / "saved"))
        saved.spawn()
        assert await asyncio.to_thread(saved.wait, 60) == 0, saved.tail()
        assert replica.process.stop() == 0
        catalog = tmp_path / "data" / "imprint.db"
        settle(catalog)
        zero_page(catalog, pages_of(catalog, "files")[-1])
        for number in range(25 if LONG else 5):
            killed = command(
                scene, f"killed-{number}", "repair", "--backup", str(tmp_path / "saved")
            )
            killed.spawn()
            await asyncio.sleep(0.3 + number % 5 * 0.15)
            killed.kill()
        repaired = command(scene, "repaired", "repair", "--backup", str(tmp_path / "saved"))
        repaired.spawn()
        assert await asyncio.to_thread(repaired.wait, 120) == 0, repaired.tail()
        await replica.start()
        for draft in drafts:
            response = await world.read_draft(author, draft["cid"])
            assert response.status_code == 200, response.text
        assert (await world.send_create(author, "And on.")).status_code == 200


async def test_documents_are_restored_from_a_backup_or_reported_as_lost(tmp_path: Path):
    async with open_world(tmp_path / "world") as world:
        await fill(world)
        environ = environment_beside(world)
        await asyncio.to_thread(run, environ, "backup", "--out", tmp_path / "saved")
        author = world.wallet(1)
        late = await world.create(author, "Later than the backup. " * 10)
        folder = await copy_of(world, tmp_path / "copy")
        small = folder / "content" / "private" / "small.db"
        flip_text(small, "Later than the backup. ")
        small.write_bytes(small.read_bytes()[: small.stat().st_size // 2])
        status, report = await repair(world, folder, "--backup", tmp_path / "saved")
        assert report["documents_from_backup"] > 0
        assert status == 1 or not report["lost"]
        assert all(late["cid"] in each and author.address in each for each in report["lost"])
        checked = await asyncio.to_thread(
            run, environ | {"IMPRINT_DATA_DIR": str(folder)}, "backup", "--out", tmp_path / "again"
        )
        assert checked.exit_code == status, checked.output


def command(scene: Scene, name: str, *arguments: str) -> Process:
    """An `imprint` command for this installation, in a separate process."""
    environ = {f"IMPRINT_{key}": text for key, text in scene.given.items()}
    log = scene.folder / f"{name}.log"
    return Process([sys.executable, "-m", "imprint", *arguments], log, environ)


async def test_a_lost_document_is_reported_with_its_owner(tmp_path: Path, postgresql: Server):
    with keeping_records_on(postgresql):
        address = (await records_of(tmp_path))["IMPRINT_DATABASE_URL"]
    async with open_scene(tmp_path, DATABASE_URL=address) as scene:
        world, replica = scene.world, scene.replica()
        await replica.start()
        author = world.wallet(1)
        lost = await world.create(author, "Long words. " * 10_000)
        kept = await world.create(author, "Short words.")
        assert replica.process.stop() == 0
        (document,) = (tmp_path / "data" / "content").rglob(lost["cid"])
        document.unlink()
        repaired = command(scene, "repaired", "repair")
        repaired.spawn()
        assert await asyncio.to_thread(repaired.wait, 120) == 1, repaired.tail()
        assert f"The document {lost['cid']} of {author.address}." in repaired.tail()
        assert kept["cid"] not in repaired.tail()
