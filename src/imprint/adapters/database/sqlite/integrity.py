"""The integrity of a SQLite catalog: its pages and its indexes."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from imprint.adapters.database.derived_tables import is_of_index
from imprint.adapters.database.sqlite.connections import Connect, connect_reader
from imprint.adapters.outages import is_damage

SMALL_CATALOG = 16 * 1024 * 1024
"""The size of a catalog up to which it is checked before it is used: a quarter of a second."""

_CACHE_KILOBYTES = 64_000
"""The page cache of a check, which looks up every row in every index."""

MOST_FINDINGS = 20
"""The most findings that are reported; one is enough for an alarm."""


_SHARED = ("reference to page", "reelist")
"""Phrases in findings about pages of any table: two owners, or none."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The damage in a catalog: in the tables of records, or only in those of the index."""

    records: tuple[str, ...] = ()
    index: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.records or self.index)


def examine_catalog(
    path: Path, most: int = MOST_FINDINGS, connect: Connect = connect_reader
) -> Findings:
    """What is damaged in the catalog in this file.

    Looks up every row in every index, 70 MB per second if the file fits into the cache. Others may
    write meanwhile; the log grows until the check ends. SQLite 3.44 and newer compare the words of
    the search with the texts; older ones only check their pages.
    """
    try:
        with closing(connect(path, _CACHE_KILOBYTES)) as connection:
            connection.execute("PRAGMA cell_size_check = ON")
            found = _check(connection, str(most))
            if connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
                return Findings((*found, "A file has no group."))
            if found and not any(each in text for text in found for each in _SHARED):
                tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
                lasting = [name for (name,) in tables.fetchall() if not is_of_index(name)]
                if not any(_check(connection, f"'{name}'") for name in lasting):
                    return Findings((), found)
    except sqlite3.Error as error:
        return Findings((str(error),))
    return Findings(found)


def _check(connection: sqlite3.Connection, what: str) -> tuple[str, ...]:
    """The findings about a table and its indexes, or up to this many about all of them."""
    try:
        rows = connection.execute(f"PRAGMA integrity_check({what})").fetchall()
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        return (str(error),)
    # The list can contain texts of damaged rows.
    return tuple(ascii(text)[1:201] for (text,) in rows if text != "ok")
