"""Benchmark report: tables on the terminal and a JSON file."""

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table
from tools.files import ROOT
from tools.trust import describe_commit

from bench.loads import Outcome
from bench.rounds import Samples, quartiles

RECORDED = ROOT / "bench" / "recorded"
"""Where recorded results are kept, from which the tables of docs/scale.md are made."""

PICTURES = ROOT / "docs" / "pictures"
"""Where recorded charts are kept."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """Results of one scenario on one database, and of its floor, as medians of the rounds.

    Processor time is in microseconds per request. Pairs are quartiles.
    """

    database: str
    name: str
    rate: float
    p50_ms: float
    p99_ms: float
    processor_us: float
    processor_quartiles: tuple[float, float]
    floor: str
    floor_us: float
    share: float
    share_quartiles: tuple[float, float]
    statuses: dict[int, int]


@dataclass(slots=True)
class Report:
    """All results of a benchmark run."""

    measurements: list[Measurement] = field(default_factory=list)
    facts: dict[str, float] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)
    sizes: list[dict[str, Any]] = field(default_factory=list)
    workers: list[dict[str, Any]] = field(default_factory=list)
    knee: list[dict[str, Any]] = field(default_factory=list)
    """Latency of a service at rising rates."""

    def add(self, database: str, name: str, samples: Samples, floor: str) -> Measurement:
        """Add a scenario and its floor."""
        latencies = Outcome()
        for outcome in samples.outcomes:
            latencies.latencies += outcome.latencies
            latencies.statuses += outcome.statuses
        measurement = Measurement(
            database,
            name,
            samples.rate,
            latencies.percentile(0.5),
            latencies.percentile(0.99),
            median(samples.processor_us),
            quartiles(samples.processor_us),
            floor,
            median(samples.floors[floor]),
            median(samples.shares(floor)),
            quartiles(samples.shares(floor)),
            dict(latencies.statuses),
        )
        self.measurements.append(measurement)
        return measurement

    def print(self) -> None:
        """Print the tables of results."""
        console = Console(width=120)
        table = Table(title="Processor time per request, compared with the floor (and quartiles)")
        for heading in ("database", "scenario"):
            table.add_column(heading)
        for heading in ("cpu µs", "floor µs", "of floor", "rate/s", "p50 ms", "p99 ms"):
            table.add_column(heading, justify="right")
        table.add_column("floor")
        for each in self.measurements:
            table.add_row(
                each.database,
                each.name,
                "{:.0f} ({:.0f}–{:.0f})".format(each.processor_us, *each.processor_quartiles),
                f"{each.floor_us:.0f}",
                "{:.0%} ({:.0%}–{:.0%})".format(each.share, *each.share_quartiles),
                f"{each.rate:,.0f}",
                f"{each.p50_ms:.2f}",
                f"{each.p99_ms:.2f}",
                each.floor,
            )
        console.print(table)
        for title, values in (("Facts", self.facts), ("Ratios", self.ratios)):
            grid = Table(title=title, show_header=False)
            for name, value in values.items():
                grid.add_row(name, f"{value:,.3f}")
            console.print(grid)

    def write(self, path: Path) -> None:
        """Write all results to a JSON file, with the commit and the date."""
        path.parent.mkdir(parents=True, exist_ok=True)
        of = {"commit": describe_commit(), "date": f"{datetime.now(UTC):%Y-%m-%d}"}
        path.write_text(json.dumps(of | asdict(self), indent=1) + "\n")
