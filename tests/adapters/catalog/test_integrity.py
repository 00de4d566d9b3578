"""The examination of a SQLite catalog and of its write-ahead log."""

import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.adapters.catalog.integrity import (
    DamagedLog,
    accepted_log,
    check_log,
    count_dropped_commits,
    examine_catalog,
    note_boot,
)
from imprint.adapters.catalog.sqlite import open_catalog
from imprint.adapters.sqlite_connections import connect_writer

FRAME = 24 + 4096
COMMITS = 6
BOOT = "this start of this machine"


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
    note_boot(copy, BOOT)
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
    check_log(killed, BOOT)
    assert commits_in(killed) == COMMITS


@pytest.mark.parametrize("frame", range(COMMITS + 1))
@pytest.mark.parametrize("offset", [4, 9, 17, 24 + 2000])
def test_commits_behind_a_damaged_frame_are_counted(killed, frame, offset):
    log = log_of(killed)
    frames = (log.stat().st_size - 32) // FRAME
    assert frames == COMMITS + 1
    flip(log, 32 + frame * FRAME + offset)
    dropped = count_dropped_commits(log.read_bytes(), 4096)
    lost = COMMITS - commits_in(killed)
    # The last commit may be one that a crash interrupted.
    assert dropped in (max(0, lost - 1), lost)
    assert dropped or lost <= 1


@pytest.mark.parametrize("at", [0, 3, 9, 17, 25])
def test_a_log_with_a_damaged_header_is_refused(killed, at):
    flip(log_of(killed), at)
    with pytest.raises(DamagedLog, match=f"{COMMITS} commits"):
        check_log(killed, BOOT)


def test_a_damaged_log_is_accepted_by_the_operator(killed):
    log = log_of(killed)
    flip(log, 40)
    with pytest.raises(DamagedLog, match=accepted_log(log).name):
        check_log(killed, BOOT)
    shutil.copyfile(log, accepted_log(log))
    check_log(killed, BOOT)


@pytest.mark.parametrize("boot", ["another start or machine", None])
def test_a_damaged_log_is_accepted_after_a_loss_of_power(killed, boot, caplog):
    flip(log_of(killed), 40)
    check_log(killed, boot)
    assert "loss of power" in caplog.text
    note_boot(killed, "another")
    check_log(killed, BOOT)
    note_boot(killed, BOOT)
    with pytest.raises(DamagedLog):
        check_log(killed, BOOT)


@pytest.mark.parametrize("leave", [Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_log_without_its_catalog_is_kept(killed, leave):
    log = log_of(killed)
    content = log.read_bytes()
    leave(killed)
    with pytest.raises(DamagedLog, match="Put the catalog back"):
        open_catalog(killed)
    assert log.read_bytes() == content


@dataclass(frozen=True)
class Writings:
    """A database in two moments of which the later one has begun its log anew, and its logs.

    `tries` are logs with another commit each, of falling size, after the same `later` log.
    """

    path: Path
    earlier: bytes
    later: bytes
    tries: list[bytes]


@pytest.fixture(scope="module")
def writings(tmp_path_factory):
    """Logs as SQLite writes them."""
    folder = tmp_path_factory.mktemp("writings")
    path = folder / "open.db"
    with closing(connect_writer(path)) as connection:
        connection.execute("CREATE TABLE notes (note BLOB)")
        for number in range(8):
            connection.execute("INSERT INTO notes VALUES (zeroblob(?))", (2000 * number,))
        earlier = log_of(path).read_bytes()
        connection.execute("PRAGMA wal_checkpoint(RESTART)")
        for number in range(3):
            connection.execute("INSERT INTO notes VALUES (zeroblob(?))", (2500 * number,))
        later = used(log_of(path).read_bytes())
        copy = folder / "copy.db"
        shutil.copyfile(path, copy)
    tries = []
    for size in (25_000, 15_000, 6_000, 1):
        log_of(copy).write_bytes(later)
        with closing(connect_writer(copy)) as connection:
            connection.execute("INSERT INTO notes VALUES (zeroblob(?))", (size,))
            tries.append(used(log_of(copy).read_bytes()))
            # Closing would move the log into the database.
            log_of(copy).rename(folder / "kept")
        shutil.copyfile(path, copy)
    return Writings(path, earlier, later, tries)


def used(log: bytes) -> bytes:
    """A log without the frames of its earlier use, which are behind those that were written."""
    end = 32
    while log[end + 8 : end + 16] == log[16:24]:
        end += FRAME
    return log[:end]


def overlaid(*logs: bytes) -> bytes:
    """What is in a file into which each of these was written, from its beginning."""
    content = b""
    for each in logs:
        content = each + content[len(each) :]
    return content


def test_logs_as_they_are_made_here_have_what_the_tests_are_about(writings):
    assert writings.earlier[16:24] != writings.later[16:24]
    assert len(writings.earlier) > max(len(each) for each in writings.tries)
    assert all(each.startswith(writings.later) for each in writings.tries)
    lengths = [len(each) for each in writings.tries]
    assert sorted(set(lengths), reverse=True) == lengths


@given(data=st.data())
def test_a_log_that_a_kill_cut_off_drops_nothing(writings, data):
    """Also one that was begun anew, with the frames of its earlier use behind the new ones."""
    log = data.draw(st.sampled_from([writings.earlier, writings.later, *writings.tries]))
    cut = data.draw(st.integers(32, len(log)))
    before = data.draw(st.sampled_from([b"", writings.earlier]))
    assert count_dropped_commits(overlaid(before, log[:cut]), 4096) == 0


@given(data=st.data())
def test_commits_that_failed_and_were_written_over_drop_nothing(writings, data):
    """A sync may fail, or a process be killed, after the last frame of a commit was written."""
    tries = data.draw(st.lists(st.sampled_from(writings.tries), max_size=5))
    last = data.draw(st.sampled_from([writings.later, *writings.tries]))
    cut = data.draw(st.integers(len(writings.later), len(last)))
    log = overlaid(writings.earlier, *tries, last[:cut])
    assert count_dropped_commits(log, 4096) == 0


@given(data=st.data())
def test_blocks_that_a_loss_of_power_left_out_are_never_a_reason_to_refuse(writings, data):
    path = writings.path.with_name("power.db")
    shutil.copyfile(writings.path, path)
    note_boot(path, "the start before")
    log = data.draw(st.sampled_from(writings.tries))
    content = bytearray(overlaid(writings.earlier, log))
    for at in data.draw(st.sets(st.integers(0, len(log) // 512))):
        part = slice(512 * at, 512 * at + 512)
        content[part] = overlaid(bytes(len(content)), writings.earlier)[part]
    log_of(path).write_bytes(content)
    check_log(path, BOOT)


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
