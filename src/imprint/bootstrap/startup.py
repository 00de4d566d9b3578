"""Start-up that waits for an unreachable dependency instead of exiting."""

import asyncio
import logging
import random
import threading
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from imprint.domain.errors import NotReachable, Unavailable

log = logging.getLogger(__name__)

FIRST_PAUSE = 0.5
"""Longest pause before the second attempt, in seconds. It doubles for each later attempt."""

LONGEST_PAUSE = 5.0
"""The longest pause between two attempts, in seconds."""

LOG_SECONDS = 30.0
"""Seconds between log lines while start-up waits."""

T = TypeVar("T")


async def open_when_reachable(
    attempt: Callable[[], Awaitable[T]],
    on_wait: Callable[[Unavailable], None],
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    seconds: Callable[[], float] = time.monotonic,
) -> T:
    """Retry until an attempt reaches every dependency, and return its result.

    After each failed attempt, `on_wait` is called with the missing dependency. Raises the same
    errors as an attempt, except `NotReachable` and `Unavailable`.
    """
    pause, began, logged = FIRST_PAUSE, seconds(), -LOG_SECONDS
    while True:
        try:
            result = await attempt()
        except NotReachable as error:
            reason, problem = str(error), error.problem
        except Unavailable as error:
            reason, problem = error.detail, error
        else:
            if logged >= 0:
                log.warning("start-up goes on", extra={"waited": round(seconds() - began, 1)})
            return result
        on_wait(problem)
        waited = seconds() - began
        if waited - logged >= LOG_SECONDS:
            logged = waited
            extra = {"code": problem.code, "reason": reason, "waited": round(waited, 1)}
            log.error("start-up waits for a dependency", extra=extra)
        # Waiting workers and replicas must not all retry at the same moment.
        await sleep(pause * random.uniform(0.5, 1))  # noqa: S311  nobody gains by guessing
        pause = min(2 * pause, LONGEST_PAUSE)


async def in_daemon_thread(function: Callable[[], T]) -> T:
    """Run a blocking function in a thread and return its result.

    The thread does not keep the process alive, so that the process can exit while the function
    waits for a file lock, which may take seconds.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, error = None, None
        try:
            result = function()
        except BaseException as raised:  # noqa: BLE001  the caller gets it
            error = raised
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            # The event loop has closed in the meantime, and the process is about to exit.
            log.debug("no longer waiting for %s", function)

    threading.Thread(target=run, name="startup", daemon=True).start()
    return await done
