"""Small separate disks that a test can fill completely."""

import itertools
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

MEGABYTE = 1024 * 1024


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
