"""Backups as folders, with the layout of a data folder, and as tar files with the same names.

A backup is written under a temporary name and renamed when it is complete. Only its owner can
read it.
"""

import io
import os
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from imprint.ports.archives import BackupEntry, BackupWriter


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
    """A tar file that is written or read in order, without a list of its members in memory.

    Python 3.13 has the parameter `stream` for reading.
    """

    members: list[tarfile.TarInfo]

    def addfile(self, tarinfo: tarfile.TarInfo, fileobj: Any = None) -> None:
        super().addfile(tarinfo, fileobj)
        self.members.clear()

    def next(self) -> tarfile.TarInfo | None:
        self.members.clear()
        return super().next()


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


@dataclass(frozen=True, slots=True)
class FileEntry:
    """`BackupEntry` over an open file."""

    name: str
    file: IO[bytes]

    def read(self, size: int) -> bytes:
        try:
            return self.file.read(size)
        except (tarfile.TarError, OSError) as error:
            raise BackupUnusable(
                f"{self.name} cannot be read, the backup is damaged: {error}."
            ) from error


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


def read_entries(path: Path) -> Iterator[BackupEntry]:
    """The entries of a backup, each valid until the next. Raises `BackupUnusable`."""
    try:
        if path.is_dir():
            yield from _folder_entries(path)
        else:
            with StreamedTar.open(path, "r|") as tar:
                while info := tar.next():
                    if file := tar.extractfile(info):
                        yield FileEntry(info.name, file)
    except tarfile.TarError as error:
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
    with _renamed_when_complete(partial, path):
        partial.mkdir(mode=0o700, parents=True)
        yield partial


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


def _folder_entries(path: Path) -> Iterator[BackupEntry]:
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            full = Path(folder, name)
            with full.open("rb") as file:
                yield FileEntry(full.relative_to(path).as_posix(), file)
