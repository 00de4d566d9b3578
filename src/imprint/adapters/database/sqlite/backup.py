"""Backup copies of a SQLite catalog, which are consistent even if others write meanwhile."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from imprint.adapters.database.schema import (
    LATEST,
    Migration,
    NewerSchema,
    known_migrations,
    migrate,
)
from imprint.adapters.database.sqlite.connections import (
    CACHE_KILOBYTES,
    connect_copier,
    connect_untrusted,
)
from imprint.adapters.database.transaction import CHECKED_TABLES, damaged_records
from imprint.adapters.disk_space import sync_path
from imprint.adapters.outages import is_damage
from imprint.ports.damage import CatalogDamaged


class DamagedCopy(CatalogDamaged):
    """The catalog copy cannot be read or is damaged."""


def copy_catalog(source: Path, target: Path) -> None:
    """Copy a snapshot of the catalog. The copy gets its final name when it is complete.

    Raises `FileExistsError` for an existing target, and `DamagedCopy` for a damaged source. The
    source is checked, too: the copy's indexes are built from the source's tables, so the copy
    cannot show that a damaged table has lost rows.
    """
    if target.exists():
        raise FileExistsError(target)
    partial = target.with_name(target.name + ".partial")
    partial.unlink(missing_ok=True)
    connection = connect_copier(source)
    try:
        connection.execute("PRAGMA cell_size_check = ON")
        _check_integrity(connection)
        connection.execute("VACUUM INTO ?", (str(partial),))
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            raise DamagedCopy(f"The catalog is damaged: {error}.") from error
        raise
    finally:
        connection.close()
    partial.chmod(0o600)
    sync_path(partial)
    partial.rename(target)
    sync_path(target.parent)


SCHEMA_STEPS = 1_000_000
"""Number of SQLite instructions allowed for reading a schema. Our schema needs a few thousand."""

SCHEMA_BYTES = 64 * 1024
"""Length limit in bytes for a statement in a schema."""

SCHEMA_ROWS = 1000
"""Maximum number of tables and indexes to compare. Our schema has fewer than a hundred."""

_NUMBERS = "schema_migrations"
_STATISTICS = {("table", "sqlite_stat1"), ("table", "sqlite_stat4")}

_LITESTREAM = {
    (
        "table",
        "_litestream_seq",
        "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)",
    ),
    ("table", "_litestream_lock", "CREATE TABLE _litestream_lock (id INTEGER)"),
}
"""Tables that Litestream adds to a replicated database (docs/backup.md)."""


def check_copy(path: Path) -> None:
    """Raise `DamagedCopy` for a copy with damage in its schema, pages, indexes, references or
    records.

    Raises `NewerSchema` if a newer version wrote the catalog.
    """
    check_schema(path)
    try:
        with closing(connect_untrusted(path)) as connection:
            connection.execute(f"PRAGMA cache_size = -{CACHE_KILOBYTES}")
            _check_integrity(connection)
            dangling = connection.execute("PRAGMA foreign_key_check").fetchone()
            if dangling is not None:
                raise DamagedCopy(f"The catalog is damaged: a row of {dangling[0]} has no parent.")
            _check_records(connection)
    except sqlite3.Error as error:
        raise DamagedCopy(f"The copy of the catalog cannot be read: {error}.") from error


def _check_integrity(connection: sqlite3.Connection) -> None:
    (integrity,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if integrity != "ok":
        found = " ".join(str(integrity).split())[:200]
        raise DamagedCopy(f"The catalog is damaged: {found.encode('ascii', 'replace').decode()}.")


def _check_records(connection: sqlite3.Connection) -> None:
    """Verify the checksums of all files and groups."""
    for table in CHECKED_TABLES:
        for record in damaged_records(connection, table):
            raise DamagedCopy(f"The catalog is damaged: the record {record} has changed.")


def remove_writing_sessions(path: Path) -> None:
    """Remove the writing sessions from a copy, so that revoked ones cannot come back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # A copy from an earlier release lacks this table.
        if ("table", "writing_sessions") in {each[:2] for each in _read_schema(connection)}:
            connection.execute("DELETE FROM writing_sessions")


def check_schema(path: Path) -> None:
    """Raise `DamagedCopy` unless a copy has exactly the schema that the migrations create.

    A trigger, a view, a check or an expression index would run with the first query, so this check
    must come before any other. Raises `NewerSchema` if a newer version wrote the catalog.
    """
    try:
        with closing(connect_untrusted(path)) as connection:
            _limit_steps(connection, SCHEMA_STEPS)
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, SCHEMA_BYTES)
            found = _read_schema(connection)
            known = known_migrations()
            if not found >= {each for each in schema_after(known) if each[1] == _NUMBERS}:
                raise DamagedCopy("The copy of the catalog was not made by Imprint.")
            (number,) = connection.execute(LATEST).fetchone()
    except (sqlite3.Error, UnicodeError) as error:
        raise DamagedCopy(f"The copy of the catalog cannot be read: {error}.") from error
    if number > known[-1].number:
        raise NewerSchema(number, known[-1].number)
    applied = tuple(each for each in known if each.number <= number)
    expected = schema_after(applied) if applied else set()
    if found - _LITESTREAM != expected:
        kind, name, _ = min((found - _LITESTREAM) ^ expected)
        raise DamagedCopy(
            f"The schema of the catalog's copy is not Imprint's: see {kind} {name[:60]!a}."
        )


def schema_after(migrations: tuple[Migration, ...]) -> set[tuple[str, str, str]]:
    """Type, name and statement of everything these migrations create."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, migrations)
        return _read_schema(connection)


def _read_schema(connection: sqlite3.Connection) -> set[tuple[str, str, str]]:
    """Type, name and statement of everything in a schema, except ANALYZE's statistics."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_schema").fetchmany(SCHEMA_ROWS)
    return {
        (str(kind), str(name), _plain(str(statement)))
        for kind, name, statement in rows
        if (kind, name) not in _STATISTICS
    }


def _plain(statement: str) -> str:
    """A statement on one line without comments, since migrations may change line breaks and
    comments."""
    return " ".join(re.sub("--[^\n]*", " ", statement).split())


def _limit_steps(connection: sqlite3.Connection, steps: int) -> None:
    """Interrupt the connection after this many instructions of SQLite's virtual machine.

    The pages of a forged file can point to each other, so that a table seems endless.
    """
    calls = iter(range(steps // 1000))
    connection.set_progress_handler(lambda: next(calls, None) is None, 1000)
