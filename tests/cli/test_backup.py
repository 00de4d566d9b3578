"""The commands that keep an installation: backup, restore, migrate-content."""

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.cli.installations import environment_of, files_in, fill_folder
from tests.documents import list_documents

from imprint.cli import main


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    asyncio.run(fill_folder(folder))
    for name, text in environment_of(folder).items():
        monkeypatch.setenv(name, text)
    return folder


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments])


@pytest.mark.parametrize("name", ["saved", "saved.tar"])
def test_a_backup_is_taken_and_restored(here, tmp_path, name):
    saved = run("backup", "--out", tmp_path / name)
    assert (saved.exit_code, "3 documents and 1 thumbnails" in saved.output) == (0, True)
    restored = run("restore", tmp_path / name, "--to", tmp_path / "restored")
    assert (restored.exit_code, "every one of them was checked" in restored.output) == (0, True)
    assert files_in(tmp_path / "restored") == files_in(here)


def test_a_damaged_backup_is_refused_in_words(here, tmp_path):
    run("backup", "--out", tmp_path / "saved")
    (tmp_path / "saved" / "backup.json").unlink()
    result = run("restore", tmp_path / "saved", "--to", tmp_path / "restored")
    assert (result.exit_code, "never finished" in result.output) == (1, True)


def test_what_is_no_backup_is_refused_in_words(here, tmp_path):
    (tmp_path / "letter.tar").write_text("Dear reader" * 1000)
    result = run("restore", tmp_path / "letter.tar", "--to", tmp_path / "restored")
    assert (result.exit_code, "no tar file" in result.output) == (2, True)


def test_documents_move_to_another_store(here, tmp_path):
    other = tmp_path / "other"
    first = run("migrate-content", "--to", f"embedded:{other}")
    assert (first.exit_code, "4 documents were copied" in first.output) == (0, True)
    assert "IMPRINT_CONTENT_STORE" in first.output
    assert list_documents(other / "content") == list_documents(here / "content")
    second = run("migrate-content", "--to", f"embedded:{other}")
    assert "0 documents were copied; all 4 are there" in second.output
    afresh = run("migrate-content", "--to", f"embedded:{other}", "--afresh")
    assert "4 documents were copied" in afresh.output


@pytest.mark.parametrize("place", ["embedded", "attic", "pinata", "kubo:http://127.0.0.1:1"])
def test_a_store_that_cannot_be_used_is_refused_in_words(here, place):
    result = run("migrate-content", "--to", place)
    assert result.exit_code == 2
    assert "Traceback" not in result.output
