"""The one thread that writes: it commits whatever has queued up together, with one fsync.

A refused change undoes only itself: nearly all are refused before they have changed anything, and
for the others the whole transaction is begun again, with a savepoint around each change. Nobody
hears of a change before the commit that makes it durable, and whoever stops waiting changes
nothing: a change that was queued takes effect or fails as a whole.
"""

import logging
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from imprint import failpoints
from imprint.adapters.catalog.steps import Hold, Query, Row, Steps, T, Unstorable
from imprint.adapters.group_commit import Batches, Job
from imprint.domain.errors import Problem, Unavailable

_log = logging.getLogger(__name__)

_MOST_TOGETHER = 256
"""How many changes one commit may hold, so that the first one need not wait for long."""

_STRANGE = (sqlite3.IntegrityError, sqlite3.DataError, OverflowError, UnicodeEncodeError)
"""What a statement raises about its values, rather than about the database."""


def run_steps(connection: sqlite3.Connection, steps: Steps[T]) -> T:
    """Execute steps one by one; a query that is refused for its values is `Unstorable` in them.

    Nothing need be held: whoever writes has the whole database to itself.
    """
    try:
        query = next(steps)
        while True:
            try:
                rows = _execute(connection, query)
            except _STRANGE as error:
                strange = Unstorable(type(error).__name__)
                strange.__cause__ = error
                query = steps.throw(strange)
            else:
                query = steps.send(rows)
    except StopIteration as end:
        result: T = end.value
        return result


def _execute(connection: sqlite3.Connection, query: Query | Hold) -> list[Row]:
    if isinstance(query, Hold):
        return []
    return connection.execute(query.text, query.values).fetchall()


@dataclass(frozen=True, slots=True)
class _Change:
    make: Callable[[], Steps[Any]]
    durable: bool


class _Spoiled(Exception):
    """A change failed halfway, in a transaction that it shares with others."""


class Writer:
    """A queue of changes and the thread that commits them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._batches = Batches[_Change]("catalog-writer", self._commit_together, _MOST_TOGETHER)
        self._closed = False
        self._synced: bool | None = None
        self.commits = 0

    async def commit(self, make: Callable[[], Steps[T]], durable: bool = True) -> T:
        """Run a change and wait for its commit; without `durable`, not for the disk.

        A commit that is not durable becomes so with the next one that is. The steps may be made
        and run twice, the first time without any effect.
        """
        if self._closed:
            raise Unavailable.database()
        result: T = await self._batches.submit(_Change(make, durable))
        return result

    async def close(self) -> None:
        """Finish what is queued, and end the thread."""
        self._closed = True
        await self._batches.close()

    def _commit_together(self, jobs: Sequence[Job[_Change]]) -> None:
        try:
            try:
                self._commit_each(jobs, self._run)
            except _Spoiled:
                self._commit_each(jobs, self._run_apart)
        except Exception as error:  # noqa: BLE001  every caller gets it; the thread must live on
            _log.error("The database refused a commit: %s: %s", type(error).__name__, error)
            with suppress(sqlite3.Error):
                self._roll_back()
            for job in jobs:
                job.error = _because(error)

    def _commit_each(
        self, jobs: Sequence[Job[_Change]], run: Callable[[Job[_Change]], None]
    ) -> None:
        self._roll_back()
        self._sync(any(job.work.durable for job in jobs))
        self._connection.execute("BEGIN IMMEDIATE")
        for job in jobs:
            run(job)
        failpoints.reach("during_commit")
        self._connection.execute("COMMIT")
        self.commits += 1

    def _run(self, job: Job[_Change]) -> None:
        before = self._connection.total_changes
        self._try(job)
        if job.error is not None and self._connection.total_changes != before:
            raise _Spoiled

    def _run_apart(self, job: Job[_Change]) -> None:
        self._connection.execute("SAVEPOINT one_change")
        self._try(job)
        if job.error is not None:
            self._connection.execute("ROLLBACK TO SAVEPOINT one_change")
        self._connection.execute("RELEASE SAVEPOINT one_change")

    def _try(self, job: Job[_Change]) -> None:
        job.error = None
        try:
            job.result = run_steps(self._connection, job.work.make())
        except sqlite3.Error:
            # The database is in trouble, not the change: nothing of this transaction may stand.
            raise
        except Problem as problem:
            job.error = problem
        except Unstorable as strange:
            _log.error("The database refused the values of a change.", exc_info=strange)
            job.error = _because(strange)
        except Exception as mistake:  # noqa: BLE001  the caller gets it; the thread must live on
            job.error = mistake

    def _sync(self, durable: bool) -> None:
        if durable != self._synced:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._synced = durable

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def _because(cause: Exception) -> Unavailable:
    problem = Unavailable.database()
    problem.__cause__ = cause
    return problem
