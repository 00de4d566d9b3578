"""Batches: one thread that does together whatever has queued up while it was busy.

What costs the same for one as for a hundred, a sync of the disk above all, is shared by all who
wait for it. Nobody hears of their work before the whole batch is done, and whoever stops waiting
changes nothing about it.
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
    """Work, who waits for it, and what came of it: a result, or an error."""

    work: W
    loop: asyncio.AbstractEventLoop
    answer: "asyncio.Future[Any]"
    result: Any = None
    error: Exception | None = None


class Batches(Generic[W]):
    """A queue and its thread; `handle` gives every job its result or its error, and raises nothing.

    A batch has at most `most` jobs, so that the first one need not wait for long.
    """

    def __init__(self, name: str, handle: Callable[[Sequence[Job[W]]], None], most: int) -> None:
        self._handle = handle
        self._most = most
        self._queue: SimpleQueue[Job[W] | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name=name, daemon=True)
        self._started = self._closed = False

    async def submit(self, work: W) -> Any:
        """The result of this work, when its batch is done. Not for a queue that is closed."""
        if self._closed:
            raise RuntimeError("This queue is closed.")
        if not self._started:
            self._started = True
            self._thread.start()
        loop = asyncio.get_running_loop()
        job = Job(work, loop, loop.create_future())
        self._queue.put(job)
        return await job.answer

    async def close(self) -> None:
        """Finish what is queued, and end the thread."""
        self._closed = True
        if self._started:
            self._queue.put(None)
            await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        _be_patient()
        more = True
        while more:
            jobs: list[Job[W]] = []
            more = self._gather(jobs)
            if jobs:
                self._handle(jobs)
                _answer(jobs)

    def _gather(self, jobs: list[Job[W]]) -> bool:
        job = self._queue.get()
        while job is not None:
            jobs.append(job)
            if len(jobs) == self._most:
                return True
            try:
                job = self._queue.get_nowait()
            except Empty:
                return True
        return False


def _be_patient() -> None:
    """Let this thread interrupt no other one of its core: what queues up meanwhile shares a batch.

    Otherwise every job would stop the event loop that submitted it, only to find it holding the
    interpreter.
    """
    with suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _answer(jobs: Sequence[Job[Any]]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[Job[Any]]] = {}
    for job in jobs:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, theirs in by_loop.items():
        # A loop that is closed has nobody left who waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_tell, theirs)


def _tell(jobs: Sequence[Job[Any]]) -> None:
    for job in jobs:
        if job.answer.done():
            continue
        if job.error is not None:
            job.answer.set_exception(job.error)
        else:
            job.answer.set_result(job.result)
