"""Turns: changes of one process about the same thing wait here, and not on connections."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Queue:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0


class Turns:
    """One queue for each name that somebody has or waits for."""

    def __init__(self) -> None:
        self._queues: defaultdict[str, _Queue] = defaultdict(_Queue)

    @asynccontextmanager
    async def take(self, names: Iterable[str], patience: float) -> AsyncIterator[None]:
        """Have all the names, taken in one order by everybody. Raises `TimeoutError`."""
        async with AsyncExitStack() as taken:
            async with asyncio.timeout(patience):
                for name in sorted(names):
                    await taken.enter_async_context(self._take_one(name))
            yield

    @asynccontextmanager
    async def _take_one(self, name: str) -> AsyncIterator[None]:
        queue = self._queues[name]
        queue.waiting += 1
        try:
            async with queue.lock:
                yield
        finally:
            queue.waiting -= 1
            if not queue.waiting:
                del self._queues[name]
