"""Monitors free disk space, and reserves some for opening databases.

A full disk stops everything that writes, including deletes and webhook deliveries. Writes that
store documents are therefore refused while there is still space for other writes. SQLite cannot
open a database without some space, so each folder has a reserve, which is released when a service
starts on a full disk (docs/decisions/disk-reserve.md).
"""

import asyncio
import errno
import logging
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from imprint.domain.errors import Unavailable
from imprint.metrics import FREE_DISK_BYTES

_INTERVAL = 1.0
"""Seconds between measurements of free space."""

RESERVE_BYTES = 1024 * 1024
"""Size of a reserve file in bytes."""

_STEP = 256 * 1024
"""Number of bytes released at a time. Three databases need 32 KiB each, and more with a long
log."""

_ENOUGH = 4 * RESERVE_BYTES
"""Number of free bytes above which the reserve is created or restored."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_UNOPENED = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN})
"""Some of the errors that SQLite reports when there is no space for its shared memory."""

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class DiskReserve:
    """A file that reserves space for opening the databases in its folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "reserve"

    def fill(self) -> None:
        """Create the file, or restore its size. Does nothing if space is scarce."""
        with suppress(OSError):
            if self._size() >= RESERVE_BYTES or _free_bytes(self._folder) < _ENOUGH:
                return
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.posix_fallocate(descriptor, 0, RESERVE_BYTES)
            finally:
                os.close(descriptor)

    def release(self) -> bool:
        """Release part of the reserved space. Returns False if none is left."""
        try:
            size = self._size()
            if size == 0:
                return False
            os.truncate(self._path, max(0, size - _STEP))
        except OSError:
            return False
        _log.warning("The disk is full: part of its reserve is released.")
        return True

    def helps_against(self, error: BaseException) -> bool:
        """Whether an error, or one of its causes, reports a lack of space."""
        return any(self._says_full(each) for each in _causes(error))

    def _says_full(self, error: BaseException) -> bool:
        if isinstance(error, OSError):
            return error.errno in _FULL
        if not isinstance(error, sqlite3.Error):
            return False
        # Errors that report a misuse of the `sqlite3` module have no code.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _UNOPENED:
            with suppress(OSError):
                return _free_bytes(self._folder) < RESERVE_BYTES
        return code == sqlite3.SQLITE_FULL

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0


def open_with_reserve(folder: Path, opening: Callable[[], _T]) -> _T:
    """Run `opening` and return its result. On a full disk, release this folder's reserve first.

    Raises what `opening` raises, or `OSError` with `ENOSPC` if the disk has no space or no inodes
    and the reserve is not enough.
    """
    reserve = DiskReserve(folder)
    while True:
        try:
            return opening()
        except (Unavailable, OSError, ValueError) as error:
            is_full = reserve.helps_against(error)
            if is_full and reserve.release():
                continue
            reserve.fill()
            if is_full or not _has_inodes(folder):
                # SQLite reports only that it could not open a file, which may have many reasons.
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
            raise


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


class LocalDiskSpace:
    """`DiskSpace` of the disks that hold these folders. Space is `low` while one of the disks has
    less than `floor` free bytes.

    Without folders, or with a floor of 0, it is never low.
    """

    def __init__(self, folders: Iterable[Path], floor: int) -> None:
        self._folders = tuple(folders)
        self._reserves = [DiskReserve(folder) for folder in self._folders]
        self._floor = floor
        self.low = False
        self.measure()

    async def run(self) -> None:
        """Measure until cancelled, and create reserves where there is space.

        Measures in a thread, because a hanging disk would block the event loop.
        """
        while self._folders:
            await asyncio.to_thread(self._keep_reserves)
            await asyncio.sleep(_INTERVAL)
            await asyncio.to_thread(self.measure)

    def _keep_reserves(self) -> None:
        for reserve in self._reserves:
            reserve.fill()

    @property
    def floor(self) -> int:
        """Number of free bytes below which no more documents are stored."""
        return self._floor

    def free_bytes(self) -> int | None:
        """Free bytes of the fullest disk, or None if there are no folders or one is gone."""
        try:
            return min(map(_free_bytes, self._folders), default=None)
        except OSError:
            return None

    def measure(self) -> None:
        """Measure the disks, and log when space becomes scarce or sufficient again.

        A folder that cannot be measured changes nothing, because whatever uses it reports the
        failure.
        """
        free = self.free_bytes()
        if free is None:
            return
        FREE_DISK_BYTES.set(free)
        low = free < self._floor
        if low and not self.low:
            _log.error(
                "Too little disk space: drafts cannot be stored.",
                extra={"free_bytes": free, "floor_bytes": self._floor},
            )
        elif self.low and not low:
            _log.warning("There is enough disk space again.", extra={"free_bytes": free})
        self.low = low


def _has_inodes(folder: Path) -> bool:
    """Whether files can be created. File systems without an inode limit report no inodes."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return True
    return disk.f_files == 0 or disk.f_favail > 0


def _free_bytes(folder: Path) -> int:
    """Bytes available to an unprivileged process."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def sync_path(path: Path | str) -> None:
    """Sync a file or a folder's entries."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
