"""The catalog in PostgreSQL, which any number of processes on any number of machines may share."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from imprint.adapters.catalog import statements as sql
from imprint.adapters.catalog.postgresql_changes import Changer, ReadRun, read
from imprint.adapters.catalog.postgresql_pool import Pool, connect, translated
from imprint.adapters.catalog.postgresql_schema import Unfinished, migrate
from imprint.adapters.catalog.schema import known_migrations
from imprint.adapters.catalog.stepped import CatalogBase
from imprint.adapters.catalog.steps import Steps, T, last_query
from imprint.domain.errors import Unavailable

__all__ = ["PostgresqlCatalog", "Unfinished", "open_catalog", "prepare"]


CONNECTIONS = 10
"""How many connections a process has at most: writes of one owner wait for each other anyway."""

_SNAPSHOT = """
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL idle_in_transaction_session_timeout = 0"""
"""What reads as of one moment; whoever reads may take its time, and holds up nobody."""

_PROBE_SECONDS = 2.0
"""How long a probe waits."""


def open_catalog(url: str, connections: int = CONNECTIONS) -> "PostgresqlCatalog":
    """Open the catalog in this database, making it or bringing its schema up to date.

    Refuses with `NewerSchema` one that a newer version wrote, and with `Unfinished` one that a
    catalog is being moved to. Connections are made later, on the event loop that uses them.
    """
    with translated(), ThreadPoolExecutor(1, "catalog-schema") as aside:
        aside.submit(asyncio.run, prepare(url)).result()
    return PostgresqlCatalog(url, connections)


async def prepare(url: str) -> None:
    """Bring the schema of this database up to date. Refuses as `open_catalog` does."""
    connection = await connect(url)
    try:
        await migrate(connection, known_migrations("postgresql"))
    finally:
        await connection.close()


class PostgresqlCatalog(CatalogBase):
    """`Catalog` in PostgreSQL."""

    def __init__(self, url: str, connections: int) -> None:
        self._pool = Pool(url, connections)
        self._changer = Changer(self._pool)
        self._running: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def probe(self) -> None:
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                await self._change(partial(last_query, sql.BEAT, {}), durable=False)
        except TimeoutError as error:
            raise Unavailable.database() from error

    async def close(self) -> None:
        self._closed = True
        if self._running:
            await asyncio.wait(self._running)
        await self._pool.close()

    @asynccontextmanager
    async def _snapshot(self) -> AsyncIterator[ReadRun]:
        with translated():
            async with self._pool.connection() as connection:
                await connection.execute(_SNAPSHOT)
                yield ReadRun(connection)
                await connection.execute("ROLLBACK")

    async def _change(self, make: Callable[[], Steps[T]], durable: bool = True) -> T:
        if self._closed:
            raise Unavailable.database()
        return await self._run(self._commit(make, durable))

    async def _read(self, make: Callable[[], Steps[T]], reach: int = 0) -> T:
        with translated():
            return await read(self._pool, make)

    async def _commit(self, make: Callable[[], Steps[T]], durable: bool) -> T:
        with translated():
            return await self._changer.change(make, durable)

    async def _run(self, change: Coroutine[Any, Any, T]) -> T:
        # Whoever stops waiting must not stop a transaction halfway: it ends well or as a whole.
        task = asyncio.create_task(change)
        self._running.add(task)
        task.add_done_callback(self._forget)
        return await asyncio.shield(task)

    def _forget(self, task: "asyncio.Task[Any]") -> None:
        self._running.discard(task)
        if not task.cancelled():
            # Looked at, so that nothing complains if its caller has gone.
            task.exception()
