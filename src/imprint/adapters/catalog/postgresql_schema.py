"""The schema of a PostgreSQL catalog, brought up to date by whoever opens it first."""

import asyncio

import asyncpg

from imprint.adapters.catalog.schema import Migration, NewerSchema

_TURN = 0x1A9819_0001
"""The advisory lock that lets one process at a time look and migrate."""

UNFINISHED = "unfinished_move"
"""The table that marks a database into which a catalog is being moved."""

_TABLE = """
CREATE TABLE schema_migrations (number BIGINT PRIMARY KEY, name TEXT NOT NULL)"""


_TRIES = 60
"""How often a migration is begun until it is given up."""

_PAUSE = 0.25
"""Seconds between two tries: in them, whoever was held up goes on."""

_BRIEFLY = "SET LOCAL lock_timeout = '400ms'"
"""How long a migration waits for those who use a table. Who comes after it waits as well; and who
waits for a second is looked at for a deadlock, of which the victim might be somebody's request."""

_BUSY = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError)


class Unfinished(Exception):
    """The database is the target of a move that has not ended."""

    def __init__(self) -> None:
        super().__init__(
            "A catalog is being moved to this database. Run `imprint migrate-catalog` again, "
            "until it ends."
        )


async def migrate(
    connection: "asyncpg.Connection[asyncpg.Record]", migrations: tuple[Migration, ...]
) -> None:
    """Bring the schema up to date in one transaction; whoever comes second finds it done.

    Processes of the release before go on meanwhile: where they are in the way, it begins anew.
    Refuses with `NewerSchema` a database that is ahead of these migrations, and with `Unfinished`
    one that a catalog is being moved to. One that is up to date is only read, so that the service
    needs no right to change the schema.
    """
    for _ in range(_TRIES - 1):
        try:
            await _migrate(connection, migrations)
        except _BUSY:
            await asyncio.sleep(_PAUSE)
        else:
            return
    await _migrate(connection, migrations)


async def _migrate(
    connection: "asyncpg.Connection[asyncpg.Record]", migrations: tuple[Migration, ...]
) -> None:
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _TURN)
        if await connection.fetchval("SELECT to_regclass($1)", UNFINISHED) is not None:
            raise Unfinished
        found = await _find(connection)
        if found > migrations[-1].number:
            raise NewerSchema(found, migrations[-1].number)
        await connection.execute(_BRIEFLY)
        if not found:
            await connection.execute(_TABLE)
        for migration in migrations[found:]:
            await connection.execute(migration.script)
            await connection.execute(
                "INSERT INTO schema_migrations (number, name) VALUES ($1, $2)",
                migration.number,
                migration.name,
            )


async def _find(connection: "asyncpg.Connection[asyncpg.Record]") -> int:
    """The number of the last migration; 0 for a database without a catalog."""
    if await connection.fetchval("SELECT to_regclass('schema_migrations')") is None:
        return 0
    return int(await connection.fetchval("SELECT max(number) FROM schema_migrations") or 0)
