"""Single flight: concurrent callers with the same key share one task and its result."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from functools import partial
from typing import Any, Generic, TypeVar

from imprint.domain.errors import Unavailable

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")


class SingleFlight(Generic[Key, Result]):
    """Runs one task per key at a time; cancelling one caller does not cancel it for the others."""

    def __init__(self) -> None:
        self._running: dict[Key, asyncio.Task[Result]] = {}

    def is_running(self, key: Key) -> bool:
        """Whether `run` would now return the result of a task that was started earlier."""
        return key in self._running

    async def run(self, key: Key, start: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """The result of the running task for this key, or of a new one made by `start`.

        Raises what the task raises, and `Unavailable` if the task was cancelled.
        """
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.create_task(start())
            task.add_done_callback(partial(self._finish, key))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise Unavailable.chain() from None
            raise

    def _finish(self, key: Key, task: asyncio.Task[Result]) -> None:
        del self._running[key]
        if not task.cancelled():
            # Retrieved here, so that asyncio does not warn when every caller was cancelled.
            task.exception()
