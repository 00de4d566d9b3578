"""Writes a static site to a folder that replaces an earlier export in a single step."""

import ctypes
import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from imprint.adapters.archives.backup_files import BackupUnusable, Report, partial_path

MARKER = ".imprint-site"
"""Name of the file that marks a folder as an export and lists its contents."""

_TITLE = "imprint export-site"
_OLD = ".old"
_HERE = -100
_EXCHANGE = 2
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


@dataclass(frozen=True, slots=True)
class LocalSiteFolder:
    """`SiteFolder` on a local disk."""

    folder: Path
    _written: set[str] = field(default_factory=set)

    def has(self, path: str) -> bool:
        return path in self._written

    def write(self, path: str, content: bytes) -> None:
        self._written.add(path)
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


@contextmanager
def replace_site(path: Path, report: Report) -> Iterator[LocalSiteFolder]:
    """Yield a folder that becomes `path` when it is complete.

    Until then, `path` is unchanged. Raises `BackupUnusable` unless `path` is new, empty, or an
    earlier export to which nobody has added files.
    """
    path = path.resolve()
    old = path.with_name(path.name + _OLD)
    if is_export(old) and not path.exists():
        # A process was killed between the two steps of `_exchange`.
        old.rename(path)
    check_replaceable(path)
    with partial_path(path, report, _create, _complete) as partial:
        yield LocalSiteFolder(partial)
        names = sorted(each.name for each in partial.iterdir())
        marker = partial / MARKER
        marker.write_text("\n".join([_TITLE, MARKER, *names, ""]), "utf-8")


def check_replaceable(path: Path) -> None:
    """Raise `BackupUnusable` unless an export may replace the folder."""
    if not path.exists():
        return
    if not path.is_dir():
        raise BackupUnusable(f"{path} is not a folder.")
    found = {each.name for each in path.iterdir()}
    if not found:
        return
    if not is_export(path):
        raise BackupUnusable(f"{path} is neither empty nor an earlier export of a site.")
    written = (path / MARKER).read_text("utf-8").splitlines()
    if others := found - set(written[1:]):
        raise BackupUnusable(
            f"{path} has files that are not of an export: {ascii(min(others))[1:-1]}. Move them "
            "elsewhere, because the whole folder is replaced."
        )


def is_export(path: Path) -> bool:
    """Whether a folder was written by `replace_site`."""
    try:
        with (path / MARKER).open(encoding="utf-8") as marker:
            return marker.readline() == f"{_TITLE}\n"
    except (OSError, UnicodeDecodeError):
        return False


def _create(partial: Path) -> None:
    partial.mkdir(parents=True)


def _complete(partial: Path, path: Path) -> None:
    """Rename the folder to its final name, and any earlier export to the temporary name."""
    if path.exists() and any(path.iterdir()):
        _exchange(partial, path)
    else:
        partial.rename(path)


def _exchange(one: Path, other: Path) -> None:
    """Swap two folders in one step, or in two steps if the system has no atomic swap."""
    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, "renameat2"):
        names = os.fsencode(one), os.fsencode(other)
        if libc.renameat2(_HERE, names[0], _HERE, names[1], _EXCHANGE) == 0:
            return
        if (number := ctypes.get_errno()) not in _UNSUPPORTED:
            raise OSError(number, os.strerror(number))
    old = other.with_name(other.name + _OLD)
    if is_export(old):
        shutil.rmtree(old, ignore_errors=True)
    other.rename(old)
    one.rename(other)
    old.rename(one)
