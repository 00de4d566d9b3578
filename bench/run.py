"""Measure the service: python -m bench.run [--quick] [--out FOLDER]

Ratios are what counts: every scenario runs beside its floor, on the same core, in the same run.
"""

import argparse
import asyncio
import json
import shutil
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench.charts import Line, draw_chart
from bench.databases import Database, SqliteFiles, open_databases
from bench.floors import time_recovery
from bench.loads import Outcome, send_load
from bench.processes import (
    LOAD_CORE,
    SERVICE_CORE,
    Measured,
    free_port,
    pin,
    run_chain,
    run_process,
    run_service,
)
from bench.report import Measurement, Report
from bench.stage import Stage
from bench.wallets import Wallet, get_request, post_request
from imprint.auth.typed_data import SigningDomain
from imprint.domain.files import Action

FLOOR_COUNT = 6_000
"""How many requests measure a floor."""

PEER = Path(__file__).parent / "peer"


def main() -> None:
    """Run everything, print the tables, write the JSON and the charts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer requests and smaller catalogs")
    parser.add_argument("--out", type=Path, default=Path("bench/results"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    report = Report()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        bench = Bench(report, Path(folder), 500 if options.quick else 3_000)
        bench.measure_floors()
        rpc_url = stack.enter_context(run_chain(bench.folder / "chain"))
        pin(LOAD_CORE)
        for database in open_databases(stack, bench.folder):
            bench.measure_scenarios(database, rpc_url)
            bench.measure_workers(database, rpc_url)
        sizes = (1_000, 10_000) if options.quick else (1_000, 10_000, 100_000, 1_000_000)
        bench.measure_sizes(rpc_url, sizes)
    bench.compare()
    report.print()
    report.write(options.out / "bench.json")
    _draw(report, options.out)


class Bench:
    """One run."""

    def __init__(self, report: Report, folder: Path, count: int) -> None:
        self.report = report
        self.folder = folder
        self.count = count
        self.empty: dict[int, float] = {}
        self.recovery = self.swallow = 0.0

    def measure_floors(self) -> None:
        """The empty handlers, the bare recovery, the bare commit, and viem beside them."""
        pin(SERVICE_CORE)
        self.recovery = time_recovery()
        pin(LOAD_CORE)
        port = free_port()
        with run_process(["-m", "bench.floors", str(port)], port, "/healthz", {}):
            for size in (512, 4096, 5120):
                requests = [get_request(f"/bytes?size={size}")] * FLOOR_COUNT
                self.empty[size] = asyncio.run(send_load(port, requests)).rate
            body = post_request("/swallow", {"content": "x" * 4800})
            self.swallow = asyncio.run(send_load(port, [body] * FLOOR_COUNT)).rate
        self.report.facts |= {
            "signature verification, µs": self.recovery * 1e6,
            "empty answer of 4 KiB, /s": self.empty[4096],
            "empty answer to a body of 5 KiB, /s": self.swallow,
        }
        if shutil.which("node") and (PEER / "node_modules").exists():
            self.report.facts["viem verifies, /s"] = self._ask_peer()

    def measure_scenarios(self, database: Database, rpc_url: str) -> None:
        """Every kind of request, one worker."""
        self.report.facts[f"durable commit on {database.name}, µs"] = database.commit_seconds * 1e6
        url, folder = database.make(), self.folder / f"content-{database.name}"
        with run_service(folder, rpc_url, url) as service:
            self._measure_requests(database, Stage(service, rpc_url))
            facts = self.report.facts
            facts[f"start-up on {database.name}, s"] = service.start_seconds
            facts[f"memory of a worker on {database.name}, MB"] = service.memory_megabytes
        with run_service(folder, rpc_url, url, IMPRINT_CHAIN_CACHE_SECONDS="0") as service:
            stage = Stage(service, rpc_url)
            path = f"/fileByPostId?user={stage.alice.address}&postId={stage.publish(1)}"
            read = [get_request(path, stage.session(stage.alice))] * (self.count // 4)
            self._run(database, "gated read, cold", stage, read, self._floor(5120))

    def _measure_requests(self, database: Database, stage: Stage) -> None:
        count = self.count
        writes = ("body + recovery + commit", self._added(database))
        self._run(database, "login", stage, stage.logins(count), writes)
        self._run(database, "signed create", stage, stage.creates(count), writes)
        self._run(database, "signed update", stage, stage.updates(count // 3), writes)
        commits = ("body + commit", 1 / (1 / self.swallow + database.commit_seconds))
        self._run(database, "webhook", stage, stage.deliveries(count // 3), commits)
        paid, free = stage.publish(1), stage.publish(0)
        session = stage.session(stage.alice)
        gated = f"/fileByPostId?user={stage.alice.address}&postId={paid}"
        drafts = f"/pendingFilesByOwner?owner={stage.alice.address}"
        reads = {
            "gated read, warm": get_request(gated, session),
            "free read": get_request(f"/freeFileByPostId?postId={free}"),
            "list, newest": get_request("/filesMetaData"),
            "list, drafts": get_request(drafts, session),
        }
        for name, request in reads.items():
            floor = self._floor(5120 if "read" in name else 4096)
            self._run(database, name, stage, [request] * count, floor)

    def measure_workers(self, database: Database, rpc_url: str) -> None:
        """One worker and two: processor time for a request, on whatever cores there are."""
        for workers in (1, 2):
            folder = self.folder / f"workers-{database.name}-{workers}"
            with run_service(folder, rpc_url, database.make(), workers) as service:
                service.unpin()
                self._measure_share(database, workers, Stage(service, rpc_url))

    def _measure_share(self, database: Database, workers: int, stage: Stage) -> None:
        stage.publish(0)
        for name, requests in (
            ("list", [get_request("/filesMetaData")] * self.count),
            ("create", stage.creates(self.count // 2)),
        ):
            outcome, processor = _timed(stage.service, requests)
            self.report.workers.append(
                {
                    "database": database.name,
                    "workers": workers,
                    "scenario": name,
                    "rate": outcome.rate,
                    "processor_us": processor / len(requests) * 1e6,
                }
            )

    def measure_sizes(self, rpc_url: str, sizes: tuple[int, ...]) -> None:
        """What a catalog of many files costs, on SQLite."""
        database = SqliteFiles(self.folder / "sizes")
        for size in sizes:
            path = database.fill(size)
            self.report.facts["catalog bytes for each file"] = path.stat().st_size / size
            with run_service(self.folder / f"size-{size}", rpc_url, f"sqlite:///{path}") as service:
                self._measure_size(size, Stage(service, rpc_url))

    def _measure_size(self, size: int, stage: Stage) -> None:
        draft, session = stage.create(), stage.session(stage.alice)
        stranger = Wallet(stage.domain)
        paths = {
            "newest": get_request("/filesMetaData"),
            "common tag": get_request("/filesByTags?tags=all"),
            "two tags": get_request("/filesByTags?tags=all,topic7"),
            "rare tag": get_request("/filesByTags?tags=rare7"),
            "metadata": get_request(f"/filesMetaData?cid={draft['cid']}"),
            "read a draft": get_request(f"/fileByCid?cid={draft['cid']}", session),
            "own drafts": get_request(
                f"/pendingFilesByOwner?owner={stranger.address}", stage.session(stranger)
            ),
        }
        for name, request in paths.items():
            outcome = asyncio.run(send_load(stage.service.port, [request] * 600, 4))
            self.report.sizes.append(
                {"files": size, "scenario": name, "p50_ms": outcome.percentile(0.5)}
            )
        key = f"memory of a worker at {size} files, MB"
        self.report.facts[key] = stage.service.memory_megabytes

    def compare(self) -> None:
        """The ratios that are promised."""
        ratios = self.report.ratios
        for each in self.report.measurements:
            if each.name == "signed create" and "viem verifies, /s" in self.report.facts:
                peer = self.report.facts["viem verifies, /s"]
                ratios[f"signed create on {each.database} / viem verifying"] = each.rate / peer
        for each in self.report.measurements:
            ratios[f"{each.name} on {each.database} / its floor"] = each.share
        _compare_workers(self.report)
        _compare_sizes(self.report)

    def _added(self, database: Database) -> float:
        return 1 / (1 / self.swallow + self.recovery + database.commit_seconds)

    def _floor(self, size: int) -> tuple[str, float]:
        return f"empty answer, {size} bytes", self.empty[size]

    def _run(
        self,
        database: Database,
        name: str,
        stage: Stage,
        requests: list[bytes],
        floor: tuple[str, float],
    ) -> Measurement:
        asyncio.run(send_load(stage.service.port, [get_request("/healthz")] * 200))
        outcome, processor = _timed(stage.service, requests)
        return self.report.add(database.name, name, outcome, processor, floor)

    def _ask_peer(self) -> float:
        wallet = Wallet(SigningDomain("Imprint", "1", 31337))
        signed = [wallet.sign_write(Action.CREATE) for _ in range(500)]
        path = self.folder / "signed.json"
        path.write_text(json.dumps(signed))
        command = ["node", str(PEER / "verify.mjs"), str(path)]
        pin(SERVICE_CORE)
        said = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        pin(LOAD_CORE)
        return float(said)


def _timed(service: Measured, requests: list[bytes]) -> tuple[Outcome, float]:
    before = service.processor_seconds
    outcome = asyncio.run(send_load(service.port, requests))
    time.sleep(0.02)
    return outcome, service.processor_seconds - before


def _compare_workers(report: Report) -> None:
    """Processor time for a request: two workers against one."""
    times = {
        (each["database"], each["scenario"], each["workers"]): each["processor_us"]
        for each in report.workers
    }
    for database, scenario, workers in times:
        if workers == 2:
            name = f"processor time of a {scenario} on {database}, two workers / one"
            alone = times[database, scenario, 1]
            report.ratios[name] = times[database, scenario, 2] / alone


def _compare_sizes(report: Report) -> None:
    """Median latency: the largest catalog against the smallest."""
    sizes = sorted({each["files"] for each in report.sizes})
    medians = {(each["scenario"], each["files"]): each["p50_ms"] for each in report.sizes}
    for scenario in dict.fromkeys(each["scenario"] for each in report.sizes):
        name = f"{scenario}: p50 at {sizes[-1]:,} files / at {sizes[0]:,}"
        report.ratios[name] = medians[scenario, sizes[-1]] / medians[scenario, sizes[0]]


def _draw(report: Report, folder: Path) -> None:
    """The two charts."""
    scenarios = dict.fromkeys(each["scenario"] for each in report.sizes)
    lines = [
        Line(name, [(e["files"], e["p50_ms"]) for e in report.sizes if e["scenario"] == name])
        for name in scenarios
    ]
    draw_chart(folder / "latency-over-files.png", "Median latency", ("files", "ms"), lines)
    kinds = dict.fromkeys((each["database"], each["scenario"]) for each in report.workers)
    lines = [
        Line(
            f"{scenario} on {database}",
            [
                (each["workers"], each["rate"])
                for each in report.workers
                if (each["database"], each["scenario"]) == (database, scenario)
            ],
        )
        for database, scenario in kinds
    ]
    title = "Answers in a second (the load shares the cores)"
    draw_chart(folder / "rate-over-workers.png", title, ("workers", "1/s"), lines)


if __name__ == "__main__":
    main()
