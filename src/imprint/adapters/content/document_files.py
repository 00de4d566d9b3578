"""A folder of documents on a disk that may be full, broken, or lose power at any moment.

    <folder>/<two letters>/<cid>    a document, whole and durable, never changed after
    <folder>/.incoming/             documents on their way; worthless after a crash

The two letters come before the last of the cid, where all letters are equally likely. A name
proves its bytes, so a copy of a folder is as good as the folder.
"""

import math
import os
import stat
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Event

from imprint import failpoints
from imprint.domain.cids import Cid, NotACid, parse_cid

_numbers = count()
"""One for each file on its way from this process."""


class DocumentFolder:
    """Blocking operations on one folder; all of them raise `OSError` when the disk fails."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._root = str(path)
        self._incoming = path / ".incoming"
        self._durable_shards: set[str] = set()
        for folder in (self._path, self._incoming):
            folder.mkdir(mode=0o700, exist_ok=True)
            if stat.S_IMODE(folder.stat().st_mode) != 0o700:
                folder.chmod(0o700)

    def store(self, cid: Cid, document: bytes, abandoned: Event) -> None:
        """Make the document durable, then visible; nothing of it if `abandoned` is set by then.

        One that is there already is written anew, which also repairs it.
        """
        temporary = self._write(document)
        try:
            if abandoned.is_set():
                os.unlink(temporary)
                return
            shard = f"{self._root}/{cid[-3:-1]}"
            self._prepare(shard)
            failpoints.reach("during_put")
            try:
                os.rename(temporary, f"{shard}/{cid}")
            except FileNotFoundError:
                # Somebody removed the folder, which was there when it was last looked for.
                self._durable_shards.discard(shard)
                self._prepare(shard)
                os.rename(temporary, f"{shard}/{cid}")
        except OSError:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        failpoints.reach("unsynced_put")
        _sync(shard)

    def load(self, cid: Cid) -> bytes | None:
        """The bytes under this cid; None if there are none.

        A folder that is gone, as when its disk is not mounted, is an error and not an empty one.
        """
        try:
            descriptor = os.open(self._shard(cid) / cid, os.O_RDONLY | os.O_NOFOLLOW)
        except FileNotFoundError:
            self._incoming.stat()
            return None
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            return file.readall()

    def delete(self, cid: Cid) -> None:
        """Destroy the bytes under this cid, durably, if there are any."""
        try:
            (self._shard(cid) / cid).unlink()
        except FileNotFoundError:
            self._incoming.stat()
            return
        _sync(self._shard(cid))

    def list_shards(self) -> list[str]:
        """The names of the folders that documents are in."""
        return sorted(path.name for path in self._path.iterdir() if path != self._incoming)

    def list_documents(self, shard: str, before: float = math.inf) -> list[Cid]:
        """The cids of the documents in one of those folders; what has another name is left out.

        So is what was stored after `before`, in seconds since 1970.
        """
        folder = self._path / shard
        cids = []
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            with suppress(NotACid, FileNotFoundError):
                cid = parse_cid(path.name)
                if path == self._shard(cid) / cid and path.stat().st_mtime < before:
                    cids.append(cid)
        return cids

    def sweep(self, before: float) -> None:
        """Remove what was on its way before then, in seconds since 1970, and never arrived.

        What cannot be removed stays for another time: it does no harm but for its size.
        """
        for leftover in self._incoming.iterdir():
            with suppress(OSError):
                if leftover.stat().st_mtime < before:
                    leftover.unlink()

    def probe(self) -> None:
        """Write a little durably, and read it back."""
        temporary = Path(self._write(b"probe"))
        try:
            temporary.read_bytes()
        finally:
            temporary.unlink(missing_ok=True)

    def _shard(self, cid: Cid) -> Path:
        return self._path / cid[-3:-1]

    def _write(self, document: bytes) -> str:
        """A durable file on its way; its name is nobody else's.

        Every call into the system lets go of the interpreter and waits for it again, so there are
        as few of them as it takes.
        """
        temporary = f"{self._root}/.incoming/{os.getpid()}-{next(_numbers)}-{time.time_ns()}"
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

    def _prepare(self, shard: str) -> None:
        """Make the folder if it is not there; and make sure, once, that it will still be."""
        if shard in self._durable_shards:
            return
        with suppress(FileExistsError):
            os.mkdir(shard, 0o700)
        _sync(self._root)
        self._durable_shards.add(shard)


def _sync(folder: Path | str) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
