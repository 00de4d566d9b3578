"""Documents as files: their paths, their visibility, and unexpected files."""

import os
from threading import Event

import pytest

from imprint.adapters.content.document_files import DocumentFiles
from imprint.domain.formats.cids import document_cid

DOCUMENT = b"a long poem"
CID = document_cid(DOCUMENT)
SHARD = CID[-3:-1]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "private"


@pytest.fixture
def files(folder):
    return DocumentFiles(folder)


def store(files, document=DOCUMENT):
    files.store(document_cid(document), document, Event())


def delete(files):
    files.delete(CID)


def names_in(folder):
    """Return the relative paths of the files below a folder."""
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if not each.is_dir())


def test_a_document_file_is_named_by_its_cid_in_a_two_letter_folder(files, folder):
    store(files)
    assert names_in(folder) == [f"{SHARD}/{CID}"]
    assert (folder / SHARD / CID).read_bytes() == DOCUMENT


def test_an_abandoned_document_leaves_no_file(files, folder):
    abandoned = Event()
    abandoned.set()
    files.store(CID, DOCUMENT, abandoned)
    assert names_in(folder) == []
    assert files.load(CID) is None


def test_a_document_that_cannot_be_moved_into_place_leaves_no_file(files, folder):
    (folder / SHARD / CID).mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        store(files)
    assert names_in(folder) == []


def test_reading_does_not_follow_a_symbolic_link(files, folder, tmp_path):
    (tmp_path / "elsewhere").write_bytes(DOCUMENT)
    (folder / SHARD).mkdir()
    (folder / SHARD / CID).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        files.load(CID)


@pytest.mark.parametrize("change", [store, delete])
def test_writing_replaces_a_symbolic_link_rather_than_its_target(files, folder, tmp_path, change):
    (tmp_path / "elsewhere").write_text("not mine")
    (folder / SHARD).mkdir()
    (folder / SHARD / CID).symlink_to(tmp_path / "elsewhere")
    change(files)
    assert not (folder / SHARD / CID).is_symlink()
    assert (tmp_path / "elsewhere").read_text() == "not mine"


def test_deleting_one_document_keeps_the_others(files):
    store(files)
    store(files, b"another poem")
    files.delete(CID)
    files.delete(CID)
    assert files.load(CID) is None
    assert files.load(document_cid(b"another poem")) == b"another poem"


@pytest.mark.parametrize("use", [DocumentFiles.load, DocumentFiles.delete])
def test_a_missing_root_folder_raises_an_error(files, folder, use):
    (folder / ".incoming").rmdir()
    folder.rmdir()
    with pytest.raises(FileNotFoundError):
        use(files, CID)


def test_only_documents_in_the_right_folder_are_listed(files, folder):
    store(files)
    for shard, name in ((SHARD, "notes.txt"), ("zz", CID), ("zz", "notes.txt")):
        (folder / shard).mkdir(exist_ok=True)
        (folder / shard / name).write_bytes(b"")
    assert files.list_shards() == sorted([SHARD, "zz"])
    assert [files.list_documents(each) for each in (SHARD, "zz", "no")] == [[CID], [], []]


def test_a_document_that_vanishes_is_left_out_of_the_listing(files, folder):
    (folder / SHARD).mkdir()
    (folder / SHARD / CID).symlink_to(folder / "gone")
    assert files.list_documents(SHARD) == []


def test_only_documents_stored_before_the_given_time_are_listed(files, folder):
    store(files)
    os.utime(folder / SHARD / CID, (1000, 1000))
    assert files.list_documents(SHARD, before=1000) == []
    assert files.list_documents(SHARD, before=1001) == [CID]


def test_old_unfinished_files_are_removed_if_possible(files, folder):
    incoming = folder / ".incoming"
    (incoming / "folder").mkdir()
    for name, written in (("old", 1000), ("new", 2000), ("folder", 1000)):
        path = incoming / name
        if name != "folder":
            path.write_bytes(b"half a docu")
        os.utime(path, (written, written))
    files.remove_leftovers(before=2000)
    assert {each.name for each in incoming.iterdir()} == {"new", "folder"}


def test_a_probe_leaves_nothing_behind_and_fails_without_its_folder(files, folder):
    files.probe()
    assert names_in(folder) == []
    (folder / ".incoming").rmdir()
    with pytest.raises(FileNotFoundError):
        files.probe()
