"""PostgreSQL transactions: their statements, locks and conflicts.

A statement has its own text for PostgreSQL, with numbered instead of named parameters.
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
)
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any, cast

import asyncpg

from imprint.adapters.database.postgresql.pool import Connection
from imprint.adapters.database.transaction import Row, Rows, Sql, T, Unstorable, Value

ListValue = Value | list[str] | list[int]
"""Types of statement parameters. PostgreSQL also accepts lists."""

_NAME = re.compile(r"(?<!:):([a-z_][a-z0-9_]*)")

_LIMIT = "limit"
"""The parameter whose value is written into the statement text. Otherwise one plan would serve
all values, but the best plan for ten rows differs from the best plan for a tenth of the table."""

CLASH = (asyncpg.UniqueViolationError, asyncpg.ForeignKeyViolationError)
"""Errors of a transaction that conflicts with rows committed by another transaction."""

CONFLICT = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError, *CLASH)
"""Conflicts between transactions, after which a retry may succeed."""

REFUSED = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.ProgramLimitExceededError,
    OverflowError,
    UnicodeEncodeError,
)
"""Errors caused by a statement's values rather than by the database."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that is a whole transaction, and its values."""

    text: str
    values: Mapping[str, ListValue]
    locks: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()
    """Locks that are taken before the statement, so that it sees the writes of their previous
    holders: exclusively, and in shared mode."""


class NotCommitted(asyncpg.InterfaceError):
    """The server rolled a transaction back instead of committing it."""


class Retry(Exception):
    """The transaction conflicts with another, or its connection broke before it began.

    The next attempt begins with all locks that this one needed, because locks that are taken at
    once are taken in order.
    """

    def __init__(self, locks: frozenset[str]) -> None:
        super().__init__()
        self.locks = locks


_TRY_LOCKS = """
SELECT bool_and(pg_try_advisory_xact_lock(key)) AS locked
FROM unnest(CAST($1 AS BIGINT[])) AS key"""
"""Takes those locks that are free, and returns whether all of them were."""


class PostgresqlTransaction:
    """`Transaction` on one connection. A conflict in the last attempt is not retried."""

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
        text, numbered = translate(sql, values)
        if not values:
            await self._run(self._connection.execute, text)
        elif text:
            await self._run(self._connection.run, text, numbered)

    async def executemany(self, sql: str, /, rows: Rows) -> None:
        if rows:
            texts, values = zip(*(translate(sql, row) for row in rows), strict=True)
            await self._run(self._connection.run_many, texts[0], values)

    async def lock(self, names: Collection[str]) -> None:
        held, more = self._locks, frozenset(names) - self._locks
        if not more:
            return
        self._locks |= more
        in_order = not held or max(map(lock_key, held)) < min(map(lock_key, more))
        if in_order or self._last:
            await self._run(self._connection.execute, lock_statements(more))
            return
        # Two transactions that wait for locks in different orders could deadlock.
        (row,) = await self._run(self._connection.run, _TRY_LOCKS, [[*map(lock_key, more)]])
        if not row["locked"]:
            raise Retry(self._locks)

    async def _run(self, method: Callable[..., Awaitable[T]], *given: object) -> T:
        try:
            return await method(*given)
        except CONFLICT as error:
            if not self._last:
                raise Retry(self._locks) from error
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
    """One lock per name. Transactions of one process wait for each other here, where they occupy no
    connections."""

    def __init__(self) -> None:
        self._queues: defaultdict[str, _Queue] = defaultdict(_Queue)

    @asynccontextmanager
    async def hold(self, names: Iterable[str]) -> AsyncIterator[None]:
        """Hold the locks for all names until the `with` block exits.

        Every caller takes the locks in the same order. The wait has no timeout of its own.
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


def begin_statements(
    locks: frozenset[str], shared: frozenset[str] = frozenset(), *, durable: bool = True
) -> str:
    """Build the statements that begin a transaction and take its locks."""
    off = "" if durable else "SET LOCAL synchronous_commit = off;"
    return f"BEGIN;{off}{lock_statements(locks, shared)}"


def lock_statements(names: frozenset[str], shared: frozenset[str] = frozenset()) -> str:
    """Build the statements that take named locks: those in `shared` in shared mode, all others
    exclusively."""
    # All transactions take locks in the same order, so that they cannot deadlock.
    kinds = {lock_key(name): "_shared" if name in shared else "" for name in names | shared}
    return ";".join(
        f"SELECT pg_advisory_xact_lock{kind}({key})" for key, kind in sorted(kinds.items())
    )


def lock_key(name: str) -> int:
    """The advisory lock key for a name."""
    digest = blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def translate(text: str, values: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """A statement with numbered parameters, and its values in order."""
    limit = values.get(_LIMIT)
    numbered, names = number_values(text, None if limit is None else int(limit))
    return numbered, [values[name] for name in names]


@lru_cache(maxsize=1024)
def number_values(text: str, limit: int | None) -> tuple[str, tuple[str, ...]]:
    """A statement with numbered parameters, and their names in order."""
    numbers: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        name = match[1]
        if name == _LIMIT:
            return str(limit)
        return f"${numbers.setdefault(name, len(numbers) + 1)}"

    own = text.postgresql if isinstance(text, Sql) else text
    return _NAME.sub(number, own), tuple(numbers)
