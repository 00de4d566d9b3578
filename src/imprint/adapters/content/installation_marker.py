"""The file in a content folder that names the installation of its documents."""

import errno
import os
import time
from pathlib import Path

from imprint.adapters.durability import sync_path

MARKER = "installation"
"""The name of the file."""

_MAX_BYTES = 100
"""More bytes than a marker has."""

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
"""Errors of a file system without hard links."""


class InstallationMarker:
    """One file with one id. All methods block, and raise `OSError` if the disk fails."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> str | None:
        """The id, or None if there is no marker. A missing folder raises `OSError`."""
        try:
            with self._path.open("rb") as file:
                return file.read(_MAX_BYTES).decode("ascii", "replace").strip()
        except FileNotFoundError:
            self._path.parent.stat()
            return None

    def write(self, installation: str, instead_of: str | None) -> str:
        """Write an id durably and return the one in the marker afterwards.

        An existing marker is kept, unless it is `instead_of`. A reader finds a whole marker or
        none, and of concurrent writers one wins.
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
