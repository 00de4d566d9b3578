"""Salvaging rows from a damaged SQLite file, and replacing it while no process has it open."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from imprint.adapters.database.sqlite.connections import connect_writer
from imprint.adapters.database.sqlite.damaged_file import (
    FileInUse,
    ReadableRows,
    connect_damaged,
    copy_locked,
    replace_file,
)
from imprint.adapters.database.sqlite.log import DamagedLog, check_log, replacement_of

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
    with copy_locked(place) as copy:
        assert copy.exists()


def test_the_old_file_is_kept_and_its_log_is_not_applied_to_the_new_one(place, tmp_path):
    with copy_locked(place) as copy:
        Path(f"{place}-wal").write_bytes(b"frames of the old file")
        kept = replace_file(make_new(copy.with_name("new.db")), place, AT)
    assert rows(place) == [("new",)]
    assert kept == tmp_path / "some.db.damaged-20261115T123000Z"
    assert Path(f"{kept}-wal").read_bytes() == b"frames of the old file"
    Path(f"{kept}-wal").unlink()
    assert rows(kept) == [("old",)]
    assert not (tmp_path / "some.db.repair").exists()


@pytest.mark.parametrize("has_log", [True, False])
def test_an_interrupted_replacement_is_refused_until_a_repair_completes_it(place, has_log):
    make_new(replacement_of(place))
    if has_log:
        Path(f"{place}-wal").write_bytes(b"frames of the old file")
    with pytest.raises(DamagedLog, match="interrupted"):
        check_log(place, None)
    with copy_locked(place) as copy:
        assert rows(copy) == [("new",)]
    assert (rows(place), Path(f"{place}-wal").exists()) == ([("new",)], False)
    check_log(place, None)


def test_a_missing_file_is_not_copied(tmp_path):
    with copy_locked(tmp_path / "none.db") as copy:
        assert not copy.exists()
    assert list(tmp_path.iterdir()) == []


def test_rows_are_read_from_both_ends_up_to_a_damaged_page(tmp_path):
    path = tmp_path / "some.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(n, "x" * 400) for n in range(90)])
    content = bytearray(path.read_bytes())
    page = content.index(b"x" * 400, len(content) // 2) // 4096
    content[page * 4096 : page * 4096 + 4096] = bytes(4096)
    path.write_bytes(content)
    with closing(connect_damaged(path)) as connection:
        found = ReadableRows(connection, "SELECT a FROM t", ("a",))
        numbers = {row["a"] for row in found}
    assert (found.complete, 0 in numbers, 89 in numbers) == (False, True, True)
    assert 75 < len(numbers) < 90
