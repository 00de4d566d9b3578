"""`Database`: runs the stores' rules in transactions on SQLite or PostgreSQL."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Hashable,
    Mapping,
)
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, Protocol

from imprint.adapters.database.schema import NoCatalog
from imprint.adapters.database.transaction import Row, Rule, T, Transaction, Ts, Value
from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.errors import Unavailable
from imprint.domain.installation import Identity
from imprint.domain.sessions import Session
from imprint.ports.damage import Damage

UNKNOWN_REACH = 1_000_000
"""Value of `reach` for a read that may visit any number of rows."""

_PROBE_SECONDS = 2.0
"""Timeout in seconds of the transaction that a probe runs."""

_PINNED_RESULTS = 1024
"""Maximum number of cached results of a database that is pinned to one snapshot."""

READ_HEARTBEAT = "SELECT value FROM counters WHERE name = 'heartbeat'"
HEARTBEAT = "UPDATE counters SET value = value + 1 WHERE name = 'heartbeat'"

INSTALLATION = "SELECT id, claimed, owns_unnamed FROM installation WHERE only_row = 1"
ADD_INSTALLATION = """
INSERT INTO installation (only_row, id, owns_unnamed)
SELECT 1, CAST(:id AS TEXT), CASE WHEN EXISTS (SELECT 1 FROM files) THEN 1
       WHEN EXISTS (SELECT 1 FROM detached) THEN 1 ELSE 0 END
WHERE true ON CONFLICT DO NOTHING"""

NO_VALUES: Mapping[str, Value] = {}
"""Parameters of a statement that has none."""

ReadFor = Callable[[Session | None], Awaitable[T]]
"""Runs a read that refuses an ended session."""


class Snapshot(Protocol):
    """A snapshot of the database."""

    async def read(self, rule: Rule[*Ts, T], *args: *Ts) -> T:
        """Run a read-only rule on this snapshot."""
        ...


class Database(ABC):
    """A database that runs rules in transactions, and implements the port `DatabaseHealth`."""

    name: ClassVar[str]
    """Name of the database, shown to operators."""
    identity: Identity
    """Id of the installation that owns the records."""
    damage: Damage

    @abstractmethod
    async def transact(
        self, locks: Collection[str], rule: Rule[*Ts, T], *args: *Ts, durable: bool = True
    ) -> T:
        """Take the locks, run a rule and commit, and retry the rule after a conflict.

        Without `durable`, the commit survives a process crash but perhaps not a power loss.
        """

    @abstractmethod
    async def read(self, rule: Rule[*Ts, T], *args: *Ts, reach: int = 0) -> T:
        """Run a read-only rule that visits about `reach` rows."""

    @abstractmethod
    async def search(self, rule: Rule[*Ts, T], beyond: Rule[*Ts, T], *args: *Ts) -> T:
        """Run a read-only rule within bounds, or the fallback rule if the bounds are exceeded."""

    async def fetch(
        self,
        build: Callable[[Row], T],
        statement: str,
        values: Mapping[str, Value] = NO_VALUES,
        *,
        reach: int = 0,
    ) -> list[T]:
        """Build a result from each row of one read-only statement."""
        return await self.read(_fetch, build, statement, values, reach=reach)

    async def change(
        self,
        statement: str,
        values: Mapping[str, Value] = NO_VALUES,
        *,
        locks: Collection[str] = (),
        durable: bool = True,
    ) -> bool:
        """Run one statement as a transaction and return whether it returned a row."""
        return await self.transact(locks, _change, statement, values, durable=durable)

    async def cached(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `read`, which may be cached under `key` until the next commit."""
        return await read()

    async def cached_for(
        self,
        session: Session | None,
        key: Hashable,
        read: ReadFor[T],
        refuse_ended: Rule[Session, None],
    ) -> T:
        """Like `cached`, but refuse an ended session.

        `read` checks the session that it is given, if any. If the result is cached, `refuse_ended`
        checks the session instead.
        """
        return await read(session)

    @abstractmethod
    def snapshot(self) -> AbstractAsyncContextManager[Snapshot]:
        """Open a snapshot that has everything committed before it and nothing committed later."""

    @abstractmethod
    async def backup_to(self, path: Path) -> None:
        """Write a consistent copy to `path` as a SQLite file while writes continue.

        Raises `CatalogDamaged`, and `FileExistsError` if the path exists.
        """

    @abstractmethod
    async def close(self) -> None:
        """Finish running transactions and close every connection."""

    @abstractmethod
    def lease_now(self) -> int | None:
        """Current time for leases in microseconds. None means the clock of the database server."""

    async def probe(self, *, grow: bool = False) -> None:
        # On SQLite, every commit extends the log, so `grow` needs no further statement.
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                await self.change(HEARTBEAT, durable=False)
        except TimeoutError as error:
            raise Unavailable.database() from error

    async def probe_reads(self) -> None:
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                await self.fetch(tuple, READ_HEARTBEAT)
        except TimeoutError as error:
            raise Unavailable.database() from error

    async def check_files(self) -> None:
        """Do nothing: a server maintains its own files."""
        return

    async def examine(self) -> list[str]:
        return []

    async def warnings(self) -> list[str]:
        return []


class PinnedDatabase(Database):
    """A database as of one snapshot, for long reads that must not see later changes.

    Writes are refused. Reads share one connection, so they run one after another.
    """

    name = "snapshot"

    def __init__(self, database: Database, snapshot: Snapshot) -> None:
        self.identity, self.damage = database.identity, database.damage
        self._snapshot = snapshot
        self._turns = asyncio.Lock()
        # A snapshot never changes, so its results stay valid.
        self._results: BoundedCache[Hashable, tuple[Any]] = BoundedCache(_PINNED_RESULTS)

    async def transact(
        self, locks: Collection[str], rule: Rule[*Ts, T], *args: *Ts, durable: bool = True
    ) -> T:
        raise Unavailable.database()

    async def read(self, rule: Rule[*Ts, T], *args: *Ts, reach: int = 0) -> T:
        async with self._turns:
            return await self._snapshot.read(rule, *args)

    async def search(self, rule: Rule[*Ts, T], beyond: Rule[*Ts, T], *args: *Ts) -> T:
        return await self.read(rule, *args)

    async def cached(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        known = self._results.get(key)
        if known is None:
            known = (await read(),)
            self._results.put(key, known)
        else:
            self._results.touch(key)
        result: T = known[0]
        return result

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Snapshot]:
        yield self

    async def backup_to(self, path: Path) -> None:
        raise Unavailable.database()

    async def close(self) -> None:
        """Do nothing: whoever opened the snapshot closes it."""

    def lease_now(self) -> int | None:
        return None


async def _fetch(
    tx: Transaction, build: Callable[[Row], T], statement: str, values: Mapping[str, Value]
) -> list[T]:
    return [build(row) for row in await tx.fetchall(statement, **values)]


async def _change(tx: Transaction, statement: str, values: Mapping[str, Value]) -> bool:
    return bool(await tx.fetchall(statement, **values))


async def identify(tx: Transaction, new_id: str) -> Identity:
    """The id of the database. A database without an id gets `new_id`.

    Processes that open a new database at the same time agree on one id.
    """
    try:
        return await find_identity(tx)
    except NoCatalog:
        await tx.execute(ADD_INSTALLATION, id=new_id)
        return await find_identity(tx)


async def find_identity(tx: Transaction) -> Identity:
    """The id of the database. Raises `NoCatalog` for a database that was never used."""
    row = await tx.fetchone(INSTALLATION)
    if row is None:
        raise NoCatalog
    return Identity(row["id"], bool(row["claimed"]), bool(row["owns_unnamed"]))
