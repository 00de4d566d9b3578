"""Connections to a SQLite file, and the settings that each of them needs."""

import sqlite3
import time
from pathlib import Path

_OLDEST = (3, 37, 0)
"""The first SQLite with STRICT tables."""

_WRITER_PATIENCE = 5_000
"""Milliseconds that the writer waits for another process's commit."""

_READER_PATIENCE = 500
"""Milliseconds that a read waits; it does so only while another process recovers the log."""

_SWITCH_TRIES = 100
"""How often the switch to the write-ahead log is tried: it fails at once where others open too."""

_SWITCH_PAUSE = 0.05
"""Seconds between these tries."""

CACHE_KILOBYTES = 16_000
"""How much of a database a connection keeps in memory, unless it says otherwise."""

_LOG_SIZE = 64 * 1024 * 1024
"""Bytes to which the write-ahead log shrinks again after a rush."""


class TooOldSqlite(Exception):
    """The SQLite library is older than what is kept with it needs."""


def connect_writer(
    path: Path, page_size: int = 4096, cache: int = CACHE_KILOBYTES
) -> sqlite3.Connection:
    """A connection that may write, to a database that exists from now on and uses WAL.

    The size of its pages is what it was made with, whatever is asked for later.
    """
    if sqlite3.sqlite_version_info < _OLDEST:
        wanted = ".".join(map(str, _OLDEST))
        raise TooOldSqlite(f"SQLite {wanted} or newer is needed, not {sqlite3.sqlite_version}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600, exist_ok=True)
    connection = _connect(path, _WRITER_PATIENCE, cache)
    connection.execute(f"PRAGMA page_size = {page_size}")
    _switch_to_wal(connection)
    connection.execute("PRAGMA foreign_keys = ON")
    # What a savepoint would need to undo: a file for it costs more than the change.
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute(f"PRAGMA journal_size_limit = {_LOG_SIZE}")
    # On macOS a plain fsync stops at the drive's cache; elsewhere this changes nothing.
    connection.execute("PRAGMA fullfsync = ON")
    connection.execute("PRAGMA checkpoint_fullfsync = ON")
    return connection


def connect_reader(path: Path, cache: int = CACHE_KILOBYTES) -> sqlite3.Connection:
    """A connection that only reads."""
    connection = _connect(path, _READER_PATIENCE, cache)
    connection.execute("PRAGMA query_only = ON")
    return connection


def connect_copier(path: Path) -> sqlite3.Connection:
    """A connection that copies the database elsewhere."""
    return _connect(path, _WRITER_PATIENCE, CACHE_KILOBYTES)


def _connect(path: Path, patience: int, cache: int) -> sqlite3.Connection:
    # Each connection is used by one thread at a time; it may be closed by another one.
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {patience}")
    connection.execute(f"PRAGMA cache_size = -{cache}")
    return connection


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    for attempt in range(_SWITCH_TRIES):
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
        except sqlite3.OperationalError:
            if attempt == _SWITCH_TRIES - 1:
                raise
            time.sleep(_SWITCH_PAUSE)
        else:
            return
