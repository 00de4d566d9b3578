"""The examination of a SQLite catalog and of its write-ahead log."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from imprint.adapters.catalog.integrity import (
    DamagedLog,
    accepted_log,
    check_log,
    count_dropped_commits,
    examine_catalog,
)
from imprint.adapters.catalog.sqlite import open_catalog
from imprint.adapters.sqlite_connections import connect_writer

FRAME = 24 + 4096
COMMITS = 6


@pytest.fixture
def killed(tmp_path):
    """A database with commits in its log, as a kill leaves it."""
    path, copy = tmp_path / "open.db", tmp_path / "killed.db"
    with closing(connect_writer(path)) as connection:
        connection.execute("CREATE TABLE notes (note TEXT)")
        for number in range(COMMITS - 1):
            connection.execute("INSERT INTO notes VALUES (?)", (f"note {number}",))
        shutil.copyfile(path, copy)
        shutil.copyfile(f"{path}-wal", f"{copy}-wal")
    return copy


def log_of(path):
    return path.with_name(f"{path.name}-wal")


def flip(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def commits_in(path):
    """How many commits SQLite finds: the table, and a note with each of the others."""
    with closing(sqlite3.connect(path)) as connection:
        try:
            return 1 + connection.execute("SELECT count(*) FROM notes").fetchone()[0]
        except sqlite3.OperationalError:
            return 0


def test_a_good_log_drops_nothing(killed):
    assert count_dropped_commits(log_of(killed).read_bytes(), 4096) == 0
    check_log(killed, booted_at=0)
    assert commits_in(killed) == COMMITS


@pytest.mark.parametrize("frame", range(COMMITS + 1))
@pytest.mark.parametrize("offset", [4, 24 + 2000])
def test_commits_behind_a_damaged_frame_are_counted(killed, frame, offset):
    log = log_of(killed)
    frames = (log.stat().st_size - 32) // FRAME
    assert frames == COMMITS + 1
    flip(log, 32 + frame * FRAME + offset)
    dropped = count_dropped_commits(log.read_bytes(), 4096)
    lost = COMMITS - commits_in(killed)
    # The commit that holds the damage may be one that a crash interrupted.
    assert dropped in (lost - 1, lost)
    if lost > 2:
        assert dropped > 0


@pytest.mark.parametrize("at", [0, 9, 17, 25])
def test_a_log_with_a_damaged_header_is_refused(killed, at):
    flip(log_of(killed), at)
    with pytest.raises(DamagedLog, match=f"{COMMITS} commits"):
        check_log(killed, booted_at=0)


def test_a_log_that_a_crash_cut_off_is_accepted(killed):
    log = log_of(killed)
    for length in range(0, log.stat().st_size, 997):
        assert count_dropped_commits(log.read_bytes()[:length], 4096) == 0


def test_a_damaged_log_is_accepted_after_a_loss_of_power_or_by_the_operator(killed):
    log = log_of(killed)
    flip(log, 40)
    check_log(killed, booted_at=log.stat().st_mtime + 1)
    with pytest.raises(DamagedLog, match=accepted_log(log).name):
        check_log(killed, booted_at=0)
    shutil.copyfile(log, accepted_log(log))
    check_log(killed, booted_at=0)


async def test_a_catalog_with_a_damaged_index_is_noticed_when_it_is_opened(tmp_path):
    path = tmp_path / "catalog.db"
    await open_catalog(path).close()
    assert examine_catalog(path) == []
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO owners (owner, last_number) VALUES ('0x1', 1)")
        connection.execute("INSERT INTO file_groups VALUES ('g', '0x1', '[]', NULL, 1, 0, NULL)")
        connection.execute(
            "INSERT INTO files (position, id, group_id, owner, name, cid, size, created_at, state)"
            " VALUES (1, 'i', 'g', '0x1', 'n', 'bafkreicid', 1, 1, 'pending')"
        )
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = path.read_bytes()
    at = content.rindex(b"bafkreicid") if content.count(b"bafkreicid") > 1 else -1
    assert at > 0
    flip(path, at)
    catalog = open_catalog(path)
    assert catalog.damage.found
    assert await catalog.examine() == examine_catalog(path) != []
    await catalog.close()
