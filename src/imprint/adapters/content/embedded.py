"""Embedded content store: documents on this machine's disk.

Documents up to `SMALL_DOCUMENT` bytes are rows of one SQLite file per network. Documents that
arrive together share one sync. Creating a file would take two syncs and cost more than the rest of
saving a draft. Larger documents are files (document_files.py). A folder that may be shared between
machines has only files, because SQLite's write-ahead log needs shared memory.
"""

import asyncio
import errno
import logging
import math
import os
import re
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from threading import BoundedSemaphore, Event, Lock, local
from typing import Any, TypeVar

from imprint import failpoints
from imprint.adapters.content.document_files import ANY_FENCE, DocumentFiles
from imprint.adapters.database.group_commit import CALL_SECONDS, GroupCommit, Job
from imprint.adapters.database.sqlite.connections import (
    OpenedFiles,
    closing_on_error,
    connect_looker,
    connect_reader,
    connect_writer,
)
from imprint.adapters.database.sqlite.damaged_file import (
    UNREADABLE,
    ReadableRows,
    connect_damaged,
    copy_locked,
    is_whole,
    replace_file,
)
from imprint.adapters.database.sqlite.log import (
    DamagedLog,
    begin_log,
    check_log,
    log_file,
    read_boot,
    replacement_of,
)
from imprint.adapters.disk_space import sync_path
from imprint.adapters.outages import is_damage, remedy
from imprint.domain.drafts.documents import SMALL_DOCUMENT
from imprint.domain.drafts.files import Label, Network
from imprint.domain.errors import Damaged, NeedsUpgrade, Unavailable
from imprint.domain.formats.cids import Cid, Codec, codec_of, layout_of
from imprint.domain.installation import Access
from imprint.ports import Clock
from imprint.traces import timed_call

MARKER = "installation"
"""Name of the marker file."""

_MAX_BYTES = 100
"""Number of bytes to read from a marker file, more than any marker contains."""

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
"""Errors that file systems without hard links raise."""


class InstallationMarker:
    """A marker file with one id. All methods block, and raise `OSError` if the disk fails."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> str | None:
        """The id in the marker, or None if there is no marker. A missing folder raises
        `OSError`."""
        try:
            with self._path.open("rb") as file:
                return file.read(_MAX_BYTES).decode("ascii", "replace").strip()
        except FileNotFoundError:
            self._path.parent.stat()
            return None

    def write(self, installation: str, instead_of: str | None) -> str:
        """Write an id durably and return the id now in the marker.

        An existing marker is kept, unless its id is `instead_of`. Readers never see a partial
        marker, and only one of several concurrent writers wins.
        """
        temporary = self._write_temporary(installation)
        try:
            if instead_of is not None and self.read() == instead_of:
                temporary.replace(self._path)
            else:
                self._add(temporary)
        finally:
            temporary.unlink(missing_ok=True)
        sync_path(self._path.parent)
        return self.read() or ""

    def _add(self, temporary: Path) -> None:
        try:
            self._path.hardlink_to(temporary)
        except FileExistsError:
            pass
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            if self.read() is None:
                temporary.replace(self._path)

    def _write_temporary(self, installation: str) -> Path:
        temporary = self._path.with_name(f".{self._path.name}-{os.getpid()}-{time.time_ns()}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(descriptor, f"{installation}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return temporary


LEFTOVER_AGE = timedelta(hours=1)
"""Age after which an incoming file counts as left behind by a crash."""

THREADS = 8
"""Number of disk threads: several, because a file system combines concurrent syncs."""

MAX_QUEUED = 1024
"""Maximum number of running and queued operations. Further operations fail immediately. The limit
exceeds the number of concurrent requests, so only a hanging disk can reach it, never a client."""

CHUNKED_SECONDS = 20.0
"""Seconds allowed for reading a multi-block document, as in the other stores."""

BYTES_PER_SECOND = 1024 * 1024
"""Speed of the slowest supported disk in bytes per second. Large documents get more time."""

MAX_BATCH = 64
"""Maximum number of small documents per transaction."""

LIST_PAGE = 1000
"""Number of small documents listed per query."""

SMALL_DOCUMENTS = "small.db"
"""Name of the file with a network's small documents."""

_PAGE_BYTES = 8192
"""SQLite page size in bytes, chosen so that most small documents fit in one page."""

_CACHE_KILOBYTES = 1_000
"""SQLite page cache per connection in kilobytes. Frequently read documents are cached elsewhere."""

_TABLE = """
CREATE TABLE IF NOT EXISTS documents (
    cid TEXT PRIMARY KEY,
    stored_at REAL NOT NULL,  -- seconds since 1970
    document BLOB NOT NULL,
    fence INTEGER NOT NULL DEFAULT 0  -- a removal with this fence or a lower one comes too late
) STRICT"""
_COLUMNS = "SELECT name FROM pragma_table_info('documents')"
_ADD_FENCE = "ALTER TABLE documents ADD COLUMN fence INTEGER NOT NULL DEFAULT 0"
_STORE = """
INSERT INTO documents (cid, stored_at, document, fence) VALUES (?, ?, ?, ?)
ON CONFLICT (cid) DO UPDATE SET stored_at = excluded.stored_at, document = excluded.document,
    fence = max(fence, excluded.fence)"""
_LOAD = "SELECT document FROM documents WHERE cid = ?"
_DELETE = "DELETE FROM documents WHERE cid = ? AND fence < ?"
_LIST = "SELECT cid FROM documents WHERE cid > ? AND stored_at < ? ORDER BY cid LIMIT ?"

_MOUNTS = Path("/proc/self/mountinfo")
_LOCAL_FILE_SYSTEMS = frozenset(
    {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"}
)
"""File systems that only one machine can mount at a time."""

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


@dataclass(slots=True)
class _Write:
    """A queued change to a network's small documents."""

    network: Network
    change: Callable[[], None]
    abandoned: bool = False


class EmbeddedStore:
    """`ContentStore` on disk. Documents are verified against their cids on every put and read."""

    shows_labels = False

    def __init__(
        self,
        root: Path,
        clock: Clock,
        threads: int = THREADS,
        seconds: float = CALL_SECONDS,
        *,
        access: Access = Access.MIGRATE,
    ) -> None:
        """Open the store in the folder `root`, creating it if it does not exist.

        With read-only access, nothing is created, stored or deleted. An operation takes at most
        `seconds`, or longer for a large document. Raises `DamagedLog`, `NeedsUpgrade`, and
        `ValueError` for a path that is not a usable folder.
        """
        self._reads_only = access is Access.READ
        try:
            if self._reads_only:
                # A missing folder is an error.
                next(root.iterdir(), None)
            else:
                root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._files = {
                network: DocumentFiles(root / network, makes_folders=not self._reads_only)
                for network in Network
            }
            for files in () if self._reads_only else self._files.values():
                files.remove_leftovers((clock() - LEFTOVER_AGE).timestamp())
            self._small = _open_small(root, access) if is_local(root) else {}
        except (FileExistsError, NotADirectoryError) as error:
            raise ValueError(f"The path {root} for documents is not a folder.") from error
        except (OSError, sqlite3.Error) as error:
            raise ValueError(
                f"The folder {root} for documents cannot be used: {_reason(error)}.{remedy(error)}"
            ) from error
        self._marker = InstallationMarker(root / MARKER)
        self._is_marked = self._is_foreign = False
        self._seconds = seconds
        self._writes = GroupCommit[_Write](
            "content-writer", self._commit, MAX_BATCH, _too_slow, seconds
        )
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="content")
        self._places = BoundedSemaphore(MAX_QUEUED)
        self._closed = False

    async def put(
        self,
        cid: Cid,
        document: bytes,
        network: Network,
        label: Label | None = None,
        fence: int = 0,
    ) -> None:
        """Store a document durably under its cid.

        A call that is cancelled or times out stores nothing later, unless it is already syncing. An
        existing document is written again and keeps the higher fence. Nothing is stored in a folder
        whose marker, when last read, was missing or belonged to another installation.
        """
        if self._is_foreign or self._reads_only:
            raise Unavailable.storage()
        if len(document) <= SMALL_DOCUMENT and network in self._small:
            verify_document(cid, document, network)
            with timed_call("storage", "store"):
                await self._write(
                    network, partial(self._small[network].store, cid, document, fence)
                )
            return
        files, abandoned = self._files[network], Event()

        def store() -> None:
            # Read before checking `abandoned`: a caller that gives up first sets `abandoned`, and
            # then drops the document.
            given = document
            if not abandoned.is_set():
                files.store(cid, verify_document(cid, given, network), abandoned, fence)

        try:
            with timed_call("storage", "store"):
                await self._run(store, self._seconds + len(document) / BYTES_PER_SECOND)
        except (asyncio.CancelledError, Unavailable):
            abandoned.set()
            # Free the memory now, instead of when a thread gets to the queued write.
            document = b""
            raise

    async def relabel(self, cid: Cid, network: Network, label: Label) -> None:
        """Do nothing: this store has no console that shows labels."""

    async def read(self, cid: Cid, network: Network) -> bytes | None:
        """Return a document's verified bytes, or None if it is not stored."""
        files, small = self._files[network], self._small.get(network)

        def load() -> bytes | None:
            found = None if small is None else small.load(cid)
            if found is None:
                found = files.load(cid)
            return None if found is None else verify_document(cid, found, network)

        # The cid does not reveal the size of a multi-block document.
        chunked = codec_of(cid) is Codec.DAG_PB
        with timed_call("storage", "read"):
            return await self._run(load, CHUNKED_SECONDS if chunked else self._seconds)

    async def remove(self, cid: Cid, network: Network, fence: int | None = None) -> None:
        """Delete a document. A missing document is not an error.

        The fence is compared and the document deleted in one step, even while other processes store
        it.
        """
        if self._reads_only:
            raise Unavailable.storage()
        began, below = time.monotonic(), ANY_FENCE if fence is None else fence
        with timed_call("storage", "destroy"):
            if network in self._small:
                await self._write(network, partial(self._small[network].delete, cid, below))
            rest = self._seconds - (time.monotonic() - began)
            await self._run(partial(self._files[network].delete, cid, below), rest)

    async def list_documents(
        self, network: Network, before: datetime | None = None
    ) -> AsyncIterator[Cid]:
        """Yield the cids of all documents, or of those stored before a time.

        Documents stored or deleted during the listing may or may not be included.
        """
        files, small = self._files[network], self._small.get(network)
        latest = math.inf if before is None else before.timestamp()
        for shard in await self._run(files.list_shards):
            for cid in await self._run(partial(files.list_documents, shard, latest)):
                yield cid
        after = ""
        while small is not None and (
            page := await self._run(partial(small.list_documents, after, LIST_PAGE, latest))
        ):
            for cid in page:
                yield cid
            after = page[-1]

    async def claimed_by(self, installation: str) -> str | None:
        """The installation id in the folder's marker, or None."""
        holder = await self._run(self._marker.read)
        self._is_foreign = holder != installation and (holder is not None or self._is_marked)
        self._is_marked = self._is_marked or holder == installation
        return holder

    async def claim(self, installation: str, instead_of: str | None = None) -> str:
        """Mark the folder durably unless another installation has marked it, and return the id in
        the marker."""
        if self._reads_only:
            raise Unavailable.storage()
        holder = await self._run(partial(self._marker.write, installation, instead_of))
        self._is_marked = holder == installation
        self._is_foreign = not self._is_marked
        return holder

    async def probe(self) -> None:
        """Check that documents can be stored and read."""
        for network, files in self._files.items():
            await self._run(files.probe)
            if network in self._small:
                await self._write(network, self._small[network].probe)

    async def probe_reads(self) -> None:
        """Check that documents can be read, even on a full disk."""
        for network, files in self._files.items():
            await self._run(files.probe_reads)
            if network in self._small:
                await self._run(self._small[network].probe_reads)

    async def close(self) -> None:
        """Finish running operations, then close files and connections."""
        self._closed = True
        await self._writes.close()
        await asyncio.to_thread(self._pool.shutdown)
        for small in self._small.values():
            small.close()
        self._small = {}

    async def _write(self, network: Network, change: Callable[[], None]) -> None:
        if self._closed:
            raise Unavailable.storage()
        write = _Write(network, change)
        try:
            await _translate_errors(self._writes.submit(write))
        except (asyncio.CancelledError, Unavailable):
            write.abandoned = True
            # Free the memory now, instead of when the writer thread gets to the queued write.
            write.change = _nothing
            raise

    def _commit(self, jobs: Sequence[Job[_Write]]) -> None:
        """Apply queued writes in one transaction per network. Runs in the writer thread."""
        for network, small in self._small.items():
            theirs = [job for job in jobs if job.work.network is network and not job.work.abandoned]
            try:
                if theirs:
                    small.commit([partial(_apply, job) for job in theirs])
            except Exception as error:  # noqa: BLE001  passed to every caller; the thread must live on
                for job in theirs:
                    job.error = error

    async def _run(self, work: Callable[[], _T], seconds: float | None = None) -> _T:
        """Run blocking work in a thread. Raises `Unavailable` if it takes longer than `seconds`."""
        if self._closed:
            raise Unavailable.storage()
        if not self._places.acquire(blocking=False):
            _log.error("The disk for documents is too slow: %d operations are waiting.", MAX_QUEUED)
            raise Unavailable.storage()
        running = self._pool.submit(work)
        running.add_done_callback(self._give_place_back)
        ended = asyncio.wrap_future(running)
        ended.add_done_callback(_retrieve)
        # Shielded, because the slot must not become free while the work still occupies a thread
        # or holds a document.
        waiting = _within(asyncio.shield(ended), self._seconds if seconds is None else seconds)
        return await _translate_errors(waiting)

    def _give_place_back(self, _: "Future[Any]") -> None:
        self._places.release()


class SmallDocuments:
    """The small documents of one network, in a SQLite file that one thread writes.

    All methods block, and raise `OSError` or `sqlite3.Error` if the disk fails. `store`, `delete`
    and `probe` may be called only by changes that are passed to `commit`.
    """

    def __init__(self, path: Path, access: Access = Access.MIGRATE) -> None:
        """Open the file of small documents.

        Raises `DamagedLog` if opening the file would lose documents, and `NeedsUpgrade` if an
        earlier release wrote the file.
        """
        self._path = path
        self._reads_only = access is Access.READ
        boot = read_boot()
        is_to_begin = check_log(path, boot)
        if self._reads_only:
            self._writer = connect_looker(path, _CACHE_KILOBYTES)
        else:
            self._writer = connect_writer(path, _PAGE_BYTES, _CACHE_KILOBYTES)
        with closing_on_error(self._writer):
            if not self._reads_only:
                if is_to_begin:
                    begin_log(self._writer, path, boot)
                self._writer.execute("PRAGMA synchronous = FULL")
                # Overwrites deleted documents, so that no bytes can be recovered from the disk.
                self._writer.execute("PRAGMA secure_delete = ON")
                self._make_table(access)
            self._files = OpenedFiles(path)
        self._thread = local()
        self._readers: list[sqlite3.Connection] = []
        self._readers_lock = Lock()

    def commit(self, changes: Sequence[Callable[[], None]]) -> None:
        """Apply changes in one durable transaction."""
        if self._files.missing is not None:
            self._files.check()
        try:
            self._writer.execute("BEGIN IMMEDIATE")
            for change in changes:
                change()
            self._writer.execute("COMMIT")
            # Writes to a deleted file are lost when this process ends, so nobody may rely on them.
            self._files.check()
        except BaseException:
            with suppress(sqlite3.Error):
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
            raise

    def store(self, cid: Cid, document: bytes, fence: int = 0) -> None:
        """Store a document. An existing document is written again and counts as new."""
        failpoints.reach("during_put")
        self._writer.execute(_STORE, (cid, time.time(), document, fence))
        failpoints.reach("unsynced_put")

    def delete(self, cid: Cid, below: int = ANY_FENCE) -> None:
        """Delete a document if it exists and its fence is lower than `below`."""
        self._writer.execute(_DELETE, (cid, below))

    def probe(self) -> None:
        """Write a row and delete it again."""
        self._writer.execute(_STORE, ("probe", time.time(), b"probe", 0))
        self._writer.execute(_DELETE, ("probe", ANY_FENCE))

    def probe_reads(self) -> None:
        """Look up a row. Raises `OSError` if the file was replaced since it was opened."""
        self._files.check()
        self._reader().execute(_LOAD, ("probe",)).fetchone()

    def load(self, cid: Cid) -> bytes | None:
        """Return the bytes stored under a cid, or None."""
        row = self._reader().execute(_LOAD, (cid,)).fetchone()
        if row is None:
            self._files.check()
            return None
        return bytes(row["document"])

    def list_documents(self, after: str, limit: int, before: float = math.inf) -> list[Cid]:
        """Up to `limit` cids above `after`, in order, stored before this Unix time."""
        rows = self._reader().execute(_LIST, (after, before, limit)).fetchall()
        return [Cid(row["cid"]) for row in rows]

    def close(self) -> None:
        """Close all connections. No thread may use them any longer."""
        for connection in (*self._readers, self._writer):
            connection.close()

    def _make_table(self, access: Access) -> None:
        """Create the table, or add the columns that a table from an earlier release lacks."""
        self._writer.execute("BEGIN IMMEDIATE")
        self._writer.execute(_TABLE)
        if ("fence",) not in self._writer.execute(_COLUMNS).fetchall():
            if access is not Access.MIGRATE:
                raise NeedsUpgrade(
                    f"The documents in {self._path} have the schema of an older version."
                )
            self._writer.execute(_ADD_FENCE)
        self._writer.execute("COMMIT")

    def _reader(self) -> sqlite3.Connection:
        """The connection of the current thread."""
        connection: sqlite3.Connection | None = getattr(self._thread, "connection", None)
        if connection is None:
            connect = connect_looker if self._reads_only else connect_reader
            connection = self._thread.connection = connect(self._path, _CACHE_KILOBYTES)
            connection.row_factory = sqlite3.Row
            with self._readers_lock:
                self._readers.append(connection)
        return connection


def _open_small(root: Path, access: Access) -> dict[Network, SmallDocuments]:
    """Open the small documents of all networks. If a file cannot be opened, close the others."""
    opened: dict[Network, SmallDocuments] = {}
    try:
        for network in Network:
            path = root / network / SMALL_DOCUMENTS
            if path.exists() or access is not Access.READ:
                opened[network] = SmallDocuments(path, access)
    except BaseException:
        for each in opened.values():
            each.close()
        raise
    return opened


def lacks_fences(root: Path) -> bool:
    """Whether a store's small documents have the layout of an earlier release. Changes nothing."""
    files = [path for network in Network if (path := root / network / SMALL_DOCUMENTS).exists()]
    for path in files if is_local(root) else ():
        with closing(connect_looker(path)) as connection:
            columns = connection.execute(_COLUMNS).fetchall()
            if columns and ("fence",) not in columns:
                return True
    return False


def is_local(folder: Path, mounts: Path = _MOUNTS) -> bool:
    """Whether only this machine can mount the folder. Returns True if there is no /proc."""
    if not mounts.exists():
        return True
    kind = _file_system_of(folder.resolve(), mounts.read_text(errors="replace"))
    return kind in _LOCAL_FILE_SYSTEMS


def _file_system_of(folder: Path, mounts: str) -> str:
    """The type of the file system that contains a folder. Later mounts hide earlier ones."""
    longest, kind = -1, ""
    for line in mounts.splitlines():
        mounted, _, mount = line.partition(" - ")
        # Spaces in a path are written in octal.
        point = Path(re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), mounted.split()[4]))
        if folder.is_relative_to(point) and len(point.parts) >= longest:
            longest, kind = len(point.parts), mount.split()[0]
    return kind


def verify_document(cid: Cid, document: bytes, network: Network) -> bytes:
    """Return the document if it matches this cid.

    Otherwise raises `Damaged` and logs a critical message, because only a fault can cause a
    mismatch.
    """
    if layout_of(cid, document) is None:
        _log.critical("The bytes for the %s document %s do not match its cid.", network, cid)
        raise Damaged.document(f"the {network} document {cid}")
    return document


async def verify_received(cid: Cid, document: bytes, network: Network) -> bytes:
    """Like `verify_document`, for remote stores. A large document is hashed in a thread."""
    if len(document) <= SMALL_DOCUMENT:
        return verify_document(cid, document, network)
    return await asyncio.to_thread(verify_document, cid, document, network)


def _apply(job: Job[_Write]) -> None:
    """Apply a change unless its caller gave up while the transaction waited for a lock."""
    if job.is_overdue or job.work.abandoned:
        job.error = _too_slow()
    else:
        job.work.change()


def _retrieve(ended: "asyncio.Future[Any]") -> None:
    """Retrieve an error that arrives after its caller gave up. Otherwise asyncio would log a
    warning."""
    if not ended.cancelled():
        ended.exception()


def _nothing() -> None:
    """Do nothing, in place of a write whose caller gave up."""


def _too_slow() -> TimeoutError:
    return TimeoutError(errno.ETIMEDOUT, "An operation took too long.")


async def _within(running: Awaitable[_T], seconds: float) -> _T:
    try:
        async with asyncio.timeout(seconds):
            return await running
    except TimeoutError as error:
        raise _too_slow() from error


async def _translate_errors(running: Awaitable[_T]) -> _T:
    try:
        return await running
    except (OSError, sqlite3.Error) as error:
        _log.error("The disk for documents failed: %s", _reason(error))
        if is_damage(error):
            raise Damaged.document("a file of small documents") from error
        raise Unavailable.storage() from error


def _reason(error: OSError | sqlite3.Error) -> str | None:
    """The system's error message, without the path that Python appends to it."""
    return error.strerror if isinstance(error, OSError) else str(error)


def rebuild_small_documents(root: Path, at: datetime, *, dry_run: bool) -> list[str]:
    """Rebuild damaged files of small documents in a store's folder.

    Returns a sentence for each file. Raises `OSError`, and `FileInUse` while a service uses the
    files.
    """
    said = []
    for network in Network:
        file = root / network / SMALL_DOCUMENTS
        if not any(path.exists() for path in (file, log_file(file), replacement_of(file))):
            continue
        with copy_locked(file, dry_run=dry_run) as copy:
            if _is_undamaged(copy):
                continue
            new = copy.with_name("new.db")
            count = _rebuild(copy, new)
            sentence = f"The file {file} is damaged: {count} documents in it can be read."
            if not dry_run:
                sentence += f" It is kept as {replace_file(new, file, at).name}."
            said.append(sentence)
    return said


def _is_undamaged(copy: Path) -> bool:
    try:
        check_log(copy, read_boot())
        with closing(connect_damaged(copy)) as connection:
            connection.execute("SELECT count(*) FROM documents").fetchone()
            return is_whole(connection)
    except (DamagedLog, *UNREADABLE):
        return False


def _rebuild(copy: Path, new: Path) -> int:
    """Write a new file with the readable documents and return their number."""
    documents, changes, count = SmallDocuments(new), [], 0
    try:
        with closing(connect_damaged(copy)) as source:
            rows = ReadableRows(source, "SELECT cid, document FROM documents", ("rowid",))
            for cid, document in rows:
                if isinstance(document, bytes) and layout_of(cid, document):
                    changes.append(partial(documents.store, Cid(cid), document))
                    count += 1
                if len(changes) == MAX_BATCH:
                    documents.commit(changes)
                    changes = []
            documents.commit(changes)
    finally:
        documents.close()
    return count
