"""What the number of files costs: the same requests to catalogs of several sizes, taking turns.

Once while nobody writes, so that what was asked before is remembered; and once while somebody does,
so that it is not, and the catalog is read for every request.
"""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from bench.databases import SqliteFiles
from bench.filling import TOPICS
from bench.loads import send_load
from bench.processes import run_service
from bench.report import Report
from bench.rounds import ROUNDS
from bench.stage import Stage
from bench.wallets import Wallet, get_request

REQUESTS, CONNECTIONS = 150, 4
"""How many reads a round has, and how many of them are under way at once."""

RARE = 100
"""How many rare hashtags are asked for: as many as the smallest catalog has."""

WRITES = 10
"""How many drafts are created meanwhile, one after the other."""


def measure_sizes(report: Report, folder: Path, rpc_url: str, sizes: tuple[int, ...]) -> None:
    """Median latency of every kind of read, on SQLite."""
    database = SqliteFiles(folder / "sizes")
    with ExitStack() as stack:
        loads: dict[int, dict[str, Iterator[bytes]]] = {}
        stages: dict[int, Stage] = {}
        for size in sizes:
            path = database.fill(size)
            report.facts["catalog bytes for each file"] = path.stat().st_size / size
            url, content = f"sqlite:///{path}", folder / f"size-{size}"
            service = stack.enter_context(run_service(content, rpc_url, url))
            stages[size] = Stage(service, rpc_url)
            loads[size] = _loads(stages[size])
            key = f"memory of a worker at {size} files, MB"
            report.facts[key] = service.memory_megabytes
        for scenario in loads[sizes[0]]:
            load = {size: loads[size][scenario] for size in sizes}
            _measure(report, scenario, load, stages, 0)
            _measure(report, f"{scenario} while somebody writes", load, stages, WRITES)


def _measure(
    report: Report,
    scenario: str,
    loads: dict[int, Iterator[bytes]],
    stages: dict[int, Stage],
    writes: int,
) -> None:
    medians: dict[int, list[float]] = {size: [] for size in loads}
    for _ in range(ROUNDS):
        for size, load in loads.items():
            reads = [next(load) for _ in range(REQUESTS)]
            medians[size].append(asyncio.run(_time_reads(stages[size], reads, writes)))
    for size, found in medians.items():
        report.sizes.append({"files": size, "scenario": scenario, "p50_ms": median(found)})
    smallest, largest = min(loads), max(loads)
    pairs = zip(medians[largest], medians[smallest], strict=True)
    name = f"{scenario}: p50 at {largest:,} files / at {smallest:,}"
    report.ratios[name] = median(large / small for large, small in pairs)


async def _time_reads(stage: Stage, reads: list[bytes], writes: int) -> float:
    """The median latency of the reads, in milliseconds, while so many drafts are created."""
    port = stage.service.port
    outcome, _ = await asyncio.gather(
        send_load(port, reads, CONNECTIONS), send_load(port, stage.creates(writes), 1)
    )
    return outcome.percentile(0.5)


def _loads(stage: Stage) -> dict[str, Iterator[bytes]]:
    """Requests without end: where it makes a difference, no two are about the same."""
    cids = [stage.create()["cid"] for _ in range(REQUESTS)]
    session, stranger = stage.session(stage.alice), Wallet(stage.domain)
    drafts = f"/pendingFilesByOwner?owner={stranger.address}"
    return {
        "newest": _over(["/filesMetaData"]),
        "common tag": _over(["/filesByTags?tags=all"]),
        "topics": _over([f"/filesByTags?tags=topic{n}" for n in range(TOPICS)]),
        "two tags": _over([f"/filesByTags?tags=all,topic{n}" for n in range(TOPICS)]),
        "rare tag": _over([f"/filesByTags?tags=rare{n}" for n in range(RARE)]),
        "metadata": _over([f"/filesMetaData?cid={cid}" for cid in cids]),
        "read a draft": _over([f"/fileByCid?cid={cid}" for cid in cids], session),
        "own drafts": _over([drafts], stage.session(stranger)),
    }


def _over(paths: list[str], headers: str = "") -> Iterator[bytes]:
    while True:
        for path in paths:
            yield get_request(path, headers)
