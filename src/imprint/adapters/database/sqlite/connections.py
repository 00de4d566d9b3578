"""Connections to a SQLite file, their settings, and the files they use."""

import errno
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

_log = logging.getLogger(__name__)

_OLDEST = (3, 37, 0)
"""The first SQLite release with STRICT tables."""

_WRITER_TIMEOUT = 5_000
"""Number of milliseconds that the writer waits for the commit of another process."""

_READER_TIMEOUT = 500
"""Number of milliseconds that a read waits for a lock. A read waits only while another process
recovers the log."""

_WAL_ATTEMPTS = 100
"""Number of attempts to switch to the write-ahead log, because concurrent opens can prevent it."""

_WAL_PAUSE = 0.05
"""Seconds between attempts to switch to the write-ahead log."""

CACHE_KILOBYTES = 16_000
"""Default page cache size per connection, in kilobytes."""

_LOG_SIZE = 64 * 1024 * 1024
"""Size in bytes to which the write-ahead log is truncated after a checkpoint."""

_SETTLED = 3.0
"""Seconds after which a changed folder is certain to have a new modification time. Some file
systems record times with a resolution of two seconds."""


class UnrecoveredLog(OSError):
    """The log of a database cannot be read without writing, because its shared-memory file is
    gone."""


class TooOldSqlite(Exception):
    """The SQLite library is too old for this service."""


Connect = Callable[[Path, int], sqlite3.Connection]
"""Opens a read-only connection with a page cache of this many kilobytes."""


@contextmanager
def closing_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    """Close a connection if the `with` block raises an exception.

    An abandoned connection may live on in the error's traceback. Until the connection is gone,
    SQLite keeps the descriptors of all other closed connections to the file, and repeated attempts
    would exhaust them.
    """
    try:
        yield
    except BaseException:
        connection.close()
        raise


def connect_writer(
    path: Path, page_size: int = 4096, cache: int = CACHE_KILOBYTES
) -> sqlite3.Connection:
    """Open a connection that may write, creating the database if needed and switching it to WAL.

    `page_size` takes effect only when the database is created.
    """
    if sqlite3.sqlite_version_info < _OLDEST:
        wanted = ".".join(map(str, _OLDEST))
        raise TooOldSqlite(f"SQLite {wanted} or newer is needed, not {sqlite3.sqlite_version}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600, exist_ok=True)
    connection = _connect(path, _WRITER_TIMEOUT, cache)
    with closing_on_error(connection):
        connection.execute(f"PRAGMA page_size = {page_size}")
        _switch_to_wal(connection)
        connection.execute("PRAGMA foreign_keys = ON")
        # Savepoints need a journal, and writing it to a file would cost more than the change.
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute(f"PRAGMA journal_size_limit = {_LOG_SIZE}")
        # On macOS a plain fsync stops at the drive's cache. Elsewhere these settings do nothing.
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("PRAGMA checkpoint_fullfsync = ON")
    return connection


def connect_reader(path: Path, cache: int = CACHE_KILOBYTES) -> sqlite3.Connection:
    """Open a read-only connection."""
    connection = _connect(path, _READER_TIMEOUT, cache)
    with closing_on_error(connection):
        connection.execute("PRAGMA query_only = ON")
    return connection


def connect_looker(path: Path, cache: int = CACHE_KILOBYTES) -> sqlite3.Connection:
    """Open a connection that reads without changing any file, not even the log's shared memory.

    If other processes write, or were killed, SQLite reads their log into its own memory. If there
    is no log, no process is writing. Raises `UnrecoveredLog`.
    """
    log, memory = (path.with_name(f"{path.name}-{end}") for end in ("wal", "shm"))
    if log.exists() and memory.exists():
        options = "mode=ro&readonly_shm=1"
    elif not log.exists() or not log.stat().st_size:
        options = "immutable=1"
    else:
        raise UnrecoveredLog(errno.ENOENT, "Its log was not recovered: start the service once")
    connection = _connect(path.absolute().as_uri() + f"?{options}", _READER_TIMEOUT, cache)
    with closing_on_error(connection):
        connection.execute("PRAGMA query_only = ON")
    return connection


def connect_untrusted(path: Path) -> sqlite3.Connection:
    """Open a connection that can only read, for an untrusted file.

    The schema has not been checked yet, so it cannot call functions with side effects.
    """
    address = path.absolute().as_uri() + "?mode=ro&immutable=1"
    connection = sqlite3.connect(address, uri=True, isolation_level=None)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def connect_copier(path: Path) -> sqlite3.Connection:
    """Open a connection that copies the database elsewhere."""
    return _connect(path, _WRITER_TIMEOUT, CACHE_KILOBYTES)


def _connect(path: Path | str, timeout: int, cache: int) -> sqlite3.Connection:
    # Each connection is used by one thread at a time, and may be closed by another thread.
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, uri=isinstance(path, str)
    )
    with closing_on_error(connection):
        connection.execute(f"PRAGMA busy_timeout = {timeout}")
        connection.execute(f"PRAGMA cache_size = -{cache}")
    return connection


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    for attempt in range(_WAL_ATTEMPTS):
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
        except sqlite3.OperationalError:
            if attempt == _WAL_ATTEMPTS - 1:
                raise
            time.sleep(_WAL_PAUSE)
        else:
            return


class OpenedFiles:
    """Detects that an open database or its log was deleted, moved or replaced.

    SQLite continues with the files it has open, and later commits are lost when the process ends. A
    check costs one system call if nothing has changed in the folder.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Record the files of a database that is open and has been read or written."""
        self._clock = clock
        self._path = str(path)
        self._folder = str(path.parent)
        names = (self._path, f"{self._path}-wal", f"{self._path}-shm")
        self._known = {name: _identity(os.stat(name)) for name in names if Path(name).exists()}
        self._seen: tuple[int, ...] | None = None
        self._seen_at = 0.0
        self._settled: tuple[int, ...] | None = None
        self.missing: str | None = None

    @property
    def log_is_gone(self) -> bool:
        """Whether the log was deleted while the database is still at its path."""
        return (
            self.missing == f"{self._path}-wal"
            and not Path(self.missing).exists()
            and _identity(os.stat(self._path)) == self._known[self._path]
        )

    def check(self) -> None:
        """Raise `OSError` if the file at a path is not the one that was opened.

        The problem is logged once. Files that reappear are accepted again.
        """
        try:
            folder = os.stat(self._folder)
        except FileNotFoundError:
            self._miss(self._path, replaced=False)
        sign = (folder.st_dev, folder.st_ino, folder.st_mtime_ns)
        if sign == self._settled and self.missing is None:
            return
        for name, known in self._known.items():
            try:
                found = _identity(os.stat(name))
            except FileNotFoundError:
                found = None
            if found != known:
                self._miss(name, found is not None)
        if self.missing is not None:
            _log.warning("The files of the database %s are back.", self._path)
            self.missing = None
        now = self._clock()
        if sign != self._seen:
            self._seen, self._seen_at = sign, now
        elif now - self._seen_at > _SETTLED:
            # A later change of the folder cannot have the same modification time.
            self._settled = sign

    def _miss(self, name: str, replaced: bool) -> NoReturn:
        what = "replaced" if replaced else "deleted or moved"
        if self.missing is None:
            self._settled = None
            self.missing = name
            _log.critical(
                "The file %s was %s while the service was running. Nothing is read or written "
                "until it is back. Stop the service, put the file back or restore a backup, and "
                "start again.",
                name,
                what,
            )
        raise FileNotFoundError(errno.ENOENT, f"The file was {what}.", name)


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
