"""Statements for PostgreSQL: their own texts, with numbered values instead of named ones."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from imprint.adapters.database.transaction import Sql

_NAME = re.compile(r"(?<!:):([a-z_][a-z0-9_]*)")

_LIMIT = "limit"
"""This value is written into its statement: there is one plan for all values, and the plan for a
page of ten rows differs from the plan for a tenth of the table."""


def translate(text: str, values: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """A statement with numbered values, and these values in order."""
    limit = values.get(_LIMIT)
    numbered, names = number_values(text, None if limit is None else int(limit))
    return numbered, [values[name] for name in names]


@lru_cache(maxsize=1024)
def number_values(text: str, limit: int | None) -> tuple[str, tuple[str, ...]]:
    """A statement with numbered values, and the names of these in order."""
    numbers: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        name = match[1]
        if name == _LIMIT:
            return str(limit)
        return f"${numbers.setdefault(name, len(numbers) + 1)}"

    own = text.postgresql if isinstance(text, Sql) else text
    return _NAME.sub(number, own), tuple(numbers)
