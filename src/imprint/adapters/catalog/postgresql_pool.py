"""Connections to PostgreSQL: taken from a pool, watched by timeouts, replaced when they break."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import asyncpg
from asyncpg.connect_utils import SessionAttribute

from imprint.adapters.catalog.transaction import Unstorable
from imprint.domain.errors import Unavailable

_log = logging.getLogger(__name__)

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

CONNECT_SECONDS = 3.0
"""How long a connection may take to be made, or to become free."""

COMMAND_SECONDS = 6.0
"""How long one statement may take until the connection is given up; the server's limit is lower."""

_CLOSE_SECONDS = 5.0
"""How long running statements have to end when the service stops."""

_IDLE_SECONDS = 300.0
"""After how long a connection that nobody used is not trusted any more."""

_UNDO_SECONDS = 1.0
"""How long a transaction may take to be undone until its connection is given up instead."""

SESSION = {
    "application_name": "imprint",
    "default_transaction_isolation": "read committed",
    "statement_timeout": "5s",
    "lock_timeout": "3s",
    # A process that is frozen in the middle of a change must not hold up the others for long.
    "idle_in_transaction_session_timeout": "10s",
    "jit": "off",
    # Lists walk an index in its order; a bitmap would fetch all of an owner's drafts for one page.
    "enable_bitmapscan": "off",
    # One plan for each statement, whatever its values: the one that is tested to use indexes.
    "plan_cache_mode": "force_generic_plan",
}
"""What every connection asks of the server."""

_SURE = """
SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') = 'off'"""
"""A commit that is answered must be on the disk, whatever the server's habit is."""

LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    ConnectionError,
)
"""What says that a connection is gone, rather than that a statement is wrong or takes too long."""

_TROUBLE = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)


async def connect(url: str) -> "asyncpg.Connection[asyncpg.Record]":
    """A connection of its own, with no limit on how long a statement takes."""
    settings = {**SESSION, "statement_timeout": "0", "lock_timeout": "0"}
    return await asyncpg.connect(
        url,
        timeout=CONNECT_SECONDS,
        server_settings=settings,
        target_session_attrs=SessionAttribute.read_write,
    )


@contextmanager
def translated() -> Iterator[None]:
    """Make `Unavailable` of whatever the database or the way to it raises."""
    try:
        yield
    except (*_TROUBLE, Unstorable) as error:
        # Neither the text nor the details: they quote values.
        _log.error(
            "The database did not do it: %s %s",
            type(error).__name__,
            getattr(error, "sqlstate", ""),
        )
        raise Unavailable.database() from error


@dataclass(slots=True)
class _Idle:
    """A connection that nobody uses, since when, and from before which change of servers."""

    connection: Connection
    since: float
    generation: int


class Pool:
    """Up to `size` connections, made when they are needed; the one used last is used next.

    asyncpg has a pool as well, which starts a task whenever a connection is given back; reads are
    too short for that.
    """

    def __init__(self, url: str, size: int) -> None:
        self._url = url
        self._free = asyncio.Semaphore(size)
        self._idle: list[_Idle] = []
        self._used: set[Connection] = set()
        self._generation = 0
        self._closed = False

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection, with no transaction open before or after."""
        await self._wait_turn()
        try:
            generation = self._generation
            connection = self._take() or await self._connect()
            self._used.add(connection)
            try:
                yield connection
            except asyncio.CancelledError:
                # The server is being told to stop, and might stop what is asked next.
                connection.terminate()
                raise
            except BaseException as error:
                if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
                    # The server is no longer the one that decides; the others lead there too.
                    self._generation += 1
                await undo(connection)
                raise
            finally:
                self._used.discard(connection)
                self._give_back(connection, generation)
        finally:
            self._free.release()

    async def close(self) -> None:
        """Close every connection; one that does not answer is cut off."""
        self._closed = True
        while self._idle:
            await _close(self._idle.pop().connection)
        for connection in [*self._used]:
            await _close(connection)

    async def _wait_turn(self) -> None:
        if not self._free.locked():
            await self._free.acquire()
            return
        async with asyncio.timeout(CONNECT_SECONDS):
            await self._free.acquire()

    def _take(self) -> "Connection | None":
        if self._closed:
            raise asyncpg.InterfaceError("The catalog is closed.")
        oldest = time.monotonic() - _IDLE_SECONDS
        while self._idle:
            idle = self._idle.pop()
            if idle.connection.is_closed():
                continue
            if idle.since >= oldest and idle.generation == self._generation:
                return idle.connection
            idle.connection.terminate()
        return None

    def _give_back(self, connection: Connection, generation: int) -> None:
        if self._closed:
            connection.terminate()
        elif not connection.is_closed():
            self._idle.append(_Idle(connection, time.monotonic(), generation))

    async def _connect(self) -> Connection:
        connection = await asyncpg.connect(
            self._url,
            timeout=CONNECT_SECONDS,
            command_timeout=COMMAND_SECONDS,
            statement_cache_size=512,
            max_cached_statement_lifetime=0,
            server_settings=SESSION,
            target_session_attrs=SessionAttribute.read_write,
        )
        try:
            await connection.execute(_SURE)
        except BaseException:
            connection.terminate()
            raise
        return connection


async def _close(connection: Connection) -> None:
    try:
        await connection.close(timeout=_CLOSE_SECONDS)
    except (*_TROUBLE, asyncio.CancelledError):
        connection.terminate()


async def undo(connection: Connection) -> None:
    """Leave whatever transaction the connection is in; if that takes too long, cut it off."""
    if connection.is_closed() or not connection.is_in_transaction():
        return
    try:
        await connection.execute("ROLLBACK", timeout=_UNDO_SECONDS)
    except _TROUBLE:
        connection.terminate()
