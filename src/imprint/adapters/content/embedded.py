"""A box of small documents: one SQLite file, where all that arrive together take one sync.

A file of its own costs a document making it, which takes longer than everything else about a
draft, and two syncs; in a box it is a row.
"""

import asyncio
import errno
import logging
import math
import re
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Event, Lock, local
from typing import TypeVar

from imprint import failpoints
from imprint.adapters.content.document_files import DocumentFolder
from imprint.adapters.content.verification import check_document
from imprint.adapters.group_commit import Batches, Job
from imprint.adapters.sqlite_connections import connect_reader, connect_writer
from imprint.domain.cids import Cid
from imprint.domain.documents import SMALL_DOCUMENT
from imprint.domain.errors import Unavailable
from imprint.domain.files import Label, Network
from imprint.ports import Clock

_PAGE = 8192
"""Bytes of a page: with it, most documents are in one piece."""

_CACHE = 1_000
"""Kilobytes that a connection keeps in memory: what is read twice is kept elsewhere."""

_SMALL_TABLE = """
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
        self._writing.execute(_SMALL_TABLE)
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


_MOUNTS = Path("/proc/self/mountinfo")

_LOCAL = frozenset(
    {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"}
)
"""Kinds of file systems whose locks and memory are this machine's alone."""


def is_local(folder: Path, mounts: Path = _MOUNTS) -> bool:
    """Whether no other machine can have this folder; where Linux does not tell, nobody shares."""
    if not mounts.exists():
        return True
    return _kind_of(folder.resolve(), mounts.read_text(errors="replace")) in _LOCAL


def _kind_of(folder: Path, mounts: str) -> str:
    """The kind of the file system at the longest mount point above a folder, mounted last."""
    longest, kind = -1, ""
    for line in mounts.splitlines():
        mounted, _, mount = line.partition(" - ")
        # Spaces in a path are written in octal.
        point = Path(re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), mounted.split()[4]))
        if folder.is_relative_to(point) and len(point.parts) >= longest:
            longest, kind = len(point.parts), mount.split()[0]
    return kind


LEFTOVER_AGE = timedelta(hours=1)
"""How old an unfinished document is at least when it is taken for one that a crash left."""

THREADS = 8
"""How many calls wait for the disk at once: a file system syncs what waits together, together."""

MOST_TOGETHER = 64
"""How many small documents arrive with one sync, at most."""

LISTED_AT_ONCE = 1000
"""How many small documents are listed with one look."""

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


@dataclass(slots=True)
class _Arrival:
    network: Network
    change: Change
    abandoned: bool = False


class EmbeddedStore:
    """Documents on disk. Every byte that goes in or comes out is checked against its cid.

    Waiting for the disk is done by a few threads.
    """

    def __init__(self, root: Path, clock: Clock, threads: int = THREADS) -> None:
        """Open the store in the folder `root`, which is made if it is not there.

        Refuses, with `ValueError`, a path that is no folder or cannot be used as one.
        """
        try:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folders = {network: DocumentFolder(root / network) for network in Network}
            for folder in self._folders.values():
                folder.sweep((clock() - LEFTOVER_AGE).timestamp())
            self._boxes = _open_boxes(root)
        except (FileExistsError, NotADirectoryError) as error:
            raise ValueError(f"The path {root} for documents is not a folder.") from error
        except (OSError, sqlite3.Error) as error:
            raise ValueError(
                f"The folder {root} for documents cannot be used: {_reason(error)}"
            ) from error
        self._arrivals = Batches[_Arrival]("content-writer", self._change_boxes, MOST_TOGETHER)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="content")
        self._closed = False

    async def put(
        self, cid: Cid, document: bytes, network: Network, label: Label | None = None
    ) -> None:
        """Store a document durably under its cid; cancelled, it is not stored later."""
        if len(document) <= SMALL_DOCUMENT and network in self._boxes:
            check_document(cid, document, network)
            await self._change(network, storing(cid, document))
            return
        folder, abandoned = self._folders[network], Event()

        def store() -> None:
            check_document(cid, document, network)
            folder.store(cid, document, abandoned)

        try:
            await self._run(store)
        except asyncio.CancelledError:
            abandoned.set()
            raise

    async def relabel(self, cid: Cid, network: Network, label: Label) -> None:
        """Do nothing: a folder has no console that could show a label."""

    async def read(self, cid: Cid, network: Network) -> bytes | None:
        """The verified bytes of a document; None if it is not there."""
        folder, box = self._folders[network], self._boxes.get(network)

        def load() -> bytes | None:
            found = None if box is None else box.load(cid)
            if found is None:
                found = folder.load(cid)
            return None if found is None else check_document(cid, found, network)

        return await self._run(load)

    async def remove(self, cid: Cid, network: Network) -> None:
        """Destroy a document; one that is not there is no error."""
        if network in self._boxes:
            await self._change(network, deleting(cid))
        await self._run(partial(self._folders[network].delete, cid))

    async def list_documents(
        self, network: Network, before: datetime | None = None
    ) -> AsyncIterator[Cid]:
        """The cids of all documents, or of those stored before then.

        What is stored or destroyed meanwhile may or may not be among them.
        """
        folder = self._folders[network]
        latest = math.inf if before is None else before.timestamp()
        for shard in await self._run(folder.list_shards):
            for cid in await self._run(partial(folder.list_documents, shard, latest)):
                yield cid
        box, after = self._boxes.get(network), ""
        while box is not None and (
            page := await self._run(partial(box.list_documents, after, LISTED_AT_ONCE, latest))
        ):
            for cid in page:
                yield cid
            after = page[-1]

    async def probe(self) -> None:
        """Return if documents can be stored and read."""
        for network, folder in self._folders.items():
            await self._run(folder.probe)
            if network in self._boxes:
                await self._change(network, probing)

    async def close(self) -> None:
        """Finish what runs and let go."""
        self._closed = True
        await self._arrivals.close()
        await asyncio.to_thread(self._pool.shutdown)
        for box in self._boxes.values():
            box.close()
        self._boxes = {}

    async def _change(self, network: Network, change: Change) -> None:
        if self._closed:
            raise Unavailable.storage()
        arrival = _Arrival(network, change)
        try:
            await _translated(self._arrivals.submit(arrival))
        except asyncio.CancelledError:
            arrival.abandoned = True
            raise

    def _change_boxes(self, jobs: Sequence[Job[_Arrival]]) -> None:
        for network, box in self._boxes.items():
            theirs = [job for job in jobs if job.work.network is network and not job.work.abandoned]
            try:
                if theirs:
                    box.change([job.work.change for job in theirs])
            except Exception as error:  # noqa: BLE001  every caller gets it; the thread must live on
                for job in theirs:
                    job.error = error

    async def _run(self, work: Callable[[], _T]) -> _T:
        if self._closed:
            raise Unavailable.storage()
        return await _translated(asyncio.get_running_loop().run_in_executor(self._pool, work))


def _open_boxes(root: Path) -> dict[Network, Box]:
    if not is_local(root):
        return {}
    return {network: Box(root / network / "small.db") for network in Network}


def _reason(error: OSError | sqlite3.Error) -> str | None:
    """What is wrong, without the path that the system adds to it."""
    return error.strerror if isinstance(error, OSError) else str(error)


async def _translated(running: Awaitable[_T]) -> _T:
    try:
        return await running
    except (OSError, sqlite3.Error) as error:
        _log.error("The disk for documents failed: %s", _reason(error))
        raise Unavailable.storage() from error
