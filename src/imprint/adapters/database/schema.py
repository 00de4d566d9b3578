"""Schema migrations of the catalog: numbered scripts, and how SQLite applies them."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources

from imprint import failpoints
from imprint.domain.errors import NeedsUpgrade
from imprint.domain.installation import Access

_TABLE = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL
) STRICT"""

LATEST = "SELECT coalesce(max(number), 0) FROM schema_migrations"
"""Reads the number of the last applied migration."""


class NewerSchema(Exception):
    """The database was written by a newer version of the service."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"The database has schema {found}, but this version of Imprint knows only {known}. "
            "Run the newer version, or restore a backup that this one wrote."
        )
        self.found = found
        self.known = known


class NoCatalog(Exception):
    """There is no catalog, and none may be made."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One migration of the schema."""

    number: int
    name: str
    script: str


def known_migrations(database: str = "sqlite") -> tuple[Migration, ...]:
    """The migrations for this database that come with the service, in order."""
    folder = resources.files("imprint.adapters.database") / "migrations" / database
    scripts = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".sql")),
        key=lambda entry: entry.name,
    )
    return tuple(
        Migration(int(entry.name[:4]), entry.name[5:-4], entry.read_text("utf-8"))
        for entry in scripts
    )


def expect_schema(found: int, migrations: Sequence[Migration], access: Access) -> None:
    """Raise unless a database with this schema, 0 for none, can be opened with this access.

    Raises `NewerSchema`, `NoCatalog` and `NeedsUpgrade`.
    """
    known = migrations[-1].number
    if found > known:
        raise NewerSchema(found, known)
    if not found and not access.creates:
        raise NoCatalog
    if 0 < found < known and access is not Access.MIGRATE:
        raise NeedsUpgrade(
            f"The database has schema {found}, and this version of Imprint needs {known}."
        )


def find_schema(connection: sqlite3.Connection) -> int:
    """The number of the last migration; 0 for a database without a catalog."""
    table = "SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations'"
    if connection.execute(table).fetchone() is None:
        return 0
    (found,) = connection.execute(LATEST).fetchone()
    return int(found)


def migrate(connection: sqlite3.Connection, migrations: tuple[Migration, ...]) -> None:
    """Bring the schema up to date in one transaction; a second process finds it done.

    Raises `NewerSchema` for a database that is ahead of these migrations.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(_TABLE)
        (found,) = connection.execute(LATEST).fetchone()
        expect_schema(found, migrations, Access.MIGRATE)
        for migration in migrations:
            if migration.number > found:
                _apply(connection, migration)
                failpoints.reach("during_migration")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _apply(connection: sqlite3.Connection, migration: Migration) -> None:
    for statement in _statements(migration.script):
        connection.execute(statement)
    connection.execute(
        "INSERT INTO schema_migrations (number, name) VALUES (?, ?)",
        (migration.number, migration.name),
    )


def _statements(script: str) -> Iterator[str]:
    # executescript would commit, and break the transaction around the migrations.
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
