"""What the number of files costs: the same requests to catalogs of several sizes, taking turns."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from bench.databases import SqliteFiles
from bench.filling import TOPICS, rare_tags
from bench.loads import send_load
from bench.processes import run_service
from bench.report import Report
from bench.rounds import ROUNDS
from bench.stage import Stage
from bench.wallets import Wallet, get_request

REQUESTS, CONNECTIONS = 150, 4
"""How many requests a round has, and how many of them are under way at once."""


def measure_sizes(report: Report, folder: Path, rpc_url: str, sizes: tuple[int, ...]) -> None:
    """Median latency of every kind of read, on SQLite."""
    database = SqliteFiles(folder / "sizes")
    with ExitStack() as stack:
        loads: dict[int, dict[str, Iterator[bytes]]] = {}
        ports: dict[int, int] = {}
        for size in sizes:
            path = database.fill(size)
            report.facts["catalog bytes for each file"] = path.stat().st_size / size
            url, content = f"sqlite:///{path}", folder / f"size-{size}"
            service = stack.enter_context(run_service(content, rpc_url, url))
            ports[size], loads[size] = service.port, _loads(Stage(service, rpc_url), size)
            key = f"memory of a worker at {size} files, MB"
            report.facts[key] = service.memory_megabytes
        for scenario in loads[sizes[0]]:
            _measure(report, scenario, {size: loads[size][scenario] for size in sizes}, ports)


def _measure(
    report: Report, scenario: str, loads: dict[int, Iterator[bytes]], ports: dict[int, int]
) -> None:
    medians: dict[int, list[float]] = {size: [] for size in loads}
    for _ in range(ROUNDS):
        for size, load in loads.items():
            requests = [next(load) for _ in range(REQUESTS)]
            outcome = asyncio.run(send_load(ports[size], requests, CONNECTIONS))
            medians[size].append(outcome.percentile(0.5))
    for size, found in medians.items():
        report.sizes.append({"files": size, "scenario": scenario, "p50_ms": median(found)})
    smallest, largest = min(loads), max(loads)
    pairs = zip(medians[largest], medians[smallest], strict=True)
    name = f"{scenario}: p50 at {largest:,} files / at {smallest:,}"
    report.ratios[name] = median(large / small for large, small in pairs)


def _loads(stage: Stage, size: int) -> dict[str, Iterator[bytes]]:
    """Requests without end: where it makes a difference, no two are about the same."""
    cids = [stage.create()["cid"] for _ in range(REQUESTS)]
    session, stranger = stage.session(stage.alice), Wallet(stage.domain)
    drafts = f"/pendingFilesByOwner?owner={stranger.address}"
    return {
        "newest": _over(["/filesMetaData"]),
        "common tag": _over(["/filesByTags?tags=all"]),
        "topics": _over([f"/filesByTags?tags=topic{n}" for n in range(TOPICS)]),
        "two tags": _over([f"/filesByTags?tags=all,topic{n}" for n in range(TOPICS)]),
        "rare tag": _over([f"/filesByTags?tags=rare{n}" for n in range(rare_tags(size))]),
        "metadata": _over([f"/filesMetaData?cid={cid}" for cid in cids]),
        "read a draft": _over([f"/fileByCid?cid={cid}" for cid in cids], session),
        "own drafts": _over([drafts], stage.session(stranger)),
    }


def _over(paths: list[str], headers: str = "") -> Iterator[bytes]:
    while True:
        for path in paths:
            yield get_request(path, headers)
