"""Result caches validated by snapshots.

Concurrent requests share one query for the newest snapshot.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from typing import Any, Generic, TypeVar

from imprint.adapters.database.postgresql.pool import Pool
from imprint.domain.bounded_cache import BoundedCache

T = TypeVar("T")

REMEMBERED = 1024
"""Number of results per cache."""

Snapshot = tuple[str, str]
"""A server, and the transactions on that server that a statement can see."""

SNAPSHOT = "CAST(pg_current_snapshot() AS TEXT)"
"""SQL expression for the transactions that a statement can see. Two statements with the same
snapshot on one server see the same rows (docs/decisions/query-cache.md)."""


async def read_snapshot(pool: Pool) -> Snapshot:
    """The current snapshot."""
    async with pool.connection() as connection:
        ((snapshot,),) = await connection.run(f"SELECT {SNAPSHOT}", ())
        return connection.server, snapshot


class SnapshotCache(Generic[T]):
    """Cached results, each with the snapshot in which it was read.

    While transactions commit constantly, the server is not queried and `is_current` is False.
    """

    def __init__(self, read_snapshot: Callable[[], Awaitable[Snapshot]]) -> None:
        self._results: BoundedCache[Hashable, tuple[Snapshot, T]] = BoundedCache(REMEMBERED)
        self._rounds = SnapshotRounds(read_snapshot)
        self._newest: Snapshot | None = None
        self._is_quiet = False

    def known(self, key: Hashable) -> tuple[Snapshot, T] | None:
        """A cached result and its snapshot."""
        return self._results.get(key)

    async def is_current(self, snapshot: Snapshot) -> bool:
        """Whether nothing has changed since this snapshot. Returns False without a query while much
        is changing."""
        if not self._is_quiet or snapshot != self._newest:
            return False
        current = await self._rounds.take()
        self._see(current)
        return current == snapshot

    def remember(self, key: Hashable, snapshot: Snapshot, result: T) -> None:
        """Cache a result, and evict the oldest if the cache is full."""
        self._see(snapshot)
        self._results.put(key, (snapshot, result))

    def expect_change(self) -> None:
        """Record that this process has written."""
        self._is_quiet = False

    def _see(self, snapshot: Snapshot) -> None:
        self._is_quiet = snapshot == self._newest
        self._newest = snapshot


class RememberedReads:
    """Cached reads of the index, each with the snapshot that was current before the read.

    As long as the snapshot is unchanged, no transaction has ended during the read or after it.
    """

    def __init__(self, pool: Pool) -> None:
        self._results: BoundedCache[Hashable, tuple[Snapshot, Any]] = BoundedCache(REMEMBERED)
        self._rounds = SnapshotRounds(partial(read_snapshot, pool))

    async def read(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        """Return the cached result for this key, or run `read`."""
        snapshot = await self._rounds.take()
        known = self._results.get(key)
        if known is not None and known[0] == snapshot:
            self._results.touch(key)
        else:
            known = snapshot, await read()
            self._results.put(key, known)
        result: T = known[1]
        return result


class SnapshotRounds:
    """Reads snapshots on request. All callers that wait for the next snapshot share it."""

    def __init__(self, read_snapshot: Callable[[], Awaitable[Snapshot]]) -> None:
        self._read_snapshot = read_snapshot
        self._waiting: list[asyncio.Future[Snapshot]] = []
        self._task: asyncio.Task[None] | None = None

    async def take(self) -> Snapshot:
        """Read a snapshot that includes everything committed before this call."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[Snapshot] = loop.create_future()
        self._waiting.append(turn)
        if self._task is None:
            self._task = loop.create_task(self._run())
        return await turn

    async def _run(self) -> None:
        waiting: list[asyncio.Future[Snapshot]] = []
        try:
            while self._waiting:
                waiting, self._waiting = self._waiting, []
                try:
                    snapshot = await self._read_snapshot()
                except Exception as error:  # noqa: BLE001 - it is raised where it was waited for
                    for turn in waiting:
                        if not turn.done():
                            turn.set_exception(error)
                else:
                    for turn in waiting:
                        if not turn.done():
                            turn.set_result(snapshot)
        finally:
            self._task = None
            for turn in (*waiting, *self._waiting):
                turn.cancel()
            self._waiting = []
