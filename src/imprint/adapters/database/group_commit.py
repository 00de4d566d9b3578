"""Group commit: one thread runs all queued jobs together, so that they share one fsync.

Callers get their results when the whole group is done, or an error when they time out. Cancelling a
caller does not cancel its job. A job that has timed out is not started.
"""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Generic, TypeVar

W = TypeVar("W")

CALL_SECONDS = 4.5
"""Seconds within which a caller gets a result or an error. Including overhead, the time stays below
five seconds."""

MAX_QUEUED = 4096
"""Maximum length of the queue, which exceeds the number of concurrent requests."""

_WATCH_SECONDS = 0.25
"""Seconds between checks for timed-out callers. One timer serves all callers."""


@dataclass(slots=True, eq=False)
class Job(Generic[W]):
    """A job: its work, its caller's future, and its result or error."""

    work: W
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"
    deadline: float
    """Monotonic time at which the caller times out."""
    result: Any = None
    error: Exception | None = None

    @property
    def is_overdue(self) -> bool:
        """Whether the caller has timed out, so that the job must no longer take effect."""
        return self.deadline <= time.monotonic()


class GroupCommit(Generic[W]):
    """A queue and its thread. `commit` gives every job its result or error and never raises.

    A group has at most `largest` jobs, so that the first job does not wait long. A caller gets the
    error `overdue` after `seconds`, even if the thread hangs, and immediately if the queue is full.
    `commit` skips jobs that became overdue while it waited for a lock.
    """

    def __init__(
        self,
        name: str,
        commit: Callable[[Sequence[Job[W]]], None],
        largest: int,
        overdue: Callable[[], Exception] = TimeoutError,
        seconds: float = CALL_SECONDS,
    ) -> None:
        self._commit = commit
        self._largest = largest
        self._overdue = overdue
        self._seconds = seconds
        self._queue: SimpleQueue[Job[W] | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name=name, daemon=True)
        self._started = self._closed = False
        self._waiting: dict[Job[W], None] = {}
        """Jobs with waiting callers, oldest first. Used on the event loop only."""
        self._watching: asyncio.AbstractEventLoop | None = None

    async def submit(self, work: W) -> Any:
        """Run this job in the next group and return its result.

        Raises `RuntimeError` if the queue is closed, and `overdue` if the job takes too long.
        """
        if self._closed:
            raise RuntimeError("This queue is closed.")
        if not self._started:
            self._started = True
            self._thread.start()
        if self._queue.qsize() >= MAX_QUEUED:
            raise self._overdue()
        loop = asyncio.get_running_loop()
        job = Job(work, loop, loop.create_future(), time.monotonic() + self._seconds)
        self._waiting[job] = None
        if self._watching is not loop:
            self._watching = loop
            loop.call_later(_WATCH_SECONDS, self._end_overdue)
        self._queue.put(job)
        try:
            return await job.future
        finally:
            del self._waiting[job]

    async def close(self) -> None:
        """Finish the queued jobs and end the thread."""
        self._closed = True
        if self._started:
            self._queue.put(None)
            await asyncio.to_thread(self._thread.join)

    def _end_overdue(self) -> None:
        """Fail timed-out callers, and schedule the next check while others wait."""
        for job in self._waiting:
            if not job.is_overdue:
                break
            if not job.future.done():
                job.future.set_exception(self._overdue())
        if self._waiting and self._watching is not None:
            self._watching.call_later(_WATCH_SECONDS, self._end_overdue)
        else:
            self._watching = None

    def _work(self) -> None:
        lower_scheduling()
        more = True
        while more:
            jobs: list[Job[W]] = []
            more = self._gather(jobs)
            if jobs:
                self._commit(jobs)
                _finish(jobs)

    def _gather(self, jobs: list[Job[W]]) -> bool:
        """Collect the next group. Returns False if the queue ends after this group."""
        job = self._queue.get()
        while job is not None:
            if not job.is_overdue:
                jobs.append(job)
            if len(jobs) == self._largest:
                return True
            try:
                job = self._queue.get_nowait()
            except Empty:
                return True
        return False


def lower_scheduling() -> None:
    """Keep this thread from preempting others, so that jobs queued meanwhile share a commit.

    Otherwise every job would interrupt the event loop that submitted it, only to wait for the
    interpreter lock that the loop holds.
    """
    with suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _finish(jobs: Sequence[Job[Any]]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[Job[Any]]] = {}
    for job in jobs:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, theirs in by_loop.items():
        # If the loop is closed, no caller is waiting.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_set_results, theirs)


def _set_results(jobs: Sequence[Job[Any]]) -> None:
    for job in jobs:
        if job.future.done():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
