"""Backups: folders laid out like a data folder, or tar files with the same names.

A backup is written under a temporary name and renamed when it is complete. Only the owner of a
backup can read it. The writing process locks the files of the backup. Unlocked temporary files were
left by a killed process, and the next backup removes them and starts over.
"""

import errno
import fcntl
import io
import os
import shutil
import stat
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, BinaryIO

from imprint.adapters.archives.tar_file import Member, NotATar, find_near_end, read_members
from imprint.ports.archives import BackupEntry, BackupWriter

DEPTH = 3
"""Number of folder levels in a backup: content, network, and two letters of the CID."""


PARTIAL = ".partial"
"""The suffix of an incomplete file or folder."""

_ATTEMPTS = 10
"""Number of attempts to claim a temporary name that other processes may also use."""

Report = Callable[[str], None]
"""Function that prints a sentence for the operator."""


class BackupUnusable(Exception):
    """A backup cannot be written or read. The message says why."""


@dataclass(frozen=True, slots=True)
class FolderBackup:
    """`BackupWriter` that writes to a folder."""

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
    """A tar file written sequentially, without an in-memory list of members."""

    members: list[tarfile.TarInfo]

    def addfile(self, tarinfo: tarfile.TarInfo, fileobj: Any = None) -> None:
        super().addfile(tarinfo, fileobj)
        self.members.clear()


@dataclass(frozen=True, slots=True)
class TarBackup:
    """`BackupWriter` that writes to a tar file."""

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
    """A `BackupEntry` that reads an open file from its current position."""

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
def create_backup(path: Path, report: Report) -> Iterator[tuple[BackupWriter, Path]]:
    """Create a backup, and a scratch folder that is removed at the end.

    The backup is a tar file if the path ends in `.tar`, otherwise a folder. Incomplete files that a
    killed process left for the same path are removed and reported. Raises `BackupUnusable`, for
    example if the path exists or another process is writing to it.
    """
    if os.path.lexists(path):
        raise BackupUnusable(f"{path} already exists.")
    is_tar = path.suffix == ".tar"
    scratch = path.with_name(f".imprint-{path.name}")
    with partial_path(path, report, _create_file if is_tar else _create_folder) as partial:
        try:
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir(mode=0o700)
            if is_tar:
                with partial.open("wb") as file, StreamedTar.open(fileobj=file, mode="w") as tar:
                    yield TarBackup(tar), scratch
            else:
                yield FolderBackup(partial), scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def read_entries(path: Path, first: Sequence[str] = ()) -> Iterator[BackupEntry]:
    """Yield the entries of a backup, starting with those named in `first`.

    Each entry is valid until the next one is yielded. Raises `BackupUnusable`.
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
def make_folder(path: Path, report: Report) -> Iterator[Path]:
    """Create a folder under a temporary name and rename it when it is complete.

    Files that a killed process left are removed and reported. Raises `BackupUnusable`, for example
    if the folder exists and is not empty.
    """
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise BackupUnusable(f"{path} is not empty.")
    missing = [each for each in path.parents if not each.exists()]
    try:
        with partial_path(path, report, _create_folder) as partial:
            yield partial
    except BaseException:
        for each in missing:
            with suppress(OSError):
                each.rmdir()
        raise


@contextmanager
def partial_path(
    path: Path,
    report: Report,
    create: Callable[[Path], None],
    complete: Callable[[Path, Path], object] = Path.rename,
) -> Iterator[Path]:
    """Yield a locked temporary file or folder that becomes `path` on success.

    `complete` renames the file or folder. Anything left under the temporary name is removed. Raises
    `BackupUnusable`.
    """
    partial = path.with_name(path.name + PARTIAL)
    try:
        lock = _create_locked(partial, report, create)
    except OSError as error:
        raise BackupUnusable(f"{path} cannot be written: {error.strerror}.") from error
    try:
        yield partial
        # A single sync for all files instead of one per document.
        os.sync()
        complete(partial, path)
    except OSError as error:
        raise BackupUnusable(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        _remove(partial)
        os.close(lock)


def _create_locked(partial: Path, report: Report, create: Callable[[Path], None]) -> int:
    """Create and lock the file or folder, replacing one that no process has locked.

    Another process may remove the new file as a leftover before it is locked, so this may take a
    few attempts.
    """
    for _ in range(_ATTEMPTS):
        try:
            create(partial)
        except FileExistsError:
            with suppress(FileNotFoundError):
                lock = _lock(partial)
                try:
                    _remove(partial)
                finally:
                    os.close(lock)
                report(f"{partial} was left by an interrupted attempt and is started over.")
            continue
        with suppress(FileNotFoundError):
            lock = _lock(partial)
            if os.path.lexists(partial) and os.path.samestat(os.fstat(lock), partial.lstat()):
                return lock
            os.close(lock)
    raise _held(partial)


def _lock(partial: Path) -> int:
    """Lock a file or folder until the descriptor is closed.

    Raises `BackupUnusable` if it is already locked.
    """
    handle = os.open(partial, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        if error.errno in {errno.EWOULDBLOCK, errno.EACCES}:
            raise _held(partial) from error
        raise
    return handle


def _held(partial: Path) -> BackupUnusable:
    return BackupUnusable(
        f"{partial} is being written by another process. Wait until it ends, or use another name."
    )


def _create_file(path: Path) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _create_folder(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.mkdir(mode=0o700)


def _remove(partial: Path) -> None:
    if partial.is_dir() and not partial.is_symlink():
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
        raise NotATar("the bytes at its end belong to no member")


def _tar_entry(file: BinaryIO, member: Member) -> BackupEntry:
    file.seek(member.start)
    return FileEntry(member.name, file, member.size)


def _find_members(file: BinaryIO, names: Sequence[str]) -> dict[str, Member]:
    """Find the members with these names.

    A backup begins with its catalog and ends with its manifest, so both are found without reading
    every header, unless the backup was repacked.
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
            raise BackupUnusable(f"{path} has more nested folders than a backup has.")
        for each in sorted(names):
            name = (inside / each).as_posix()
            if name not in first:
                with _open_regular(Path(folder, each), name) as file:
                    yield _folder_entry(name, file)


def _folder_entry(name: str, file: BinaryIO) -> BackupEntry:
    return FileEntry(name, file, os.fstat(file.fileno()).st_size)


def _open_regular(path: Path, name: str, follow: bool = False) -> BinaryIO:
    """Open a regular file. Refuse links, devices and pipes: reading one might never end."""
    refusal = BackupUnusable(f"{ascii(name)[1:-1]} is not a regular file.")
    if not stat.S_ISREG(path.stat(follow_symlinks=follow).st_mode):
        raise refusal
    # The file may have been replaced since the check, and opening a pipe would block.
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    file = os.fdopen(os.open(path, flags), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise refusal
    return file


def _raise(error: OSError) -> None:
    raise error


class NoKey(Exception):
    """The key file contains no valid key, or cannot be read or created."""


def load_seed(path: Path, size: int, draw: Callable[[int], bytes]) -> bytes:
    """Read a seed of `size` bytes from a file that only its owner can read.

    Creates the file on first use. `draw` returns random bytes. Raises `NoKey` if the file contains
    no valid seed.
    """
    try:
        if not path.exists():
            _create(path, draw(size).hex())
        seed = bytes.fromhex(path.read_text("ascii").strip())
    except (OSError, ValueError) as error:
        raise NoKey(f"The key file {path} cannot be used.") from error
    if len(seed) != size:
        raise NoKey(f"The key file {path} does not contain a key.")
    return seed


def _create(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        # If two processes create a key, the first wins: `link` never replaces an existing file.
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
