"""The schema of a PostgreSQL catalog, brought up to date by whoever opens it first."""

import asyncpg

from imprint.adapters.catalog.schema import Migration, NewerSchema

_TURN = 0x1A9819_0001
"""The advisory lock that lets one process at a time look and migrate."""

_TABLE = """
CREATE TABLE schema_migrations (number BIGINT PRIMARY KEY, name TEXT NOT NULL)"""


async def migrate(
    connection: "asyncpg.Connection[asyncpg.Record]", migrations: tuple[Migration, ...]
) -> None:
    """Bring the schema up to date in one transaction; whoever comes second finds it done.

    Refuses with `NewerSchema` a database that is ahead of these migrations. One that is up to date
    is only read, so that the service needs no right to change the schema.
    """
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _TURN)
        found = await _find(connection)
        if found > migrations[-1].number:
            raise NewerSchema(found, migrations[-1].number)
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
