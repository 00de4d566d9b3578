"""Large documents as files: one folder per network, crash-safe through sync and rename.

    <folder>/<two letters>/<cid>        a document, complete and durable, never changed
    <folder>/<two letters>/<cid>.fence  its fence, if it was stored with one
    <folder>/.incoming/                 files being written, or left behind by a crash
    <folder>/.lock                      held while a fence and its document change together

The two letters precede the last character of the cid, where every letter is equally likely.
Documents are verified against their names, so a copied folder is a backup.

A fence is written after its document and removed before it, so it never outlives the document. A
crash in between leaves a document that the next removal deletes.
"""

import errno
import fcntl
import math
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import Event

from imprint import failpoints
from imprint.adapters.disk_space import sync_path
from imprint.domain.formats.cids import Cid, NotACid, parse_cid

ANY_FENCE = 2**63 - 1
"""A value above every fence. A removal below this value deletes a document with any fence."""

LOCK_SECONDS = 4.0
"""Timeout in seconds of the lock, which is normally held only for a few system calls."""

_LOCK_POLL = 0.005
"""Seconds between attempts to take the lock."""

_file_numbers = count()
"""Counter that makes the names of this process's incoming files unique."""


class DocumentFiles:
    """The documents of one network. All methods block, and raise `OSError` if the disk fails."""

    def __init__(self, path: Path, *, makes_folders: bool = True) -> None:
        self._path = path
        self._root = str(path)
        self._incoming = path / ".incoming"
        self._lock = f"{path}/.lock"
        self._durable_shards: set[str] = set()
        for folder in (self._path, self._incoming) if makes_folders else ():
            folder.mkdir(mode=0o700, exist_ok=True)
            if stat.S_IMODE(folder.stat().st_mode) != 0o700:
                folder.chmod(0o700)

    def store(self, cid: Cid, document: bytes, abandoned: Event, fence: int = 0) -> None:
        """Write a document durably, then make it visible unless `abandoned` is set by then.

        An existing document is written again, which also repairs it, and the higher fence is kept.
        """
        temporary = self._write(document)
        shard = f"{self._root}/{cid[-3:-1]}"
        try:
            if abandoned.is_set():
                os.unlink(temporary)
                return
            self._make_shard(shard)
            failpoints.reach("during_put")
            if fence:
                self._rename_fenced(temporary, shard, cid, fence)
            else:
                self._rename(temporary, shard, cid)
        except OSError:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        failpoints.reach("unsynced_put")
        sync_path(shard)

    def load(self, cid: Cid) -> bytes | None:
        """Return the bytes stored under a cid, or None.

        A missing root folder, for example on an unmounted disk, raises `OSError`.
        """
        try:
            descriptor = os.open(self._shard(cid) / cid, os.O_RDONLY | os.O_NOFOLLOW)
        except FileNotFoundError:
            self._incoming.stat()
            return None
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            return file.readall()

    def delete(self, cid: Cid, below: int = ANY_FENCE) -> None:
        """Delete a document durably if it exists and its fence is lower than `below`."""
        shard = self._shard(cid)
        if not (shard / cid).exists() and not _fence_path(shard, cid).exists():
            self._incoming.stat()
            return
        with self._locked():
            if self._fence(cid) >= below:
                return
            _fence_path(shard, cid).unlink(missing_ok=True)
            (shard / cid).unlink(missing_ok=True)
        sync_path(shard)

    def list_shards(self) -> list[str]:
        """The names of the two-letter folders."""
        return sorted(path.name for path in self._path.iterdir() if path != self._incoming)

    def list_documents(self, shard: str, before: float = math.inf) -> list[Cid]:
        """The cids of the documents in one two-letter folder that were last modified before this
        Unix time. Files that are not documents are skipped."""
        folder = self._path / shard
        cids = []
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            with suppress(NotACid, FileNotFoundError):
                cid = parse_cid(path.name)
                if path == self._shard(cid) / cid and path.stat().st_mtime < before:
                    cids.append(cid)
        return cids

    def remove_leftovers(self, before: float) -> None:
        """Remove incoming files last written before this Unix time.

        Files that cannot be removed are left for the next run, because they only take up space.
        """
        for leftover in self._incoming.iterdir():
            with suppress(OSError):
                if leftover.stat().st_mtime < before:
                    leftover.unlink()

    def probe(self) -> None:
        """Write and sync a small file, read it back and remove it."""
        temporary = Path(self._write(b"probe"))
        try:
            temporary.read_bytes()
        finally:
            temporary.unlink(missing_ok=True)

    def probe_reads(self) -> None:
        """Open the folder. Raises `OSError` if it is gone."""
        with os.scandir(self._path) as entries:
            next(entries, None)

    def _shard(self, cid: Cid) -> Path:
        return self._path / cid[-3:-1]

    def _rename_fenced(self, temporary: str, shard: str, cid: Cid, fence: int) -> None:
        fence_file = self._write(str(fence).encode())
        try:
            with self._locked():
                self._rename(temporary, shard, cid)
                if fence > self._fence(cid):
                    os.rename(fence_file, _fence_path(shard, cid))
        finally:
            with suppress(FileNotFoundError):
                os.unlink(fence_file)

    def _rename(self, temporary: str, shard: str, cid: Cid) -> None:
        try:
            os.rename(temporary, f"{shard}/{cid}")
        except FileNotFoundError:
            # The folder was removed after this process had created it.
            self._durable_shards.discard(shard)
            self._make_shard(shard)
            os.rename(temporary, f"{shard}/{cid}")

    def _fence(self, cid: Cid) -> int:
        """A document's fence, or 0 if it has none."""
        try:
            return int(_fence_path(self._shard(cid), cid).read_bytes())
        except FileNotFoundError:
            return 0
        except ValueError:
            # Damaged: only a removal without a fence may destroy the document.
            return ANY_FENCE - 1

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Exclude other threads and processes. The lock is released if its process dies.

        Raises `TimeoutError`, an `OSError`, if another process does not release the lock.
        """
        descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            deadline = time.monotonic() + LOCK_SECONDS
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise TimeoutError(
                            errno.ETIMEDOUT, "Another process is holding the lock."
                        ) from None
                    time.sleep(_LOCK_POLL)
            yield
        finally:
            os.close(descriptor)

    def _write(self, document: bytes) -> str:
        """Write a synced file under a unique name in `.incoming`.

        Every system call releases and retakes the interpreter lock, so this function makes few.
        """
        temporary = f"{self._root}/.incoming/{os.getpid()}-{next(_file_numbers)}-{time.time_ns()}"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            rest = memoryview(document)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
        except OSError:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        finally:
            os.close(descriptor)
        return temporary

    def _make_shard(self, shard: str) -> None:
        """Create a two-letter folder and sync its directory entry, once per process."""
        if shard in self._durable_shards:
            return
        with suppress(FileExistsError):
            os.mkdir(shard, 0o700)
        sync_path(self._root)
        self._durable_shards.add(shard)


def _fence_path(shard: Path | str, cid: Cid) -> Path:
    return Path(shard, f"{cid}.fence")
