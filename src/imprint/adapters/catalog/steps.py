"""Changes and reads as steps: what is asked of a database, without saying of which one.

A change is a generator that yields one query at a time and is sent its rows; it decides, and an
adapter executes. So the rules of the catalog are written once for every database.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

Row = Sequence[Any]
"""A row by the order of its columns."""

T = TypeVar("T")

Value = str | int | bytes | None


@dataclass(slots=True)
class Query:
    """A statement and the values that it names."""

    text: str
    values: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hold:
    """Names of what nobody else may change until this change ends; `holding` makes them.

    What is read after a hold stays true. It has no rows, and where only one change runs at a time
    there is nothing to do for it.
    """

    names: frozenset[str]


Steps = Generator[Query | Hold, list[Row], T]
"""Queries, and what is held for them, that lead to a `T`."""


class Unstorable(Exception):
    """Thrown into the steps whose query the database will not take: a clash, or a strange value."""


def last_query(text: str, values: Mapping[str, Value]) -> Steps[None]:
    """Steps that are one query whose rows nobody needs."""
    yield Query(text, values)
