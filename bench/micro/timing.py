"""Time coroutines in alternation on a machine that may be busy."""

import time
from collections.abc import Awaitable, Callable, Mapping

Call = Callable[[], Awaitable[object]]

ROUNDS = 30
"""Number of rounds. Every candidate runs once per round, so that all see the same load."""

CALLS = 500
"""Number of calls per candidate and round."""


async def time_calls(
    candidates: Mapping[str, Call],
) -> dict[str, float]:
    """Return the microseconds of one call for each candidate, from the best of all rounds."""
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(ROUNDS):
        for name, call in candidates.items():
            started = time.perf_counter()
            for _ in range(CALLS):
                await call()
            best[name] = min(best[name], (time.perf_counter() - started) / CALLS * 1e6)
    return best
