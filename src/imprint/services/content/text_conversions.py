"""Text conversions into HTML, Markdown or plain words, done once in a thread and cached."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.posts.text_work import TextWork
from imprint.services.content.large_documents import FairQueue, Turn

T = TypeVar("T")

CAPACITY = 16 * 1024 * 1024
"""Cache size, in characters of results. The least recently used results are evicted."""

AT_ONCE = 2
"""Maximum number of concurrent conversions. Clients take turns."""

OVERLOADED = "Too many texts are being converted."

Load = Callable[[], Awaitable[str]]
"""Reads the text of a document."""

Convert = Callable[[str, TextWork], T]
"""Converts a text, within the limits of a `TextWork`."""


@dataclass(slots=True, eq=False)
class _Running:
    """A conversion that clients wait for."""

    turn: Turn
    work: TextWork = field(default_factory=TextWork)
    waiting: int = 0
    is_begun: bool = False


class TextConversions:
    """Converts texts and caches the results by key. Callers must check access to the text first.

    Clients that want the same conversion share its result. A conversion begins when it is the turn
    of any of its clients, continues if the first client disconnects, and stops when no client is
    left. The text is loaded only when the conversion begins, so that waiting conversions take no
    memory.
    """

    def __init__(self, capacity: int = CAPACITY, at_once: int = AT_ONCE) -> None:
        self._kept: BoundedCache[Hashable, Any] = BoundedCache(capacity, len)
        self._turns = FairQueue(at_once, detail=OVERLOADED)
        self._running: dict[Hashable, tuple[_Running, asyncio.Task[Any]]] = {}

    @property
    def size(self) -> int:
        """The current size of the cache in characters."""
        return self._kept.weight

    def find(self, key: Hashable) -> Any:
        """Return the cached result with this key, or None if there is none."""
        known = self._kept.get(key)
        if known is not None:
            self._kept.touch(key)
        return known

    async def of(
        self, client: str, key: Hashable, load: Load, convert: Convert[T], *, keep: bool = True
    ) -> T:
        """Return a converted text. The key identifies the document and the type of conversion.

        With `keep`, the result is cached and must have a length. Raises `Unavailable` after a long
        wait, and the same errors as `load` and `convert`.
        """
        known: T | None = self.find(key)
        if known is not None:
            return known
        if key in self._running:
            running, task = self._running[key]
            self._turns.join(running.turn, client)
        else:
            running = _Running(Turn([client]))
            task = asyncio.create_task(self._make(key, running, load, convert, keep))
            task.add_done_callback(_retrieve)
            self._running[key] = running, task
        running.waiting += 1
        try:
            return await asyncio.shield(task)
        finally:
            running.waiting -= 1
            if not running.waiting and not task.done():
                self._abandon(key, running, task)

    def _abandon(self, key: Hashable, running: _Running, task: "asyncio.Task[Any]") -> None:
        """Abandon a conversion that nobody is waiting for. A later request starts a new one."""
        del self._running[key]
        running.work.is_abandoned = True
        if not running.is_begun:
            task.cancel()

    async def _make(
        self, key: Hashable, running: _Running, load: Load, convert: Convert[T], keep: bool
    ) -> T:
        try:
            async with self._turns.take(running.turn):
                running.is_begun = True
                made = await asyncio.to_thread(convert, await load(), running.work)
        finally:
            if not running.work.is_abandoned:
                del self._running[key]
        if keep:
            self._kept.put(key, made)
        return made


def _retrieve(task: "asyncio.Task[Any]") -> None:
    """Retrieve a task's error that no client awaits, so that asyncio does not warn about it."""
    if not task.cancelled():
        task.exception()
