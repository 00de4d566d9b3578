"""`Database` in PostgreSQL, shared by any number of processes and machines.

The isolation level is READ COMMITTED: every statement sees what was committed before it. Locks are
advisory transaction locks, so what a rule reads under them stays valid. Unique indexes are the
second line of defence: a conflicting transaction is rolled back and run again, and then sees the
rows of the other transaction. If every attempt conflicts, `Unstorable` is raised.
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
from pathlib import Path
from random import random
from typing import Any

import asyncpg

from imprint import failpoints
from imprint.adapters.database.database import Database, find_identity, identify
from imprint.adapters.database.postgresql.catalog_copy import MALFORMED, SNAPSHOT, copy_catalog
from imprint.adapters.database.postgresql.pool import (
    CALL_SECONDS,
    LOST,
    SEARCHING,
    Pool,
    connect,
    translated,
)
from imprint.adapters.database.postgresql.schema import examine_server, find_schema, migrate
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
from imprint.adapters.database.schema import expect_schema, known_migrations
from imprint.adapters.database.transaction import Row, Rule, T, Ts
from imprint.domain.errors import CannotStart, Damaged, NonceUsed, Unavailable
from imprint.domain.installation import Access, Identity, new_installation_id
from imprint.ports import Monotonic
from imprint.ports.damage import Damage
from imprint.traces import timed_call

CONNECTIONS = 10
"""Maximum number of connections per process. A few suffice, because writes of one owner wait for
each other anyway."""

_SEARCHES = 2
"""Number of connections reserved for searches, the slowest reads, in a pool of eight or more."""

_COMMIT = "SET LOCAL statement_timeout = 0; COMMIT"
"""Commits without the server's timeout, because a commit that is interrupted while it waits for a
standby has taken effect all the same. Only the client stops waiting."""

_GROW = """
BEGIN;
CREATE TABLE probe_{pid} AS SELECT generate_series(1, 2000) AS number;
ROLLBACK"""
"""Statements that allocate 72 KB and leave nothing behind. Updating the heartbeat alone would not
detect a full disk, because it replaces a row within its page."""

_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class
WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"""
"""Size of all tables and their indexes in bytes."""

_ATTEMPTS = 6
"""Number of attempts per transaction."""

_PAUSE = 0.01
"""Longest pause before the second attempt, in seconds. It doubles for each later attempt."""

_AGAIN = (*LOST, asyncpg.InvalidCachedStatementError)
"""Errors after which a read is retried once, on another connection or with another plan."""


def open_postgresql(
    url: str,
    connections: int = CONNECTIONS,
    clock: Monotonic | None = None,
    *,
    access: Access = Access.MIGRATE,
    before_creation: Callable[[], None] | None = None,
) -> "PostgresqlDatabase":
    """Open a database, and create its catalog if it has none.

    `before_creation` is called before a catalog is created, and may raise. Leases use the server's
    clock, or `clock` if one is given.

    Raises the same errors as `expect_schema`, `Unfinished` for the target of an unfinished move,
    and `UnsuitableServer`. Connections are made later, on the event loop that uses them.
    """
    # Logged as DEBUG only: the caller reports why opening fails, and may retry for hours.
    with translated(logging.DEBUG), ThreadPoolExecutor(1, "catalog-schema") as thread:
        preparation = prepare(url, access, before_creation)
        identity = thread.submit(asyncio.run, preparation).result()
    return PostgresqlDatabase(url, connections, identity, clock, reads_only=access is Access.READ)


def examine_catalog(url: str) -> tuple[int, int]:
    """The schema version (0 without a catalog) and the size of the tables in bytes.

    Raises the same errors as `open_postgresql`.
    """

    async def examine() -> tuple[int, int]:
        connection = await connect(url)
        try:
            return await find_schema(connection), int(await connection.fetchval(_SIZE))
        finally:
            await connection.close()

    with translated(logging.DEBUG), ThreadPoolExecutor(1, "catalog-schema") as thread:
        return thread.submit(asyncio.run, examine()).result()


async def prepare(
    url: str, access: Access = Access.MIGRATE, before_creation: Callable[[], None] | None = None
) -> Identity:
    """Create or migrate the schema if the access allows it, and return the database's id.

    Raises the same errors as `open_postgresql`.
    """
    connection, migrations = await connect(url), known_migrations("postgresql")
    try:
        tx = PostgresqlTransaction(connection, last=True)
        found = await find_schema(connection)
        expect_schema(found, migrations, access)
        if access is Access.READ:
            return await find_identity(tx)
        if not found and before_creation is not None:
            try:
                await asyncio.to_thread(before_creation)
            except CannotStart:
                # Another process may have created the catalog and stored documents meanwhile.
                if not await find_schema(connection):
                    raise
        if access.creates:
            await migrate(connection, migrations)
        return await identify(tx, new_installation_id())
    finally:
        await connection.close()


@dataclass(frozen=True, slots=True)
class _Snapshot:
    tx: PostgresqlTransaction

    async def read(self, rule: Rule[*Ts, T], *args: *Ts) -> T:
        return await rule(self.tx, *args)


class PostgresqlDatabase(Database):
    """`Database` in PostgreSQL. Stores that bypass the rules use `pool` and `lists`."""

    name = "PostgreSQL"

    def __init__(
        self,
        url: str,
        connections: int,
        identity: Identity,
        clock: Monotonic | None = None,
        *,
        reads_only: bool = False,
    ) -> None:
        self.identity = identity
        self.damage = Damage()
        self._url = url
        self._clock = clock
        searches = min(_SEARCHES, connections // 4)
        self.pool = Pool(url, connections - searches, reads_only=reads_only)
        self._searching = (
            Pool(url, searches, SEARCHING, reads_only=reads_only) if searches else self.pool
        )
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
        await self._searching.close()

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
        """Run a statement, or the rule if there is no statement or it returns no row."""

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
                        # The lost statement may have spent the nonce.
                        raise (Unavailable.database() if lost else used) from None

        return await self._settle(run())

    async def run_alone(self, statement: Statement) -> Row | None:
        """The row of a self-committing statement, or None if a rule has to decide."""
        self.lists.expect_change()
        with translated():
            async with asyncio.timeout(CALL_SECONDS):
                with timed_call("database", "write"):
                    row, _ = await self._run_once(statement)
                    return row

    async def _run_once(self, statement: Statement) -> tuple[Row | None, bool]:
        """The row of a self-committing statement, and whether its connection was lost."""
        failpoints.reach("during_commit")
        text, values = translate(statement.text, statement.values)
        try:
            if statement.locks or statement.shared:
                rows = await self._run_locked(statement, text, values)
            else:
                rows = await self.pool.rows(text, values)
        except LOST:
            return None, True
        except (*CONFLICT, *REFUSED, asyncpg.InvalidCachedStatementError):
            return None, False
        return (rows[0] if rows else None), False

    async def _run_locked(
        self, statement: Statement, text: str, values: Sequence[object]
    ) -> "list[asyncpg.Record]":
        """Rows of a statement whose snapshot must be taken after its locks."""
        async with (
            self._local_locks.hold(statement.locks),
            self.pool.connection() as connection,
        ):
            await connection.execute(begin_statements(statement.locks, statement.shared))
            rows = await connection.run(text, values)
            if await connection.execute(_COMMIT) != "COMMIT":
                raise NotCommitted("The transaction was rolled back.")
            return rows

    async def _settle(self, change: Coroutine[Any, Any, T]) -> T:
        """Run a change, which continues even if its caller is cancelled."""
        if self._closed:
            change.close()
            raise Unavailable.database()
        self.lists.expect_change()
        task = asyncio.create_task(change)
        self._running.add(task)
        task.add_done_callback(self._forget)
        try:
            with timed_call("database", "write"):
                return await asyncio.shield(task)
        except Unavailable as problem:
            self.note(problem)
            raise

    async def probe(self, *, grow: bool = False) -> None:
        await super().probe()
        if grow:
            # A role that may not create tables can only update the heartbeat.
            with translated(), suppress(asyncpg.InsufficientPrivilegeError):
                async with asyncio.timeout(CALL_SECONDS), self.pool.connection() as connection:
                    # The name is unique, because other processes create such tables, too.
                    await connection.execute(_GROW.format(pid=connection.get_server_pid()))

    async def read(self, rule: Rule[*Ts, T], *args: *Ts, reach: int = 0) -> T:
        return await self.retry_read(self._read, rule, args)

    async def search(self, rule: Rule[*Ts, T], beyond: Rule[*Ts, T], *args: *Ts) -> T:
        return await self.retry_read(self._search, rule, beyond, args)

    async def retry_read(self, read: Callable[[*Ts], Coroutine[Any, Any, T]], *args: *Ts) -> T:
        """Run a read, retrying it once if its connection is lost.

        Raises `Unavailable` after `CALL_SECONDS`, no matter what the read is waiting for.
        """
        try:
            # Only this caller times out: a query that several callers share continues.
            with timed_call("database", "read"), translated():
                async with asyncio.timeout(CALL_SECONDS):
                    try:
                        return await read(*args)
                    except _AGAIN:
                        return await read(*args)
        except Unavailable as problem:
            self.note(problem)
            raise

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[_Snapshot]:
        try:
            with translated():
                async with self.pool.connection() as connection:
                    await connection.execute(SNAPSHOT)
                    yield _Snapshot(PostgresqlTransaction(connection, last=True))
                    await connection.execute("ROLLBACK")
        except Unavailable as problem:
            self.note(problem)
            raise

    async def backup_to(self, path: Path) -> None:
        await asyncio.to_thread(path.touch, 0o600, exist_ok=False)
        with translated():
            await copy_catalog(self._url, path)

    async def warnings(self) -> list[str]:
        with translated():
            async with self.pool.connection() as connection:
                return await examine_server(connection)

    def note(self, problem: Unavailable) -> None:
        """Record damage found in a record or reported by the server."""
        if isinstance(problem, Damaged):
            self.damage.note_record(problem.what)
        elif isinstance(problem.__cause__, MALFORMED):
            self.damage.note_structure(type(problem.__cause__).__name__)

    async def _read(self, rule: Rule[*Ts, T], args: tuple[*Ts]) -> T:
        async with self.pool.connection() as connection:
            return await rule(PostgresqlTransaction(connection, last=True), *args)

    async def _search(self, rule: Rule[*Ts, T], beyond: Rule[*Ts, T], args: tuple[*Ts]) -> T:
        async with self._searching.connection() as connection:
            tx = PostgresqlTransaction(connection, last=True)
            try:
                return await rule(tx, *args)
            except asyncpg.QueryCanceledError:
                return await beyond(tx, *args)

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
            except Retry as retry:
                locks = retry.locks
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
                await connection.execute(begin_statements(locks, durable=durable))
            except (*LOST, *CONFLICT) as error:
                if last:
                    raise
                raise Retry(locks) from error
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
