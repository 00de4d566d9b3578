"""Backups written as folders and as tar files."""

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


def ignore(sentence: str) -> None:
    """Ignore progress reports."""


@pytest.fixture(params=["saved", "saved.tar"])
def out(request, tmp_path):
    return tmp_path / request.param


def test_entries_are_read_back_unchanged(out, tmp_path):
    (tmp_path / "file").write_bytes(b"from a file")
    with create_backup(out, ignore) as (backup, _):
        backup.add_file("a", tmp_path / "file")
        backup.add("b/c/d", b"from memory")
    found = [(entry.name, entry.read(5), entry.read(100)) for entry in read_entries(out)]
    assert found == [("a", b"from ", b"a file"), ("b/c/d", b"from ", b"memory")]


def test_an_unfinished_backup_is_removed(out):
    def interrupt():
        with create_backup(out, ignore) as (backup, _):
            backup.add("a", b"1")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert not list(out.parent.iterdir())


@pytest.fixture(params=[create_backup, make_folder])
def make(request):
    return request.param


@pytest.mark.parametrize("left", ["file", "folder"])
def test_leftovers_of_a_killed_attempt_are_removed_and_reported(out, make, left):
    partial, scratch = out.with_name(f"{out.name}.partial"), out.with_name(f".imprint-{out.name}")
    if left == "file":
        partial.write_text("half")
    else:
        partial.mkdir()
        (partial / "half").touch()
    scratch.mkdir()
    (scratch / "imprint.db.partial").touch()
    said = []
    with make(out, said.append):
        pass
    assert [sentence for sentence in said if str(partial) in sentence] == said != []
    assert out.exists()
    assert not partial.exists()
    assert make is make_folder or not scratch.exists()


def test_a_second_attempt_leaves_a_backup_in_progress_alone(out, make):
    with make(out, ignore):
        partial = out.with_name(f"{out.name}.partial")
        assert partial.exists()
        with pytest.raises(BackupUnusable, match="being written"), make(out, ignore):
            pass
        assert partial.exists()
    assert out.exists()


def test_the_scratch_folder_is_removed_at_the_end(out):
    with create_backup(out, ignore) as (_, scratch):
        (scratch / "imprint.db").touch()
    assert list(out.parent.iterdir()) == [out]


def test_writing_a_tar_file_does_not_accumulate_a_member_list(tmp_path):
    with StreamedTar.open(tmp_path / "saved.tar", "w") as tar:
        for number in range(10):
            TarBackup(tar).add(str(number), b"x")
            assert tar.getmembers() == []
    assert [entry.name for entry in read_entries(tmp_path / "saved.tar")] == list("0123456789")


def names(path, *first):
    return [entry.name for entry in read_entries(path, first)]


def test_entries_requested_by_name_are_read_first(out):
    with create_backup(out, ignore) as (backup, _):
        for name in ("a", "b", "c/d"):
            backup.add(name, name.encode())
    found = [(entry.name, entry.size, entry.read(9)) for entry in read_entries(out, ["c/d", "b"])]
    assert found == [("c/d", 3, b"c/d"), ("b", 1, b"b"), ("a", 1, b"a")]
    assert names(out, "x", "b") == ["b", "a", "c/d"]


def test_reading_an_entry_stops_at_its_end(out):
    with create_backup(out, ignore) as (backup, _):
        backup.add("a", b"1")
        backup.add("b", b"2")
    assert [entry.read(1000) + entry.read(1000) for entry in read_entries(out)] == [b"1", b"2"]


def test_a_duplicate_entry_is_read_twice(tmp_path):
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


def test_nested_folders_are_refused(tmp_path):
    (tmp_path / "saved" / "content" / "private" / "ab" / "more").mkdir(parents=True)
    with pytest.raises(BackupUnusable, match="nested folders"):
        names(tmp_path / "saved")


def test_a_path_that_is_not_a_regular_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "saved.tar")
    for path in (tmp_path / "saved.tar", Path("/dev/zero")):
        with pytest.raises(BackupUnusable, match="not a regular file"):
            names(path)


def test_an_interrupted_make_folder_removes_the_parent_folders_it_created(tmp_path):
    (tmp_path / "here").mkdir()

    def interrupt():
        with make_folder(tmp_path / "here" / "new" / "more" / "data", ignore):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert list(tmp_path.rglob("*")) == [tmp_path / "here"]
