"""Free space is measured, and little of it is logged once."""

import logging
import os
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from imprint.adapters.disk_space import LocalDiskSpace

EVERYTHING = 2**62


def free(folder: Path) -> int:
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def test_there_is_enough_above_the_floor(tmp_path: Path) -> None:
    assert not LocalDiskSpace([tmp_path], free(tmp_path) // 2).low


def test_there_is_little_below_the_floor(tmp_path: Path) -> None:
    assert LocalDiskSpace([tmp_path], EVERYTHING).low


def test_the_fullest_disk_decides(tmp_path: Path) -> None:
    # The kernel gives this file system no bytes at all.
    disks = [tmp_path, Path("/proc")]
    assert free(disks[1]) == 0
    assert LocalDiskSpace(disks, 1).low
    assert REGISTRY.get_sample_value("imprint_free_disk_bytes") == 0


@pytest.mark.parametrize("floor", [0, EVERYTHING])
def test_without_a_folder_there_is_always_enough(floor: int) -> None:
    assert not LocalDiskSpace([], floor).low


def test_without_a_floor_there_is_always_enough() -> None:
    assert not LocalDiskSpace([Path("/proc")], 0).low


def test_a_folder_that_is_gone_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    disk = LocalDiskSpace([folder], EVERYTHING)
    folder.rmdir()
    disk.measure()
    assert disk.low


def test_a_change_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    folder = tmp_path / "folder"
    folder.symlink_to("/proc")
    disk = LocalDiskSpace([folder], 1)
    disk.measure()
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    folder.unlink()
    folder.symlink_to(tmp_path)
    for _ in range(2):
        disk.measure()
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]
    assert not disk.low
