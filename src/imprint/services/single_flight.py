"""Shared flights: whoever asks the same at the same time waits for the same answer."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from functools import partial
from typing import Any, Generic, TypeVar

from imprint.domain.errors import Unavailable

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")


class SingleFlight(Generic[Key, Answer]):
    """Runs one task per key at a time; one who stops waiting does not stop it for the others."""

    def __init__(self) -> None:
        self._flying: dict[Key, asyncio.Task[Answer]] = {}

    def is_running(self, key: Key) -> bool:
        """Whether who joins now would get the answer to a question that was asked before."""
        return key in self._flying

    async def run(self, key: Key, start: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
        """The answer of the task that runs for this key; if none does, `start` makes it.

        Raises what the task raises, and `Unavailable` if somebody ended it.
        """
        task = self._flying.get(key)
        if task is None:
            task = self._flying[key] = asyncio.create_task(start())
            task.add_done_callback(partial(self._land, key))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise Unavailable.chain() from None
            raise

    def _land(self, key: Key, task: asyncio.Task[Answer]) -> None:
        del self._flying[key]
        if not task.cancelled():
            # Looked at here, so that nobody warns about it when all who waited have gone.
            task.exception()
