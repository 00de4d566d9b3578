"""Static site exports: which folders they may replace, and what a failed export leaves behind."""

from pathlib import Path

import pytest

from imprint.adapters.archives import site_folder
from imprint.adapters.archives.backup_files import BackupUnusable
from imprint.adapters.archives.site_folder import MARKER, replace_site


def write(path: Path, **files: str) -> list[str]:
    """Write a site, and return the reported messages."""
    reported: list[str] = []
    with replace_site(path, reported.append) as folder:
        for name, content in files.items():
            folder.write(f"{name}/index.html", content.encode())
            assert folder.has(f"{name}/index.html")
            assert not folder.has(f"{name}/other.html")
    return reported


def names_in(path: Path) -> list[str]:
    return sorted(each.name for each in path.iterdir())


@pytest.mark.parametrize("exists", [False, True])
def test_a_new_or_empty_folder_is_filled(tmp_path: Path, exists: bool) -> None:
    if exists:
        (tmp_path / "site").mkdir()
    assert write(tmp_path / "site", p="A page.") == []
    assert (tmp_path / "site/p/index.html").read_text() == "A page."
    assert names_in(tmp_path) == ["site"]


def test_an_earlier_export_is_replaced_as_a_whole(tmp_path: Path) -> None:
    write(tmp_path / "site", p="Old.", gone="Gone.")
    write(tmp_path / "site", p="New.")
    assert names_in(tmp_path / "site") == [MARKER, "p"]
    assert (tmp_path / "site/p/index.html").read_text() == "New."
    assert names_in(tmp_path) == ["site"]


def test_an_earlier_export_is_replaced_even_if_folders_cannot_be_swapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_folder, "_EXCHANGE", 1 << 20)
    write(tmp_path / "site", p="Old.")
    write(tmp_path / "site", p="New.")
    assert (tmp_path / "site/p/index.html").read_text() == "New."
    assert names_in(tmp_path) == ["site"]


def test_an_export_moved_aside_by_a_killed_process_is_restored(tmp_path: Path) -> None:
    write(tmp_path / "site", p="Old.")
    (tmp_path / "site").rename(tmp_path / "site.old")
    with pytest.raises(RuntimeError), replace_site(tmp_path / "site", print):
        raise RuntimeError
    assert (tmp_path / "site/p/index.html").read_text() == "Old."


def test_a_nonempty_folder_that_is_not_an_export_is_refused(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/precious").write_text("Precious.")
    with pytest.raises(BackupUnusable, match="neither empty nor an earlier export"):
        write(tmp_path / "site", p="New.")
    assert names_in(tmp_path / "site") == ["precious"]


def test_an_earlier_export_with_other_files_in_it_is_not_replaced(tmp_path: Path) -> None:
    write(tmp_path / "site", p="Old.")
    (tmp_path / "site/.git").mkdir()
    with pytest.raises(BackupUnusable, match=r"not of an export: \.git\."):
        write(tmp_path / "site", p="New.")
    assert (tmp_path / "site/p/index.html").read_text() == "Old."


def test_a_file_is_not_replaced_by_a_folder(tmp_path: Path) -> None:
    (tmp_path / "site").write_text("Precious.")
    with pytest.raises(BackupUnusable, match="is not a folder"):
        write(tmp_path / "site")
    assert (tmp_path / "site").read_text() == "Precious."


def test_a_failed_export_keeps_the_earlier_one_and_leaves_no_other_files(tmp_path: Path) -> None:
    write(tmp_path / "site", p="Old.")
    with pytest.raises(AttributeError):
        # The second page is no text.
        write(tmp_path / "site", p="Half.", q=None)  # type: ignore[arg-type]
    assert (tmp_path / "site/p/index.html").read_text() == "Old."
    assert names_in(tmp_path) == ["site"]


def test_the_partial_export_of_a_killed_process_is_discarded(tmp_path: Path) -> None:
    (tmp_path / "site.partial/p").mkdir(parents=True)
    (reported,) = write(tmp_path / "site", q="New.")
    assert "interrupted attempt" in reported
    assert names_in(tmp_path / "site") == [MARKER, "q"]


def test_two_processes_cannot_write_to_the_same_folder(tmp_path: Path) -> None:
    with replace_site(tmp_path / "site", print) as folder:
        folder.write("p/index.html", b"First.")
        with pytest.raises(BackupUnusable, match="being written by another process"):
            write(tmp_path / "site", p="Second.")
    assert (tmp_path / "site/p/index.html").read_text() == "First."
