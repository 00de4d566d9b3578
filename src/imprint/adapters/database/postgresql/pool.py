"""PostgreSQL connection pool with timeouts, which replaces broken connections."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

import asyncpg

from imprint.adapters.database.postgresql.hosts import connect_any
from imprint.adapters.database.transaction import Unstorable
from imprint.domain.errors import Unavailable

_log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from asyncpg.prepared_stmt import PreparedStatement

    _Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection


CONNECT_SECONDS = 3.0
"""Timeout in seconds for connecting outside the pool."""

ACQUIRE_SECONDS = 2.0
"""Total timeout in seconds for waiting for a free connection and for connecting."""

CALL_SECONDS = 4.5
"""Total timeout in seconds of a read or transaction, including every wait and attempt. With
overhead, it stays below five seconds."""

COMMAND_SECONDS = 4.5
"""Seconds before the connection of a running statement is dropped. The server's limit is lower."""

_CLOSE_SECONDS = 5.0
"""Seconds that running statements have to finish when the service stops."""

_IDLE_SECONDS = 300.0
"""Number of idle seconds after which a connection is dropped instead of reused."""

_ROLLBACK_SECONDS = 1.0
"""Seconds a rollback may take before its connection is dropped."""

SESSION = {
    "application_name": "imprint",
    "default_transaction_isolation": "read committed",
    "statement_timeout": "4s",
    # Short enough for a read to end within five seconds, including the wait for a connection.
    "lock_timeout": "2500ms",
    # A process that freezes in the middle of a transaction must not block the others for long.
    "idle_in_transaction_session_timeout": "10s",
    "jit": "off",
    # Lists walk an index in order. A bitmap would fetch all of an owner's drafts for one page.
    "enable_bitmapscan": "off",
    # One plan per statement for all values. Tests check that these plans use indexes.
    "plan_cache_mode": "force_generic_plan",
}
"""Session settings of every connection."""

SEARCHING = {**SESSION, "statement_timeout": "500ms"}
"""Session settings of search connections."""

_DURABLE = """
SELECT set_config('synchronous_commit', 'on', false)
WHERE current_setting('synchronous_commit') = 'off'"""
"""Turns on durable commits if they are off by default on the server."""

_READS_ONLY = "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"
"""Makes the server refuse every write of a read-only command."""

USE_LOCK = 0x1A9819_0002
"""Advisory lock that all pooled connections share and that a move takes exclusively."""

_ENTER = """
SELECT pg_try_advisory_lock_shared($1) AS shared,
       CAST(pg_postmaster_start_time() AS TEXT) AS server"""

LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    ConnectionError,
)
"""Connection errors, as opposed to statement errors."""

_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)

FAILURES = (*_ERRORS, Unstorable)
"""All errors of the database or its connection."""


async def connect(url: str) -> "Connection":
    """Open a connection outside the pool, without a statement timeout."""
    settings = {**SESSION, "statement_timeout": "0", "lock_timeout": "0"}
    connection: Connection = await connect_any(
        url, CONNECT_SECONDS, connection_class=Connection, server_settings=settings
    )
    return connection


@contextmanager
def translated(level: int = logging.ERROR) -> Iterator[None]:
    """Convert every database or connection error to `Unavailable`, and log it."""
    try:
        yield
    except FAILURES as error:
        raise failed(error, level) from error


def failed(error: BaseException, level: int = logging.ERROR) -> Unavailable:
    """Log a database error and return the exception to raise for it."""
    # The text and the details are not logged, because they quote values.
    name, state = type(error).__name__, getattr(error, "sqlstate", "")
    _log.log(level, "The database failed: %s %s", name, state)
    return Unavailable.database()


class Connection(_Connection):
    """A connection with its prepared statements.

    asyncpg's `Connection.fetch` looks a statement up in its cache and renews its position and timer
    there, which takes a quarter of the time of a short query.
    """

    __slots__ = ("_prepared", "generation", "idle_since", "server")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._prepared: dict[str, PreparedStatement[asyncpg.Record]] = {}
        self.server = ""
        """Start time of the server process. Another process may reuse transaction ids."""
        self.generation = 0
        """The pool's generation when the connection was made."""
        self.idle_since = 0.0

    async def run(self, text: str, values: Sequence[object]) -> "list[asyncpg.Record]":
        """Rows of a statement, in one round trip if it ran before on this connection."""
        statement = self._prepared.get(text) or await self._remember(text)
        try:
            return await statement.fetch(*values)
        except asyncpg.InvalidCachedStatementError:
            # A migration has changed the column types of the statement.
            del self._prepared[text]
            raise

    async def run_many(self, text: str, rows: Sequence[Sequence[object]]) -> None:
        """Run a statement once per set of values, without waiting in between."""
        statement = self._prepared.get(text) or await self._remember(text)
        await statement.executemany(rows)

    async def _remember(self, text: str) -> "PreparedStatement[asyncpg.Record]":
        statement = self._prepared[text] = await self.prepare(text)
        return statement


class _Lent:
    """A context manager that borrows a pooled connection. A generator would take twice as long."""

    __slots__ = ("_connection", "_pool")

    def __init__(self, pool: "Pool") -> None:
        self._pool = pool

    async def __aenter__(self) -> Connection:
        self._connection = self._pool.take() or await self._pool.acquire()
        return self._connection

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is not None:
                await self._pool.recover(self._connection, error)
        finally:
            self._pool.release(self._connection)


class Pool:
    """Up to `size` connections, opened on demand and reused starting with the most recently used.

    asyncpg's own pool starts a task for every release, which is too slow for short reads.
    """

    def __init__(
        self,
        url: str,
        size: int,
        session: Mapping[str, str] = SESSION,
        *,
        reads_only: bool = False,
    ) -> None:
        self._url = url
        self._session = session
        self._reads_only = reads_only
        self._free = size
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._idle: list[Connection] = []
        self._used: set[Connection] = set()
        self._generation = 0
        self._closed = False

    def connection(self) -> _Lent:
        """Lend a connection to a `with` block, with no open transaction before or after it."""
        return _Lent(self)

    async def rows(self, text: str, values: Sequence[object]) -> "list[asyncpg.Record]":
        """Rows of a statement that is its own transaction."""
        connection = self.take() or await self.acquire()
        try:
            return await connection.run(text, values)
        except BaseException as error:
            await self.recover(connection, error)
            raise
        finally:
            self.release(connection)

    def take(self) -> Connection | None:
        """An idle connection that must be passed to `release`, or None if no connection is idle."""
        if not self._free or self._closed:
            return None
        connection = self._reuse()
        if connection is not None:
            self._free -= 1
            self._used.add(connection)
        return connection

    async def acquire(self) -> Connection:
        """A connection that must be passed to `release`, newly opened if necessary."""
        left = await self._acquire()
        try:
            connection = self._reuse() or await self._connect(left)
        except BaseException:
            self._give_back()
            raise
        self._used.add(connection)
        return connection

    async def recover(self, connection: Connection, error: BaseException) -> None:
        """Leave no open transaction on a connection whose statement failed."""
        if isinstance(error, asyncio.CancelledError):
            # The driver cancels the running statement, and might cancel the next one instead.
            connection.terminate()
            return
        if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
            # The server became a standby. The other connections lead to it as well.
            self._generation += 1
        await _roll_back(connection)

    def release(self, connection: Connection) -> None:
        """Return a connection to the pool."""
        self._used.discard(connection)
        if self._closed:
            connection.terminate()
        elif not connection.is_closed():
            connection.idle_since = time.monotonic()
            self._idle.append(connection)
        self._give_back()

    async def close(self) -> None:
        """Close every connection, and terminate those that do not respond."""
        self._closed = True
        while self._idle:
            await _close(self._idle.pop())
        for connection in [*self._used]:
            await _close(connection)

    async def _acquire(self) -> float:
        """Wait until a connection is free, and return the seconds left of `ACQUIRE_SECONDS`."""
        if self._free and not self._waiting:
            self._free -= 1
            return ACQUIRE_SECONDS
        loop = asyncio.get_running_loop()
        until, turn = loop.time() + ACQUIRE_SECONDS, loop.create_future()
        self._waiting.append(turn)
        try:
            async with asyncio.timeout_at(until):
                await turn
        except BaseException:
            if turn.done() and not turn.cancelled():
                # A connection became free at the moment when the caller stopped waiting.
                self._give_back()
            raise
        return until - loop.time()

    def _give_back(self) -> None:
        """Give a connection's slot to the caller that has waited longest."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def _reuse(self) -> Connection | None:
        if self._closed:
            raise asyncpg.InterfaceError("The catalog is closed.")
        oldest = time.monotonic() - _IDLE_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if connection.is_closed():
                continue
            if connection.idle_since >= oldest and connection.generation == self._generation:
                return connection
            connection.terminate()
        return None

    async def _connect(self, seconds: float) -> Connection:
        generation = self._generation
        connection: Connection = await connect_any(
            self._url,
            seconds,
            connection_class=Connection,
            command_timeout=COMMAND_SECONDS,
            statement_cache_size=512,
            max_cached_statement_lifetime=0,
            server_settings=dict(self._session),
        )
        connection.generation = generation
        try:
            await connection.execute(_READS_ONLY if self._reads_only else _DURABLE)
            (entered,) = await connection.fetch(_ENTER, USE_LOCK)
            connection.server = entered["server"]
            if not entered["shared"]:
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
    """Roll back the open transaction, if any. Terminate the connection if it takes too long."""
    if connection.is_closed() or not connection.is_in_transaction():
        return
    try:
        await connection.execute("ROLLBACK", timeout=_ROLLBACK_SECONDS)
    except _ERRORS:
        connection.terminate()
