"""SQLite specifics: locks, full disks, crashes, and long reads."""

import asyncio
import shutil
import sqlite3
import subprocess
import sys
from asyncio.subprocess import DEVNULL
from contextlib import closing

import pytest
from tests.stores import open_sqlite_stores

from imprint.adapters.database.sqlite import database as sqlite_database
from imprint.domain.errors import Code, Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.indexed_posts import OwnDrafts, PublicList
from imprint.domain.posts.posts import DeadLetter, LogPosition
from imprint.domain.posts.search import parse_query

WRITE = """
import asyncio, os, pathlib, sys
from datetime import UTC, datetime
from imprint.adapters.database.sqlite.connections import connect_writer
from tests.stores import open_sqlite_stores
from imprint.adapters.database.sqlite.database import SqliteTransaction, run_rule
from imprint.adapters.stores.drafts import drafts
from imprint.domain.drafts.files import *

path, how = pathlib.Path(sys.argv[1]), sys.argv[2]
at = datetime(2026, 1, 1, tzinfo=UTC)
owner = "0x" + "0" * 40
write = Write(owner, Action.CREATE, "n", at)
version = Version("f", "g", owner, 1, "bafy1", 1, at)
intent = Intent("i", write, version.cid, version.size, Network.PRIVATE, at, 1)

async def after():
    stores = open_sqlite_stores(path)
    await stores.drafts.begin_write(intent)
    await stores.drafts.add_draft(write, intent, version)
    os._exit(9)

def before():
    connection = connect_writer(path)
    connection.execute("BEGIN IMMEDIATE")
    tx = SqliteTransaction(connection)
    run_rule(tx, drafts.begin_write, (intent, Quota()))
    run_rule(tx, drafts.add_draft, (write, intent, version))
    os._exit(9)

asyncio.run(after()) if how == "after" else before()
"""


@pytest.fixture
def kind():
    return "sqlite"


async def crash(path, how):
    process = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", WRITE, str(path), how], capture_output=True
    )
    assert (process.returncode, process.stderr) == (9, b"")


async def test_a_committed_write_survives_a_crash(tmp_path):
    path = tmp_path / "catalog.db"
    await crash(path, "after")
    stores = open_sqlite_stores(path)
    assert await stores.files.file_by_cid(Cid("bafy1")) is not None
    await stores.close()


async def test_a_crash_before_the_commit_leaves_nothing_behind(tmp_path):
    path = tmp_path / "catalog.db"
    await open_sqlite_stores(path).close()
    await crash(path, "before")
    stores = open_sqlite_stores(path)
    assert await stores.files.file_by_cid(Cid("bafy1")) is None
    await stores.writing_sessions.check_nonce(Address("0x" + "0" * 40), "n")
    await stores.close()


async def test_a_reopened_catalog_still_has_all_its_files(world, open_another):
    post, draft = await world.post("a"), await world.draft()
    await world.stores.close()
    again = open_another()
    assert await again.files.list_files(PublicList(("a",)), None, 9) == [post]
    assert await again.files.list_files(OwnDrafts(world.alice), None, 9) == [draft]


async def test_concurrent_writes_are_committed_together(world):
    before = world.stores.database.commits
    await asyncio.gather(*(world.draft() for _ in range(100)))
    assert len(await world.stores.files.list_files(OwnDrafts(world.alice), None, 200)) == 100
    assert world.stores.database.commits - before < 50


def shorten_timeout(stores):
    stores.database._writing.execute("PRAGMA busy_timeout = 50")


async def test_a_locked_database_is_unavailable_until_it_is_unlocked(world, tmp_path):
    file = await world.draft()
    shorten_timeout(world.stores)
    with closing(sqlite3.connect(tmp_path / "catalog.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable) as refused:
            await world.draft(nonce="n")
        assert refused.value.code is Code.DATABASE_UNAVAILABLE
        with pytest.raises(Unavailable):
            await world.stores.database.probe()
        assert await world.live(file.cid) == file
        other.execute("ROLLBACK")
    assert await world.draft(nonce="n")


async def test_a_write_waits_for_a_briefly_held_lock(world, tmp_path):
    connection = sqlite3.connect(tmp_path / "catalog.db", isolation_level=None)
    with closing(connection) as other:
        other.execute("BEGIN IMMEDIATE")
        asyncio.get_running_loop().call_later(0.2, other.execute, "ROLLBACK")
        assert await world.draft()


async def test_a_full_disk_fails_one_write_and_later_writes_succeed(world):
    file = await world.draft()
    connection = world.stores.database._writing
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    letter = DeadLetter(LogPosition(1, "0x1", 1, 1, None), "big", "x" * 1_000_000)
    with pytest.raises(Unavailable) as refused:
        await world.see(letters=[letter])
    assert refused.value.code is Code.DATABASE_UNAVAILABLE
    assert await world.live(file.cid) == file
    connection.execute("PRAGMA max_page_count = 1000000")
    await world.see(letters=[letter])
    assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


async def test_each_dead_letter_is_stored_once(world, tmp_path):
    place = LogPosition(1, "0x1", 1, 1, None)
    letters = [DeadLetter(place, "a", "b"), DeadLetter(None, "a", "b"), DeadLetter(None, "a", "c")]
    await world.see(letters=letters * 3)
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as other:
        assert other.execute("SELECT count(*) FROM dead_letters").fetchone() == (3,)


async def test_a_closed_catalog_is_unavailable(world):
    await world.stores.close()
    with pytest.raises(Unavailable):
        await world.draft()
    with pytest.raises(Unavailable):
        await world.stores.files.file_by_cid(Cid("bafy1"))


async def test_closing_finishes_queued_work(world, open_another):
    spend = world.stores.sessions.spend_login_nonce
    logins = [asyncio.ensure_future(spend(world.alice, str(n), world.now)) for n in range(20)]
    await asyncio.sleep(0)
    await world.stores.close()
    assert await asyncio.gather(*logins) == [0] * 20
    again = open_another()
    assert await again.sessions.spend_login_nonce(world.alice, "19", world.now) is None


async def test_a_group_that_still_has_a_file_cannot_be_deleted(world):
    file = await world.draft()
    connection = world.stores.database._writing
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute("DELETE FROM file_groups WHERE id = ?", (file.group_id,))


async def test_readers_do_not_block_the_writer_in_write_ahead_mode(world):
    assert world.stores.database._reading.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


REPORTING = WRITE.replace("os._exit(9)", 'os.write(1, b"committed"); os._exit(9)').replace(
    "await stores.drafts.begin_write(intent)",
    'await stores.drafts.begin_write(intent); os.write(1, b"noted")',
)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace shows what reaches the disk")
async def test_a_write_is_on_disk_before_its_response_is_sent(tmp_path):
    path, trace = tmp_path / "catalog.db", tmp_path / "trace"
    await open_sqlite_stores(path).close()
    command = ["strace", "-f", "-e", "trace=fdatasync,fsync,write", "-o", str(trace)]
    command += [sys.executable, "-c", REPORTING, str(path), "after"]
    process = await asyncio.create_subprocess_exec(*command, stdout=DEVNULL, stderr=DEVNULL)
    if await process.wait() != 9:
        pytest.skip("strace may not trace here")
    lines = trace.read_text().splitlines()
    noted, committed = (
        next(n for n, line in enumerate(lines) if f'write(1, "{word}"' in line)
        for word in ("noted", "committed")
    )
    assert any("fdatasync(" in line or "fsync(" in line for line in lines[noted:committed])


async def test_a_damaged_database_is_unavailable(world, tmp_path):
    for _ in range(50):
        file = await world.prepare(await world.draft(), "a")
    await world.stores.close()
    path = tmp_path / "catalog.db"
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    with pytest.raises(Unavailable):
        await open_sqlite_stores(path).files.file_by_cid(file.cid)


@pytest.mark.parametrize(("brief", "hops"), [(-1.0, True), (60.0, False)])
async def test_a_slow_list_by_several_tags_runs_outside_the_event_loop(
    world, monkeypatch, brief, hops
):
    both = [await world.post("a", "b") for _ in range(3)]
    plans = []
    run = asyncio.get_running_loop().run_in_executor

    def count_run(*arguments):
        plans.append(arguments)
        return run(*arguments)

    monkeypatch.setattr(world.stores.database, "_long_reach", 2)
    monkeypatch.setattr(sqlite_database, "_BRIEF", brief)
    monkeypatch.setattr(sqlite_database, "_CHECKED_EVERY", 1)
    monkeypatch.setattr(asyncio.get_running_loop(), "run_in_executor", count_run)
    assert await world.pages(PublicList(("a", "b"))) == both[::-1]
    assert bool(plans) is hops


async def test_a_read_that_awaits_anything_but_its_transaction_is_refused(world):
    async def suspend(tx):
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="may only await its transaction"):
        await world.stores.database.read(suspend)


PHRASED = [f"word{number}" for number in range(16)]


async def test_a_slow_search_for_a_phrase_without_matches_is_interrupted(world, monkeypatch):
    """FTS5 returns no row until it has read the positions of every word in the phrase."""
    await world.stores.database.transact((), add_words)
    monkeypatch.setattr(sqlite_database, "_CHECKED_EVERY", 40)
    monkeypatch.setattr(sqlite_database, "_LONGEST_SEARCH", 0.0)
    query = parse_query(f'"{" ".join(PHRASED)}"')
    found = await world.stores.search.find_posts(query, None, 100)
    assert (list(found.found), found.is_cut) == ([], True)
    assert found.following is not None


async def add_words(tx):
    title = f" {' '.join(reversed(PHRASED))} "
    await tx.executemany(
        "INSERT INTO post_search (rowid, title, hashtags, description, body)"
        " VALUES (:place, :title, '', '', '')",
        [{"place": place, "title": title} for place in range(1, 20_001)],
    )
