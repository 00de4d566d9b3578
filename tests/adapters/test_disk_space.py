"""Free space is measured, and a shortage is logged once."""

import errno
import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from imprint.adapters.disk_space import (
    RESERVE_BYTES,
    DiskReserve,
    LocalDiskSpace,
    open_with_reserve,
)

EVERYTHING = 2**62


def free(folder: Path) -> int:
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def test_disk_space_above_the_floor_is_not_low(tmp_path: Path) -> None:
    assert not LocalDiskSpace([tmp_path], free(tmp_path) // 2).low


def test_disk_space_below_the_floor_is_low(tmp_path: Path) -> None:
    assert LocalDiskSpace([tmp_path], EVERYTHING).low


def test_the_fullest_disk_decides_whether_space_is_low(tmp_path: Path) -> None:
    # The file system at /proc has no space at all.
    disks = [tmp_path, Path("/proc")]
    assert free(disks[1]) == 0
    assert LocalDiskSpace(disks, 1).low
    assert REGISTRY.get_sample_value("imprint_free_disk_bytes") == 0


@pytest.mark.parametrize("floor", [0, EVERYTHING])
def test_disk_space_is_never_low_without_folders(floor: int) -> None:
    assert not LocalDiskSpace([], floor).low


def test_disk_space_is_never_low_without_a_floor() -> None:
    assert not LocalDiskSpace([Path("/proc")], 0).low


def test_the_last_measurement_is_kept_if_a_folder_is_missing(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    disk = LocalDiskSpace([folder], EVERYTHING)
    folder.rmdir()
    disk.measure()
    assert disk.low


def test_the_start_and_end_of_low_disk_space_are_each_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
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


def reserved(folder: Path) -> int:
    """Return the disk space in bytes allocated to the reserve of a folder."""
    return 512 * (folder / "reserve").stat().st_blocks


def full_disk(times: int) -> Callable[[], str]:
    """Return a function that fails the given number of times with the error of a full disk."""
    left = iter(range(times))

    def opening() -> str:
        if next(left, None) is None:
            return "opened"
        raise ValueError("It cannot be used.") from OSError(errno.ENOSPC, "No space left")

    return opening


def test_a_reserve_allocates_its_space_and_releases_it_in_steps(tmp_path: Path) -> None:
    reserve = DiskReserve(tmp_path)
    assert not reserve.release()
    reserve.fill()
    assert reserved(tmp_path) >= RESERVE_BYTES
    steps = 0
    while reserve.release():
        steps += 1
        assert reserved(tmp_path) < RESERVE_BYTES
    assert (steps, reserved(tmp_path)) == (4, 0)
    reserve.fill()
    assert reserved(tmp_path) >= RESERVE_BYTES


def test_opening_on_a_full_disk_releases_only_as_much_as_needed(tmp_path: Path) -> None:
    DiskReserve(tmp_path).fill()
    assert open_with_reserve(tmp_path, full_disk(times=2)) == "opened"
    assert reserved(tmp_path) == RESERVE_BYTES // 2


def test_a_failed_opening_keeps_the_reserve(tmp_path: Path) -> None:
    DiskReserve(tmp_path).fill()
    with pytest.raises(OSError, match="No space left") as caught:
        open_with_reserve(tmp_path, full_disk(times=100))
    assert caught.value.errno == errno.ENOSPC
    assert reserved(tmp_path) >= RESERVE_BYTES


def test_the_reserve_is_kept_on_errors_other_than_a_full_disk(tmp_path: Path) -> None:
    DiskReserve(tmp_path).fill()

    def opening() -> None:
        raise ValueError("It is no folder.") from NotADirectoryError(errno.ENOTDIR, "Not a folder")

    with pytest.raises(ValueError, match="no folder"):
        open_with_reserve(tmp_path, opening)
    assert reserved(tmp_path) >= RESERVE_BYTES
