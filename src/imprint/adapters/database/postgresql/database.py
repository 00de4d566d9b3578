"""`Database` in PostgreSQL, which any number of processes on any number of machines may share.

Isolation is READ COMMITTED: every statement sees what was committed before it. Locks are advisory
locks of the transaction, so what a rule reads under them stays valid. Unique indexes are the second
line of defence: a transaction that conflicts with another is rolled back and run again, and then
sees the rows of the other. A conflict in every attempt is `Unstorable`.
"""

import asyncio
import logging
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Hashable,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from random import random
from typing import Any

import asyncpg

from imprint import failpoints
from imprint.adapters.database.database import Database, identify
from imprint.adapters.database.postgresql.pool import (
    CALL_SECONDS,
    FAILURES,
    LOST,
    Pool,
    connect,
    failed,
    translated,
)
from imprint.adapters.database.postgresql.schema import examine_server, migrate
from imprint.adapters.database.postgresql.snapshots import (
    RememberedReads,
    SnapshotCache,
    read_snapshot,
)
from imprint.adapters.database.postgresql.transaction import (
    CONFLICT,
    REFUSED,
    KeyedLocks,
    NotCommitted,
    PostgresqlTransaction,
    Retry,
    Statement,
    begin_statements,
    translate,
)
from imprint.adapters.database.schema import known_migrations
from imprint.adapters.database.transaction import Row, Rule, T, Ts
from imprint.domain.errors import Damaged, NonceUsed, Unavailable
from imprint.domain.installation import Identity, new_installation_id
from imprint.ports import Monotonic
from imprint.ports.damage import Damage

CONNECTIONS = 10
"""The most connections of a process: writes of one owner wait for each other anyway."""

_SNAPSHOT = """
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL idle_in_transaction_session_timeout = 0"""
"""Begins a snapshot; it has no timeout when idle, because it blocks no other transaction."""

_COMMIT = "SET LOCAL statement_timeout = 0; COMMIT"
"""A commit that is interrupted while it waits for a standby counts as done, so the server must not
interrupt it; only the client stops waiting."""

_GROW = """
BEGIN;
CREATE TABLE probe_{pid} AS SELECT generate_series(1, 2000) AS number;
ROLLBACK"""
"""Takes 72 KB of new space, and leaves nothing behind. The heartbeat alone replaces a row in its
page, which works on a full disk."""

_ATTEMPTS = 6
"""How often a transaction is run before it fails."""

_PAUSE = 0.01
"""The longest pause before the second attempt, in seconds; each further pause is twice as long."""

_AGAIN = (*LOST, asyncpg.InvalidCachedStatementError)
"""Errors after which a read is repeated once, over another connection or with another plan."""

_MALFORMED = (asyncpg.DataCorruptedError, asyncpg.IndexCorruptedError)
"""Errors about the pages of the database."""


def open_postgresql(
    url: str, connections: int = CONNECTIONS, clock: Monotonic | None = None
) -> "PostgresqlDatabase":
    """Open this database; creates or migrates its schema.

    Leases use the clock of the server, or `clock` if one is given.

    Raises `NewerSchema` for one written by a newer version, and `Unfinished` for the target of an
    unfinished move. Connections are made later, on the event loop that uses them.
    """
    # The caller reports why it cannot be opened, and may retry for hours.
    with translated(logging.DEBUG), ThreadPoolExecutor(1, "catalog-schema") as thread:
        identity = thread.submit(asyncio.run, prepare(url)).result()
    return PostgresqlDatabase(url, connections, identity, clock)


async def prepare(url: str) -> Identity:
    """Bring the schema of this database up to date. Raises what `open_postgresql` does.

    Returns the identity of the installation.
    """
    connection = await connect(url)
    try:
        await migrate(connection, known_migrations("postgresql"))
        tx = PostgresqlTransaction(connection, last=True)
        return await identify(tx, new_installation_id())
    finally:
        await connection.close()


@dataclass(frozen=True, slots=True)
class _Snapshot:
    tx: PostgresqlTransaction

    async def read(self, rule: Rule[*Ts, T], *args: *Ts) -> T:
        return await rule(self.tx, *args)


class PostgresqlDatabase(Database):
    """`Database` in PostgreSQL; `pool` and `lists` are for stores that bypass the rules."""

    name = "PostgreSQL"

    def __init__(
        self, url: str, connections: int, identity: Identity, clock: Monotonic | None = None
    ) -> None:
        self.identity = identity
        self.damage = Damage()
        self._clock = clock
        self.pool = Pool(url, connections)
        self.lists: SnapshotCache[Any] = SnapshotCache(partial(read_snapshot, self.pool))
        self._local_locks = KeyedLocks()
        self._reads = RememberedReads(self.pool)
        self._running: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def close(self) -> None:
        self._closed = True
        if self._running:
            await asyncio.wait(self._running)
        await self.pool.close()

    async def cached(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        return await self.retry_read(self._reads.read, key, read)

    def lease_now(self) -> int | None:
        return None if self._clock is None else int(self._clock() * 1_000_000)

    async def transact(
        self, locks: Collection[str], rule: Rule[*Ts, T], *args: *Ts, durable: bool = True
    ) -> T:
        return await self._settle(self._commit(frozenset(locks), rule, args, durable))

    async def write(
        self,
        statement: Statement | None,
        result: Callable[[Row], T],
        locks: frozenset[str],
        rule: Rule[*Ts, T],
        *args: *Ts,
        durable: bool = True,
    ) -> T:
        """The result of a statement, or of the rule if the statement has none."""

        async def run() -> T:
            with translated():
                async with asyncio.timeout(CALL_SECONDS):
                    if statement is None:
                        return await self._try(locks, rule, args, durable)
                    row, lost = await self._run_once(statement)
                    if row is not None:
                        return result(row)
                    try:
                        return await self._try(locks, rule, args, durable)
                    except NonceUsed as used:
                        # The lost statement may have spent it.
                        raise (Unavailable.database() if lost else used) from None

        return await self._settle(run())

    async def run_alone(self, statement: Statement) -> Row | None:
        """The row of a self-committing statement, or None if a rule has to decide."""
        self.lists.expect_change()
        with translated():
            async with asyncio.timeout(CALL_SECONDS):
                row, _ = await self._run_once(statement)
                return row

    async def _run_once(self, statement: Statement) -> tuple[Row | None, bool]:
        """The row of a self-committing statement, and whether its connection was lost."""
        failpoints.reach("during_commit")
        text, values = translate(statement.text, statement.values)
        try:
            if statement.lock_first:
                rows = await self._run_locked(statement.lock_first, text, values)
            else:
                rows = await self.pool.rows(text, values)
        except LOST:
            return None, True
        except (*CONFLICT, *REFUSED, asyncpg.InvalidCachedStatementError):
            return None, False
        return (rows[0] if rows else None), False

    async def _run_locked(
        self, locks: str, text: str, values: Sequence[object]
    ) -> "list[asyncpg.Record]":
        """The rows of a statement whose snapshot must be newer than these locks."""
        async with self.pool.connection() as connection:
            await connection.execute(f"BEGIN;{locks}")
            rows = await connection.run(text, values)
            if await connection.execute(_COMMIT) != "COMMIT":
                raise NotCommitted("The transaction was rolled back.")
            return rows

    async def _settle(self, change: Coroutine[Any, Any, T]) -> T:
        """The result of a change, which continues if its caller is cancelled."""
        if self._closed:
            change.close()
            raise Unavailable.database()
        self.lists.expect_change()
        task = asyncio.create_task(change)
        self._running.add(task)
        task.add_done_callback(self._forget)
        try:
            return await asyncio.shield(task)
        except Unavailable as problem:
            self.note(problem)
            raise

    async def probe(self, *, grow: bool = False) -> None:
        await super().probe()
        if grow:
            # A role without the right to create tables only has the heartbeat.
            with translated(), suppress(asyncpg.InsufficientPrivilegeError):
                async with asyncio.timeout(CALL_SECONDS), self.pool.connection() as connection:
                    # A unique name: other processes create their tables at the same time.
                    await connection.execute(_GROW.format(pid=connection.get_server_pid()))

    async def read(self, rule: Rule[*Ts, T], *args: *Ts, reach: int = 0) -> T:
        return await self.retry_read(self._read, rule, args)

    async def retry_read(self, read: Callable[[*Ts], Coroutine[Any, Any, T]], *args: *Ts) -> T:
        """The result of a read, which is repeated once if its connection is lost."""
        try:
            try:
                return await read(*args)
            except _AGAIN:
                with translated():
                    return await read(*args)
            except FAILURES as error:
                raise failed(error) from error
        except Unavailable as problem:
            self.note(problem)
            raise

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[_Snapshot]:
        try:
            with translated():
                async with self.pool.connection() as connection:
                    await connection.execute(_SNAPSHOT)
                    yield _Snapshot(PostgresqlTransaction(connection, last=True))
                    await connection.execute("ROLLBACK")
        except Unavailable as problem:
            self.note(problem)
            raise

    async def warnings(self) -> list[str]:
        with translated():
            async with self.pool.connection() as connection:
                return await examine_server(connection)

    def note(self, problem: Unavailable) -> None:
        """Record damage reported by a record or the server."""
        if isinstance(problem, Damaged):
            self.damage.note_record(problem.what)
        elif isinstance(problem.__cause__, _MALFORMED):
            self.damage.note_structure(type(problem.__cause__).__name__)

    async def _read(self, rule: Rule[*Ts, T], args: tuple[*Ts]) -> T:
        async with self.pool.connection() as connection:
            return await rule(PostgresqlTransaction(connection, last=True), *args)

    async def _commit(
        self, locks: frozenset[str], rule: Rule[*Ts, T], args: tuple[*Ts], durable: bool
    ) -> T:
        # A statement that times out drops its connection, so that the server rolls it back; a
        # commit that times out may have happened, as with a broken connection.
        with translated():
            async with asyncio.timeout(CALL_SECONDS):
                return await self._try(locks, rule, args, durable)

    async def _try(
        self, locks: frozenset[str], rule: Rule[*Ts, T], args: tuple[*Ts], durable: bool
    ) -> T:
        for attempt in range(_ATTEMPTS - 1):
            try:
                return await self._attempt(locks, rule, args, durable, last=False)
            except Retry:
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
            self.pool.connection() as connection,
        ):
            try:
                await connection.execute(begin_statements(locks, durable))
            except (*LOST, *CONFLICT) as error:
                if last:
                    raise
                raise Retry from error
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
