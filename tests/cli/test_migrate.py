"""`imprint migrate-content`, and the options of `imprint migrate-catalog`."""

import pytest
from tests.cli.installations import environment_of, run
from tests.documents import list_documents


def test_documents_are_copied_to_another_store(here, tmp_path):
    other = tmp_path / "other"
    first = run(environment_of(here), "migrate-content", "--to", f"embedded:{other}")
    assert (first.exit_code, "4 documents were copied" in first.output) == (0, True)
    assert "IMPRINT_CONTENT_STORE" in first.output
    assert list_documents(other / "content") == list_documents(here / "content")
    second = run(environment_of(here), "migrate-content", "--to", f"embedded:{other}")
    assert "0 documents were copied; the other store now has all 4" in second.output
    afresh = run(environment_of(here), "migrate-content", "--to", f"embedded:{other}", "--afresh")
    assert "4 documents were copied" in afresh.output


@pytest.mark.parametrize("place", ["embedded", "attic", "pinata", "kubo:http://127.0.0.1:1"])
def test_an_unusable_store_is_refused(here, place):
    result = run(environment_of(here), "migrate-content", "--to", place)
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("mysql://a/b", "postgresql://a/b"),
        ("sqlite:///a.db", "sqlite:///b.db"),
        ("postgresql://a/b", "postgresql://c/d"),
    ],
)
def test_records_can_be_moved_only_from_sqlite_to_postgresql(source, target):
    result = run({}, "migrate-catalog", "--from", source, "--to", target)
    assert (result.exit_code, "sqlite:///" in result.output) == (2, True)
