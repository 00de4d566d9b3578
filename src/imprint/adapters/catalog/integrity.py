"""The integrity of a SQLite catalog: its pages and its indexes."""

import sqlite3
from contextlib import closing
from pathlib import Path

from imprint.adapters.sqlite_connections import connect_reader

SMALL_CATALOG = 16 * 1024 * 1024
"""Bytes of a catalog up to which it is examined before it is used: a quarter of a second."""

_CACHE_KILOBYTES = 64_000
"""The page cache of an examination, which looks up every row in every index."""

MOST_FINDINGS = 20
"""How many findings are reported at most; one is enough for an alarm."""


def examine_catalog(path: Path, most: int = MOST_FINDINGS) -> list[str]:
    """What is damaged in the catalog in this file; empty if nothing is.

    Looks up every row in every index, 70 MB in a second if the file fits into the cache. Others may
    write meanwhile; the log grows until the examination ends.
    """
    try:
        with closing(connect_reader(path, _CACHE_KILOBYTES)) as connection:
            connection.execute("PRAGMA cell_size_check = ON")
            rows = connection.execute(f"PRAGMA integrity_check({most})").fetchall()
            dangling = connection.execute("PRAGMA foreign_key_check").fetchone()
    except sqlite3.Error as error:
        return [str(error)]
    # The list can contain texts of damaged rows.
    found = [ascii(text)[1:201] for (text,) in rows if text != "ok"]
    return [*found, *(["A file has no group."] if dangling is not None else [])]
