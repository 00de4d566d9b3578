"""Small disks of their own, which a test fills to the last byte."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

MEGABYTE = 1024 * 1024


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """The folder, on a disk of this size; skips the test without the right to mount one."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes * MEGABYTE}", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("needs the right to mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Take what is left of a disk; the file that has it."""
    path = disk / "others"
    with path.open("ab", buffering=0) as file:
        for size in (MEGABYTE, 4096, 1):
            with suppress(OSError):
                while os.write(file.fileno(), bytes(size)):
                    pass
    return path
