"""The catalog in PostgreSQL, which any number of processes on any number of machines may share.

Isolation is READ COMMITTED: every statement sees what was committed before it. Locks are advisory
locks of the transaction, so what a rule reads under them stays true. Unique indexes are the second
line of defence: a transaction that conflicts with another one is rolled back and run again, and
then sees the rows of the other. A conflict in every attempt is `Unstorable`.
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
    Iterable,
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
from imprint.adapters.catalog import drafts, sql
from imprint.adapters.catalog import postgresql_writes as writes
from imprint.adapters.catalog.catalog import CatalogBase, admission
from imprint.adapters.catalog.ended_sessions import refuse_ended
from imprint.adapters.catalog.files import WIDTH, live_file_of
from imprint.adapters.catalog.installation import identify
from imprint.adapters.catalog.postgresql_lists import ListReader, RememberedReads
from imprint.adapters.catalog.postgresql_pool import (
    CALL_SECONDS,
    FAILURES,
    LOST,
    Pool,
    connect,
    failed,
    translated,
)
from imprint.adapters.catalog.postgresql_schema import examine_server, migrate
from imprint.adapters.catalog.postgresql_sessions import CHECKED, MARKED, KnownSessions
from imprint.adapters.catalog.postgresql_sql import translate
from imprint.adapters.catalog.postgresql_transaction import (
    CONFLICT,
    REFUSED,
    KeyedLocks,
    NotCommitted,
    PostgresqlTransaction,
    Retry,
    begin_statements,
)
from imprint.adapters.catalog.schema import known_migrations
from imprint.adapters.catalog.transaction import Row, Rule, T, Ts, write_locks
from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.files import File, Intent, Quota, Version, Write
from imprint.domain.errors import Damaged, NonceUsed, Unavailable
from imprint.domain.formats.cids import Cid
from imprint.domain.installation import Identity, new_installation_id
from imprint.domain.posts.lists import ListFilter
from imprint.domain.rate_limits import Rate
from imprint.domain.sessions import Session, session_ended
from imprint.ports import Monotonic
from imprint.ports.catalog import NO_QUOTA
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

_AGAIN = (*LOST, asyncpg.InvalidCachedStatementError)
"""Errors after which a read is repeated once, over another connection or with another plan."""

_BEGUN = 4096
"""How many writes that have begun and not ended a process knows the positions of. The rule takes
another position for a write that is not among them."""

_BY_CID, _ = translate(sql.VERSION_BY_CID, {"cid": None})
_BY_POST, _ = translate(sql.VERSION_BY_POST, {"post_id": None})

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


@dataclass(frozen=True, slots=True)
class _Snapshot:
    tx: PostgresqlTransaction

    async def read(self, rule: Rule[*Ts, T], *args: *Ts) -> T:
        return await rule(self.tx, *args)


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
        self._positions: BoundedCache[str, int] = BoundedCache(_BEGUN)
        self._lists = ListReader(self._pool)
        self._reads = RememberedReads(self._pool)
        self._sessions = KnownSessions()
        self._running: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def close(self) -> None:
        self._closed = True
        if self._running:
            await asyncio.wait(self._running)
        await self._pool.close()

    # Signed writes, each in one statement unless something is unusual

    async def open_write(
        self, write: Write, rate: Rate | None, key: str, cid: Cid | None = None
    ) -> File | None:
        admitted = None if rate is None else admission(key, rate, write.at)
        statement = writes.open_statement(write, admitted, cid)
        (row,) = await self._reading(self._pool.rows, *translate(statement.text, statement.values))
        if row["spent"] or not row["admitted"]:
            await super().open_write(write, None if row["admitted"] else rate, key)
        if cid is None:
            return None
        return self._live(None if row["id"] is None else row[:WIDTH])

    async def open_create(
        self, write: Write, rate: Rate | None, key: str, intent: Intent, quota: Quota
    ) -> int | None:
        admitted = None if rate is None else admission(key, rate, write.at)
        statement = writes.open_create_statement(intent, admitted, quota)
        # Not settled: what is cut off leaves at most an intent, which expires.
        row = None if statement is None else await self._run_alone(statement)
        if row is None:
            return await super().open_create(write, rate, key, intent, quota)
        if row["spent"] or not row["admitted"]:
            await super().open_write(write, None if row["admitted"] else rate, key)
        return self._begun(intent, row) if row["begun"] else await self.begin_write(intent, quota)

    async def begin_write(self, intent: Intent, quota: Quota = NO_QUOTA) -> int | None:
        statement = writes.begin_statement(intent, quota)
        locks = write_locks(intent.write, intent)
        note = partial(self._begun, intent)
        return await self._write(
            statement, note, locks, drafts.begin_write, intent, quota, durable=False
        )

    def _begun(self, intent: Intent, row: Row) -> int | None:
        """The number that was reserved instead of the intent's, or None and its position noted."""
        reserved: int | None = row["reserved"]
        if reserved is None:
            self._positions.put(intent.id, row["position"])
        return reserved

    async def add_draft(self, write: Write, intent: Intent, version: Version) -> File:
        position, made = self._positions.pop(intent.id), None
        if position is not None:
            made = writes.add_statement(write, intent, version, position)
        locks = write_locks(write, intent)
        return await self._effect(made, locks, drafts.add_draft, write, intent, version)

    async def replace_draft(
        self,
        write: Write,
        intent: Intent,
        old: Cid,
        version: Version,
        known: File | None = None,
    ) -> File | None:
        position, made = self._positions.pop(intent.id), None
        if position is not None and writes.is_known(known, old, write):
            made = writes.replace_statement(write, intent, known, version, position)
        locks = write_locks(write, intent, old)
        return await self._effect(made, locks, drafts.replace_draft, write, intent, old, version)

    async def prepare_draft(
        self,
        write: Write,
        intent: Intent,
        cid: Cid,
        hashtags: Sequence[str],
        known: File | None = None,
    ) -> File | None:
        made = None
        if writes.is_known(known, cid, write):
            made = writes.prepare_statement(write, intent, known, hashtags)
        locks = write_locks(write, intent)
        return await self._effect(made, locks, drafts.prepare_draft, write, intent, cid, hashtags)

    async def delete_draft(self, write: Write, cid: Cid, known: File | None = None) -> File | None:
        made = None
        if writes.is_known(known, cid, write):
            made = writes.delete_statement(write, known), known
        locks = write_locks(write, None, cid)
        return await self._effect(made, locks, drafts.delete_draft, write, cid)

    # Files and lists: the same statements as the rules, with less around them

    async def file_by_cid(self, cid: Cid, session: Session | None = None) -> File | None:
        return await self._find(_BY_CID, cid, session)

    async def file_by_post_id(self, post_id: int, session: Session | None = None) -> File | None:
        return await self._find(_BY_POST, str(post_id), session)

    async def _find(self, text: str, value: str, session: Session | None) -> File | None:
        if session is None:
            rows = await self._reading(self._pool.rows, text, (value,))
            return self._live(rows[0] if rows else None)
        if self._sessions.may_know(session):
            rows = await self._reading(self._pool.rows, MARKED[text], (value,))
            # Another request may have seen another mark meanwhile.
            if rows and self._sessions.knows(session, rows[0]["mark"]):
                return self._live(rows[0][:WIDTH])
        values = (session.generation, session.id, session.address, value)
        rows = await self._reading(self._pool.rows, CHECKED[text], values)
        if not rows:
            await self.read(refuse_ended, session)
            return self._live(None)
        if rows[0]["ended"]:
            raise session_ended()
        self._sessions.add(session, rows[0]["mark"])
        return self._live(rows[0][:WIDTH])

    def _live(self, row: Iterable[Any] | None) -> File | None:
        """The file of a row, if it is live."""
        try:
            file = live_file_of(row)
        except Damaged as problem:
            self._note(problem)
            raise
        if file is None:
            self._refuse_miss()
        return file

    async def list_files(
        self, which: ListFilter, before: int | None, limit: int, session: Session | None = None
    ) -> list[File]:
        self._refuse_miss()
        return await self._reading(self._lists.read, which, before, limit, session)

    async def cached(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        return await self._reading(self._reads.read, key, read)

    def lease_now(self) -> int | None:
        return None if self._clock is None else int(self._clock() * 1_000_000)

    async def transact(
        self, locks: Collection[str], rule: Rule[*Ts, T], *args: *Ts, durable: bool = True
    ) -> T:
        return await self._settle(self._commit(frozenset(locks), rule, args, durable))

    async def _write(
        self,
        statement: writes.Statement | None,
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
                        # It may be the lost statement that has spent it.
                        raise (Unavailable.database() if lost else used) from None

        return await self._settle(run())

    async def _effect(
        self,
        made: tuple[writes.Statement, File] | None,
        locks: frozenset[str],
        rule: Rule[*Ts, T],
        *args: *Ts,
    ) -> T | File:
        """The file of a statement that takes effect, or what the rule returns."""
        if made is None:
            return await self.transact(locks, rule, *args)
        statement, file = made
        return await self._write(statement, lambda _: file, locks, rule, *args)

    async def _run_alone(self, statement: writes.Statement) -> Row | None:
        """The row of a statement that commits itself, or None if a rule has to decide."""
        self._lists.expect_change()
        with translated():
            async with asyncio.timeout(CALL_SECONDS):
                row, _ = await self._run_once(statement)
                return row

    async def _run_once(self, statement: writes.Statement) -> tuple[Row | None, bool]:
        """The row of a statement that commits itself, and whether its connection was lost."""
        failpoints.reach("during_commit")
        text, values = translate(statement.text, statement.values)
        try:
            if statement.locked_by is None:
                rows = await self._pool.rows(text, values)
            else:
                rows = await self._run_locked(statement.locked_by, text, values)
        except LOST:
            return None, True
        except (*CONFLICT, *REFUSED, asyncpg.InvalidCachedStatementError):
            return None, False
        return (rows[0] if rows else None), False

    async def _run_locked(
        self, locks: str, text: str, values: Sequence[object]
    ) -> "list[asyncpg.Record]":
        """The rows of a statement whose snapshot must be newer than these locks."""
        async with self._pool.connection() as connection:
            await connection.execute(f"BEGIN;{locks}")
            rows = await connection.run(text, values)
            if await connection.execute(_COMMIT) != "COMMIT":
                raise NotCommitted("The transaction was rolled back.")
            return rows

    async def _settle(self, change: Coroutine[Any, Any, T]) -> T:
        """The result of a change, which goes on if its caller is cancelled."""
        if self._closed:
            change.close()
            raise Unavailable.database()
        self._lists.expect_change()
        task = asyncio.create_task(change)
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
        return await self._reading(self._read, rule, args)

    async def _reading(self, read: Callable[[*Ts], Coroutine[Any, Any, T]], *args: *Ts) -> T:
        """What a read gives that is repeated if its connection is lost."""
        try:
            try:
                return await read(*args)
            except _AGAIN:
                with translated():
                    return await read(*args)
            except FAILURES as error:
                raise failed(error) from error
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
                return await examine_server(connection)

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
            self._pool.connection() as connection,
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
