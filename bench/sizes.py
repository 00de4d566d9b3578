"""How the number of files affects reads: the same requests to catalogs of several sizes, in turns.

Measured twice: without writes, so that responses come from the cache, and during writes, which
invalidate it, so that every request reads the catalog.
"""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from bench.databases import SqliteFiles
from bench.filled_catalog import TOPICS
from bench.fixture import Fixture
from bench.loads import send_load
from bench.processes import run_service
from bench.report import Report
from bench.rounds import ROUNDS
from bench.wallets import Wallet, get_request

REQUESTS, CONNECTIONS = 150, 4
"""Reads in a round, and concurrent connections."""

RARE = 100
"""Rare hashtags that are requested: as many as the smallest catalog has."""

WRITES = 10
"""Drafts that are created meanwhile, one after another."""


def measure_sizes(report: Report, folder: Path, rpc_url: str, sizes: tuple[int, ...]) -> None:
    """Measure the median latency of every kind of read, on SQLite."""
    database = SqliteFiles(folder / "sizes")
    with ExitStack() as stack:
        loads: dict[int, dict[str, Iterator[bytes]]] = {}
        fixtures: dict[int, Fixture] = {}
        for size in sizes:
            path = database.fill(size)
            report.facts["catalog bytes for each file"] = path.stat().st_size / size
            url, content = f"sqlite:///{path}", folder / f"size-{size}"
            service = stack.enter_context(run_service(content, rpc_url, url))
            fixtures[size] = Fixture(service, rpc_url)
            loads[size] = _loads(fixtures[size])
            key = f"memory of a worker at {size} files, MB"
            report.facts[key] = service.memory_megabytes
        for scenario in loads[sizes[0]]:
            load = {size: loads[size][scenario] for size in sizes}
            _measure(report, scenario, load, fixtures, 0)
            _measure(report, f"{scenario} while somebody writes", load, fixtures, WRITES)


def _measure(
    report: Report,
    scenario: str,
    loads: dict[int, Iterator[bytes]],
    fixtures: dict[int, Fixture],
    writes: int,
) -> None:
    medians: dict[int, list[float]] = {size: [] for size in loads}
    for _ in range(ROUNDS):
        for size, load in loads.items():
            reads = [next(load) for _ in range(REQUESTS)]
            medians[size].append(asyncio.run(_time_reads(fixtures[size], reads, writes)))
    for size, found in medians.items():
        report.sizes.append({"files": size, "scenario": scenario, "p50_ms": median(found)})
    smallest, largest = min(loads), max(loads)
    pairs = zip(medians[largest], medians[smallest], strict=True)
    name = f"{scenario}: p50 at {largest:,} files / at {smallest:,}"
    report.ratios[name] = median(large / small for large, small in pairs)


async def _time_reads(fixture: Fixture, reads: list[bytes], writes: int) -> float:
    """The median latency of the reads in milliseconds, while this many drafts are created."""
    port = fixture.service.port
    outcome, _ = await asyncio.gather(
        send_load(port, reads, CONNECTIONS), send_load(port, fixture.creates(writes), 1)
    )
    return outcome.percentile(0.5)


def _loads(fixture: Fixture) -> dict[str, Iterator[bytes]]:
    """Endless requests; where it matters, successive ones request different things."""
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


def _over(paths: list[str], headers: str = "") -> Iterator[bytes]:
    while True:
        for path in paths:
            yield get_request(path, headers)
