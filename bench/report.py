"""The report of a run: one table for people, one JSON for machines."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.loads import Outcome


@dataclass(frozen=True, slots=True)
class Measurement:
    """One scenario on one database, beside its floor (answers in a second)."""

    database: str
    name: str
    rate: float
    p50_ms: float
    p99_ms: float
    processor_us: float
    floor: str
    floor_rate: float
    statuses: dict[int, int]

    @property
    def share(self) -> float:
        """How much of the floor's rate is reached."""
        return self.rate / self.floor_rate


@dataclass(slots=True)
class Report:
    """Everything that a run found."""

    measurements: list[Measurement] = field(default_factory=list)
    facts: dict[str, float] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)
    sizes: list[dict[str, Any]] = field(default_factory=list)
    workers: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self, database: str, name: str, outcome: Outcome, processor: float, floor: tuple[str, float]
    ) -> Measurement:
        """Note a scenario; every answer must have been a success."""
        bad = {status: n for status, n in outcome.statuses.items() if status != 200}
        if bad:
            raise RuntimeError(f"{name} on {database} was answered {bad}.")
        count = len(outcome.latencies)
        measurement = Measurement(
            database,
            name,
            outcome.rate,
            outcome.percentile(0.5),
            outcome.percentile(0.99),
            processor / count * 1e6,
            *floor,
            dict(outcome.statuses),
        )
        self.measurements.append(measurement)
        return measurement

    def print(self) -> None:
        """Print the tables."""
        console = Console(width=120)
        table = Table(title="Answers in a second, and what the floor gives")
        for heading in ("database", "scenario"):
            table.add_column(heading)
        for heading in ("rate/s", "p50 ms", "p99 ms", "cpu µs", "floor/s", "of floor"):
            table.add_column(heading, justify="right")
        table.add_column("floor")
        for each in self.measurements:
            table.add_row(
                each.database,
                each.name,
                f"{each.rate:,.0f}",
                f"{each.p50_ms:.2f}",
                f"{each.p99_ms:.2f}",
                f"{each.processor_us:.0f}",
                f"{each.floor_rate:,.0f}",
                f"{each.share:.0%}",
                each.floor,
            )
        console.print(table)
        for title, values in (("Facts", self.facts), ("Ratios", self.ratios)):
            grid = Table(title=title, show_header=False)
            for name, value in values.items():
                grid.add_row(name, f"{value:,.3f}")
            console.print(grid)

    def write(self, path: Path) -> None:
        """Write everything as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1))
