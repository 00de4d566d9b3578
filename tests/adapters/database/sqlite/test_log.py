"""A write-ahead log is refused only if SQLite would drop complete commits from it."""

import shutil
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.hypothesis_settings import SHARED_FIXTURE

from imprint.adapters.database.sqlite.connections import connect_writer
from imprint.adapters.database.sqlite.log import (
    DamagedLog,
    accepted_log,
    begin_log,
    check_log,
    count_dropped_commits,
    replacement_of,
)

FRAME = 24 + 4096
COMMITS = 6
BOOT = "this start of this machine"


def note(path, boot):
    """Record the boot during which a database was opened."""
    path.with_name(f"{path.name}-boot").write_text(boot)


def log_of(path):
    return path.with_name(f"{path.name}-wal")


def flipped(log, at):
    content = bytearray(log)
    content[at] ^= 1
    return bytes(content)


@dataclass(frozen=True, repr=False)
class Writings:
    """A database and its logs from before and after a log restart.

    Each of `tries` is the `later` log plus one more commit, in order of decreasing size.
    """

    path: Path
    """The database as it was between the two logs."""
    earlier: bytes
    later: bytes
    tries: list[bytes]


@pytest.fixture(scope="module")
def writings(tmp_path_factory):
    """Logs written by SQLite itself."""
    folder = tmp_path_factory.mktemp("writings")
    path, base, copy = (folder / name for name in ("open.db", "base.db", "copy.db"))
    with closing(connect_writer(path)) as connection:
        connection.execute("CREATE TABLE notes (note BLOB)")
        for number in range(8):
            connection.execute("INSERT INTO notes VALUES (zeroblob(?))", (2000 * number,))
        earlier = log_of(path).read_bytes()
        connection.execute("PRAGMA wal_checkpoint(RESTART)")
        shutil.copyfile(path, base)
        for number in range(3):
            connection.execute("INSERT INTO notes VALUES (zeroblob(?))", (2500 * number,))
        later = used(log_of(path).read_bytes())
    tries = []
    for size in (25_000, 15_000, 6_000, 1):
        shutil.copyfile(base, copy)
        log_of(copy).write_bytes(later)
        with closing(connect_writer(copy)) as connection:
            connection.execute("INSERT INTO notes VALUES (zeroblob(?))", (size,))
            tries.append(used(log_of(copy).read_bytes()))
    return Writings(base, earlier, later, tries)


def used(log: bytes) -> bytes:
    """Return a log without the stale frames that follow its current ones."""
    end = 32
    while log[end + 8 : end + 16] == log[16:24]:
        end += FRAME
    return log[:end]


def overlaid(*logs: bytes) -> bytes:
    """Return the bytes of a file after writing each log in turn, always from the start."""
    content = b""
    for each in logs:
        content = each + content[len(each) :]
    return content


def test_the_sample_logs_cover_the_tested_cases(writings):
    assert writings.earlier[16:24] != writings.later[16:24]
    assert len(writings.earlier) > max(len(each) for each in writings.tries)
    assert all(each.startswith(writings.later) for each in writings.tries)
    lengths = [len(each) for each in writings.tries]
    assert sorted(set(lengths), reverse=True) == lengths


@given(which=st.integers(0, 3), cut=st.integers(0, 2**20), again=st.booleans())
def test_a_log_truncated_by_a_kill_loses_no_commits(writings, which, cut, again):
    """The logs include a restarted one, in which stale frames follow the new ones."""
    log = writings.tries[which]
    before = writings.earlier if again else b""
    log = overlaid(before, log[: 32 + cut % (len(log) - 31)])
    assert count_dropped_commits(log, 4096) == 0


@given(tries=st.lists(st.integers(0, 3), max_size=5), cut=st.integers(0, 2**20))
def test_overwriting_frames_of_failed_commits_loses_no_commits(writings, tries, cut):
    """A sync can fail, or a process can be killed, after the last frame of a commit was written."""
    last = writings.tries[3]
    last = last[: len(last) - cut % (len(last) - len(writings.later))]
    log = overlaid(writings.earlier, *(writings.tries[each] for each in tries), last)
    assert count_dropped_commits(log, 4096) == 0


def last_commits(log):
    """Return the end offsets of the last three commits in a log."""
    ends = [end for end in range(32 + FRAME, len(log) + 1, FRAME) if any(log[end - FRAME :][4:8])]
    return ends[-3:]


@given(which=st.integers(0, 4), at=st.integers(0, 2**20))
def test_a_damaged_byte_before_the_last_commit_is_detected(writings, which, at):
    log = [writings.earlier, *writings.tries][which]
    # Damage only earlier commits: a damaged last commit looks like an incomplete one.
    at %= last_commits(log)[-2]
    # Leave the start of a frame intact: its page number and its commit marker.
    assume(at < 32 or (at - 32) % FRAME >= 8)
    assert count_dropped_commits(flipped(log, at), 4096) > 0


@pytest.mark.parametrize("at", [0, 3, 9, 17, 25])
def test_all_commits_of_a_log_with_a_damaged_header_are_dropped(writings, at):
    log = writings.later
    commits = sum(any(log[start + 4 : start + 8]) for start in range(32, len(log), FRAME))
    assert count_dropped_commits(flipped(log, at), 4096) == commits


@given(at=st.integers(0, 2**20), bit=st.integers(0, 7), cut=st.integers(0, 2**20))
def test_arbitrary_bytes_can_be_read_as_a_log(writings, at, bit, cut):
    content = bytearray(writings.tries[0])
    content[at % len(content)] ^= 1 << bit
    count_dropped_commits(bytes(content[: cut % len(content)]), 4096)


@pytest.fixture
def killed(tmp_path):
    """A database with commits in its log, as left by a killed process."""
    path, copy = tmp_path / "open.db", tmp_path / "killed.db"
    with closing(connect_writer(path)) as connection:
        connection.execute("CREATE TABLE notes (note TEXT)")
        for number in range(COMMITS - 1):
            connection.execute("INSERT INTO notes VALUES (?)", (f"note {number}",))
        shutil.copyfile(path, copy)
        shutil.copyfile(f"{path}-wal", f"{copy}-wal")
    note(copy, BOOT)
    return copy


def flip(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def test_an_intact_log_is_accepted(killed):
    check_log(killed, BOOT)


@pytest.mark.parametrize("at", [0, 3, 9, 17, 25])
def test_a_log_with_a_damaged_header_is_refused(killed, at):
    flip(log_of(killed), at)
    with pytest.raises(DamagedLog, match=f"{COMMITS} commits"):
        check_log(killed, BOOT)


def test_a_damaged_log_is_accepted_once_the_operator_confirms_it(killed):
    log = log_of(killed)
    flip(log, 40)
    with pytest.raises(DamagedLog, match=accepted_log(log).name):
        check_log(killed, BOOT)
    shutil.copyfile(log, accepted_log(log))
    check_log(killed, BOOT)


@pytest.mark.parametrize("boot", ["another start or machine", None])
def test_a_damaged_log_is_accepted_after_a_power_failure(killed, boot, caplog):
    flip(log_of(killed), 40)
    check_log(killed, boot)
    assert "power loss" in caplog.text
    note(killed, "another")
    check_log(killed, BOOT)
    note(killed, BOOT)
    with pytest.raises(DamagedLog):
        check_log(killed, BOOT)


@pytest.mark.parametrize("leave", [Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_log_without_its_database_is_refused_and_kept(killed, leave):
    log = log_of(killed)
    content = log.read_bytes()
    leave(killed)
    with pytest.raises(DamagedLog, match="Put that file back"):
        check_log(killed, BOOT)
    assert log.read_bytes() == content


def test_a_database_with_an_unfinished_repair_is_refused(killed):
    replacement_of(killed).touch()
    with pytest.raises(DamagedLog, match="Run imprint repair again"):
        check_log(killed, BOOT)


@given(left_out=st.sets(st.integers(0, 60)))
@SHARED_FIXTURE
def test_a_log_with_blocks_lost_in_a_power_failure_is_accepted(killed, left_out):
    log = log_of(killed)
    note(killed, "the start before")
    whole = log.read_bytes()
    content = bytearray(whole)
    for at in left_out:
        content[512 * at : 512 * at + 512] = bytes(len(content[512 * at : 512 * at + 512]))
    log.write_bytes(content)
    check_log(killed, BOOT)
    log.write_bytes(whole)


@pytest.mark.parametrize("boot", [BOOT, "another start"])
def test_an_accepted_log_is_not_refused_later(killed, boot):
    """Stale frames after a short commit still look like complete commits."""
    log = log_of(killed)
    flip(log, 32 + 3 * FRAME + 100)
    if boot == BOOT:
        shutil.copyfile(log, accepted_log(log))
    assert check_log(killed, boot)
    copy = killed.with_name("again.db")
    with closing(connect_writer(killed)) as connection:
        begin_log(connection, killed, boot)
        connection.execute("CREATE TABLE more (note TEXT)")
        for end in ("", "-wal", "-boot"):
            shutil.copyfile(f"{killed}{end}", f"{copy}{end}")
    assert not check_log(copy, boot)


def test_a_log_is_restarted_once_per_boot(killed):
    assert not check_log(killed, BOOT)
    assert not check_log(killed, None)
    assert check_log(killed, "another start")
    with closing(connect_writer(killed)) as connection:
        begin_log(connection, killed, "another start")
        assert log_of(killed).stat().st_size == 0
        connection.execute("CREATE TABLE more (note TEXT)")
        assert not check_log(killed, "another start")


def test_restarting_a_log_in_use_is_postponed(killed):
    with closing(connect_writer(killed)) as reader, closing(connect_writer(killed)) as writer:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM notes").fetchone()
        writer.execute("PRAGMA busy_timeout = 0")
        writer.execute("CREATE TABLE more (note TEXT)")
        begin_log(writer, killed, "another start")
        assert check_log(killed, "another start")


def test_a_log_is_restarted_even_if_another_worker_wrote_to_the_new_file(tmp_path):
    path = tmp_path / "new.db"
    with closing(connect_writer(path)) as first, closing(connect_writer(path)) as second:
        second.execute("CREATE TABLE notes (note TEXT)")
        first.execute("PRAGMA busy_timeout = 0")
        begin_log(first, path, BOOT)
        assert not check_log(path, BOOT)
        assert log_of(path).stat().st_size == 0
