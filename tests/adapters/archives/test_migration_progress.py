"""The file that records the progress of a content migration."""

import sqlite3

import pytest

from imprint.adapters.archives.migration_progress import open_progress
from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import document_cid
from imprint.ports.archives import StoredDocument

ONE, TWO, THREE = (StoredDocument(document_cid(bytes([n])), readable=False) for n in range(3))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "progress.db"


def test_documents_are_pending_in_order_until_they_are_recorded(path):
    with open_progress(path) as progress:
        assert progress.pending(Network.PRIVATE, [THREE, ONE, TWO]) == [THREE, ONE, TWO]
        progress.note(Network.PRIVATE, [ONE])
        assert progress.pending(Network.PRIVATE, [THREE, ONE, TWO]) == [THREE, TWO]


def test_a_document_is_recorded_for_one_network_only(path):
    with open_progress(path) as progress:
        progress.note(Network.PRIVATE, [ONE])
        assert progress.pending(Network.PUBLIC, [ONE]) == [ONE]


def test_a_recorded_document_is_recognized_by_its_cid_alone(path):
    with open_progress(path) as progress:
        progress.note(Network.PRIVATE, [ONE])
        assert progress.pending(Network.PRIVATE, [StoredDocument(ONE.cid, readable=True)]) == []


def test_recording_a_document_twice_is_not_an_error(path):
    with open_progress(path) as progress:
        progress.note(Network.PRIVATE, [ONE])
        progress.note(Network.PRIVATE, [ONE, TWO, TWO])
        assert progress.pending(Network.PRIVATE, [ONE, TWO, THREE]) == [THREE]


def note_and_stop(path):
    with open_progress(path) as progress:
        progress.note(Network.PRIVATE, [ONE])
        raise InterruptedError


def test_recorded_documents_survive_an_interrupted_run(path):
    with pytest.raises(InterruptedError):
        note_and_stop(path)
    with open_progress(path) as progress:
        assert progress.pending(Network.PRIVATE, [ONE, TWO]) == [TWO]


def test_another_run_sees_recorded_documents_immediately(path):
    with open_progress(path) as progress, open_progress(path) as other:
        progress.note(Network.PRIVATE, [ONE])
        assert other.pending(Network.PRIVATE, [ONE, TWO]) == [TWO]


def test_the_file_is_closed_after_use(path):
    with open_progress(path) as progress:
        pass
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        progress.pending(Network.PRIVATE, [ONE])


def test_a_file_that_is_not_a_database_is_refused_and_left_alone(path):
    path.write_text("Dear diary, " * 100)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"), open_progress(path):
        pass
    assert path.read_text() == "Dear diary, " * 100
