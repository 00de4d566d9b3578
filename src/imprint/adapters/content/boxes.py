"""A box of small documents: one SQLite file, where all that arrive together take one sync.

A file of its own costs a document making it, which takes longer than everything else about a
draft, and two syncs; in a box it is a row.
"""

import errno
import math
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock, local

from imprint import failpoints
from imprint.adapters.sqlite_files import connect_reader, connect_writer
from imprint.domain.cids import Cid

_PAGE = 8192
"""Bytes of a page: with it, most documents are in one piece."""

_CACHE = 1_000
"""Kilobytes that a connection keeps in memory: what is read twice is kept elsewhere."""

_TABLE = """
CREATE TABLE IF NOT EXISTS documents (
    cid TEXT PRIMARY KEY,
    stored_at REAL NOT NULL,  -- seconds since 1970
    document BLOB NOT NULL
) STRICT"""

_STORE = """
INSERT INTO documents (cid, stored_at, document) VALUES (?, ?, ?)
ON CONFLICT (cid) DO UPDATE SET stored_at = excluded.stored_at, document = excluded.document"""
_LOAD = "SELECT document FROM documents WHERE cid = ?"
_DELETE = "DELETE FROM documents WHERE cid = ?"
_LIST = "SELECT cid FROM documents WHERE cid > ? AND stored_at < ? ORDER BY cid LIMIT ?"

Change = Callable[[sqlite3.Connection], None]
"""Something to do to a box."""


def storing(cid: Cid, document: bytes) -> Change:
    """The change that puts a document into a box; one that is there is written anew."""

    def store(connection: sqlite3.Connection) -> None:
        failpoints.reach("during_put")
        connection.execute(_STORE, (cid, time.time(), document))
        failpoints.reach("unsynced_put")

    return store


def deleting(cid: Cid) -> Change:
    """The change that destroys a document, if it is there."""

    def delete(connection: sqlite3.Connection) -> None:
        connection.execute(_DELETE, (cid,))

    return delete


def probing(connection: sqlite3.Connection) -> None:
    """The change that writes a little, and takes it back."""
    connection.execute(_STORE, ("probe", time.time(), b"probe"))
    connection.execute(_DELETE, ("probe",))


class Box:
    """Blocking operations on one box: one thread changes it, any number of others read.

    All of them raise `OSError` or `sqlite3.Error` when the disk fails.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writing = connect_writer(path, _PAGE, _CACHE)
        self._writing.execute("PRAGMA synchronous = FULL")
        # What a page held before must not be found on the disk after it was destroyed.
        self._writing.execute("PRAGMA secure_delete = ON")
        self._writing.execute(_TABLE)
        self._file = path.stat().st_ino
        self._readers = local()
        self._reading: list[sqlite3.Connection] = []
        self._adding = Lock()

    def change(self, changes: Sequence[Change]) -> None:
        """Make changes, durably, all of them or none."""
        self._check_place()
        try:
            self._writing.execute("BEGIN IMMEDIATE")
            for change in changes:
                change(self._writing)
            self._writing.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                if self._writing.in_transaction:
                    self._writing.execute("ROLLBACK")
            raise

    def load(self, cid: Cid) -> bytes | None:
        """The bytes under this cid; None if there are none."""
        row = self._reader().execute(_LOAD, (cid,)).fetchone()
        if row is None:
            self._check_place()
            return None
        return bytes(row[0])

    def list_documents(self, after: str, limit: int, before: float = math.inf) -> list[Cid]:
        """Up to `limit` cids above one, in order; without what was stored after `before`."""
        rows = self._reader().execute(_LIST, (after, before, limit)).fetchall()
        return [Cid(row[0]) for row in rows]

    def close(self) -> None:
        """Let go, when nobody reads or writes any more."""
        for connection in (*self._reading, self._writing):
            connection.close()

    def _reader(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._readers, "connection", None)
        if connection is None:
            connection = self._readers.connection = connect_reader(self._path, _CACHE)
            with self._adding:
                self._reading.append(connection)
        return connection

    def _check_place(self) -> None:
        """A box that is gone, as when its disk is not mounted, is an error and not an empty one."""
        if self._path.stat().st_ino != self._file:
            raise FileNotFoundError(errno.ENOENT, "The box of documents was replaced.")
