"""Small separate disks that a test can fill completely, or that lose power."""

import fcntl
import itertools
import os
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

MEGABYTE = 1024 * 1024

SHUT_DOWN = 0x8004587D
"""The ioctl that stops a file system at once (`EXT4_IOC_SHUTDOWN`)."""

WITHOUT_FLUSHING = struct.pack("I", 2)

EAGER_TO_LOSE = "loop,data=writeback,noauto_da_alloc"
"""Mount options with which ext4 writes nothing to disk earlier than a program asks for."""


@contextmanager
def small_disk(folder: Path, megabytes: int, files: int = 10_000) -> Iterator[Path]:
    """Mount a small disk at this folder. The test is skipped without permission to mount."""
    folder.mkdir(exist_ok=True)
    options = f"size={megabytes * MEGABYTE},nr_inodes={files}"
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("needs the right to mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Fill a disk and return the file that fills it."""
    path = disk / "others"
    with path.open("ab", buffering=0) as file:
        for size in (MEGABYTE, 4096, 1):
            with suppress(OSError):
                while os.write(file.fileno(), bytes(size)):
                    pass
    return path


def fill_with_files(disk: Path) -> Path:
    """Use up all inodes of a disk and return the folder that holds them."""
    folder = disk / "other files"
    folder.mkdir()
    with suppress(OSError):
        for number in itertools.count():
            (folder / str(number)).touch()
    return folder


@dataclass(slots=True)
class FragileDisk:
    """A separate disk at `folder` that loses everything unsynced when its power fails.

    Its blocks are in the file `image`. Needs the right to mount.
    """

    folder: Path
    image: Path
    megabytes: int

    def make(self) -> bool:
        """Create and mount the disk, and return whether that is allowed here."""
        with self.image.open("wb") as file:
            file.truncate(self.megabytes * MEGABYTE)
        self.folder.mkdir(exist_ok=True)
        made = _run("mkfs.ext4", "-q", "-F", "-m", "0", str(self.image))
        return made and self._mount()

    def sync(self) -> None:
        """Make everything durable that was written so far."""
        assert _run("sync", "--file-system", str(self.folder))

    def lose_power(self) -> None:
        """Drop all unsynced pages. From now on, every access fails until `restore_power`."""
        root = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.ioctl(root, SHUT_DOWN, WITHOUT_FLUSHING)
        finally:
            os.close(root)

    def restore_power(self) -> None:
        """Mount the disk again, after all processes that used it have ended."""
        self.unmount()
        assert self._mount()

    def unmount(self) -> None:
        deadline = time.monotonic() + 60
        while not _run("umount", str(self.folder)):
            assert time.monotonic() < deadline, f"{self.folder} is in use"
            time.sleep(0.02)

    def _mount(self) -> bool:
        return _run("mount", "-t", "ext4", "-o", EAGER_TO_LOSE, str(self.image), str(self.folder))


def _run(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
