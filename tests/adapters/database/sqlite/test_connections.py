"""SQLite connections: settings of writers and readers, and refused files."""

import shutil
import sqlite3
import stat
from contextlib import closing
from threading import Thread

import pytest

from imprint.adapters.database.sqlite.connections import (
    OpenedFiles,
    TooOldSqlite,
    UnrecoveredLog,
    connect_copier,
    connect_looker,
    connect_reader,
    connect_writer,
)


def pragma(connection, name):
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def test_a_new_database_and_its_log_are_readable_by_their_owner_only(tmp_path):
    path = tmp_path / "new" / "folder" / "notes.db"
    with closing(connect_writer(path)) as writer:
        writer.execute("CREATE TABLE notes (note TEXT)")
        modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
    assert modes == dict.fromkeys(("notes.db", "notes.db-wal", "notes.db-shm"), 0o600)


def test_a_writer_switches_an_existing_database_to_the_write_ahead_log(tmp_path):
    path = tmp_path / "notes.db"
    with closing(sqlite3.connect(path)) as old:
        old.execute("CREATE TABLE notes (note TEXT)")
        assert pragma(old, "journal_mode") == "delete"
    connect_writer(path).close()
    with closing(connect_reader(path)) as reader:
        assert pragma(reader, "journal_mode") == "wal"


def test_a_writer_enforces_foreign_keys(tmp_path):
    with closing(connect_writer(tmp_path / "notes.db")) as writer:
        writer.execute("CREATE TABLE books (id INTEGER PRIMARY KEY)")
        writer.execute("CREATE TABLE pages (book INTEGER REFERENCES books)")
        with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
            writer.execute("INSERT INTO pages VALUES (1)")


def test_the_page_size_is_set_by_the_first_writer(tmp_path):
    path = tmp_path / "notes.db"
    for page_size in (16384, 4096):
        with closing(connect_writer(path, page_size)) as writer:
            writer.execute("CREATE TABLE IF NOT EXISTS notes (note TEXT)")
            assert pragma(writer, "page_size") == 16384


def test_a_reader_reads_committed_rows_and_cannot_write(tmp_path):
    path = tmp_path / "notes.db"
    with closing(connect_writer(path)) as writer, closing(connect_reader(path)) as reader:
        writer.execute("CREATE TABLE notes (note TEXT)")
        writer.execute("INSERT INTO notes VALUES ('kept')")
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader.execute("INSERT INTO notes VALUES ('not kept')")
        assert reader.execute("SELECT note FROM notes").fetchall() == [("kept",)]


def test_every_type_of_connection_waits_for_locks(tmp_path):
    path = tmp_path / "notes.db"
    with (
        closing(connect_writer(path)) as writer,
        closing(connect_reader(path)) as reader,
        closing(connect_copier(path)) as copier,
    ):
        waits = [pragma(each, "busy_timeout") for each in (writer, reader, copier)]
    assert waits == [5000, 500, 5000]


def test_a_connection_may_be_closed_by_another_thread(tmp_path):
    reader = connect_reader(tmp_path / "notes.db")
    thread = Thread(target=reader.close)
    thread.start()
    thread.join()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        reader.execute("SELECT 1")


def test_a_file_that_is_not_a_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, " * 100)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        connect_writer(path)
    assert path.read_text() == "Dear diary, " * 100


def test_a_sqlite_without_strict_tables_is_refused_before_a_file_is_created(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    with pytest.raises(TooOldSqlite, match=r"3\.37\.0"):
        connect_writer(tmp_path / "new" / "notes.db")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def opened(tmp_path):
    path = tmp_path / "data" / "notes.db"
    with closing(connect_writer(path)) as connection:
        connection.execute("CREATE TABLE notes (note TEXT)")
        yield path


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
@pytest.mark.parametrize("settled", [False, True])
def test_a_missing_or_replaced_file_is_detected(opened, suffix, settled):
    seconds = iter(range(0, 1000, 10))
    files = OpenedFiles(opened, lambda: next(seconds))
    for _ in range(3 if settled else 1):
        files.check()
    path = opened.with_name(opened.name + suffix)
    aside = path.with_name("aside")
    path.rename(aside)
    with pytest.raises(FileNotFoundError, match="deleted or moved"):
        files.check()
    assert files.missing == str(path)
    path.write_bytes(b"another file")
    with pytest.raises(FileNotFoundError, match="replaced"):
        files.check()
    aside.rename(path)
    files.check()
    assert files.missing is None


def test_a_missing_file_is_logged_once(opened, caplog):
    files = OpenedFiles(opened)
    opened.rename(opened.with_name("aside"))
    for _ in range(3):
        with pytest.raises(FileNotFoundError):
            files.check()
    assert [record.levelname for record in caplog.records] == ["CRITICAL"]


def test_a_moved_folder_is_detected(opened):
    files = OpenedFiles(opened)
    opened.parent.rename(opened.parent.with_name("moved"))
    with pytest.raises(FileNotFoundError):
        files.check()
    assert files.missing == str(opened)


def test_other_files_in_the_folder_are_ignored(opened):
    files = OpenedFiles(opened)
    for number in range(3):
        (opened.parent / f"other {number}").touch()
        files.check()


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def killed_writer(folder):
    """Create the files left by a killed process, with the last commits in the log."""
    path = folder / "running" / "notes.db"
    with closing(connect_writer(path)) as writer:
        writer.execute("CREATE TABLE notes (note TEXT)")
        writer.execute("INSERT INTO notes VALUES ('kept')")
        shutil.copytree(path.parent, folder / "killed")
    return folder / "killed" / "notes.db"


def test_an_observer_reads_the_log_of_a_killed_process_and_changes_nothing(tmp_path):
    path = killed_writer(tmp_path)
    before = files_in(path.parent)
    assert before["notes.db-wal"]
    with closing(connect_looker(path)) as looker:
        assert looker.execute("SELECT note FROM notes").fetchall() == [("kept",)]
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            looker.execute("DELETE FROM notes")
    assert files_in(path.parent) == before


def test_an_observer_creates_no_files_next_to_a_closed_database(tmp_path):
    path = tmp_path / "notes.db"
    with closing(connect_writer(path)) as writer:
        writer.execute("CREATE TABLE notes (note TEXT)")
    before = files_in(tmp_path)
    with closing(connect_looker(path)) as looker:
        assert looker.execute("SELECT note FROM notes").fetchall() == []
        assert files_in(tmp_path) == before
    assert files_in(tmp_path) == before


def test_an_observer_refuses_a_log_that_it_cannot_read_without_writing(tmp_path):
    path = killed_writer(tmp_path)
    path.with_name("notes.db-shm").unlink()
    with pytest.raises(UnrecoveredLog, match="start the service once"):
        connect_looker(path)
