"""Brings the generated tables of the documentation up to date."""

from collections.abc import Callable
from pathlib import Path

from imprint.settings.table import place_in
from imprint.web.docs.errors import place_codes_in

DOCS = Path(__file__).parents[1] / "docs"
TABLES: dict[str, Callable[[str], str]] = {
    "configuration.md": place_in,
    "errors.md": place_codes_in,
}
"""Pages, and what puts its table into each."""


def main() -> None:
    """Rewrite the pages."""
    for name, place in TABLES.items():
        page = DOCS / name
        page.write_text(place(page.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"{name} is up to date.")


if __name__ == "__main__":
    main()
