"""Backups as folders and as tar files."""

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
