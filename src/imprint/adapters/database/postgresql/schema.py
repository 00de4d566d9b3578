"""The PostgreSQL schema, brought up to date by the first process that opens it."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass

import asyncpg

from imprint import failpoints
from imprint.adapters.database.postgresql.pool import Connection
from imprint.adapters.database.schema import Migration, expect_schema
from imprint.domain.installation import Access

_MIGRATION_LOCK = 0x1A9819_0001
"""Advisory lock that only one migrating process can hold."""

UNFINISHED = "unfinished_move"
"""Table that exists while a catalog is being moved into the database."""

_TABLES = """
SELECT c.table_name AS name,
       array_agg(c.column_name::text ORDER BY c.ordinal_position) AS columns,
       (SELECT array_agg(a.attname::text ORDER BY array_position(i.indkey::int2[], a.attnum))
        FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
        WHERE i.indisprimary AND i.indrelid = c.table_name::regclass) AS key
FROM information_schema.columns c
WHERE c.table_schema = current_schema()
  AND c.table_name IN (SELECT tablename FROM pg_tables WHERE schemaname = current_schema())
GROUP BY c.table_name
ORDER BY c.table_name <> 'file_groups', c.table_name"""

_TABLE = """
CREATE TABLE schema_migrations (number BIGINT PRIMARY KEY, name TEXT NOT NULL)"""


_ATTEMPTS = 60
"""Number of attempts per migration."""

_PAUSE = 0.25
"""Seconds between attempts, during which blocked requests can continue."""

_LOCK_TIMEOUT = "SET LOCAL lock_timeout = '400ms'"
"""How long a migration waits for a table lock. Later requests queue behind the migration. After a
second, the server would check for deadlocks, and might abort a request to resolve one."""

_BUSY = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError)


LEAST_VERSION = 15
"""Oldest PostgreSQL release that the tests run on."""


class UnsuitableServer(Exception):
    """The server is too old, or the database's encoding is not UTF-8. The message says which."""


def check_server(version: int, encoding: str) -> None:
    """Raise `UnsuitableServer` for a server that cannot hold the catalog."""
    if version < LEAST_VERSION:
        raise UnsuitableServer(
            f"The server is PostgreSQL {version}, but {LEAST_VERSION} is the oldest supported "
            "version. Upgrade the server."
        )
    if encoding.upper() != "UTF8":
        raise UnsuitableServer(
            f"The encoding of the database is {encoding}, not UTF8. Recreate the database with "
            "ENCODING 'UTF8' TEMPLATE template0."
        )


class Unfinished(Exception):
    """The database is the target of an unfinished move."""

    def __init__(self) -> None:
        super().__init__(
            "A catalog is being moved to this database. Run `imprint migrate-catalog` again "
            "until it completes."
        )


async def find_schema(connection: Connection) -> int:
    """The number of the last migration, or 0 without a catalog.

    Raises `Unfinished` for the target of an unfinished move, and `UnsuitableServer`.
    """
    check_server(connection.get_server_version().major, connection.get_settings().server_encoding)
    if await connection.fetchval("SELECT to_regclass($1)", UNFINISHED) is not None:
        raise Unfinished
    if await connection.fetchval("SELECT to_regclass('schema_migrations')") is None:
        return 0
    return int(await connection.fetchval("SELECT max(number) FROM schema_migrations") or 0)


async def migrate(connection: Connection, migrations: tuple[Migration, ...]) -> None:
    """Bring the schema up to date in one transaction. A second process changes nothing.

    Processes of the previous release keep running, and the migration is retried while they hold
    locks. Raises `NewerSchema` if the database is ahead of these migrations, `Unfinished` for the
    target of an unfinished move, and `UnsuitableServer`. An up-to-date schema is only read, so the
    service needs no permission to change it.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            await _migrate(connection, migrations)
        except _BUSY:
            await asyncio.sleep(_PAUSE)
        else:
            return
    await _migrate(connection, migrations)


async def _migrate(connection: Connection, migrations: tuple[Migration, ...]) -> None:
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _MIGRATION_LOCK)
        found = await find_schema(connection)
        expect_schema(found, migrations, Access.MIGRATE)
        await connection.execute(_LOCK_TIMEOUT)
        if not found:
            await connection.execute(_TABLE)
        for migration in (each for each in migrations if each.number > found):
            await connection.execute(migration.script)
            await connection.execute(
                "INSERT INTO schema_migrations (number, name) VALUES ($1, $2)",
                migration.number,
                migration.name,
            )
            failpoints.reach("during_migration")


async def examine_server(connection: Connection) -> list[str]:
    """The changes that an operator should make on the server."""
    found = []
    if not await connection.fetchval("SELECT has_table_privilege('files', 'INSERT')"):
        found.append("The user in IMPRINT_DATABASE_URL is not allowed to write records.")
    if await connection.fetchval("SHOW data_checksums") != "on":
        found.append(
            "The server does not detect damaged pages: stop it and enable data checksums with "
            "pg_checksums."
        )
    return found


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its columns and primary key."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]


async def read_tables(connection: Connection, without: Collection[str]) -> list[Table]:
    """The database's tables except those in `without`, referenced tables first."""
    return [
        Table(row["name"], tuple(row["columns"]), tuple(row["key"]))
        for row in await connection.fetch(_TABLES)
        if row["name"] not in without
    ]
