"""Backups as folders, with the layout of a data folder, and as tar files with the same names.

A backup is written under a temporary name and renamed when it is complete. Only its owner can
read it.
"""

import io
import os
import shutil
import stat
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, BinaryIO

from imprint.adapters.archives.tar_file import Member, NotATar, find_near_end, read_members
from imprint.ports.archives import BackupEntry, BackupWriter

DEPTH = 3
"""Folders inside each other in a backup: content, a network, and two letters of CIDs."""


class BackupUnusable(Exception):
    """A backup cannot be written or read; the text says why."""


@dataclass(frozen=True, slots=True)
class FolderBackup:
    """`BackupWriter` in a folder."""

    root: Path

    def add(self, name: str, data: bytes) -> None:
        with self._open(name) as file:
            file.write(data)

    def add_file(self, name: str, path: Path) -> None:
        with path.open("rb") as source, self._open(name) as file:
            shutil.copyfileobj(source, file, 1024 * 1024)

    def _open(self, name: str) -> IO[bytes]:
        path = self.root / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


class StreamedTar(tarfile.TarFile):
    """A tar file that is written in order, without a list of its members in memory."""

    members: list[tarfile.TarInfo]

    def addfile(self, tarinfo: tarfile.TarInfo, fileobj: Any = None) -> None:
        super().addfile(tarinfo, fileobj)
        self.members.clear()


@dataclass(frozen=True, slots=True)
class TarBackup:
    """`BackupWriter` in a tar file."""

    tar: StreamedTar

    def add(self, name: str, data: bytes) -> None:
        self._add(name, len(data), io.BytesIO(data))

    def add_file(self, name: str, path: Path) -> None:
        with path.open("rb") as source:
            self._add(name, path.stat().st_size, source)

    def _add(self, name: str, size: int, source: IO[bytes]) -> None:
        info = tarfile.TarInfo(name)
        info.size, info.mode = size, 0o600
        self.tar.addfile(info, source)


@dataclass(slots=True)
class FileEntry:
    """`BackupEntry` over an open file, from where it stands."""

    name: str
    file: IO[bytes]
    size: int
    _left: int = field(init=False)

    def __post_init__(self) -> None:
        self._left = self.size

    def read(self, size: int) -> bytes:
        try:
            data = self.file.read(min(size, self._left))
        except OSError as error:
            raise BackupUnusable(
                f"{self.name} cannot be read, the backup is damaged: {error}."
            ) from error
        self._left -= len(data)
        return data


@contextmanager
def create_backup(path: Path) -> Iterator[BackupWriter]:
    """A new backup: a tar file if the path ends in `.tar`, otherwise a folder.

    Raises `BackupUnusable`, also for a path that exists.
    """
    partial = path.with_name(path.name + ".partial")
    if path.exists() or partial.exists():
        raise BackupUnusable(f"{path if path.exists() else partial} exists already.")
    with _renamed_when_complete(partial, path):
        if path.suffix == ".tar":
            handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file, StreamedTar.open(fileobj=file, mode="w") as tar:
                yield TarBackup(tar)
        else:
            partial.mkdir(mode=0o700)
            yield FolderBackup(partial)


def read_entries(path: Path, first: Sequence[str] = ()) -> Iterator[BackupEntry]:
    """The entries of a backup, each valid until the next; those named `first` come first.

    Raises `BackupUnusable`.
    """
    try:
        if path.is_dir():
            yield from _folder_entries(path, first)
        else:
            with _open_regular(path, str(path), follow=True) as file:
                yield from _tar_entries(file, first)
    except NotATar as error:
        raise BackupUnusable(f"{path} is not a tar file, or is damaged: {error}.") from error
    except OSError as error:
        raise BackupUnusable(f"{path} cannot be read: {error.strerror}.") from error


@contextmanager
def make_folder(path: Path) -> Iterator[Path]:
    """A new folder, which is renamed from a temporary name when it is complete.

    Raises `BackupUnusable`, also for a folder that exists and is not empty.
    """
    partial = path.with_name(path.name + ".partial")
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise BackupUnusable(f"{path} is not empty.")
    if partial.exists():
        raise BackupUnusable(f"{partial} is left over from another attempt; remove it first.")
    missing = [each for each in partial.parents if not each.exists()]
    try:
        with _renamed_when_complete(partial, path):
            partial.mkdir(mode=0o700, parents=True)
            yield partial
    except BaseException:
        for each in missing:
            with suppress(OSError):
                each.rmdir()
        raise


@contextmanager
def _renamed_when_complete(partial: Path, path: Path) -> Iterator[None]:
    """Sync what the block has written and give it its name; if the block fails, remove it."""
    try:
        yield
        # One sync of everything instead of one for each of many documents.
        os.sync()
        partial.rename(path)
    except OSError as error:
        raise BackupUnusable(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        if partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)
        else:
            partial.unlink(missing_ok=True)


def _tar_entries(file: BinaryIO, first: Sequence[str]) -> Iterator[BackupEntry]:
    found = _find_members(file, first)
    for name in first:
        if name in found:
            yield _tar_entry(file, found[name])
    unread = {member.header for member in found.values()}
    for member in read_members(file):
        if member.header in unread:
            unread.remove(member.header)
        else:
            yield _tar_entry(file, member)
    if unread:
        raise NotATar("what is at its end belongs to no member")


def _tar_entry(file: BinaryIO, member: Member) -> BackupEntry:
    file.seek(member.start)
    return FileEntry(member.name, file, member.size)


def _find_members(file: BinaryIO, names: Sequence[str]) -> dict[str, Member]:
    """The first members with these names.

    A backup begins with its catalog and ends with its manifest, so that both are found without
    reading all headers; they are read if somebody has packed it anew.
    """
    members = (find_near_end(file, name) for name in names)
    found = {member.name: member for member in members if member is not None}
    for member in read_members(file):
        if member.name in names:
            found.setdefault(member.name, member)
        if len(found) == len(names):
            break
    return found


def _folder_entries(path: Path, first: Sequence[str]) -> Iterator[BackupEntry]:
    for name in first:
        if os.path.lexists(path / name):
            with _open_regular(path / name, name) as file:
                yield _folder_entry(name, file)
    for folder, folders, names in os.walk(path, onerror=_raise):
        folders.sort()
        inside = Path(folder).relative_to(path)
        if folders and len(inside.parts) >= DEPTH:
            raise BackupUnusable(f"{path} has more folders inside each other than a backup.")
        for each in sorted(names):
            name = (inside / each).as_posix()
            if name not in first:
                with _open_regular(Path(folder, each), name) as file:
                    yield _folder_entry(name, file)


def _folder_entry(name: str, file: BinaryIO) -> BackupEntry:
    return FileEntry(name, file, os.fstat(file.fileno()).st_size)


def _open_regular(path: Path, name: str, follow: bool = False) -> BinaryIO:
    """Open a file that is neither a link, nor a device or a pipe, which could be without end."""
    refusal = BackupUnusable(f"{ascii(name)[1:-1]} is not a regular file.")
    if not stat.S_ISREG(path.stat(follow_symlinks=follow).st_mode):
        raise refusal
    # It may have changed since: a pipe would block here.
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    file = os.fdopen(os.open(path, flags), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise refusal
    return file


def _raise(error: OSError) -> None:
    raise error
