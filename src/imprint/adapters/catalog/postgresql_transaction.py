"""Transactions of PostgreSQL: their statements, their locks, and the conflicts between them."""

import asyncio
from collections import defaultdict
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
)
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import cast

import asyncpg

from imprint.adapters.catalog.postgresql_pool import Connection
from imprint.adapters.catalog.postgresql_sql import NOT_NEEDED, translate
from imprint.adapters.catalog.transaction import Row, Rows, T, Unstorable, Value

CLASH = (asyncpg.UniqueViolationError, asyncpg.ForeignKeyViolationError)
"""A transaction conflicts with rows that another one committed meanwhile."""

CONFLICT = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError, *CLASH)
"""A transaction conflicts with another one; running it again may succeed."""

REFUSED = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.ProgramLimitExceededError,
    OverflowError,
    UnicodeEncodeError,
)
"""Errors about the values of a statement, rather than about the database."""


class NotCommitted(asyncpg.InterfaceError):
    """The server rolled a transaction back instead of committing it."""


class Retry(Exception):
    """The transaction conflicts with another one, or its connection broke before it began."""


class PostgresqlTransaction:
    """`Transaction` on one connection; a conflict in the last attempt is not retried."""

    def __init__(
        self, connection: Connection, *, last: bool, locks: frozenset[str] = frozenset()
    ) -> None:
        self._connection = connection
        self._last = last
        self._locks = locks

    async def fetchone(self, sql: str, /, **values: Value) -> Row | None:
        rows = await self._run(self._connection.run, *translate(sql, values))
        return rows[0] if rows else None

    async def fetchall(self, sql: str, /, **values: Value) -> list[Row]:
        rows = await self._run(self._connection.run, *translate(sql, values))
        return cast("list[Row]", rows)

    async def execute(self, sql: str, /, **values: Value) -> None:
        if not values:
            await self._run(self._connection.execute, translate(sql, values)[0])
        elif sql not in NOT_NEEDED:
            await self._run(self._connection.run, *translate(sql, values))

    async def executemany(self, sql: str, /, rows: Rows) -> None:
        if rows:
            texts, values = zip(*(translate(sql, row) for row in rows), strict=True)
            await self._run(self._connection.run_many, texts[0], values)

    async def lock(self, names: Collection[str]) -> None:
        more = frozenset(names) - self._locks
        if more:
            await self._run(self._connection.execute, lock_statements(more))
            self._locks |= more

    async def _run(self, method: Callable[..., Awaitable[T]], *given: object) -> T:
        try:
            return await method(*given)
        except CONFLICT as error:
            if not self._last:
                raise Retry from error
            if isinstance(error, CLASH):
                raise Unstorable(type(error).__name__) from error
            raise
        except REFUSED as error:
            raise Unstorable(type(error).__name__) from error


@dataclass(slots=True)
class _Queue:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0


class KeyedLocks:
    """A lock for each name: transactions of one process wait here instead of on connections."""

    def __init__(self) -> None:
        self._queues: defaultdict[str, _Queue] = defaultdict(_Queue)

    @asynccontextmanager
    async def hold(self, names: Iterable[str]) -> AsyncIterator[None]:
        """Hold the locks of all names until the block ends, taken in the same order by all callers.

        Waits as long as the caller does.
        """
        async with AsyncExitStack() as held:
            for name in sorted(names):
                await held.enter_async_context(self._hold_one(name))
            yield

    @asynccontextmanager
    async def _hold_one(self, name: str) -> AsyncIterator[None]:
        queue = self._queues[name]
        queue.waiting += 1
        try:
            async with queue.lock:
                yield
        finally:
            queue.waiting -= 1
            if not queue.waiting:
                del self._queues[name]


def begin_statements(locks: frozenset[str], durable: bool) -> str:
    """Begins a transaction and takes its locks."""
    off = "" if durable else "SET LOCAL synchronous_commit = off;"
    return f"BEGIN;{off}{lock_statements(locks)}"


def lock_statements(names: frozenset[str]) -> str:
    """Takes the locks with these names."""
    # All transactions take locks in the same order, so that no two wait for each other.
    keys = sorted(map(lock_key, names))
    return ";".join(f"SELECT pg_advisory_xact_lock({key})" for key in keys)


def lock_key(name: str) -> int:
    """The key of the advisory lock with this name."""
    digest = blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
