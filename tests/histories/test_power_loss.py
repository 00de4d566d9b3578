"""A disk that loses power keeps what was synced, and nothing else."""

import os
from pathlib import Path

import pytest
from tests.faults.disks import FragileDisk


def test_a_disk_that_loses_power_keeps_only_what_was_synced(tmp_path: Path):
    disk = FragileDisk(tmp_path / "disk", tmp_path / "image", 16)
    if not disk.make():
        pytest.skip("needs the right to mount a disk")
    try:
        synced, unsynced = disk.folder / "synced", disk.folder / "unsynced"
        unsynced.write_bytes(b"first")
        with synced.open("wb") as file:
            file.write(b"first")
            file.flush()
            os.fsync(file.fileno())
            file.write(b"second")
            file.flush()
            disk.lose_power()
            with pytest.raises(OSError, match="Input/output error"):
                os.write(file.fileno(), b"third")
        disk.restore_power()
        assert synced.read_bytes() == b"first"
        assert not unsynced.exists() or unsynced.read_bytes() == b""
    finally:
        disk.unmount()
