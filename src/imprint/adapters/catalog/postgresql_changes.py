"""Steps on PostgreSQL: reads as they are, changes in transactions that begin anew where they meet.

Isolation is READ COMMITTED: every statement sees what was committed before it, and whatever a
change holds is an advisory lock of its transaction, so that what it reads afterwards stays true.
Unique indexes stand behind that: a clash undoes the change, which then begins anew and finds what
it had not seen. A clash that comes back every time is no accident and counts as `Unstorable`.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from random import random
from typing import cast

import asyncpg

from imprint import failpoints
from imprint.adapters.catalog.postgresql_pool import CONNECT_SECONDS, LOST, Connection, Pool
from imprint.adapters.catalog.postgresql_statements import translate
from imprint.adapters.catalog.steps import Hold, Query, Row, Steps, T, Unstorable
from imprint.adapters.catalog.turns import Turns

_TRIES = 6
"""How often a change is begun until it is given up."""

_PAUSE = 0.01
"""Seconds before the second try at most; each further pause is twice as long."""

_MET = (
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.UniqueViolationError,
    asyncpg.ForeignKeyViolationError,
)
"""What happens to a change that met another one."""

_CLASH = (asyncpg.UniqueViolationError, asyncpg.ForeignKeyViolationError)

_STRANGE = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.ProgramLimitExceededError,
    OverflowError,
    UnicodeEncodeError,
)
"""What a statement raises about its values, rather than about the database."""

_COMMIT = "SET LOCAL statement_timeout = 0; COMMIT"
"""A commit that waits for a standby and is interrupted counts as done; so only we stop waiting."""


class NotCommitted(asyncpg.InterfaceError):
    """The server rolled a transaction back instead of committing it."""


class _Again(Exception):
    """The change met another one, or its connection broke before it began."""


async def read(pool: Pool, make: Callable[[], Steps[T]]) -> T:
    """Run steps that change nothing; once more if the connection was lost."""
    try:
        return await _read(pool, make())
    except LOST:
        return await _read(pool, make())


async def _read(pool: Pool, steps: Steps[T]) -> T:
    async with pool.connection() as connection:
        return await _Run(connection, final=True).finish(steps)


@dataclass(frozen=True, slots=True)
class ReadRun:
    """Reads on one connection, in the transaction that it is in."""

    connection: Connection

    async def read(self, steps: Steps[T]) -> T:
        """Run steps that change nothing."""
        return await _Run(self.connection, final=True).finish(steps)


@dataclass(slots=True)
class Changer:
    """Runs changes, each in a transaction of its own."""

    pool: Pool
    turns: Turns = field(default_factory=Turns)
    chance: Callable[[], float] = random

    async def change(self, make: Callable[[], Steps[T]], durable: bool) -> T:
        """Run a change and commit it; without `durable`, not to the disk."""
        for attempt in range(_TRIES - 1):
            try:
                return await self._try(make(), durable, final=False)
            except _Again:
                await asyncio.sleep(self.chance() * _PAUSE * 2**attempt)
        return await self._try(make(), durable, final=True)

    async def _try(self, steps: Steps[T], durable: bool, final: bool) -> T:
        try:
            first = next(steps)
        except StopIteration as nothing:
            result: T = nothing.value
            return result
        held = first.names if isinstance(first, Hold) else frozenset[str]()
        async with (
            self.turns.take(held, CONNECT_SECONDS),
            self.pool.connection() as connection,
        ):
            try:
                await connection.execute(_beginning(held, durable))
            except (*LOST, *_MET) as error:
                if final:
                    raise
                raise _Again from error
            result = await _Run(connection, final, held).finish(steps, first)
            failpoints.reach("during_commit")
            if await connection.execute(_COMMIT) != "COMMIT":
                raise NotCommitted("The transaction was rolled back.")
            return result


@dataclass(slots=True)
class _Run:
    """Steps on one connection; on the `final` try, nothing is begun anew."""

    connection: Connection
    final: bool
    held: frozenset[str] = frozenset()

    async def finish(self, steps: Steps[T], first: Query | Hold | None = None) -> T:
        try:
            query = first or next(steps)
            while True:
                try:
                    rows = await self._execute(query)
                except Unstorable as strange:
                    query = steps.throw(strange)
                else:
                    query = steps.send(rows)
        except StopIteration as end:
            result: T = end.value
            return result

    async def _execute(self, query: Query | Hold) -> list[Row]:
        try:
            if isinstance(query, Hold):
                await self._hold(query.names)
                return []
            known = translate(query)
            if known is None:
                return []
            text, values = known
            return cast("list[Row]", await self.connection.fetch(text, *values))
        except _MET as error:
            if not self.final:
                raise _Again from error
            if isinstance(error, _CLASH):
                raise Unstorable(type(error).__name__) from error
            raise
        except _STRANGE as error:
            raise Unstorable(type(error).__name__) from error

    async def _hold(self, names: frozenset[str]) -> None:
        more = names - self.held
        if more:
            await self.connection.execute(_locks(more))
            self.held |= more


def _beginning(held: frozenset[str], durable: bool) -> str:
    off = "" if durable else "SET LOCAL synchronous_commit = off;"
    return f"BEGIN;{off}{_locks(held)}"


def _locks(names: frozenset[str]) -> str:
    # In one order by everybody, so that no two changes wait for each other.
    keys = sorted(map(_key, names))
    return ";".join(f"SELECT pg_advisory_xact_lock({key})" for key in keys)


def _key(name: str) -> int:
    digest = blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
