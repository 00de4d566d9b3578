"""Puts a repaired SQLite file in the place of a damaged one, which is locked and kept beside it."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from imprint.adapters.durability import sync_path

_SHARED, _SHARED_BYTES = 0x40000002, 510
"""The bytes of a SQLite file that every open connection has locked."""

_CHUNK = 1024 * 1024
_LOG, _SHARED_MEMORY = "-wal", "-shm"


class FileInUse(Exception):
    """Another process has the file open."""


@contextmanager
def copy_locked(place: Path) -> Iterator[Path]:
    """A folder with a copy of the file, `damaged.db` with its log, while nobody can open it.

    A file that is missing is copied as an empty one. A replacement that was interrupted is ended
    first. Raises `FileInUse`, and `OSError`.
    """
    scratch = _beside(place, ".repair")
    if not place.exists() and not _ready(place).exists():
        with _empty_folder(scratch):
            (scratch / "damaged.db").touch(mode=0o600)
            _copy_log(place, scratch)
            yield scratch
        return
    handle = _lock(place)
    try:
        with _empty_folder(scratch):
            # Opening the file again and closing it would give the lock up.
            _copy(handle, scratch / "damaged.db")
            _copy_log(place, scratch)
            yield scratch
    finally:
        os.close(handle)


def _copy_log(place: Path, scratch: Path) -> None:
    with suppress(FileNotFoundError):
        shutil.copyfile(_beside(place, _LOG), scratch / f"damaged.db{_LOG}")


@contextmanager
def _empty_folder(scratch: Path) -> Iterator[None]:
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(mode=0o700)
    try:
        yield
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _lock(place: Path) -> int:
    """Lock a file as SQLite does, against every connection. Raises `FileInUse`."""
    while True:
        handle = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, _SHARED_BYTES, _SHARED)
        except OSError as error:
            os.close(handle)
            raise FileInUse(
                f"Another process has {place} open. Stop the service and every command first."
            ) from error
        if not _ready(place).exists():
            return handle
        _finish_swap(_ready(place), place)
        os.close(handle)


def replace_file(new: Path, place: Path, at: datetime) -> Path:
    """Put a new file in the place of the old one; returns where the old one is now.

    The log of the old file must be gone before the new one has its name, or SQLite would write it
    into the new one. Killed in between, the next repair finds the new one and ends this.
    """
    kept = _beside(place, f".damaged-{at:%Y%m%dT%H%M%SZ}")
    for end in ("", _LOG):
        with suppress(FileNotFoundError):
            _link(_beside(place, end), _beside(kept, end))
    sync_path(new)
    new.rename(_ready(place))
    sync_path(place.parent)
    _finish_swap(_ready(place), place)
    return kept


def _finish_swap(ready: Path, place: Path) -> None:
    for end in (_LOG, _SHARED_MEMORY):
        _beside(place, end).unlink(missing_ok=True)
    sync_path(place.parent)
    ready.rename(place)
    sync_path(place.parent)


def _ready(place: Path) -> Path:
    return _beside(place, ".repaired")


def _beside(place: Path, end: str) -> Path:
    return place.with_name(place.name + end)


def _link(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        if not source.exists():
            raise
        # A file system without hard links.
        shutil.copyfile(source, target)


def _copy(handle: int, target: Path) -> None:
    at = 0
    with target.open("wb") as file:
        while chunk := os.pread(handle, _CHUNK, at):
            file.write(chunk)
            at += len(chunk)


@contextmanager
def copy_to_probe(scratch: Path) -> Iterator[Path]:
    """Another copy of `damaged.db` with its log: SQLite changes a file by looking at it."""
    probe = scratch / "probe.db"
    for end in ("", _LOG):
        with suppress(FileNotFoundError):
            shutil.copyfile(scratch / f"damaged.db{end}", scratch / f"probe.db{end}")
    try:
        yield probe
    finally:
        for end in ("", _LOG, _SHARED_MEMORY):
            probe.with_name(probe.name + end).unlink(missing_ok=True)
