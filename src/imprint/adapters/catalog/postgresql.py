"""The catalog in PostgreSQL, which any number of processes on any number of machines may share.

Isolation is READ COMMITTED: every statement sees what was committed before it. Locks are advisory
locks of the transaction, so what a rule reads under them stays true. Unique indexes are the second
line of defence: a transaction that conflicts with another one is rolled back and run again, and
then sees the rows of the other. A conflict in every attempt is `Unstorable`.
"""

import asyncio
import logging
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
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from random import random
from typing import Any, cast

import asyncpg

from imprint import failpoints
from imprint.adapters.catalog import sql
from imprint.adapters.catalog.catalog import CatalogBase
from imprint.adapters.catalog.installation import identify
from imprint.adapters.catalog.postgresql_pool import (
    CALL_SECONDS,
    LOST,
    Connection,
    Pool,
    connect,
    translated,
)
from imprint.adapters.catalog.postgresql_schema import migrate
from imprint.adapters.catalog.schema import known_migrations
from imprint.adapters.catalog.transaction import Row, Rule, T, Ts, Unstorable, Value
from imprint.domain.errors import Damaged, Unavailable
from imprint.domain.installation import Identity, new_installation_id
from imprint.domain.tags import MAX_TAGS
from imprint.ports import Monotonic
from imprint.ports.damage import Damage

CONNECTIONS = 10
"""How many connections a process has at most: writes of one owner wait for each other anyway."""

_SNAPSHOT = """
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL idle_in_transaction_session_timeout = 0"""
"""Begins a snapshot; it has no timeout when idle, because it blocks no other transaction."""

_COMMIT = "SET LOCAL statement_timeout = 0; COMMIT"
"""A commit that waits for a standby and is interrupted counts as done, so the server must not
interrupt it; only the client stops waiting."""

_GROW = """
BEGIN;
CREATE TABLE probe_{pid} AS SELECT generate_series(1, 2000) AS number;
ROLLBACK"""
"""Takes 72 KB of new space, and leaves nothing. The heartbeat alone replaces a row in its page,
which works on a full disk."""

_ATTEMPTS = 6
"""How often a transaction is run before it fails."""

_PAUSE = 0.01
"""Seconds before the second attempt at most; each further pause is twice as long."""

_CLASH = (asyncpg.UniqueViolationError, asyncpg.ForeignKeyViolationError)
"""A transaction conflicts with rows that another one committed meanwhile."""

_CONFLICT = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError, *_CLASH)
"""A transaction conflicts with another one; running it again may succeed."""

_REFUSED = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.ProgramLimitExceededError,
    OverflowError,
    UnicodeEncodeError,
)
"""Errors about the values of a statement, rather than about the database."""

_MALFORMED = (asyncpg.DataCorruptedError, asyncpg.IndexCorruptedError)
"""Errors about the pages of the database."""


def open_catalog(
    url: str, connections: int = CONNECTIONS, clock: Monotonic | None = None
) -> "PostgresqlCatalog":
    """Open the catalog in this database; creates or migrates its schema.

    Leases use the clock of the server, or `clock` if one is given.

    Raises `NewerSchema` for one that a newer version wrote, and `Unfinished` for one that a catalog
    is being moved to. Connections are made later, on the event loop that uses them.
    """
    # Whoever opens it says why it cannot, and may try again for hours.
    with translated(logging.DEBUG), ThreadPoolExecutor(1, "catalog-schema") as thread:
        identity = thread.submit(asyncio.run, prepare(url)).result()
    return PostgresqlCatalog(url, connections, identity, clock)


async def prepare(url: str) -> Identity:
    """Bring the schema of this database up to date. Raises what `open_catalog` does.

    Returns the identity of the installation.
    """
    connection = await connect(url)
    try:
        await migrate(connection, known_migrations("postgresql"))
        tx = PostgresqlTransaction(connection, last=True)
        return await identify(tx, new_installation_id())
    finally:
        await connection.close()


class NotCommitted(asyncpg.InterfaceError):
    """The server rolled a transaction back instead of committing it."""


class _Retry(Exception):
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
        return await self._run(self._connection.fetchrow, *translate(sql, values))

    async def fetchall(self, sql: str, /, **values: Value) -> list[Row]:
        rows = await self._run(self._connection.fetch, *translate(sql, values))
        return cast("list[Row]", rows)

    async def execute(self, sql: str, /, **values: Value) -> None:
        if sql not in _NOT_NEEDED:
            await self._run(self._connection.execute, *translate(sql, values))

    async def lock(self, names: Collection[str]) -> None:
        more = frozenset(names) - self._locks
        if more:
            await self._run(self._connection.execute, _lock_statements(more))
            self._locks |= more

    async def _run(self, method: Callable[..., Awaitable[T]], text: str, *values: Value) -> T:
        try:
            return await method(text, *values)
        except _CONFLICT as error:
            if not self._last:
                raise _Retry from error
            if isinstance(error, _CLASH):
                raise Unstorable(type(error).__name__) from error
            raise
        except _REFUSED as error:
            raise Unstorable(type(error).__name__) from error


@dataclass(frozen=True, slots=True)
class _Snapshot:
    tx: PostgresqlTransaction

    async def read(self, rule: Rule[*Ts, T], *args: *Ts) -> T:
        return await rule(self.tx, *args)


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


class PostgresqlCatalog(CatalogBase):
    """`Catalog` in PostgreSQL."""

    def __init__(
        self, url: str, connections: int, identity: Identity, clock: Monotonic | None = None
    ) -> None:
        self.identity = identity
        self.damage = Damage()
        self._clock = clock
        self._pool = Pool(url, connections)
        self._local_locks = KeyedLocks()
        self._running: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def close(self) -> None:
        self._closed = True
        if self._running:
            await asyncio.wait(self._running)
        await self._pool.close()

    def lease_now(self) -> int | None:
        return None if self._clock is None else int(self._clock() * 1_000_000)

    async def transact(
        self, locks: Collection[str], rule: Rule[*Ts, T], *args: *Ts, durable: bool = True
    ) -> T:
        if self._closed:
            raise Unavailable.database()
        # A caller that is cancelled must not stop a transaction halfway.
        task = asyncio.create_task(self._commit(frozenset(locks), rule, args, durable))
        self._running.add(task)
        task.add_done_callback(self._forget)
        try:
            return await asyncio.shield(task)
        except Unavailable as problem:
            self._note(problem)
            raise

    async def probe(self, *, grow: bool = False) -> None:
        await super().probe()
        if grow:
            # A role without the right to make tables is left with the heartbeat.
            with translated(), suppress(asyncpg.InsufficientPrivilegeError):
                async with asyncio.timeout(CALL_SECONDS), self._pool.connection() as connection:
                    # A name of its own: other processes make their tables at the same time.
                    await connection.execute(_GROW.format(pid=connection.get_server_pid()))

    async def read(self, rule: Rule[*Ts, T], *args: *Ts, reach: int = 0) -> T:
        try:
            with translated():
                try:
                    return await self._read(rule, args)
                except LOST:
                    return await self._read(rule, args)
        except Unavailable as problem:
            self._note(problem)
            raise

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[_Snapshot]:
        try:
            with translated():
                async with self._pool.connection() as connection:
                    await connection.execute(_SNAPSHOT)
                    yield _Snapshot(PostgresqlTransaction(connection, last=True))
                    await connection.execute("ROLLBACK")
        except Unavailable as problem:
            self._note(problem)
            raise

    async def warnings(self) -> list[str]:
        with translated():
            async with self._pool.connection() as connection:
                checksums = await connection.fetchval("SHOW data_checksums")
        if checksums == "on":
            return []
        return [
            "The server does not notice damaged pages: enable data_checksums with pg_checksums"
            " while it is stopped."
        ]

    def _note(self, problem: Unavailable) -> None:
        """Note damage that a record or the server tells of."""
        if isinstance(problem, Damaged):
            self.damage.note_record(problem.what)
        elif isinstance(problem.__cause__, _MALFORMED):
            self.damage.note_structure(type(problem.__cause__).__name__)

    async def _read(self, rule: Rule[*Ts, T], args: tuple[*Ts]) -> T:
        async with self._pool.connection() as connection:
            return await rule(PostgresqlTransaction(connection, last=True), *args)

    async def _commit(
        self, locks: frozenset[str], rule: Rule[*Ts, T], args: tuple[*Ts], durable: bool
    ) -> T:
        # A statement that is cut off drops its connection, so that the server rolls it back; a
        # commit that is cut off may have happened, as with a connection that breaks.
        with translated():
            async with asyncio.timeout(CALL_SECONDS):
                return await self._try(locks, rule, args, durable)

    async def _try(
        self, locks: frozenset[str], rule: Rule[*Ts, T], args: tuple[*Ts], durable: bool
    ) -> T:
        for attempt in range(_ATTEMPTS - 1):
            try:
                return await self._attempt(locks, rule, args, durable, last=False)
            except _Retry:
                pause = random() * _PAUSE * 2**attempt  # noqa: S311  nobody gains by guessing
                await asyncio.sleep(pause)
        return await self._attempt(locks, rule, args, durable, last=True)

    async def _attempt(
        self,
        locks: frozenset[str],
        rule: Rule[*Ts, T],
        args: tuple[*Ts],
        durable: bool,
        *,
        last: bool,
    ) -> T:
        async with (
            self._local_locks.hold(locks),
            self._pool.connection() as connection,
        ):
            try:
                await connection.execute(_begin_statements(locks, durable))
            except (*LOST, *_CONFLICT) as error:
                if last:
                    raise
                raise _Retry from error
            result = await rule(PostgresqlTransaction(connection, last=last, locks=locks), *args)
            failpoints.reach("during_commit")
            if await connection.execute(_COMMIT) != "COMMIT":
                raise NotCommitted("The transaction was rolled back.")
            return result

    def _forget(self, task: "asyncio.Task[Any]") -> None:
        self._running.discard(task)
        if not task.cancelled():
            # Retrieved, so that asyncio does not warn when the caller was cancelled.
            task.exception()


def _begin_statements(locks: frozenset[str], durable: bool) -> str:
    off = "" if durable else "SET LOCAL synchronous_commit = off;"
    return f"BEGIN;{off}{_lock_statements(locks)}"


def _lock_statements(names: frozenset[str]) -> str:
    # All transactions take locks in the same order, so that no two wait for each other.
    keys = sorted(map(_lock_key, names))
    return ";".join(f"SELECT pg_advisory_xact_lock({key})" for key in keys)


def _lock_key(name: str) -> int:
    digest = blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


# Statements: named values become numbered ones, and some statements are replaced by others.

_NAME = re.compile(r"(?<!:):([a-z_][a-z0-9_]*)")

_LIMIT = "limit"
"""This value is written into its statement: there is one plan for all values, and the plan for a
page of ten rows differs from the plan for a tenth of the table."""

_COUNTED = 20_000
"""The files of a tag are counted up to this number to find the rarest tag: some milliseconds."""

_COUNT_IN_STATE = """
(SELECT count(*) FROM
 (SELECT 1 FROM file_tags WHERE tag = :tag AND state = '{state}' LIMIT {counted}) AS counted)"""

_LIST_TAGGED = """
WITH found AS MATERIALIZED (
    SELECT t.position FROM file_tags t WHERE t.tag = :tag0 AND t.position < :before {also}
    ORDER BY t.position DESC LIMIT :limit
) {columns} FROM found
LEFT JOIN LATERAL (SELECT * FROM files x WHERE x.position = found.position LIMIT 1) f ON true
LEFT JOIN LATERAL (SELECT * FROM file_groups x WHERE x.id = f.group_id LIMIT 1) g ON true
ORDER BY found.position DESC"""
"""Positions are found before any file is read, and each file with a subquery of its own, so the
tags are walked in the order of the list whatever the planner estimates."""

_ALSO_TAGGED = """
AND (SELECT true FROM file_tags o WHERE o.tag = :tag AND o.position = t.position)"""


def _count_in(state: str) -> str:
    return _COUNT_IN_STATE.format(state=state, counted=_COUNTED)


def _list_tagged(tags: int, drafts_too: bool) -> str:
    wanted = "" if drafts_too else "AND t.state = 'onchain'"
    others = (_ALSO_TAGGED.replace(":tag", f":tag{number}") for number in range(1, tags))
    return _LIST_TAGGED.format(columns=sql.FILE_COLUMNS, also=wanted + "".join(others))


_NOT_NEEDED = frozenset({sql.RECOUNT_TAG})
"""A stored count for each tag would be one row that all writers of this tag wait for."""

_SERVER_NOW = """
COALESCE(CAST(:now AS BIGINT), CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT))"""
"""The time of the server, unless another clock is given."""

_OWN: Mapping[str, str] = {
    **{
        text: text.replace(":now", _SERVER_NOW)
        for text in (sql.TAKE_LEASE, sql.RELEASE_LEASE, sql.FIND_LEASE, sql.NOW)
    },
    sql.NEXT_POSITION: "SELECT nextval('positions') AS value",
    sql.MISCOUNTED_TAGS: "SELECT 0 AS count",
    sql.COUNT_TAG: f"SELECT {_count_in('onchain')} AS posts, {_count_in('pending')} AS drafts",
    **{
        sql.list_tagged(tags, drafts_too): _list_tagged(tags, drafts_too)
        for tags in range(1, MAX_TAGS + 1)
        for drafts_too in (False, True)
    },
}


def translate(text: str, values: Mapping[str, Value]) -> tuple[str, *tuple[Value, ...]]:
    """A statement with numbered values, followed by these values in order."""
    limit = values.get(_LIMIT)
    numbered, names = _number_values(text, None if limit is None else int(limit))
    return numbered, *[values[name] for name in names]


@lru_cache(maxsize=1024)
def _number_values(text: str, limit: int | None) -> tuple[str, tuple[str, ...]]:
    numbers: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        name = match[1]
        if name == _LIMIT:
            return str(limit)
        return f"${numbers.setdefault(name, len(numbers) + 1)}"

    return _NAME.sub(number, _OWN.get(text, text)), tuple(numbers)
