"""Backup copies of a SQLite catalog, consistent while others write."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from imprint.adapters.sqlite_connections import connect_copier, connect_reader


def copy_catalog(source: Path, target: Path) -> None:
    """Copy the catalog as it is at one moment; the copy gets its name when it is complete.

    Raises `FileExistsError` for a target that exists.
    """
    if target.exists():
        raise FileExistsError(target)
    partial = target.with_name(target.name + ".partial")
    partial.unlink(missing_ok=True)
    connection = connect_copier(source)
    try:
        connection.execute("VACUUM INTO ?", (str(partial),))
    finally:
        connection.close()
    partial.chmod(0o600)
    _sync(partial)
    partial.rename(target)
    _sync(target.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class DamagedCopy(Exception):
    """The copy of a catalog cannot be read, or is damaged."""


def check_copy(path: Path) -> None:
    """Raise `DamagedCopy` for a copy whose pages, indexes or references are damaged."""
    try:
        with closing(connect_reader(path)) as connection:
            (integrity,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            dangling = connection.execute("PRAGMA foreign_key_check").fetchone()
    except sqlite3.Error as error:
        raise DamagedCopy(f"The copy of the catalog cannot be read: {error}.") from error
    if integrity != "ok" or dangling is not None:
        raise DamagedCopy("The copy of the catalog is damaged.")
