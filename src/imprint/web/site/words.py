"""The texts of the pages, one file per language."""

import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup

Sentence = str | Mapping[str, str]
"""A text, or its singular and plural forms: `one` and `other`."""


class Words:
    """Texts of pages, keyed by dotted names. An unknown key raises `KeyError`."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._sentences = dict(_flat(document, ""))

    def __contains__(self, key: str) -> bool:
        return key in self._sentences

    @property
    def keys(self) -> frozenset[str]:
        """The keys of all texts."""
        return frozenset(self._sentences)

    def text(self, key: str, **values: object) -> str:
        """Return a text as plain text."""
        return self._sentence(key, values).format(**values)

    def html(self, key: str, **values: object) -> Markup:
        """Return a text as HTML, in which the values are escaped."""
        return Markup(self._sentence(key, values)).format(**values)  # noqa: S704 - ours

    def _sentence(self, key: str, values: Mapping[str, object]) -> str:
        found = self._sentences[key]
        if isinstance(found, str):
            return found
        return found["one" if values["count"] == 1 else "other"]


@cache
def page_words(language: str = "en") -> Words:
    """Load the texts of the pages in a language."""
    file = files("imprint.web.site").joinpath("languages", f"{language}.toml")
    return Words(tomllib.loads(file.read_text("utf-8")))


def write_day(moment: datetime, current_year: int | None = None) -> str:
    """Return the date of a time in words, such as 3 November 2026. Omits the current year."""
    moment, words = moment.astimezone(UTC), page_words()
    month = words.text(f"dates.months.{moment.month}")
    if moment.year == current_year:
        return words.text("dates.day", day=moment.day, month=month)
    return words.text("dates.day_and_year", day=moment.day, month=month, year=moment.year)


def _flat(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Sentence]]:
    for key, value in table.items():
        if isinstance(value, str) or set(value) == {"one", "other"}:
            yield prefix + key, value
        else:
            yield from _flat(value, f"{prefix}{key}.")
