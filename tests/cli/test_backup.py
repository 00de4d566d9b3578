"""Tests of `imprint backup` and `imprint restore`."""

import json
import sqlite3
from contextlib import closing

import pytest
from tests.cli.installations import environment_of, files_in, run


@pytest.mark.parametrize("name", ["saved", "saved.tar"])
def test_a_backup_can_be_created_and_restored(here, tmp_path, name):
    saved = run(environment_of(here), "backup", "--out", tmp_path / name)
    assert (saved.exit_code, "3 documents and 1 thumbnails" in saved.output) == (0, True)
    restored = run({}, "restore", tmp_path / name, "--to", tmp_path / "restored")
    assert (restored.exit_code, "every one of them was checked" in restored.output) == (0, True)
    assert files_in(tmp_path / "restored") == files_in(here)


def test_a_damaged_backup_is_refused(here, tmp_path):
    run(environment_of(here), "backup", "--out", tmp_path / "saved")
    (tmp_path / "saved" / "backup.json").unlink()
    result = run({}, "restore", tmp_path / "saved", "--to", tmp_path / "restored")
    assert (result.exit_code, "never finished" in result.output) == (1, True)


def test_a_file_that_is_not_a_backup_is_refused(tmp_path):
    (tmp_path / "letter.tar").write_text("Dear reader" * 1000)
    result = run({}, "restore", tmp_path / "letter.tar", "--to", tmp_path / "restored")
    assert (result.exit_code, "not a tar file" in result.output) == (2, True)


def test_a_catalog_with_an_extra_view_is_not_backed_up(here, tmp_path):
    with closing(sqlite3.connect(here / "imprint.db")) as connection:
        connection.execute("CREATE VIEW report AS SELECT owner FROM files")
    result = run(environment_of(here), "backup", "--out", tmp_path / "saved")
    assert (result.exit_code, "see view 'report'" in result.output) == (2, True)
    assert not (tmp_path / "saved").exists()


def test_backup_prints_a_summary_as_json(here, tmp_path):
    saved = run(environment_of(here), "backup", "--out", tmp_path / "saved", "--json")
    printed = json.loads(saved.stdout)
    manifest = json.loads((tmp_path / "saved" / "backup.json").read_text())
    assert printed["documents"] == manifest["documents"]
    assert (printed["made_at"], printed["out"]) == (manifest["made_at"], str(tmp_path / "saved"))
    assert printed["seconds"] >= 0


def last_backup(folder):
    with closing(sqlite3.connect(folder / "imprint.db")) as connection:
        return connection.execute("SELECT backed_up_at FROM installation").fetchone()[0]


def test_a_completed_backup_is_recorded_only_in_its_source(here, tmp_path):
    assert last_backup(here) is None
    run(environment_of(here), "backup", "--out", tmp_path / "one")
    made = last_backup(here)
    assert made is not None
    run(environment_of(here), "backup", "--out", tmp_path / "two")
    assert last_backup(here) > made
    run({}, "restore", tmp_path / "two", "--to", tmp_path / "restored")
    assert last_backup(tmp_path / "restored") is None


def test_a_failed_backup_is_not_recorded(here, tmp_path):
    with closing(sqlite3.connect(here / "imprint.db")) as connection:
        connection.execute("CREATE VIEW report AS SELECT owner FROM files")
    run(environment_of(here), "backup", "--out", tmp_path / "saved")
    assert last_backup(here) is None
