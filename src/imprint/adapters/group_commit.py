"""Group commit: one thread that does all queued work together, so that it shares one fsync.

Callers get their results only when the whole group is done. Cancelling a caller does not cancel its
work.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Generic, TypeVar

W = TypeVar("W")


@dataclass(slots=True)
class Job(Generic[W]):
    """Some work, the future of its caller, and the outcome: a result or an error."""

    work: W
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"
    result: Any = None
    error: Exception | None = None


class GroupCommit(Generic[W]):
    """A queue and its thread; `commit` gives every job its result or its error and never raises.

    A group has at most `largest` jobs, so that the first one does not wait for long.
    """

    def __init__(self, name: str, commit: Callable[[Sequence[Job[W]]], None], largest: int) -> None:
        self._commit = commit
        self._largest = largest
        self._queue: SimpleQueue[Job[W] | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name=name, daemon=True)
        self._started = self._closed = False

    async def submit(self, work: W) -> Any:
        """The result of this work, when its group is done. Raises `RuntimeError` once closed."""
        if self._closed:
            raise RuntimeError("This queue is closed.")
        if not self._started:
            self._started = True
            self._thread.start()
        loop = asyncio.get_running_loop()
        job = Job(work, loop, loop.create_future())
        self._queue.put(job)
        return await job.future

    async def close(self) -> None:
        """Finish what is queued, and end the thread."""
        self._closed = True
        if self._started:
            self._queue.put(None)
            await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        _lower_scheduling()
        more = True
        while more:
            jobs: list[Job[W]] = []
            more = self._gather(jobs)
            if jobs:
                self._commit(jobs)
                _finish(jobs)

    def _gather(self, jobs: list[Job[W]]) -> bool:
        """Collect the next group; False if the queue ends after it."""
        job = self._queue.get()
        while job is not None:
            jobs.append(job)
            if len(jobs) == self._largest:
                return True
            try:
                job = self._queue.get_nowait()
            except Empty:
                return True
        return False


def _lower_scheduling() -> None:
    """Keep this thread from preempting others: what queues up meanwhile shares a commit.

    Otherwise every job would interrupt the event loop that submitted it, only to wait for the
    interpreter's lock that the loop holds.
    """
    with suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _finish(jobs: Sequence[Job[Any]]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[Job[Any]]] = {}
    for job in jobs:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, theirs in by_loop.items():
        # On a closed loop no caller is waiting.
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
