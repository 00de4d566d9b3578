"""Connections to PostgreSQL: taken from a pool, watched by timeouts, replaced when they break."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TypeAlias

import asyncpg
from asyncpg.connect_utils import SessionAttribute
from asyncpg.pool import PoolConnectionProxy

from imprint.adapters.catalog.steps import Unstorable
from imprint.domain.refusals import Unavailable

_log = logging.getLogger(__name__)

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]"

CONNECT_SECONDS = 3.0
"""How long a connection may take to be made, or to become free."""

COMMAND_SECONDS = 6.0
"""How long one statement may take until the connection is given up; the server's limit is lower."""

_CLOSE_SECONDS = 5.0
"""How long running statements have to end when the service stops."""

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


class Pool:
    """Up to `size` connections, made when they are needed."""

    def __init__(self, url: str, size: int) -> None:
        self._url = url
        self._size = size
        self._opening = asyncio.Lock()
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._closed = False

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection, with no transaction open before or after."""
        pool = self._pool or await self._open()
        connection = await pool.acquire(timeout=CONNECT_SECONDS)
        try:
            yield connection
        except asyncpg.ReadOnlySQLTransactionError:
            # The server is no longer the one that decides; the others lead there too.
            await pool.expire_connections()
            await undo(connection)
            raise
        except BaseException:
            await undo(connection)
            raise
        finally:
            with suppress(*_TROUBLE):
                await pool.release(connection)

    async def close(self) -> None:
        """Close every connection; one that does not answer is cut off."""
        self._closed = True
        if self._pool is None:
            return
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._pool.close()
        except (*_TROUBLE, asyncio.CancelledError):
            self._pool.terminate()

    async def _open(self) -> "asyncpg.Pool[asyncpg.Record]":
        async with self._opening:
            if self._closed:
                raise asyncpg.InterfaceError("The catalog is closed.")
            if self._pool is None:
                self._pool = await asyncpg.create_pool(
                    self._url,
                    min_size=0,
                    max_size=self._size,
                    max_queries=0x7FFF_FFFF,
                    max_inactive_connection_lifetime=300.0,
                    init=_begin,
                    reset=_leave,
                    timeout=CONNECT_SECONDS,
                    command_timeout=COMMAND_SECONDS,
                    statement_cache_size=512,
                    max_cached_statement_lifetime=0,
                    server_settings=SESSION,
                    target_session_attrs=SessionAttribute.read_write,
                )
            return self._pool


async def undo(connection: Connection) -> None:
    """Leave whatever transaction the connection is in; if that takes too long, cut it off."""
    if connection.is_closed() or not connection.is_in_transaction():
        return
    try:
        await connection.execute("ROLLBACK", timeout=_UNDO_SECONDS)
    except _TROUBLE:
        connection.terminate()


async def _begin(connection: Connection) -> None:
    await connection.execute(_SURE)


async def _leave(connection: Connection) -> None:
    """Nothing: no setting outlives its transaction, and a way to the server would be wasted."""
