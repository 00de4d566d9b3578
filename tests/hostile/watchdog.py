"""A watchdog for the event loop: measures how long each callback of a request runs.

It measures the CPU time of the loop's thread, not wall time: other processes and other
threads add nothing to it.
"""

import asyncio
import gc
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")

LONGEST = 0.05
"""Maximum CPU time of one callback, in seconds."""

_REFERENCE = 0.005
"""Seconds that `_work` takes on a typical current machine."""

_watched: ContextVar[bool] = ContextVar("watched", default=False)


@dataclass(slots=True)
class Watchdog:
    """Measures the callbacks of watched tasks."""

    longest: float = 0.0

    async def watch(self, request: Coroutine[Any, Any, T]) -> T:
        """Run a request in a task, so that each of its steps is a callback, and measure them.

        Tasks and callbacks started by the request are measured as well.
        """
        context = copy_context()
        context.run(_watched.set, True)
        return await asyncio.create_task(request, context=context)

    def seconds_too_long(self) -> float:
        """Return the seconds of the longest callback since the last call, or 0 if none took too
        long.

        On a machine that is currently slow, callbacks may take longer.
        """
        longest, self.longest = self.longest, 0.0
        return longest if longest > LONGEST and longest > LONGEST * _slowness() else 0.0


@contextmanager
def watching() -> Iterator[Watchdog]:
    """Create a watchdog. Requests not passed to `watch` are not measured."""
    # Garbage collection covers the whole process, so its time must not count as that of a request.
    gc.collect()
    gc.disable()
    dog = Watchdog()
    run = asyncio.Handle._run

    def measure(handle: asyncio.Handle) -> None:
        began = time.thread_time()
        run(handle)
        if handle._context.get(_watched):  # type: ignore[attr-defined]
            dog.longest = max(dog.longest, time.thread_time() - began)

    asyncio.Handle._run = measure  # type: ignore[assignment, method-assign]
    try:
        yield dog
    finally:
        asyncio.Handle._run = run  # type: ignore[method-assign]
        gc.enable()


def _slowness() -> float:
    """How many times slower than a typical machine this one is at the moment."""
    began = time.thread_time()
    _work()
    return (time.thread_time() - began) / _REFERENCE


def _work() -> None:
    found = {}
    for number in range(50_000):
        found[number % 100] = str(number)
