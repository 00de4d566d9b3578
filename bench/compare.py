"""Compare the speed of two checkouts: python -m bench.compare OTHER

OTHER is the folder of another checkout, or a commit, which is then checked out into `.tools`. Runs
`imprint serve` from both and sends them the same load in turns, on the same core. Only this
checkout's code generates the load, so the checkouts may differ in everything except the HTTP API
and the settings.
"""

import argparse
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from bench.databases import Database, open_databases
from bench.fixture import Fixture
from bench.processes import CHECKOUT, LOAD_CORE, Measured, pin, run_chain, run_service
from bench.rounds import Samples, quartiles
from bench.scenarios import (
    BOUND_UPDATE,
    CONTRACT_LOGIN,
    SESSION_UPDATE,
    WITHOUT_CACHE,
    Requests,
    cold_reads,
    warm_reads,
    writes,
)

ROUNDS = 15
"""Number of rounds per checkout and scenario."""

TOLERANCE = 0.05
"""Relative difference above which a result is flagged."""

REQUESTS = {
    "login": 300,
    "signed create": 250,
    "signed update": 120,
    BOUND_UPDATE: 120,
    SESSION_UPDATE: 120,
    CONTRACT_LOGIN: 60,
    "webhook delivery": 150,
    "gated read, access cached": 1_000,
    "free read": 1_000,
    "list of the newest posts": 1_000,
    "list of own drafts": 1_000,
    "gated read, access from the chain": 300,
}
"""Number of requests per round of each scenario. A round takes 0.1 to 0.5 seconds."""

Side = tuple[Measured, Requests]
"""A running service and the requests that one scenario sends to it."""


def _warm_scenarios(fixture: Fixture) -> dict[str, Requests]:
    return {**writes(fixture), **warm_reads(fixture)}


GROUPS: tuple[tuple[dict[str, str], Callable[[Fixture], dict[str, Requests]]], ...] = (
    ({}, _warm_scenarios),
    (WITHOUT_CACHE, cold_reads),
)
"""Service settings and the scenarios that run with them."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The ratios (other/this) in all rounds of one scenario on one database."""

    database: str
    scenario: str
    this_rate: float
    rates: list[float]
    processor_times: list[float]

    @property
    def flags(self) -> str:
        """Differences that exceed the tolerance."""
        flags = []
        for ratio, more, less in (
            (median(self.rates), "LOWER RATE", "higher rate"),
            (median(self.processor_times), "less time", "MORE TIME"),
        ):
            if ratio > 1 + TOLERANCE:
                flags.append(more)
            elif ratio < 1 - TOLERANCE:
                flags.append(less)
        return ", ".join(flags)


def main() -> None:
    """Measure every scenario and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", help="another checkout, or a commit")
    parser.add_argument("--only", choices=["sqlite", "postgresql"], help="one database")
    parser.add_argument("--scenario", choices=list(REQUESTS), help="one scenario")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="turns of each checkout")
    options = parser.parse_args()
    other = set_up(options.other)
    scenarios = [options.scenario] if options.scenario else list(REQUESTS)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        pin(LOAD_CORE)
        rpc_url = stack.enter_context(run_chain(folder / "chain"))
        run = Run(folder, rpc_url, (CHECKOUT, other), scenarios, options.rounds)
        databases = open_databases(stack, folder, options.only)
        print_table([each for database in databases for each in run.compare(database)])


def set_up(other: str) -> Path:
    """Return the checkout of a folder or commit, with its `.venv`."""
    folder = Path(other).resolve()
    if not folder.is_dir():
        found = subprocess.run(
            ["git", "rev-parse", "--verify", f"{other}^{{commit}}"],
            cwd=CHECKOUT,
            check=True,
            capture_output=True,
            text=True,
        )
        commit = found.stdout.strip()
        folder = CHECKOUT / ".tools" / "compare" / commit
        if not folder.exists():
            clone = ["git", "clone", "--quiet", "--no-checkout", str(CHECKOUT), str(folder)]
            subprocess.run(clone, check=True)
        subprocess.run(["git", "checkout", "--quiet", commit], cwd=folder, check=True)
    subprocess.run(["make", "--no-print-directory", ".venv/ready"], cwd=folder, check=True)
    return folder


@dataclass(frozen=True, slots=True)
class Run:
    """Measures two checkouts. The first is the checkout of this file."""

    folder: Path
    rpc_url: str
    checkouts: tuple[Path, Path]
    scenarios: list[str]
    rounds: int

    def compare(self, database: Database) -> Iterator[Comparison]:
        """Compare the scenarios on a database."""
        urls = [database.make() for _ in self.checkouts]
        for settings, build in GROUPS:
            with ExitStack() as stack:
                sides = []
                for number, checkout in enumerate(self.checkouts):
                    content = self.folder / f"content-{database.name}-{number}"
                    running = run_service(
                        content,
                        self.rpc_url,
                        urls[number],
                        checkout=checkout,
                        settings=settings,
                    )
                    service = stack.enter_context(running)
                    sides.append((service, build(Fixture(service, self.rpc_url))))
                for scenario in sides[0][1]:
                    if scenario not in self.scenarios:
                        continue
                    if scenario not in sides[1][1]:
                        print(f"{scenario} on {database.name}: not in the other checkout.")
                        continue
                    this, other = [(service, load[scenario]) for service, load in sides]
                    yield self._take_turns(database.name, scenario, this, other)

    def _take_turns(self, database: str, scenario: str, this: Side, other: Side) -> Comparison:
        print(f"{scenario} on {database} …", flush=True)
        samples = {this: Samples(), other: Samples()}
        for service, requests in (this, other):
            Samples().send(service, requests(REQUESTS[scenario] // 4))
        for number in range(self.rounds):
            # The first turn of a round may be slower or faster than the second, so turns alternate.
            for side in (this, other) if number % 2 == 0 else (other, this):
                service, requests = side
                samples[side].send(service, requests(REQUESTS[scenario]))
        mine, others = samples[this], samples[other]
        rates = zip(others.outcomes, mine.outcomes, strict=True)
        processor_times = zip(others.processor_us, mine.processor_us, strict=True)
        return Comparison(
            database,
            scenario,
            mine.rate,
            [other.rate / this.rate for other, this in rates],
            [other / this for other, this in processor_times],
        )


def print_table(comparisons: list[Comparison]) -> None:
    """Print the median ratios, each with its quartiles."""
    table = Table(title="other checkout / this checkout, medians (and quartiles)")
    for heading in ("database", "scenario"):
        table.add_column(heading)
    for heading in ("this, /s", "rate", "processor time"):
        table.add_column(heading, justify="right")
    table.add_column(f"this, by more than {TOLERANCE:.0%}")
    for each in comparisons:
        table.add_row(
            each.database,
            each.scenario,
            f"{each.this_rate:,.0f}",
            _ratio(each.rates),
            _ratio(each.processor_times),
            each.flags,
        )
    Console(width=120).print(table)


def _ratio(values: list[float]) -> str:
    low, high = quartiles(values)
    return f"{median(values):.3f} ({low:.3f}–{high:.3f})"


if __name__ == "__main__":
    main()
