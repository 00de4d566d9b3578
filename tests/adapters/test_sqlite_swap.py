"""Replacing a SQLite file while nobody has it open."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from imprint.adapters.sqlite_connections import connect_writer
from imprint.adapters.sqlite_swap import FileInUse, copy_locked, replace_file

AT = datetime(2026, 11, 15, 12, 30, tzinfo=UTC)
HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT * FROM t").fetchall()
print("open", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path) -> Path:
    path = tmp_path / "some.db"
    with closing(connect_writer(path)) as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.execute("INSERT INTO t VALUES ('old')")
    return path


def rows(path: Path) -> list[tuple[str]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT a FROM t").fetchall()


def make_new(path: Path) -> Path:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.execute("INSERT INTO t VALUES ('new')")
    return path


def test_a_file_open_in_another_idle_process_is_refused(place):
    command = [sys.executable, "-c", HOLD, str(place)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"open\n"
        with pytest.raises(FileInUse), copy_locked(place):
            pass
        holder.communicate()
    with copy_locked(place) as scratch:
        assert (scratch / "damaged.db").exists()


def test_the_old_file_is_kept_and_its_log_does_not_reach_the_new_one(place, tmp_path):
    with copy_locked(place) as scratch:
        Path(f"{place}-wal").write_bytes(b"frames of the old file")
        kept = replace_file(make_new(scratch / "new.db"), place, AT)
    assert rows(place) == [("new",)]
    assert kept == tmp_path / "some.db.damaged-20261115T123000Z"
    assert Path(f"{kept}-wal").read_bytes() == b"frames of the old file"
    Path(f"{kept}-wal").unlink()
    assert rows(kept) == [("old",)]
    assert not (tmp_path / "some.db.repair").exists()


def test_an_interrupted_replacement_is_completed_by_the_next(place, tmp_path):
    make_new(tmp_path / "some.db.repaired")
    Path(f"{place}-wal").write_bytes(b"frames of the old file")
    with copy_locked(place) as scratch:
        assert rows(scratch / "damaged.db") == [("new",)]
    assert rows(place) == [("new",)]


def test_a_missing_file_is_copied_as_an_empty_one_and_not_made(tmp_path):
    with copy_locked(tmp_path / "none.db") as scratch:
        assert (scratch / "damaged.db").stat().st_size == 0
    assert list(tmp_path.iterdir()) == []
