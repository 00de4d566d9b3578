"""Periodic tasks, repeated until cancelled even if a round fails, and shared calls."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from functools import partial
from typing import Any, Generic, NoReturn, TypeVar

from imprint.domain.errors import Unavailable
from imprint.metrics import ROUNDS_PUT_OFF

log = logging.getLogger(__name__)


async def run_periodically(
    name: str,
    run_round: Callable[[], Awaitable[object]],
    interval: float,
    *,
    retry_after: float | None = None,
    optional: bool = False,
) -> NoReturn:
    """Run a round, sleep for `interval` seconds, and repeat.

    A failed round is counted under `name` and logged. The next round starts after `retry_after`
    seconds, by default after the interval. A task is optional if nothing is lost while a dependency
    is unavailable. Failures of an optional task are not counted, and are logged only at debug
    level.
    """
    while True:
        pause = interval
        try:
            await run_round()
        except Unavailable as problem:
            pause = interval if retry_after is None else retry_after
            if not optional:
                ROUNDS_PUT_OFF.labels(name).inc()
            log.log(
                logging.DEBUG if optional else logging.WARNING,
                "background task put off",
                extra={"chore": name, "code": problem.code},
            )
        except Exception:  # one bad round must not be the last one
            pause = interval if retry_after is None else retry_after
            ROUNDS_PUT_OFF.labels(name).inc()
            log.exception("background task failed", extra={"chore": name})
        await asyncio.sleep(pause)


Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")


class SingleFlight(Generic[Key, Result]):
    """Runs one task per key at a time. Cancelling one caller does not affect the others."""

    def __init__(self) -> None:
        self._running: dict[Key, asyncio.Task[Result]] = {}

    def is_running(self, key: Key) -> bool:
        """Whether `run` would now return the result of a task that was started earlier."""
        return key in self._running

    async def run(self, key: Key, start: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Return the result of this key's running task, or of a new task created by `start`.

        Raises the same errors as the task, and `Unavailable` if the task was cancelled.
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
            # Retrieve the error, so that asyncio does not warn when every caller was cancelled.
            task.exception()
