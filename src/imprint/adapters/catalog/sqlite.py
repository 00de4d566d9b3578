"""The catalog in a SQLite file, which several processes of one machine may share.

Reads run on the event loop: they walk an index and take microseconds, less than the way to a
thread and back. Lists by several common tags can take longer: they are stopped after a while, and
then go to a thread of their own.
Between two commits nothing is read twice.
"""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from imprint.adapters.catalog import statements as sql
from imprint.adapters.catalog.backup import copy_catalog
from imprint.adapters.catalog.remembering import Memory
from imprint.adapters.catalog.schema import known_migrations, migrate
from imprint.adapters.catalog.stepped import CatalogBase
from imprint.adapters.catalog.steps import Steps, T, Unstorable, last_query
from imprint.adapters.catalog.writer import Writer, run_steps
from imprint.adapters.sqlite_connections import connect_reader, connect_writer
from imprint.domain.errors import Unavailable

_log = logging.getLogger(__name__)

_LONG_REACH = 2_000
"""How many rows a read may look at that nobody need watch: about a millisecond's work."""

_BRIEF = 40_000
"""How many instructions of the database's machine a watched read may take: about as long."""

_UNKNOWN = object()
"""What no read tells."""

_PROBE_SECONDS = 2.0
"""How long a probe waits for the writer."""


def open_catalog(path: Path) -> "SqliteCatalog":
    """Open the catalog in this file, making it or bringing its schema up to date.

    Refuses with `NewerSchema` one that a newer version wrote.
    """
    try:
        writer = connect_writer(path)
        try:
            migrate(writer, known_migrations())
            return SqliteCatalog(path, writer)
        except BaseException:
            writer.close()
            raise
    except (sqlite3.Error, OSError) as error:
        _log.error("The catalog cannot be opened: %s", error)
        raise Unavailable.database() from error


class _TooLong(Exception):
    """A read would hold up the event loop."""


class SqliteCatalog(CatalogBase):
    """`Catalog` in SQLite."""

    def __init__(
        self, path: Path, writer: sqlite3.Connection, long_reach: int = _LONG_REACH
    ) -> None:
        self._path = path
        self._writing = writer
        self._writer = Writer(writer)
        self._reading = connect_reader(path)
        self._memory = Memory(self._reading)
        self._long_reading = connect_reader(path)
        self._long_reader = ThreadPoolExecutor(1, "catalog-reader")
        self._long_reach = long_reach
        self._closed = False

    @property
    def commits(self) -> int:
        """How many transactions this process has committed."""
        return self._writer.commits

    async def probe(self) -> None:
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                await self._writer.commit(partial(last_query, sql.BEAT, {}), durable=False)
        except TimeoutError as error:
            raise Unavailable.database() from error

    async def close(self) -> None:
        self._closed = True
        await self._writer.close()
        await asyncio.to_thread(self._long_reader.shutdown)
        for connection in (self._long_reading, self._reading, self._writing):
            connection.close()

    async def backup_to(self, path: Path) -> None:
        """Write a whole, consistent copy to `path` while others write; refuses one that exists."""
        await asyncio.to_thread(_translated, partial(copy_catalog, self._path, path))

    @asynccontextmanager
    async def _snapshot(self) -> AsyncIterator["_SqliteSnapshot"]:
        connection = await asyncio.to_thread(_translated, partial(connect_reader, self._path))
        try:
            # The first read inside fixes the moment.
            connection.execute("BEGIN")
            yield _SqliteSnapshot(connection)
        finally:
            connection.close()

    async def _change(self, make: Callable[[], Steps[T]], durable: bool = True) -> T:
        return await self._writer.commit(make, durable)

    async def _read(self, make: Callable[[], Steps[T]], reach: int = 0) -> T:
        if reach <= self._long_reach:
            return _translated(partial(run_steps, self._reading, make()))
        try:
            return _translated(partial(self._read_briefly, make()))
        except _TooLong:
            return await self._read_long(make())

    def _read_briefly(self, steps: Steps[T]) -> T:
        self._reading.set_progress_handler(_stop, _BRIEF)
        try:
            return run_steps(self._reading, steps)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                raise _TooLong from None
            raise
        finally:
            self._reading.set_progress_handler(None, 0)

    async def _recall(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        version = _translated(self._memory.refresh)
        answer: T = self._memory.recall(key, _UNKNOWN)
        if answer is _UNKNOWN:
            answer = await read()
            self._memory.keep(version, key, answer)
        return answer

    async def _read_long(self, steps: Steps[T]) -> T:
        if self._closed:
            raise Unavailable.database()
        read = partial(run_steps, self._long_reading, steps)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._long_reader, partial(_translated, read))


@dataclass(frozen=True, slots=True)
class _SqliteSnapshot:
    """A read transaction of its own, whose reads go to threads: they may be many and large."""

    connection: sqlite3.Connection

    async def read(self, steps: Steps[T]) -> T:
        work = partial(run_steps, self.connection, steps)
        return await asyncio.to_thread(_translated, work)


def _stop() -> bool:
    return True


def _translated(action: Callable[[], T]) -> T:
    try:
        return action()
    except FileExistsError:
        raise
    except (sqlite3.Error, OSError, Unstorable) as error:
        _log.error("The database did not answer: %s", error)
        raise Unavailable.database() from error
