"""Backups as folders and as tar files."""

import os
from pathlib import Path

import pytest

from imprint.adapters.archives.backup_files import (
    BackupUnusable,
    StreamedTar,
    TarBackup,
    create_backup,
    make_folder,
    read_entries,
)


@pytest.fixture(params=["saved", "saved.tar"])
def out(request, tmp_path):
    return tmp_path / request.param


def test_entries_are_read_as_they_were_written(out, tmp_path):
    (tmp_path / "file").write_bytes(b"from a file")
    with create_backup(out) as backup:
        backup.add_file("a", tmp_path / "file")
        backup.add("b/c/d", b"from memory")
    found = [(entry.name, entry.read(5), entry.read(100)) for entry in read_entries(out)]
    assert found == [("a", b"from ", b"a file"), ("b/c/d", b"from ", b"memory")]


def test_an_unfinished_backup_is_removed(out):
    def interrupt():
        with create_backup(out) as backup:
            backup.add("a", b"1")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert not list(out.parent.iterdir())


def test_the_leftovers_of_another_attempt_are_not_touched(out):
    partial = out.with_name(out.name + ".partial")
    partial.mkdir()
    (partial / "precious").touch()
    for make in (create_backup, make_folder):
        with pytest.raises(BackupUnusable), make(out):
            pass
    assert (partial / "precious").exists()


def test_a_written_tar_file_keeps_no_list_of_its_members(tmp_path):
    with StreamedTar.open(tmp_path / "saved.tar", "w") as tar:
        for number in range(10):
            TarBackup(tar).add(str(number), b"x")
            assert tar.getmembers() == []
    assert [entry.name for entry in read_entries(tmp_path / "saved.tar")] == list("0123456789")


def names(path, *first):
    return [entry.name for entry in read_entries(path, first)]


def test_some_entries_can_be_read_first(out):
    with create_backup(out) as backup:
        for name in ("a", "b", "c/d"):
            backup.add(name, name.encode())
    found = [(entry.name, entry.size, entry.read(9)) for entry in read_entries(out, ["c/d", "b"])]
    assert found == [("c/d", 3, b"c/d"), ("b", 1, b"b"), ("a", 1, b"a")]
    assert names(out, "x", "b") == ["b", "a", "c/d"]


def test_an_entry_is_not_read_beyond_its_end(out):
    with create_backup(out) as backup:
        backup.add("a", b"1")
        backup.add("b", b"2")
    assert [entry.read(1000) + entry.read(1000) for entry in read_entries(out)] == [b"1", b"2"]


def test_an_entry_that_is_there_twice_is_read_twice(tmp_path):
    with StreamedTar.open(tmp_path / "saved.tar", "w") as tar:
        for data in (b"1", b"2"):
            TarBackup(tar).add("a", data)
    path = tmp_path / "saved.tar"
    assert sorted(entry.read(9) for entry in read_entries(path, ["a"])) == [b"1", b"2"]


@pytest.mark.parametrize("name", ["a", "content/private/ab/a"])
@pytest.mark.parametrize("first", [(), ("a",)])
def test_a_folder_with_a_link_or_a_pipe_is_refused(tmp_path, name, first):
    path = tmp_path / "saved" / name
    path.parent.mkdir(parents=True)
    path.symlink_to("/dev/zero")
    with pytest.raises(BackupUnusable, match="not a regular file"):
        names(tmp_path / "saved", *first)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(BackupUnusable, match="not a regular file"):
        names(tmp_path / "saved", *first)


def test_folders_inside_each_other_are_refused(tmp_path):
    (tmp_path / "saved" / "content" / "private" / "ab" / "more").mkdir(parents=True)
    with pytest.raises(BackupUnusable, match="inside each other"):
        names(tmp_path / "saved")


def test_what_is_not_a_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "saved.tar")
    for path in (tmp_path / "saved.tar", Path("/dev/zero")):
        with pytest.raises(BackupUnusable, match="not a regular file"):
            names(path)


def test_a_folder_that_is_not_made_leaves_no_folders_above_it(tmp_path):
    (tmp_path / "here").mkdir()

    def interrupt():
        with make_folder(tmp_path / "here" / "new" / "more" / "data"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert list(tmp_path.rglob("*")) == [tmp_path / "here"]
