"""Lock on a SQLite catalog: shared by its users, exclusive for a move, repair or upgrade.

The lock is an operating-system lock on a file next to the database, and is released when its
process ends. The database itself cannot be locked this way: SQLite loses its own locks when another
descriptor is closed.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

SUFFIX = "-lock"
"""Suffix of the lock file, after the database's name."""

_LOCKS = Path("/proc/locks")
"""The file in which Linux lists the locks of all processes."""


class InUse(Exception):
    """Other processes are using the catalog. `processes` has their ids, if known."""

    def __init__(self, processes: list[int]) -> None:
        super().__init__()
        self.processes = processes


class BeingMoved(Exception):
    """The catalog is being moved to another database, repaired or upgraded."""

    def __init__(self) -> None:
        super().__init__(
            "The records of this database are being moved by `imprint migrate-catalog`, repaired "
            "by `imprint repair` or upgraded by `imprint upgrade`. Start again when that has "
            "finished; after a move, set IMPRINT_DATABASE_URL to the database that has them."
        )


class UseLock:
    """A lock on the catalog at a path, held until it is closed or the process ends."""

    def __init__(self, path: Path, *, exclusive: bool = False, makes_file: bool = True) -> None:
        """Take the lock. `makes_file` says whether a missing lock file is created.

        Raises `BeingMoved` if another process holds the lock exclusively, and `InUse` if an
        exclusive lock is requested and other processes hold the lock. A folder that cannot be
        written to is not locked, so that a service on a full disk still starts.
        """
        self._descriptor: int | None = None
        try:
            flags = (os.O_RDWR | os.O_CREAT if makes_file else os.O_RDONLY) | os.O_CLOEXEC
            self._descriptor = os.open(f"{path}{SUFFIX}", flags, 0o600)
            kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
            fcntl.flock(self._descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            holders = self._find_holders()
            self.close()
            if exclusive:
                raise InUse(holders) from None
            raise BeingMoved from None
        except OSError:
            self.close()

    def close(self) -> None:
        """Release the lock."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _find_holders(self) -> list[int]:
        """Ids of the processes that hold the lock, if the system reports them."""
        found: set[int] = set()
        if self._descriptor is None:
            return []
        inode = os.fstat(self._descriptor).st_ino
        with suppress(OSError, ValueError, IndexError):
            for line in _LOCKS.read_text("ascii").splitlines():
                _, kind, *_, pid, place, _, _ = line.split()
                if kind == "FLOCK" and int(place.split(":")[2]) == inode:
                    found.add(int(pid))
        return sorted(each for each in found if each > 0)
