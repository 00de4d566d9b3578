"""The free space of the disks that this process writes to, looked at once a second.

A disk that is full stops everything that writes, also deletes and deliveries. So writes that store
documents end while there is space left for the others.
"""

import asyncio
import logging
import os
from collections.abc import Iterable
from pathlib import Path

from imprint.metrics import FREE_DISK_BYTES

_INTERVAL = 1.0
"""Seconds between two looks."""

_log = logging.getLogger(__name__)


class LocalDiskSpace:
    """`DiskSpace` of the disks below these folders; `low` while one has less than `floor` bytes.

    Without a folder, or with a floor of 0, it never is.
    """

    def __init__(self, folders: Iterable[Path], floor: int) -> None:
        self._folders = tuple(folders)
        self._floor = floor
        self.low = False
        self.measure()

    async def run(self) -> None:
        """Measure until cancelled. A thread does it, because a disk that hangs blocks."""
        while self._folders:
            await asyncio.sleep(_INTERVAL)
            await asyncio.to_thread(self.measure)

    def measure(self) -> None:
        """Look at the disks, and log if there is little space from now on, or enough again.

        A folder that cannot be looked at changes nothing: what uses it reports that.
        """
        try:
            free = min(map(_free_bytes, self._folders), default=None)
        except OSError:
            return
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


def _free_bytes(folder: Path) -> int:
    """The bytes that are free to a process without privileges."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize
