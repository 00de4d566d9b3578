"""Backups as folders and tar files: the same entries, and memory that does not grow."""

import tarfile

import pytest

from imprint.adapters.archives.backup_files import (
    BackupUnusable,
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
    with create_backup(out) as vault:
        vault.add_file("a", tmp_path / "file")
        vault.add("b/c/d", b"from memory")
    found = [(entry.name, entry.read(5), entry.read(100)) for entry in read_entries(out)]
    assert found == [("a", b"from ", b"a file"), ("b/c/d", b"from ", b"memory")]


def test_a_vault_that_was_not_finished_is_not_there(out):
    def break_off():
        with create_backup(out) as vault:
            vault.add("a", b"1")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        break_off()
    assert not list(out.parent.iterdir())


def test_what_another_attempt_left_is_not_touched(out):
    partial = out.with_name(out.name + ".partial")
    partial.mkdir()
    (partial / "precious").touch()
    for make in (create_backup, make_folder):
        with pytest.raises(BackupUnusable), make(out):
            pass
    assert (partial / "precious").exists()


def test_a_tar_file_does_not_remember_its_entries(tmp_path):
    with tarfile.open(tmp_path / "saved.tar", "w") as tar:
        vault = TarBackup(tar)
        for number in range(10):
            vault.add(str(number), b"x")
        assert vars(tar)["members"] == []
    assert [entry.name for entry in read_entries(tmp_path / "saved.tar")] == list("0123456789")
