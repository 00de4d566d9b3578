"""`imprint adopt`, and the commands that need it."""

import shutil
from pathlib import Path

import pytest
from tests.cli.installations import environment_of, run
from tests.documents import list_documents


@pytest.fixture
def strange(here: Path, tmp_path: Path) -> dict[str, str]:
    """Settings of another catalog that uses the documents of the installation `here`."""
    assert run(environment_of(here), "backup", "--out", tmp_path / "claims").exit_code == 0
    assert run(environment_of(tmp_path / "other"), "upgrade").exit_code == 0
    database = f"sqlite:///{tmp_path / 'other' / 'imprint.db'}"
    return environment_of(here) | {"IMPRINT_DATABASE_URL": database}


def marker_of(folder: Path) -> str:
    return (folder / "content" / "installation").read_text().strip()


def test_a_foreign_catalog_is_refused_with_a_hint_to_adopt(here, strange):
    refused = run(strange, "reconcile", "--from-block", "0")
    assert (refused.exit_code, "`imprint adopt`" in refused.output) == (2, True)
    assert f"belongs to the installation {marker_of(here)}" in refused.output


@pytest.mark.parametrize("command", ["events", "check"])
def test_a_read_only_command_runs_with_a_foreign_catalog(strange, command):
    assert run(strange, command).exit_code < 2


def test_check_names_the_installation_that_owns_the_documents(here, strange):
    assert f"✗ documents  They belong to the installation {marker_of(here)}" in (
        run(strange, "check").output
    )


def test_adopt_shows_the_documents_and_asks_for_confirmation(here, strange):
    before, documents = marker_of(here), list_documents(here / "content")
    asked = run(strange, "adopt")
    assert asked.exit_code == 1
    assert before in asked.output
    assert "4 documents checked, 0 of them known here" in asked.output
    assert "imprint gc --dry-run" in asked.output
    assert marker_of(here) == before
    adopted = run(strange, "adopt", "--yes")
    assert (adopted.exit_code, "belongs to the installation" in adopted.output) == (0, True)
    assert marker_of(here) != before
    assert list_documents(here / "content") == documents
    assert run(environment_of(here), "rotate-key").exit_code == 2


def test_adopting_twice_has_the_same_effect_as_once(here, strange):
    assert run(strange, "adopt", "--yes").exit_code == 0
    marker = marker_of(here)
    again = run(strange, "adopt")
    assert (again.exit_code, "already belongs to this catalog" in again.output) == (0, True)
    assert marker_of(here) == marker


def test_a_copy_of_a_catalog_gets_its_own_id(here, tmp_path):
    assert run(environment_of(here), "export", "--out", tmp_path / "all.car").exit_code == 0
    copy = tmp_path / "copy"
    shutil.copytree(here, copy)
    adopted = run(environment_of(copy), "adopt", "--yes", "--new-id")
    assert adopted.exit_code == 0, adopted.output
    assert marker_of(copy) != marker_of(here)
    assert "✓ documents" in run(environment_of(copy), "check").output
    mixed = environment_of(copy) | {"IMPRINT_DATABASE_URL": f"sqlite:///{here / 'imprint.db'}"}
    assert run(mixed, "export", "--out", tmp_path / "never.car").exit_code == 2


def test_an_emptied_folder_can_be_adopted(here, strange):
    shutil.rmtree(here / "content")
    refused = run(environment_of(here), "migrate-content", "--to", f"embedded:{here}-2")
    assert (refused.exit_code, "not mounted" in refused.output) == (2, True)
    adopted = run(environment_of(here), "adopt", "--yes")
    assert (adopted.exit_code, "0 of 4 documents looked up" in adopted.output) == (0, True)


def test_documents_are_not_copied_into_the_store_of_another_installation(here, strange, tmp_path):
    other = environment_of(tmp_path / "other")
    result = run(other, "migrate-content", "--to", f"embedded:{here}")
    assert (result.exit_code, "belongs to the installation" in result.output) == (2, True)


def test_a_restored_backup_is_another_installation(here, tmp_path):
    run(environment_of(here), "backup", "--out", tmp_path / "saved.tar")
    restored = tmp_path / "restored"
    assert run({}, "restore", tmp_path / "saved.tar", "--to", restored).exit_code == 0
    assert marker_of(restored) != marker_of(here)
    assert "✓ documents" in run(environment_of(restored), "check").output
    mixed = environment_of(here) | {"IMPRINT_DATABASE_URL": f"sqlite:///{restored / 'imprint.db'}"}
    assert run(mixed, "backup", "--out", tmp_path / "never").exit_code == 2
