"""Calculate what deployments need from measured costs: python -m bench.scale [bench.json]

How many requests a core can serve is measured (`bench.knee`). How often access must be read from
the chain is simulated, with a fixed seed.
"""

import argparse
import bisect
import heapq
import itertools
import json
import os
import random
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.report import RECORDED
from bench.tables import render_needs

READS = {
    "list of the newest posts": 0.30,
    "list by a hashtag": 0.15,
    "gated read": 0.35,
    "free read": 0.15,
    "list of own drafts": 0.03,
    "login": 0.02,
}
"""Share of each type among all reads. A CDN serves the thumbnails."""

READER_SECONDS = 5.0
"""Seconds between two requests of a reader. A page takes about three requests."""

CACHE_SECONDS = 5.0
"""How long a worker caches that a reader has access."""

DOCUMENT_BYTES = 8192
POPULAR_POSTS = 200_000
"""Number of posts that are read again and again, whose popularity follows Zipf's law."""

VISITS = 300_000
"""Number of simulated gated reads."""

SEED = 1


@dataclass(frozen=True, slots=True)
class Deployment:
    """The readers at one moment, the posts and the database of a service."""

    readers: int
    posts: int
    database: str

    @property
    def rate(self) -> float:
        """Requests per second."""
        return self.readers / READER_SECONDS


DEPLOYMENTS = (
    Deployment(1_000, 10_000, "sqlite"),
    Deployment(10_000, 100_000, "sqlite"),
    Deployment(100_000, 1_000_000, "postgresql"),
    Deployment(500_000, 10_000_000, "postgresql"),
)


@dataclass(frozen=True, slots=True)
class Costs:
    """What was measured on one database. Processor time is in microseconds per request."""

    rate: float
    """Requests per second that one worker serves while its p99 is good."""
    cached_read: float
    chain_read: float
    worker_megabytes: float
    bytes_per_file: float

    @classmethod
    def of(cls, bench: Mapping[str, Any], database: str) -> "Costs":
        """Return the costs in the results of `bench.run`."""
        spent = {
            each["name"]: each["processor_us"]
            for each in bench["measurements"]
            if each["database"] == database
        }
        facts = bench["facts"]
        return cls(
            facts[f"highest rate with a p99 below 10 ms on {database}, 1 workers"],
            spent["gated read, access cached"],
            spent["gated read, access from the chain"],
            facts[f"memory of a worker on {database}, MB"],
            facts["catalog bytes for each file"],
        )


@dataclass(frozen=True, slots=True)
class Needs:
    """What a deployment needs if its load balancer sends each reader to the same worker."""

    readers: int
    requests_per_second: float
    posts: int
    database: str
    cores: float
    chain_reads_per_second: float
    chain_reads_per_second_without_affinity: float
    workers_gigabytes: float
    catalog_gigabytes: float
    documents_gigabytes: float


def plan(costs: Costs, deployment: Deployment) -> Needs:
    """Return the needs of a deployment."""
    gated = deployment.rate * READS["gated read"]
    workers = max(1, round(deployment.rate / costs.rate))
    chain_reads = gated * simulate_misses(deployment, workers, sticky=True)
    # A read from the chain counts as several requests.
    more = chain_reads * (costs.chain_read / costs.cached_read - 1)
    cores = (deployment.rate + more) / costs.rate
    return Needs(
        deployment.readers,
        deployment.rate,
        deployment.posts,
        deployment.database,
        cores,
        chain_reads,
        gated * simulate_misses(deployment, workers, sticky=False),
        max(1, round(cores)) * costs.worker_megabytes / 1e3,
        deployment.posts * costs.bytes_per_file / 1e9,
        deployment.posts * DOCUMENT_BYTES / 1e9,
    )


def simulate_misses(deployment: Deployment, workers: int, sticky: bool) -> float:
    """Return the share of gated reads that must read the chain.

    With `sticky`, a reader is sent to the same worker each time. A reader opens a post and keeps
    reading, which takes 1 to 6 requests (the page, reloads, other pages) some seconds apart.
    """
    draw = random.Random(SEED)
    cached: dict[tuple[int, int, int], float] = {}
    misses = 0
    for at, post, reader in itertools.islice(_visits(deployment, draw), VISITS):
        worker = reader % workers if sticky else draw.randrange(workers)
        if cached.get((worker, post, reader), -1.0) < at:
            misses += 1
            cached[worker, post, reader] = at + CACHE_SECONDS
    return misses / VISITS


def _visits(deployment: Deployment, draw: random.Random) -> Iterator[tuple[float, int, int]]:
    """Return gated reads in chronological order, each with its time, post and reader."""
    popular = min(deployment.posts, POPULAR_POSTS)
    weights = list(itertools.accumulate(1 / rank for rank in range(1, popular + 1)))
    rate = deployment.rate * READS["gated read"] / 3.5
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


def main() -> None:
    """Print the needs of each deployment. With RECORD=1, they become those of docs/scale.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="?", default=RECORDED / "bench.json")
    bench = json.loads(parser.parse_args().results.read_text("utf-8"))
    needs = [asdict(plan(Costs.of(bench, each.database), each)) for each in DEPLOYMENTS]
    print(render_needs(needs))
    if os.environ.get("RECORD"):
        (RECORDED / "scale.json").write_text(json.dumps(needs, indent=1) + "\n")


if __name__ == "__main__":
    main()
