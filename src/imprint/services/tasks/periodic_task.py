"""Periodic tasks: rounds that repeat until the task is cancelled, whatever a round raises."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NoReturn

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

    A round that fails is counted under `name` and logged; the next one starts after `retry_after`
    seconds, by default after the interval. A task is optional if nothing is lost while a dependency
    is unavailable: such a failure is not counted, and logged at debug level only.
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
