"""A catalog's usage lock is shared or exclusive, and ends with the process that holds it."""

import os
import signal
from pathlib import Path

import pytest

from imprint.adapters.database.sqlite.use_lock import BeingMoved, InUse, UseLock


def test_any_number_of_processes_may_share_a_catalog(tmp_path: Path):
    path = tmp_path / "imprint.db"
    locks = [UseLock(path) for _ in range(3)]
    with pytest.raises(InUse) as raised:
        UseLock(path, exclusive=True)
    assert raised.value.processes == [os.getpid()]
    for lock in locks:
        lock.close()
    UseLock(path, exclusive=True).close()


def test_a_catalog_that_is_being_moved_cannot_be_used(tmp_path: Path):
    path = tmp_path / "imprint.db"
    moving = UseLock(path, exclusive=True)
    with pytest.raises(BeingMoved, match="IMPRINT_DATABASE_URL"):
        UseLock(path)
    with pytest.raises(InUse):
        UseLock(path, exclusive=True)
    moving.close()
    UseLock(path).close()


def test_the_lock_of_a_killed_process_is_released(tmp_path: Path):
    path = tmp_path / "imprint.db"
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        kept = UseLock(path)
        os.write(writer, b"x")
        signal.pause()
        kept.close()
        os._exit(0)
    assert os.read(reader, 1) == b"x"
    with pytest.raises(InUse) as raised:
        UseLock(path, exclusive=True)
    assert raised.value.processes == [pid]
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    UseLock(path, exclusive=True).close()
    os.close(reader)
    os.close(writer)


def test_an_unwritable_folder_is_used_without_a_lock(tmp_path: Path):
    UseLock(tmp_path / "no" / "imprint.db").close()
