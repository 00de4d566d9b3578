"""Schema migrations, the code that applies them to SQLite, and derived tables."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from imprint import failpoints
from imprint.adapters.database.transaction import Sql
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
            f"The database has schema {found}, but this version of Imprint supports only "
            f"{known}. Run the newer version, or restore a backup made by this one."
        )
        self.found = found
        self.known = known


class NoCatalog(Exception):
    """There is no catalog, and none may be created."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One migration of the schema."""

    number: int
    name: str
    script: str


@cache
def known_migrations(database: str = "sqlite") -> tuple[Migration, ...]:
    """The migrations for this database, in order."""
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
    """Raise unless a database with this schema version (0 for none) can be opened with this access.

    Raises `NewerSchema`, `NoCatalog` and `NeedsUpgrade`.
    """
    known = migrations[-1].number
    if found > known:
        raise NewerSchema(found, known)
    if not found and not access.creates:
        raise NoCatalog
    if 0 < found < known and access is not Access.MIGRATE:
        raise NeedsUpgrade(
            f"The database has schema {found}, but this version of Imprint needs {known}."
        )


def find_schema(connection: sqlite3.Connection) -> int:
    """The number of the last migration, or 0 without a catalog."""
    table = "SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations'"
    if connection.execute(table).fetchone() is None:
        return 0
    (found,) = connection.execute(LATEST).fetchone()
    return int(found)


def migrate(connection: sqlite3.Connection, migrations: tuple[Migration, ...]) -> None:
    """Bring the schema up to date in one transaction. A second process changes nothing.

    Raises `NewerSchema` if the database is ahead of these migrations.
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


INDEX_TABLES = frozenset(
    {
        "accounts",
        "author_readers",
        "holdings",
        "index_logs",
        "index_state",
        "index_undo",
        "market_days",
        "market_totals",
        "pending_texts",
        "post_search",
        "post_tags",
        "post_texts",
        "posts",
        "price_changes",
        "purchases",
        "text_facts",
    }
)
"""Every table of the index."""

SEARCH_TABLE = "post_search"
"""Name of the table with the words of posts, for which SQLite creates internal tables."""

_INDEX_STORES = "imprint.adapters.stores.posts."
"""Prefix of the modules whose rules use only index tables, and the files that they compare with
posts."""

EMPTY_POSTGRESQL = (
    f"TRUNCATE {', '.join(sorted(INDEX_TABLES))}",
    "INSERT INTO market_totals (only_row) VALUES (1)",
)
"""Statements that empty the index on PostgreSQL."""


def is_of_index(table: str) -> bool:
    """Whether a table belongs to the index, including SQLite's internal word tables."""
    return table in INDEX_TABLES or table.startswith(f"{SEARCH_TABLE}_")


def is_index_rule(rule: Callable[..., object]) -> bool:
    """Whether a rule only concerns the index, so that damage it encounters is in the index."""
    module: str = getattr(rule, "__module__", "")
    return module.startswith(_INDEX_STORES)


def _renew_search() -> tuple[str, str]:
    script = next(each.script for each in known_migrations() if SEARCH_TABLE in each.script)
    start = script.index(f"CREATE VIRTUAL TABLE {SEARCH_TABLE}")
    return f"DROP TABLE {SEARCH_TABLE}", script[start : script.index(";", start)]


EMPTY_INDEX = (
    *(
        Sql(f"DELETE FROM {table}", postgresql=f"TRUNCATE {table}")  # noqa: S608
        for table in sorted(INDEX_TABLES - {SEARCH_TABLE})
    ),
    *(Sql(text, postgresql=f"TRUNCATE {SEARCH_TABLE}") for text in _renew_search()),
)
"""Statements that empty the index. On PostgreSQL, deleting a million rows would exceed the
statement timeout. In SQLite, the word table is dropped as a whole, even if it is damaged, because
deleting row by row would read all of it."""
