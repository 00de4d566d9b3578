"""Repairs a SQLite file that no process has open: reads the intact rows and replaces the file."""

import fcntl
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from imprint.adapters.database.sqlite.log import (
    DamagedLog,
    accepted_log,
    boot_file,
    log_file,
    replacement_of,
)
from imprint.adapters.disk_space import sync_path

_SHARED, _SHARED_BYTES = 0x40000002, 510
"""Start and number of the bytes in a SQLite file that every open connection locks."""

_CHUNK = 1024 * 1024

UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""Errors raised while reading a damaged file. SQLite's message may quote bytes of a damaged
schema."""


class FileInUse(Exception):
    """Another process has the file open."""

    def __init__(self, file: Path) -> None:
        super().__init__(
            f"Another process has {file} open. Stop the service and all commands first."
        )


@contextmanager
def copy_locked(place: Path, *, dry_run: bool = False) -> Iterator[Path]:
    """Copy a file and its log to a scratch folder while no other process can open them.

    A missing file is not copied. An interrupted replacement is completed first. With `dry_run`, it
    is refused instead, and the system's scratch folder is used. Raises `FileInUse`, `DamagedLog`
    and `OSError`.
    """
    if dry_run and replacement_of(place).exists():
        raise DamagedLog.interrupted(place)
    scratch = place.with_name(f"{place.name}.repair")
    handle = _lock(place) if place.exists() or replacement_of(place).exists() else None
    if dry_run:
        scratch = Path(tempfile.mkdtemp(prefix="imprint-repair-"))
    else:
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(mode=0o700)
    copy = scratch / "damaged.db"
    try:
        if handle is not None:
            # Reopening and closing the file would release the lock.
            _copy(handle, copy)
        for name_of in (log_file, boot_file, lambda path: accepted_log(log_file(path))):
            with suppress(FileNotFoundError):
                shutil.copyfile(name_of(place), name_of(copy))
        yield copy
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def _lock(file: Path) -> int:
    """Lock a file against every connection, as SQLite does. Raises `FileInUse`."""
    while True:
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, _SHARED_BYTES, _SHARED)
        except OSError as error:
            os.close(handle)
            raise FileInUse(file) from error
        if not replacement_of(file).exists():
            return handle
        _complete(file)
        os.close(handle)


def _copy(handle: int, target: Path) -> None:
    at = 0
    with target.open("wb") as file:
        while chunk := os.pread(handle, _CHUNK, at):
            file.write(chunk)
            at += len(chunk)


def replace_file(new: Path, file: Path, at: datetime) -> Path:
    """Replace the old file with a new one and return the new path of the old file.

    The old file's log must be gone before the new file takes its name, or SQLite would apply the
    log to the new file. If the process is killed in between, `check_log` refuses the old file, and
    the next `copy_locked` completes the replacement.
    """
    kept = file.with_name(f"{file.name}.damaged-{at:%Y%m%dT%H%M%SZ}")
    for source, target in ((file, kept), (log_file(file), log_file(kept))):
        with suppress(FileNotFoundError):
            _link(source, target)
    sync_path(new)
    new.rename(replacement_of(file))
    sync_path(file.parent)
    _complete(file)
    return kept


def _complete(file: Path) -> None:
    log_file(file).unlink(missing_ok=True)
    file.with_name(f"{file.name}-shm").unlink(missing_ok=True)
    sync_path(file.parent)
    replacement_of(file).rename(file)
    sync_path(file.parent)


def _link(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        if not source.exists():
            raise
        # A file system without hard links.
        shutil.copyfile(source, target)


def connect_damaged(path: Path) -> sqlite3.Connection:
    """Open a copy of a damaged file. Text that is not UTF-8 cannot be stored again."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.row_factory = sqlite3.Row
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    return connection


def is_whole(connection: sqlite3.Connection, what: str = "1") -> bool:
    """Whether SQLite finds no damage in a file, or in a table and its indexes."""
    with suppress(*UNREADABLE):
        (found,) = connection.execute(f"PRAGMA integrity_check({what})").fetchone()
        return bool(found == "ok")
    return False


class ReadableRows:
    """The readable rows of a table. `complete` says whether the table was read to the end.

    SQLite stops at a damaged page, so the rows after it are read from the other end.
    """

    def __init__(self, connection: sqlite3.Connection, select: str, key: tuple[str, ...]) -> None:
        self._connection = connection
        self._select = select
        self._key = key
        self.complete = False

    def __iter__(self) -> Iterator[Any]:
        for direction in ("ASC", "DESC"):
            order = ", ".join(f"{column} {direction}" for column in self._key)
            with suppress(*UNREADABLE):
                yield from self._connection.execute(f"{self._select} ORDER BY {order}")
                self.complete = direction == "ASC"
                return
