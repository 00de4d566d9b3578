"""`imprint site preview --once` renders every page and reports all wrong settings."""

from pathlib import Path

from tests.cli.installations import run

AUTHOR = "0x" + "5e" * 20


def write_page(folder: Path, name: str, text: str) -> str:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder)


def test_every_page_is_rendered_once(tmp_path: Path) -> None:
    pages = write_page(tmp_path / "pages", "terms.md", "# Terms")
    given = {"IMPRINT_PUBLICATION_PAGES": pages, "IMPRINT_PUBLICATION_FRONT": AUTHOR}
    result = run(given, "site", "preview", "--once")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == ["200  /", "200  /about", "200  /terms", "200  /search"]


def test_all_wrong_settings_are_reported(tmp_path: Path) -> None:
    given = {
        "IMPRINT_PUBLICATION_PAGES": write_page(tmp_path / "pages", "posts.md", "# Posts"),
        "IMPRINT_PUBLICATION_ACCENT": "#ff0",
    }
    result = run(given, "site", "preview", "--once")
    assert result.exit_code == 2
    said = " ".join(result.output.split())
    assert "IMPRINT_PUBLICATION_PAGES" in said
    assert "IMPRINT_PUBLICATION_ACCENT" in said
