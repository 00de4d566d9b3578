"""Measures how catalog size affects reads, by sending the same requests to several catalogs.

Each catalog is measured twice: without writes, so that responses come from the cache, and during
writes, which invalidate the cache, so that every request reads the catalog. Reads of the post index
are also compared with their floor, at the smallest size.
"""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count, permutations
from pathlib import Path
from statistics import median

from bench.databases import Database
from bench.filled_posts import TOPICS, WORDS, word
from bench.fixture import Fixture
from bench.floors import Floors
from bench.loads import send_load
from bench.processes import run_service
from bench.report import Report
from bench.rounds import ROUNDS, take_turns
from bench.wallets import Wallet, get_request

REQUESTS, CONNECTIONS = 150, 4
"""Number of reads per round, and of concurrent connections."""

RARE = 100
"""Number of rare hashtags requested, which is as many as the smallest catalog has."""

WRITES = 10
"""Number of drafts created one after another during the reads."""

COMMON = 24
"""Number of frequent words. Even the smallest catalog has posts with three of these words."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Catalogs of several sizes on one database. `count` requests are compared with a floor."""

    report: Report
    folder: Path
    rpc_url: str
    floors: Floors
    count: int

    def measure(self, database: Database, sizes: tuple[int, ...]) -> None:
        """Measure the latency of every type of read, and the rate of index reads."""
        report, smallest = self.report, min(sizes)
        with ExitStack() as stack:
            loads: dict[int, dict[str, Iterator[bytes]]] = {}
            fixtures: dict[int, Fixture] = {}
            for size in sizes:
                url, content = database.make(), self.folder / f"size-{database.name}-{size}"
                with run_service(content, self.rpc_url, url):
                    # The service creates the schema, and marks the content store as its own.
                    pass
                database.fill(url, size)
                if database.name == "sqlite":
                    report.facts["catalog bytes for each file"] = database.bytes_of(url) / size
                service = stack.enter_context(run_service(content, self.rpc_url, url))
                fixtures[size] = Fixture(service, self.rpc_url)
                loads[size] = {**_file_loads(fixtures[size]), **_post_loads(fixtures[size], size)}
                key = f"memory of a worker at {size} files on {database.name}, MB"
                report.facts[key] = service.memory_megabytes
            for scenario in _post_loads(fixtures[smallest], smallest):
                load = loads[smallest][scenario]
                self._compare_with_floor(database, fixtures[smallest], scenario, load)
            for scenario in loads[smallest]:
                some = {size: (fixtures[size], loads[size][scenario]) for size in sizes}
                for writes in (0, WRITES):
                    self._compare_sizes(database, scenario, some, writes)

    def _compare_with_floor(
        self, database: Database, fixture: Fixture, scenario: str, load: Iterator[bytes]
    ) -> None:
        floor = self.floors.response(fixture.response_size(next(load)))
        take_turns(fixture.service, [next(load) for _ in range(self.count // 4)], [])
        requests = [next(load) for _ in range(self.count)]
        samples = take_turns(fixture.service, requests, [floor])
        measured = self.report.add(database.name, scenario, samples, floor.name)
        self.report.ratios[f"{scenario} on {database.name} / its floor"] = measured.share

    def _compare_sizes(
        self,
        database: Database,
        scenario: str,
        loads: dict[int, tuple[Fixture, Iterator[bytes]]],
        writes: int,
    ) -> None:
        medians: dict[int, list[float]] = {size: [] for size in loads}
        for _ in range(ROUNDS):
            for size, (fixture, load) in loads.items():
                reads = [next(load) for _ in range(REQUESTS)]
                medians[size].append(asyncio.run(_time_reads(fixture, reads, writes)))
        smallest = min(loads)
        for size, found in medians.items():
            pairs = zip(found, medians[smallest], strict=True)
            row = {
                "database": database.name,
                "scenario": scenario,
                "writes": writes > 0,
                "files": size,
                "p50_ms": median(found),
                "ratio": median(large / small for large, small in pairs),
            }
            if scenario.startswith("search"):
                fixture, load = loads[size]
                reads = [next(load) for _ in range(REQUESTS)]
                row["alone_ms"] = asyncio.run(_time_reads(fixture, reads, writes, 1))
            self.report.sizes.append(row)


async def _time_reads(
    fixture: Fixture, reads: list[bytes], writes: int, readers: int = CONNECTIONS
) -> float:
    """Return the median read latency in milliseconds while this many drafts are created."""
    port = fixture.service.port
    outcome, written = await asyncio.gather(
        send_load(port, reads, readers), send_load(port, fixture.creates(writes), 1)
    )
    bad = {status for status in (*outcome.statuses, *written.statuses) if status != 200}
    if bad:
        raise RuntimeError(f"Unexpected statuses: {bad}.")
    return outcome.percentile(0.5)


def _file_loads(fixture: Fixture) -> dict[str, Iterator[bytes]]:
    """For each scenario, return an endless iterator of file requests. Successive requests differ
    where this matters."""
    cids = [fixture.create()["cid"] for _ in range(REQUESTS)]
    session, stranger = fixture.session(fixture.alice), Wallet(fixture.domain)
    drafts = f"/pendingFilesByOwner?owner={stranger.address}"
    return {
        "newest": _over(["/filesMetaData"]),
        "common tag": _over(["/filesByTags?tags=all"]),
        "topics": _over([f"/filesByTags?tags=topic{n}" for n in range(TOPICS)]),
        "two tags": _over([f"/filesByTags?tags=all,topic{n}" for n in range(TOPICS)]),
        "rare tag": _over([f"/filesByTags?tags=rare{n}" for n in range(RARE)]),
        "metadata": _over([f"/filesMetaData?cid={cid}" for cid in cids]),
        "read a draft": _over([f"/fileByCid?cid={cid}" for cid in cids], session),
        "own drafts": _over([drafts], fixture.session(stranger)),
    }


def _post_loads(fixture: Fixture, posts: int) -> dict[str, Iterator[bytes]]:
    """For each scenario, return an endless iterator of requests to the post index."""
    step = max(1, posts // REQUESTS)
    session = fixture.session(fixture.alice)
    return {
        "posts": _over(["/posts"]),
        "posts of a common tag": _over(["/posts?tag=all"]),
        "posts of a rare tag": _over([f"/posts?tag=rare{n}" for n in range(RARE)]),
        "posts by price": _over(["/posts?sort=price"]),
        "post": _over([f"/posts/{n}" for n in range(1, posts + 1, step)]),
        "search, repeated": _over([f"/posts?q={word(n)}+{word(n + 1)}" for n in range(0, 20, 2)]),
        "search, new, common words": _over_common_words(),
        "search, new, rare words": _over_rare_words(),
        "library": _over(["/me/library"], session),
    }


def _over(paths: list[str], headers: str = "") -> Iterator[bytes]:
    while True:
        for path in paths:
            yield get_request(path, headers)


def _over_common_words() -> Iterator[bytes]:
    """Yield searches for three frequent words, each in a new order. The result fills a page."""
    orders = list(permutations(range(COMMON), 3))
    for number in count():
        words = "+".join(map(word, orders[number * 5_003 % len(orders)]))
        yield get_request(f"/posts?q={words}&limit=5")


def _over_rare_words() -> Iterator[bytes]:
    """Yield searches for a frequent word and a rarer one, which is sometimes only a prefix."""
    for number in count():
        common, other = word(number % 10), word(COMMON + number * 7_919 % (WORDS - COMMON))
        wanted = other if number % 3 else other[:-1]
        yield get_request(f"/posts?q={common}+{wanted}&limit=5")
