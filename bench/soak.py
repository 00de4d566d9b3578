"""Measure the memory of a service under steady reads: python -m bench.soak --minutes 120

Sends reads at a steady rate, prints the worker's resident memory, descriptors and threads, draws
memory and latency over time (--plot), and fails if memory ends more than 5 MB above the tenth
minute (in a run of fewer than twenty minutes: above the middle).
"""

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.charts import Line, draw_chart
from bench.filled_posts import WORDS, word
from bench.fixture import TITLE, Fixture
from bench.loads import send_load
from bench.processes import LOAD_CORE, Measured, pin, run_chain, run_service
from bench.wallets import get_request
from imprint.domain.posts.slugs import page_path

POSTS = 120
"""Number of posts, a quarter of them for sale."""

BATCH = 400
"""Number of requests between two samples."""

CONNECTIONS = 8
INTERVALS = 24
"""Number of printed lines, and of points in the chart."""

ALLOWED_MEGABYTES = 5.0
WARM_SECONDS = 600.0

_CHANCE = random.Random(8)


class Mix:
    """Draws random reads: pages, texts, lists, searches, feeds and missing addresses."""

    def __init__(self, fixture: Fixture) -> None:
        self._free = [fixture.publish(0) for _ in range(POSTS * 3 // 4)]
        self._paid = [fixture.publish(10**15) for _ in range(POSTS // 4)]
        self._address = fixture.alice.address
        self._session = fixture.session(fixture.alice)

    def draw(self, number: int) -> list[bytes]:
        """Draw this many requests."""
        return [self._draw() for _ in range(number)]

    def _draw(self) -> bytes:
        free, paid = _CHANCE.choice(self._free), _CHANCE.choice(self._paid)
        query = "+".join(word(int(WORDS * _CHANCE.random() ** 3)) for _ in range(2))
        path = _CHANCE.choice(
            (
                "/",
                page_path(free, TITLE),
                page_path(paid, TITLE),
                f"/posts/{free}",
                f"/posts/{free}.md",
                f"/posts/{free}/content",
                f"/freeFileByPostId?postId={free}",
                f"/fileByPostId?user={self._address}&postId={paid}",
                "/posts",
                f"/posts?q={query}",
                f"/search?q={query}",
                f"/a/{self._address}",
                f"/filesByTags?tags={word(_CHANCE.randrange(WORDS))}",
                "/filesMetaData",
                "/feeds/posts.atom",
                f"/feeds/authors/{self._address}.json",
                f"/p/{_CHANCE.randrange(10**12)}",
                f"/nowhere/{_CHANCE.randrange(10**12)}",
            )
        )
        return get_request(path, self._session if path.startswith("/fileBy") else "")


@dataclass(frozen=True, slots=True)
class Sample:
    """The state of the service after a batch of reads."""

    seconds: float
    reads: int
    megabytes: float
    descriptors: int
    threads: int
    latency: float
    """The 99th percentile of the latencies in the batch, in milliseconds."""
    failures: int
    """Number of responses with a status of 500 or more."""


def _count_entries(folder: Path) -> int:
    return sum(1 for _ in folder.iterdir())


async def soak(service: Measured, mix: Mix, seconds: float, rate: float) -> list[Sample]:
    """Send reads for this long, at most `rate` per second."""
    began, samples, shown = time.monotonic(), list[Sample](), 0.0
    while (elapsed := time.monotonic() - began) < seconds:
        outcome = await send_load(service.port, mix.draw(BATCH), CONNECTIONS)
        failures = sum(count for status, count in outcome.statuses.items() if status >= 500)
        sample = Sample(
            elapsed,
            BATCH * (len(samples) + 1),
            service.memory_megabytes,
            max(_count_entries(Path(f"/proc/{pid}/fd")) for pid in service.pids),
            max(_count_entries(Path(f"/proc/{pid}/task")) for pid in service.pids),
            outcome.percentile(0.99),
            failures,
        )
        samples.append(sample)
        if elapsed >= shown:
            shown += seconds / INTERVALS
            print(
                f"{elapsed:7.0f} s {sample.reads:8d} reads {sample.megabytes:7.1f} MB"
                f" {sample.descriptors:4d} descriptors {sample.threads:3d} threads"
                f" p99 {sample.latency:6.1f} ms, {sum(s.failures for s in samples)} failed",
                flush=True,
            )
        await asyncio.sleep(max(0.0, began + sample.reads / rate - time.monotonic()))
    return samples


def draw(path: Path, samples: list[Sample]) -> None:
    """Draw the largest memory and the median of p99 in each interval."""
    length = samples[-1].seconds / INTERVALS
    memory, latency = list[tuple[float, float]](), list[tuple[float, float]]()
    for number in range(INTERVALS):
        within = [s for s in samples if number * length <= s.seconds < (number + 1) * length]
        if within:
            minute = (number + 1) * length / 60
            memory.append((minute, max(s.megabytes for s in within)))
            latency.append((minute, statistics.median(s.latency for s in within)))
    lines = [Line("memory, MB", memory), Line("p99, ms", latency)]
    draw_chart(path, "A service under a steady mix of reads", ("minutes", "MB, ms"), lines)


def main() -> int:
    """Run the soak. Returns 1 if memory has grown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--rate", type=float, default=150, help="reads a second")
    parser.add_argument("--plot", type=Path, help="where to draw the chart")
    given = parser.parse_args()
    follows = {"IMPRINT_CHAIN_FOLLOW_SECONDS": "1"}
    with tempfile.TemporaryDirectory() as name, run_chain(Path(name) / "chain") as rpc_url:
        pin(LOAD_CORE)
        data = Path(name) / "data"
        database = f"sqlite:///{data}/imprint.db"
        with run_service(data, rpc_url, database, settings=follows) as service:
            mix = Mix(Fixture(service, rpc_url))
            print(f"{service.memory_megabytes:.1f} MB before the first read", flush=True)
            samples = asyncio.run(soak(service, mix, given.minutes * 60, given.rate))
    if given.plot:
        draw(given.plot, samples)
    warm_at = min(WARM_SECONDS, given.minutes * 30)
    warm = max(sample.megabytes for sample in samples if sample.seconds <= warm_at)
    grown = samples[-1].megabytes - warm
    print(f"{grown:+.1f} MB since second {warm_at:.0f} (allowed: {ALLOWED_MEGABYTES} MB)")
    return 1 if grown > ALLOWED_MEGABYTES else 0


if __name__ == "__main__":
    sys.exit(main())
