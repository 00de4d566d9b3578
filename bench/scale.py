"""Calculate the needs of a large deployment from measured costs: python -m bench.scale [bench.json]

Two figures are simulated, with a fixed seed: how often access must be read from the chain when
readers are spread over many processes, and how busy a process may be before its slowest responses
become slow.
"""

import argparse
import bisect
import heapq
import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

READS = {
    "list, newest": 0.30,
    "list, by tag": 0.15,
    "gated read": 0.35,
    "free read": 0.15,
    "list, drafts": 0.03,
    "login": 0.02,
}
"""Share of each type among all reads. A CDN serves the thumbnails."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """A deployment and the assumed behaviour of its readers."""

    posts: int = 10_000_000
    reads_per_second: int = 100_000
    writes_per_second: int = 500
    cache_seconds: float = 5.0
    readers: int = 2_000_000
    popular_posts: int = 200_000
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Costs:
    """Measured processor time per type of request, in microseconds."""

    requests: dict[str, float]
    cold_read: float
    create: float
    bytes_per_file: float

    @classmethod
    def read(cls, path: Path) -> "Costs":
        """Read the costs from the JSON file of a benchmark run."""
        report = json.loads(path.read_text())
        found = {
            each["name"]: each["processor_us"]
            for each in report["measurements"]
            if each["database"] == "sqlite"
        }
        requests = {
            "list, newest": found["list, newest"],
            "list, by tag": found["list, newest"],
            "gated read": found["gated read, warm"],
            "free read": found["free read"],
            "list, drafts": found["list, drafts"],
            "login": found["login"],
        }
        per_file = report["facts"].get("catalog bytes for each file", 1_500.0)
        return cls(requests, found["gated read, cold"], found["signed create"], per_file)


def zipf(count: int) -> list[float]:
    """Return the cumulative weights of a Zipf distribution."""
    return list(itertools.accumulate(1 / rank for rank in range(1, count + 1)))


def simulate_misses(deployment: Deployment, processes: int, sticky: bool, count: int) -> float:
    """Return the share of gated reads that must read the chain.

    With `sticky`, a reader is sent to the same process each time. A reader opens a post and keeps
    reading, which takes 1 to 6 requests (the page, reloads, other pages) some seconds apart.
    """
    draw = random.Random(deployment.seed)
    weights = zipf(deployment.popular_posts)
    cached: dict[tuple[int, int, int], float] = {}
    misses = total = 0
    for at, post, reader in itertools.islice(_visits(deployment, draw, weights), count):
        process = reader % processes if sticky else draw.randrange(processes)
        total += 1
        if cached.get((process, post, reader), -1.0) < at:
            misses += 1
            cached[process, post, reader] = at + deployment.cache_seconds
    return misses / total


def _visits(
    deployment: Deployment, draw: random.Random, weights: list[float]
) -> Iterator[tuple[float, int, int]]:
    """Return gated reads in chronological order, each with its time, post and reader."""
    rate = deployment.reads_per_second * READS["gated read"] / 3.5
    waiting: list[tuple[float, int, int, int]] = []
    now = 0.0
    for number in itertools.count():
        now += draw.expovariate(rate)
        post = bisect.bisect(weights, draw.random() * weights[-1])
        reader = draw.randrange(deployment.readers)
        heapq.heappush(waiting, (now, number, post, reader))
        at = now
        for again in range(draw.randrange(6)):
            at += draw.expovariate(1 / 3)
            heapq.heappush(waiting, (at, number + again, post, reader))
        while waiting and waiting[0][0] <= now:
            moment, _, wanted, who = heapq.heappop(waiting)
            yield moment, wanted, who


def simulate_wait(costs: Costs, load: float, seed: int, count: int = 200_000) -> float:
    """Return the 99th-percentile latency, in milliseconds, of a process under this load."""
    draw = random.Random(seed)
    kinds, shares = list(READS), list(READS.values())
    mean = sum(costs.requests[kind] * share for kind, share in READS.items()) / 1e6
    now = free_at = 0.0
    waits = []
    for _ in range(count):
        now += draw.expovariate(load / mean)
        kind = draw.choices(kinds, shares)[0]
        # Garbage collection and page faults sometimes make a request much slower than average.
        takes = costs.requests[kind] / 1e6 * draw.lognormvariate(-0.125, 0.5)
        free_at = max(free_at, now) + takes
        waits.append(free_at - now)
    waits.sort()
    return waits[int(0.99 * len(waits))] * 1000


def plan(costs: Costs, deployment: Deployment) -> dict[str, float]:
    """Return the figures for one deployment."""
    loads = {load: simulate_wait(costs, load, deployment.seed) for load in (0.5, 0.6, 0.7, 0.8)}
    load = max((load for load, wait in loads.items() if wait < 25), default=0.5)
    mean = sum(costs.requests[kind] * share for kind, share in READS.items())
    cores = deployment.reads_per_second * mean / 1e6 / load
    processes = max(1, round(cores))
    sample = 300_000
    spread = simulate_misses(deployment, processes, sticky=False, count=sample)
    sticky = simulate_misses(deployment, processes, sticky=True, count=sample)
    gated = deployment.reads_per_second * READS["gated read"]
    extra = gated * sticky * (costs.cold_read - costs.requests["gated read"]) / 1e6 / load
    return {
        "mean processor time of a read, µs": mean,
        **{f"p99 at a load of {load:.0%}, ms": wait for load, wait in loads.items()},
        "load at which p99 stays below 25 ms": load,
        "cores for reads, every access cached": cores,
        "share of gated reads that read the chain, any process": spread,
        "share of gated reads that read the chain, reader stays with a process": sticky,
        "chain reads, /s, any process": gated * spread,
        "chain reads, /s, reader stays with a process": gated * sticky,
        "further cores for these chain reads": extra,
        "cores for writes": deployment.writes_per_second * costs.create / 1e6 / load,
        "catalog, GB": deployment.posts * costs.bytes_per_file / 1e9,
        "documents of 8 KiB, GB": deployment.posts * 8192 / 1e9,
    }


def main() -> None:
    """Print the plan and write it next to the measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="?", default=Path("bench/results/bench.json"))
    options = parser.parse_args()
    figures = plan(Costs.read(options.results), Deployment())
    table = Table(title="10 million posts, 100 000 reads a second", show_header=False)
    for name, value in figures.items():
        table.add_row(name, f"{value:,.3g}" if value < 1000 else f"{value:,.0f}")
    Console(width=110).print(table)
    options.results.with_name("scale.json").write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
