"""Brings the table of codes in docs/errors.md up to date."""

from pathlib import Path

from imprint.web.manual.table import place_codes_in

PAGE = Path(__file__).parents[1] / "docs" / "errors.md"


def main() -> None:
    """Rewrite the page."""
    PAGE.write_text(place_codes_in(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{PAGE.name} is up to date.")


if __name__ == "__main__":
    main()
