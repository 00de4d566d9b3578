"""Benchmark report: tables on the terminal and a JSON file."""

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from tools.files import ROOT
from tools.trust import describe_commit

from bench.loads import Outcome
from bench.rounds import Samples, quartiles
from bench.tables import render_costs, render_sizes

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
        found = asdict(self)
        if self.measurements:
            print(render_costs(found))
        if self.sizes:
            print(render_sizes(found))
        for values in (self.facts, self.ratios):
            for name, value in values.items():
                print(f"{value:12,.3f} {name}")

    def write(self, path: Path) -> None:
        """Write all results to a JSON file, with the commit and the date."""
        path.parent.mkdir(parents=True, exist_ok=True)
        of = {"commit": describe_commit(), "date": f"{datetime.now(UTC):%Y-%m-%d}"}
        path.write_text(json.dumps(of | asdict(self), indent=1) + "\n")
