"""Measure the service: python -m bench.run [--quick] [--out FOLDER]

Ratios are what counts: every scenario takes turns with its floor, on the same core.
"""

import argparse
import asyncio
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.charts import Line, draw_chart
from bench.databases import Database, open_databases
from bench.floors import Floor, Floors, find_peer, run_floors, time_verification
from bench.loads import CONNECTIONS, send_load
from bench.processes import LOAD_CORE, Measured, pin, run_chain, run_service
from bench.report import Report
from bench.rounds import Taken, cut, take_turns
from bench.sizes import measure_sizes
from bench.stage import Stage
from bench.wallets import get_request

WORKER_ROUNDS = 21
"""How many turns one worker and two take: what the scheduler does with them is a matter of luck."""

FULL_PAGE = 13
"""How many posts and drafts fill the first page of every list."""


def main() -> None:
    """Run everything, print the tables, write the JSON and the charts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer requests and smaller catalogs")
    parser.add_argument("--only", choices=["sqlite", "postgresql"], help="one database")
    parser.add_argument("--out", type=Path, default=Path("bench/results"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    report = Report()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        pin(LOAD_CORE)
        floors = stack.enter_context(run_floors())
        rpc_url = stack.enter_context(run_chain(folder / "chain"))
        peer = find_peer(folder)
        bench = Bench(report, folder, floors, peer, rpc_url, 1_300 if options.quick else 3_900)
        bench.measure_machine()
        for database in open_databases(stack, folder):
            if options.only in (None, database.name):
                bench.measure_scenarios(database)
                bench.measure_workers(database)
        if options.only != "postgresql":
            sizes = (1_000, 10_000) if options.quick else (1_000, 10_000, 100_000, 1_000_000)
            measure_sizes(report, folder, rpc_url, sizes)
    report.print()
    report.write(options.out / "bench.json")
    _draw(report, options.out)


@dataclass(frozen=True, slots=True)
class Bench:
    """One run; `count` is how many requests a scenario has."""

    report: Report
    folder: Path
    floors: Floors
    peer: Floor | None
    rpc_url: str
    count: int

    def measure_scenarios(self, database: Database) -> None:
        """Every kind of request, one worker."""
        facts = self.report.facts
        facts["signature verification, µs"] = time_verification() * 1e6
        facts[f"durable commit on {database.name}, µs"] = database.time_commit() * 1e6
        url, folder = database.make(), self.folder / f"content-{database.name}"
        with run_service(folder, self.rpc_url, url) as service:
            self._measure_writes(database, Stage(service, self.rpc_url))
            self._measure_reads(database, Stage(service, self.rpc_url))
            facts[f"start-up on {database.name}, s"] = service.start_seconds
            facts[f"memory of a worker on {database.name}, MB"] = service.memory_megabytes
        with run_service(folder, self.rpc_url, url, IMPRINT_CHAIN_CACHE_SECONDS="0") as service:
            stage = Stage(service, self.rpc_url)
            # As many posts as there are connections: who asks the same at once would ask together.
            paths = [
                f"/fileByPostId?user={stage.alice.address}&postId={stage.publish(1)}"
                for _ in range(CONNECTIONS)
            ]
            session = stage.session(stage.alice)
            reads = [get_request(paths[n % CONNECTIONS], session) for n in range(self.count)]
            self._run(database, "gated read, cold", stage, reads, self.floors.answer(5120))

    def _measure_writes(self, database: Database, stage: Stage) -> None:
        count, floor = self.count, self.floors.write(database.time_commit)
        self._run(database, "login", stage, stage.logins(count), floor)
        beside = [] if self.peer is None else [self.peer]
        taken = self._run(database, "signed create", stage, stage.creates(count), floor, *beside)
        for peer in beside:
            self.report.facts[f"{peer.name}, /s"] = median(taken.beside[peer.name])
            name = f"signed create on {database.name} / {peer.name}"
            self.report.ratios[name] = taken.ratio(peer.name)
        self._run(database, "signed update", stage, stage.updates(count // 2), floor)
        deliveries = self.floors.delivery(database.time_commit)
        self._run(database, "webhook", stage, stage.deliveries(count // 2), deliveries)

    def _measure_reads(self, database: Database, stage: Stage) -> None:
        paid, free = stage.publish(1), stage.publish(0)
        for _ in range(FULL_PAGE):
            stage.publish(0)
            stage.create()
        session = stage.session(stage.alice)
        drafts = f"/pendingFilesByOwner?owner={stage.alice.address}"
        gated = f"/fileByPostId?user={stage.alice.address}&postId={paid}"
        reads = {
            "gated read, warm": (get_request(gated, session), 5120),
            "free read": (get_request(f"/freeFileByPostId?postId={free}"), 5120),
            "list, newest": (get_request("/filesMetaData"), 4096),
            "list, drafts": (get_request(drafts, session), 5120),
        }
        for name, (request, size) in reads.items():
            self._run(database, name, stage, [request] * (4 * self.count), self.floors.answer(size))

    def measure_machine(self) -> None:
        """Two empty handlers and one, taking turns: what two processes cost the machine alone."""
        with ExitStack() as stack:
            services = [stack.enter_context(run_floors()).service for _ in range(3)]
            for service in services:
                service.unpin()
            requests = [get_request("/bytes?size=4096")] * 1_000
            ratios = []
            for _ in range(WORKER_ROUNDS):
                one = _spend(services[:1], requests)
                ratios.append(_spend(services[1:], requests) / one)
        name = "processor time of an empty answer, two processes / one"
        self.report.ratios[name] = median(ratios)

    def measure_workers(self, database: Database) -> None:
        """One worker and two, taking turns: processor time for a request, on whatever cores."""
        with ExitStack() as stack:
            stages = {}
            for workers in (1, 2):
                folder = self.folder / f"workers-{database.name}-{workers}"
                service = stack.enter_context(
                    run_service(folder, self.rpc_url, database.make(), workers)
                )
                service.unpin()
                stages[workers] = Stage(service, self.rpc_url)
                stages[workers].publish(0)
            lists = [get_request("/filesMetaData")] * (4 * self.count)
            self._compare_workers(database, "list", {n: (stages[n], lists) for n in stages})
            creates = {n: (stages[n], stages[n].creates(self.count)) for n in stages}
            self._compare_workers(database, "create", creates)

    def _compare_workers(
        self, database: Database, scenario: str, loads: dict[int, tuple[Stage, list[bytes]]]
    ) -> None:
        taken = {workers: Taken() for workers in loads}
        turns = {workers: cut(requests, WORKER_ROUNDS) for workers, (_, requests) in loads.items()}
        for some in zip(*turns.values(), strict=True):
            for workers, requests in zip(turns, some, strict=True):
                taken[workers].load(loads[workers][0].service, requests)
        for workers, each in taken.items():
            self.report.workers.append(
                {
                    "database": database.name,
                    "workers": workers,
                    "scenario": scenario,
                    "rate": each.rate,
                    "processor_us": median(each.processor_us),
                }
            )
        name = f"processor time of a {scenario} on {database.name}, two workers / one"
        pairs = zip(taken[2].processor_us, taken[1].processor_us, strict=True)
        self.report.ratios[name] = median(two / one for two, one in pairs)

    def _run(
        self,
        database: Database,
        name: str,
        stage: Stage,
        requests: list[bytes],
        floor: Floor,
        *others: Floor,
    ) -> Taken:
        take_turns(stage.service, [get_request("/healthz")] * 200, [])
        taken = take_turns(stage.service, requests, [floor, *others])
        measured = self.report.add(database.name, name, taken, floor.name)
        self.report.ratios[f"{name} on {database.name} / its floor"] = measured.share
        return taken


def _spend(services: list[Measured], requests: list[bytes]) -> float:
    """The processor time that services take for requests, which they share."""

    async def send() -> None:
        share, connections = len(requests) // len(services), CONNECTIONS // len(services)
        await asyncio.gather(
            *(send_load(each.port, requests[:share], connections) for each in services)
        )

    before = sum(each.processor_seconds for each in services)
    asyncio.run(send())
    return sum(each.processor_seconds for each in services) - before


def _draw(report: Report, folder: Path) -> None:
    """The two charts."""
    busy = [each for each in report.sizes if "writes" in each["scenario"]]
    scenarios = dict.fromkeys(each["scenario"] for each in busy)
    lines = [
        Line(name, [(e["files"], e["p50_ms"]) for e in busy if e["scenario"] == name])
        for name in scenarios
    ]
    if lines:
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
