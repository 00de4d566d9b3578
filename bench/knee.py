"""Where a loaded service becomes slow.

Requests arrive at a steady rate, whether or not earlier ones are answered, as those of independent
readers do. The rate rises in steps up to what the service can do at most. The mix of reads is that
of `bench.scale`, with some signed creates. One worker has a core for itself; two workers share both
cores with the load.
"""

import asyncio
import random
from dataclasses import dataclass
from pathlib import Path

from bench.charts import Line, draw_chart
from bench.databases import Database
from bench.fixture import Fixture
from bench.loads import Outcome, send_load, send_paced
from bench.processes import run_service
from bench.report import Report
from bench.scale import READS
from bench.scenarios import warm_reads
from bench.wallets import get_request

WRITES = 0.02
"""Share of creates among the requests."""

CALIBRATION = 4_000
"""Number of requests that find the highest possible rate."""

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""The rates, as shares of the highest possible rate."""

STEP_SECONDS = 5.0
"""Seconds at each rate."""

GOOD_MS = 10.0
"""A service is loaded as much as it should be at the highest rate with a p99 below this."""


@dataclass(frozen=True, slots=True)
class Mix:
    """The requests of many readers and a few authors, in random order, the same in each run."""

    fixture: Fixture
    reads: dict[str, bytes]

    @classmethod
    def of(cls, fixture: Fixture) -> "Mix":
        """Prepare what is read."""
        (warm, free, newest, drafts) = (make(1)[0] for make in warm_reads(fixture).values())
        reads = {
            "list of the newest posts": newest,
            "list by a hashtag": get_request("/filesByTags?tags=none"),
            "gated read": warm,
            "free read": free,
            "list of own drafts": drafts,
        }
        return cls(fixture, reads)

    def draw(self, count: int) -> list[bytes]:
        """Draw requests. Signed ones are valid for a minute."""
        chance = random.Random(count)
        kinds = chance.choices([*READS, "create"], [*READS.values(), WRITES], k=count)
        signed = {
            "login": iter(self.fixture.logins(kinds.count("login"))),
            "create": iter(self.fixture.creates(kinds.count("create"))),
        }
        return [next(signed[kind]) if kind in signed else self.reads[kind] for kind in kinds]


def measure_knee(
    report: Report, folder: Path, rpc_url: str, database: Database, seconds: float
) -> None:
    """Add the latency at rising rates, with one worker and with two, to a report."""
    for workers in (1, 2):
        content = folder / f"knee-{database.name}-{workers}"
        with run_service(content, rpc_url, database.make(), workers) as service:
            if workers > 1:
                service.unpin()
            mix = Mix.of(Fixture(service, rpc_url))
            asyncio.run(send_load(service.port, mix.draw(CALIBRATION)))
            highest = asyncio.run(send_load(service.port, mix.draw(CALIBRATION))).rate
            for share in SHARES:
                rate = share * highest
                load = mix.draw(int(rate * seconds))
                outcome = asyncio.run(send_paced(service.port, load, rate))
                _add(report, database, workers, rate, outcome)
    for workers in (1, 2):
        good = [
            each["rate"]
            for each in report.knee
            if (each["database"], each["workers"]) == (database.name, workers)
            and each["p99_ms"] < GOOD_MS
        ]
        name = f"highest rate with a p99 below {GOOD_MS:g} ms on {database.name}, {workers} workers"
        report.facts[name] = max(good, default=0.0)


def _add(report: Report, database: Database, workers: int, rate: float, outcome: Outcome) -> None:
    bad = {status for status in outcome.statuses if status != 200}
    if bad:
        raise RuntimeError(f"Unexpected statuses: {bad}.")
    report.knee.append(
        {
            "database": database.name,
            "workers": workers,
            "rate": rate,
            "p50_ms": outcome.percentile(0.5),
            "p99_ms": outcome.percentile(0.99),
        }
    )


def draw_knee(report: Report, path: Path) -> None:
    """Draw the p99 over the rate."""
    kinds = dict.fromkeys((each["database"], each["workers"]) for each in report.knee)
    lines = [
        Line(
            f"{database}, workers: {workers}",
            [
                (each["rate"], each["p99_ms"])
                for each in report.knee
                if (each["database"], each["workers"]) == (database, workers)
            ],
        )
        for database, workers in kinds
    ]
    draw_chart(path, "A loaded service", ("requests per second", "p99, ms"), lines)
