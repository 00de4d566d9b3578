"""Measures a cache hit, a renewal and an eviction: ours, a plain dict, and cachetools if installed.

python -m bench.micro.bounded_cache
"""

import importlib
import itertools
import time
from collections.abc import Callable

from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.rate_limits import MAX_KEYS

CALLS = 20_000
"""Number of calls per round."""

ROUNDS = 15
"""Number of rounds. The best round counts, because other processes can only slow it down."""

Step = Callable[[int], object]


def main() -> None:
    """Print the microseconds of each operation on a full cache."""
    caches = {"ours": _ours, "dict": _dict, "cachetools": _cachetools}
    print(f"A cache of {MAX_KEYS} entries that is full; microseconds:")
    for name, make in caches.items():
        try:
            steps = make()
        except ImportError:
            print(f"{name} is not installed")
            continue
        for step, call in steps.items():
            print(f"{_best(call):8.2f}  {name}: {step}")


def _ours() -> dict[str, Step]:
    cache: BoundedCache[int, None] = BoundedCache(MAX_KEYS)
    for key in range(MAX_KEYS):
        cache.put(key, None)
    new = itertools.count(MAX_KEYS)
    return {
        "hit": lambda _: cache.get(5),
        "hit that renews": lambda _: (cache.get(5), cache.touch(5)),
        "new entry": lambda _: cache.put(next(new), None),
    }


def _dict() -> dict[str, Step]:
    cache: dict[int, None] = dict.fromkeys(range(MAX_KEYS))
    new = itertools.count(MAX_KEYS)

    def put(_: int) -> None:
        cache[next(new)] = None
        if len(cache) > MAX_KEYS:
            del cache[next(iter(cache))]

    return {"hit": lambda _: cache.get(5), "new entry": put}


def _cachetools() -> dict[str, Step]:
    cache = importlib.import_module("cachetools").LRUCache(MAX_KEYS)
    for key in range(MAX_KEYS):
        cache[key] = None
    new = itertools.count(MAX_KEYS)
    return {
        "hit that renews": lambda _: cache.get(5),
        "new entry": lambda _: cache.__setitem__(next(new), None),
    }


def _best(step: Step) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for number in range(CALLS):
            step(number)
        best = min(best, time.perf_counter() - started)
    return best / CALLS * 1e6


if __name__ == "__main__":
    main()
