"""Lists that are remembered until a transaction ends; requests that wait ask for that together."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from typing import Any, TypeVar

from imprint.adapters.catalog.files import WIDTH, build_file
from imprint.adapters.catalog.postgresql_pool import Pool
from imprint.adapters.catalog.postgresql_sql import READ_SNAPSHOT, list_statement, translate
from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.files import File
from imprint.domain.posts.lists import ListFilter
from imprint.domain.sessions import Session, session_ended

T = TypeVar("T")

REMEMBERED = 1024
"""How many lists a process remembers."""

Snapshot = tuple[str, str]
"""A server, and which of its transactions a statement sees."""

ListKey = tuple[ListFilter, int | None, int, str | None]
"""The filter, the position and the length of a list, and the id of the session it was read for."""


async def read_snapshot(pool: Pool) -> Snapshot:
    """The snapshot of this moment."""
    async with pool.connection() as connection:
        ((snapshot,),) = await connection.run(READ_SNAPSHOT, ())
        return connection.server, snapshot


class ListReader:
    """Reads lists, and remembers them."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._remembered = RememberedLists(partial(read_snapshot, pool))
        self.expect_change = self._remembered.expect_change

    async def read(
        self, which: ListFilter, before: int | None, limit: int, session: Session | None
    ) -> list[File]:
        """Up to `limit` files with a position below `before`. Refuses an ended session.

        What is remembered for a session was read when it was not ended; if it has been ended since,
        a transaction has ended.
        """
        key = which, before, limit, None if session is None else session.id
        known = self._remembered.known(key)
        if known is not None and await self._remembered.is_current(known[0]):
            return known[1]
        text, values = list_statement(which, before, limit, session)
        async with self._pool.connection() as connection:
            server = connection.server
            values["known"] = known[0][1] if known and known[0][0] == server else ""
            rows = await connection.run(*translate(text, values))
        if rows[0]["ended"]:
            raise session_ended()
        snapshot = server, rows[0]["snapshot"]
        if known and known[0] == snapshot:
            files = known[1]
        else:
            files = [build_file(*row[:WIDTH]) for row in rows if row["present"]]
        self._remembered.remember(key, snapshot, files)
        return files


class RememberedLists:
    """Lists by what was asked, each with the snapshot that it was read in.

    While transactions end all the time, nobody asks whether one has: `is_current` says no then.
    """

    def __init__(self, read_snapshot: Callable[[], Awaitable[Snapshot]]) -> None:
        self._lists: BoundedCache[ListKey, tuple[Snapshot, list[File]]] = BoundedCache(REMEMBERED)
        self._rounds = SnapshotRounds(read_snapshot)
        self._newest: Snapshot | None = None
        self._is_quiet = False

    def known(self, key: ListKey) -> tuple[Snapshot, list[File]] | None:
        """The list and its snapshot, if it was read before."""
        return self._lists.get(key)

    async def is_current(self, snapshot: Snapshot) -> bool:
        """Whether nothing has changed since; without asking, False if much changes just now."""
        if not self._is_quiet or snapshot != self._newest:
            return False
        current = await self._rounds.take()
        self._see(current)
        return current == snapshot

    def remember(self, key: ListKey, snapshot: Snapshot, files: list[File]) -> None:
        """Keep a list that was read, instead of the oldest one if there are too many."""
        self._see(snapshot)
        self._lists.put(key, (snapshot, files))

    def expect_change(self) -> None:
        """Note that this process has written."""
        self._is_quiet = False

    def _see(self, snapshot: Snapshot) -> None:
        self._is_quiet = snapshot == self._newest
        self._newest = snapshot


class RememberedReads:
    """Results of reads of the index, each with the snapshot that was current before it was read.

    While the snapshot is the same no transaction has ended, before, during or after the read.
    """

    def __init__(self, pool: Pool) -> None:
        self._results: BoundedCache[Hashable, tuple[Snapshot, Any]] = BoundedCache(REMEMBERED)
        self._rounds = SnapshotRounds(partial(read_snapshot, pool))

    async def read(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        """The result that is remembered under this key, or that of `read`."""
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
    """Snapshots, each read after it was asked for; all who wait for the next one share it."""

    def __init__(self, read_snapshot: Callable[[], Awaitable[Snapshot]]) -> None:
        self._read_snapshot = read_snapshot
        self._waiting: list[asyncio.Future[Snapshot]] = []
        self._task: asyncio.Task[None] | None = None

    async def take(self) -> Snapshot:
        """A snapshot that has everything that was committed before this call."""
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
