"""Times coroutines against each other on a machine that may be busy."""

import time
from collections.abc import Awaitable, Callable, Mapping

Call = Callable[[], Awaitable[object]]

ROUNDS = 30
"""Rounds in which every contestant runs once, so that all see the same load."""

CALLS = 500
"""Calls of a contestant in each round."""


async def time_calls(
    contestants: Mapping[str, Call],
) -> dict[str, float]:
    """Microseconds of one call of each contestant: the best of all rounds."""
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(ROUNDS):
        for name, call in contestants.items():
            started = time.perf_counter()
            for _ in range(CALLS):
                await call()
            best[name] = min(best[name], (time.perf_counter() - started) / CALLS * 1e6)
    return best
