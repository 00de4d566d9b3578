"""Brings the table of settings in docs/configuration.md up to date."""

from pathlib import Path

from imprint.settings.table import place_in

PAGE = Path(__file__).parents[1] / "docs" / "configuration.md"


def main() -> None:
    """Rewrite the page."""
    PAGE.write_text(place_in(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{PAGE.name} is up to date.")


if __name__ == "__main__":
    main()
