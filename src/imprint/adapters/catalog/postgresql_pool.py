"""Connection pool for PostgreSQL, with timeouts; broken connections are replaced."""

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
"""Seconds that a connection outside of the pool may take to be made."""

ACQUIRE_SECONDS = 2.0
"""Seconds that a connection may take to become free and to be made, together."""

CALL_SECONDS = 4.5
"""Seconds that a transaction may take in all, with every wait and attempt: with the time around it,
less than five."""

COMMAND_SECONDS = 4.5
"""Seconds before the connection of a running statement is dropped; the server's limit is lower."""

_CLOSE_SECONDS = 5.0
"""Seconds that running statements have to end when the service stops."""

_IDLE_SECONDS = 300.0
"""Seconds after which an unused connection is dropped instead of used again."""

_ROLLBACK_SECONDS = 1.0
"""Seconds that a rollback may take before its connection is dropped instead."""

SESSION = {
    "application_name": "imprint",
    "default_transaction_isolation": "read committed",
    "statement_timeout": "4s",
    # With the wait for a connection, a read ends within five seconds.
    "lock_timeout": "2500ms",
    # A process that freezes in the middle of a transaction must not block the others for long.
    "idle_in_transaction_session_timeout": "10s",
    "jit": "off",
    # Lists walk an index in its order; a bitmap would fetch all of an owner's drafts for one page.
    "enable_bitmapscan": "off",
    # One plan for each statement, whatever its values: the one that is tested to use indexes.
    "plan_cache_mode": "force_generic_plan",
}
"""The session settings of every connection."""

_DURABLE = """
SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') = 'off'"""
"""Turns durable commits on where the server's default is off."""

USE_LOCK = 0x1A9819_0002
"""The advisory lock that every connection of a pool shares; a move takes it exclusively."""

_SHARE = "SELECT pg_try_advisory_lock_shared($1)"

LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    ConnectionError,
)
"""Errors that mean that the connection is gone, rather than that a statement failed."""

_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)


async def connect(url: str) -> Connection:
    """A connection outside of the pool, with no limit on how long a statement takes."""
    settings = {**SESSION, "statement_timeout": "0", "lock_timeout": "0"}
    return await asyncpg.connect(
        url,
        timeout=CONNECT_SECONDS,
        server_settings=settings,
        target_session_attrs=SessionAttribute.read_write,
    )


@contextmanager
def translated(level: int = logging.ERROR) -> Iterator[None]:
    """Raise `Unavailable` for every error of the database or of its connection, and log it."""
    try:
        yield
    except (*_ERRORS, Unstorable) as error:
        # Not the text and not the details: they quote values.
        _log.log(
            level,
            "The database failed: %s %s",
            type(error).__name__,
            getattr(error, "sqlstate", ""),
        )
        raise Unavailable.database() from error


@dataclass(slots=True)
class _Idle:
    """An unused connection, since when, and the generation of the pool that it was made in."""

    connection: Connection
    since: float
    generation: int


class Pool:
    """Up to `size` connections, made when they are needed; the one used last is used next.

    asyncpg's own pool starts a task for every connection that is released; reads are too short for
    that.
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
        """A connection, with no open transaction before or after."""
        left = await self._acquire()
        try:
            generation = self._generation
            connection = self._reuse() or await self._connect(left)
            self._used.add(connection)
            try:
                yield connection
            except asyncio.CancelledError:
                # The driver cancels the running statement, and might cancel the next one instead.
                connection.terminate()
                raise
            except BaseException as error:
                if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
                    # The server became a standby; the other connections lead to it as well.
                    self._generation += 1
                await _roll_back(connection)
                raise
            finally:
                self._used.discard(connection)
                self._release(connection, generation)
        finally:
            self._free.release()

    async def close(self) -> None:
        """Close every connection; one that does not respond is terminated."""
        self._closed = True
        while self._idle:
            await _close(self._idle.pop().connection)
        for connection in [*self._used]:
            await _close(connection)

    async def _acquire(self) -> float:
        """Wait until a connection is free; how many of its `ACQUIRE_SECONDS` are left."""
        if not self._free.locked():
            await self._free.acquire()
            return ACQUIRE_SECONDS
        until = asyncio.get_running_loop().time() + ACQUIRE_SECONDS
        async with asyncio.timeout_at(until):
            await self._free.acquire()
        return until - asyncio.get_running_loop().time()

    def _reuse(self) -> "Connection | None":
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

    def _release(self, connection: Connection, generation: int) -> None:
        if self._closed:
            connection.terminate()
        elif not connection.is_closed():
            self._idle.append(_Idle(connection, time.monotonic(), generation))

    async def _connect(self, seconds: float) -> Connection:
        connection = await asyncpg.connect(
            self._url,
            timeout=seconds,
            command_timeout=COMMAND_SECONDS,
            statement_cache_size=512,
            max_cached_statement_lifetime=0,
            server_settings=SESSION,
            target_session_attrs=SessionAttribute.read_write,
        )
        try:
            await connection.execute(_DURABLE)
            if not await connection.fetchval(_SHARE, USE_LOCK):
                raise asyncpg.InterfaceError("A catalog is being moved to this database.")
        except BaseException:
            connection.terminate()
            raise
        return connection


async def _close(connection: Connection) -> None:
    try:
        await connection.close(timeout=_CLOSE_SECONDS)
    except (*_ERRORS, asyncio.CancelledError):
        connection.terminate()


async def _roll_back(connection: Connection) -> None:
    """Roll back the open transaction, if any; terminate the connection if that takes too long."""
    if connection.is_closed() or not connection.is_in_transaction():
        return
    try:
        await connection.execute("ROLLBACK", timeout=_ROLLBACK_SECONDS)
    except _ERRORS:
        connection.terminate()
