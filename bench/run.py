"""Benchmark the service: python -m bench.run [--quick] [--only DATABASE] [--part PART ...]

With RECORD=1, the results and charts become those of docs/scale.md.

Only processor time and its ratios matter: a scenario and its floor are measured alternately, on the
same core.
"""

import argparse
import asyncio
import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from bench.charts import Bar, draw_bars
from bench.databases import Database, open_databases
from bench.fixture import Fixture
from bench.floors import Floor, Floors, find_peer, run_floors, time_verification
from bench.knee import STEP_SECONDS, draw_knee, measure_knee
from bench.loads import CONNECTIONS, send_load
from bench.processes import LOAD_CORE, Measured, pin, run_chain, run_service, send_timed
from bench.report import PICTURES, RECORDED, Report
from bench.rounds import Samples, cut, take_turns
from bench.scenarios import (
    BOUND_UPDATE,
    CONTRACT_LOGIN,
    PREPARED,
    SESSION_UPDATE,
    WITHOUT_CACHE,
    cold_reads,
    warm_reads,
    writes,
)
from bench.site_pages import measure_pages
from bench.sizes import Sizes
from bench.wallets import get_request

WORKER_ROUNDS = 21
"""Number of rounds that compare one worker with two. Their results vary more than usual."""

UPDATE_ROUNDS, UPDATES = 15, 64
"""Number of rounds that compare updates by signature form, and number of updates per round."""

PARTS = ("scenarios", "workers", "pages", "knee", "sizes")

SIZES = (1_000, 10_000, 100_000, 1_000_000)
"""Numbers of files in the catalogs that are compared."""

OFFERS = 1_000
OFFER_ROUNDS = 9
"""Number of rounds that compare offers of paid posts with refusals."""

WITHOUT_OFFERS = {"IMPRINT_SHOW": "allowed"}
"""Settings of a service that offers no post, because its operator has allowed no author."""


def main() -> None:
    """Run all measurements, print the tables, and write JSON and charts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer requests and smaller catalogs")
    parser.add_argument("--only", choices=["sqlite", "postgresql"], help="one database")
    parser.add_argument("--part", choices=PARTS, nargs="+", default=PARTS, help="some parts")
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of files in the catalogs")
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
        sizes = Sizes(report, folder, rpc_url, floors, bench.count)
        seconds = STEP_SECONDS / 5 if options.quick else STEP_SECONDS
        wanted = tuple(options.sizes or ((1_000, 10_000) if options.quick else SIZES))
        measure: dict[str, Callable[[Database], None]] = {
            "scenarios": bench.measure_scenarios,
            "workers": bench.measure_workers,
            "pages": lambda database: measure_pages(report, folder, rpc_url, floors, database),
            "knee": lambda database: measure_knee(report, folder, rpc_url, database, seconds),
            "sizes": lambda database: sizes.measure(database, wanted),
        }
        for database in open_databases(stack, folder, options.only):
            for part in options.part:
                measure[part](database)
    report.print()
    report.write(options.out / "bench.json")
    _draw(report, options.out)
    if os.environ.get("RECORD"):
        report.write(RECORDED / "bench.json")
        _draw(report, PICTURES)


@dataclass(frozen=True, slots=True)
class Bench:
    """One benchmark run. `count` is the number of requests per scenario."""

    report: Report
    folder: Path
    floors: Floors
    peer: Floor | None
    rpc_url: str
    count: int

    def measure_scenarios(self, database: Database) -> None:
        """Measure every scenario with one worker."""
        facts = self.report.facts
        facts["signature verification, µs"] = time_verification() * 1e6
        facts[f"durable commit on {database.name}, µs"] = database.time_commit() * 1e6
        url, folder = database.make(), self.folder / f"content-{database.name}"
        with run_service(folder, self.rpc_url, url) as service:
            fixture = Fixture(service, self.rpc_url)
            self._measure_writes(database, fixture)
            for name, requests in warm_reads(fixture).items():
                self._measure_read(database, fixture, name, requests(4 * self.count))
            self._compare_offers(database, fixture)
            facts[f"start-up on {database.name}, s"] = service.start_seconds
            facts[f"memory of a worker on {database.name}, MB"] = service.memory_megabytes
        with run_service(folder, self.rpc_url, url, settings=WITHOUT_CACHE) as service:
            fixture = Fixture(service, self.rpc_url)
            for name, requests in cold_reads(fixture).items():
                self._measure_read(database, fixture, name, requests(self.count))

    def _measure_writes(self, database: Database, fixture: Fixture) -> None:
        for name, requests in writes(fixture).items():
            load = requests(self.count // 2 if name in PREPARED else self.count)
            peers = [self.peer] if self.peer and name == "signed create" else []
            floor = self._write_floor(name, fixture, database.time_commit)
            samples = self._measure(database, name, fixture, load, floor, *peers)
            for peer in peers:
                self.report.facts[f"{peer.name}, µs"] = median(samples.floors[peer.name])
                ratio = f"processor time of {peer.name} / {name} on {database.name}"
                self.report.ratios[ratio] = median(samples.shares(peer.name))
        self._compare_updates(database, fixture)

    def _write_floor(self, name: str, fixture: Fixture, commit: Callable[[], float]) -> Floor:
        if name == CONTRACT_LOGIN:
            node = urlsplit(self.rpc_url).port
            assert node is not None
            return self.floors.contract_login(commit, node, fixture.wallet_calls)
        floors = {
            BOUND_UPDATE: self.floors.bound_write,
            SESSION_UPDATE: self.floors.session_write,
            "webhook delivery": self.floors.delivery,
        }
        return floors.get(name, self.floors.write)(commit)

    def _compare_updates(self, database: Database, fixture: Fixture) -> None:
        """Compare updates in every signature form, which have different costs."""
        scenarios = writes(fixture)
        kinds = [name for name in (SESSION_UPDATE, BOUND_UPDATE) if name in scenarios]
        samples = {name: Samples() for name in ("signed update", *kinds)}
        for _ in range(UPDATE_ROUNDS):
            for name, each in samples.items():
                each.send(fixture.service, scenarios[name](UPDATES))
        plain = samples["signed update"].processor_us
        for name in kinds:
            pairs = zip(samples[name].processor_us, plain, strict=True)
            ratio = f"processor time of an {name} on {database.name} / signed update"
            self.report.ratios[ratio] = median(one / other for one, other in pairs)

    def _compare_offers(self, database: Database, fixture: Fixture) -> None:
        """Compare offering a paid post (402) with refusing it, on a service that offers no post."""
        folder, url = self.folder / f"refusals-{database.name}", database.make()
        with run_service(folder, self.rpc_url, url, settings=WITHOUT_OFFERS) as service:
            fixtures = (fixture, Fixture(service, self.rpc_url))
            loads = [
                (each.service, [get_request(f"/posts/{each.publish(1)}/content")] * OFFERS)
                for each in fixtures
            ]
            ratios = []
            for _ in range(OFFER_ROUNDS):
                offers, refusals = (send_timed(*load)[1] for load in loads)
                ratios.append(offers / refusals)
        name = f"processor time of an offer on {database.name} / refusal"
        self.report.ratios[name] = median(ratios)

    def _measure_read(
        self, database: Database, fixture: Fixture, name: str, load: list[bytes]
    ) -> None:
        floor = self.floors.response(fixture.response_size(load[0]))
        self._measure(database, name, fixture, load, floor)

    def _measure_machine(self) -> None:
        """Compare two empty handlers with one, to find the cost of a second process alone."""
        with ExitStack() as stack:
            services = [stack.enter_context(run_floors()).service for _ in range(3)]
            for service in services:
                service.unpin()
            requests = [get_request("/bytes?size=4096")] * 1_000
            ratios = []
            for _ in range(WORKER_ROUNDS):
                one = _spend(services[:1], requests)
                ratios.append(_spend(services[1:], requests) / one)
        name = "processor time of an empty response, two processes / one"
        self.report.ratios[name] = median(ratios)

    def measure_workers(self, database: Database) -> None:
        """Compare the processor time per request of one worker and of two, on all cores."""
        self._measure_machine()
        with ExitStack() as stack:
            fixtures = {}
            for workers in (1, 2):
                folder = self.folder / f"workers-{database.name}-{workers}"
                service = stack.enter_context(
                    run_service(folder, self.rpc_url, database.make(), workers)
                )
                service.unpin()
                fixtures[workers] = Fixture(service, self.rpc_url)
                fixtures[workers].publish(0)
            lists = [get_request("/filesMetaData")] * (4 * self.count)
            self._compare_workers(database, "list", {n: (fixtures[n], lists) for n in fixtures})
            creates = {n: (fixtures[n], fixtures[n].creates(self.count)) for n in fixtures}
            self._compare_workers(database, "create", creates)

    def _compare_workers(
        self, database: Database, scenario: str, loads: dict[int, tuple[Fixture, list[bytes]]]
    ) -> None:
        samples = {workers: Samples() for workers in loads}
        turns = {workers: cut(requests, WORKER_ROUNDS) for workers, (_, requests) in loads.items()}
        for some in zip(*turns.values(), strict=True):
            for workers, requests in zip(turns, some, strict=True):
                samples[workers].send(loads[workers][0].service, requests)
        for workers, each in samples.items():
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
        pairs = zip(samples[2].processor_us, samples[1].processor_us, strict=True)
        self.report.ratios[name] = median(two / one for two, one in pairs)

    def _measure(
        self,
        database: Database,
        name: str,
        fixture: Fixture,
        requests: list[bytes],
        floor: Floor,
        *others: Floor,
    ) -> Samples:
        take_turns(fixture.service, [get_request("/healthz")] * 200, [])
        samples = take_turns(fixture.service, requests, [floor, *others])
        measured = self.report.add(database.name, name, samples, floor.name)
        self.report.ratios[f"{name} on {database.name} / its floor"] = measured.share
        return samples


def _spend(services: list[Measured], requests: list[bytes]) -> float:
    """Divide these requests among the services, and return the total processor time."""

    async def send() -> None:
        share, connections = len(requests) // len(services), CONNECTIONS // len(services)
        await asyncio.gather(
            *(send_load(each.port, requests[:share], connections) for each in services)
        )

    before = sum(each.processor_seconds for each in services)
    asyncio.run(send())
    return sum(each.processor_seconds for each in services) - before


def _draw(report: Report, folder: Path) -> None:
    """Draw what was measured."""
    if report.measurements:
        bars = [
            Bar(f"{each.name}, {each.database}", each.floor_us, each.processor_us)
            for each in sorted(report.measurements, key=lambda each: (each.name, each.database))
        ]
        title = "Processor time per request in microseconds, of which the floor is grey"
        draw_bars(folder / "cost.png", title, bars)
    if report.knee:
        draw_knee(report, folder / "knee.png")


if __name__ == "__main__":
    main()
