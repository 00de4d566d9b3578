"""Runs parts of many seeds, each in a process of its own, and adds up what they did."""

import asyncio
import atexit
import gc
import logging
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from functools import cache

from tests.postgresql import Server
from tests.simulation.runs import Run, run_seed

from imprint import failpoints

LONG = 10_000
"""The number of seeds that reach every fault."""

FAULTS = (
    *(f"crash at {name}" for name in failpoints.NAMES if not name.endswith("_migration")),
    *(f"crash in {what}" for what in ("a login", "a logout", "an opening", "a revocation")),
    *(f"node {does}" for does in ("dies", "errors", "fails", "lags", "leaves out logs")),
    *(f"node {does}" for does in ("moves", "omits", "repeats")),
    *(f"reorg of at most {depth}" for depth in (8, 32, 64)),
    *("clock set back", "document destroyed", "store fails", "store fails the collector"),
    "wrong balance",
)
"""Everything that a long run must have met at least once."""

POSTGRESQL = 50
"""Every fiftieth seed stores its records in PostgreSQL."""


@dataclass
class Total:
    """What several seeds did. `failed` are the reports of failed seeds."""

    seeds: int = 0
    seconds: float = 0.0
    on_postgresql: int = 0
    seconds_on_postgresql: float = 0.0
    responses: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    failed: dict[int, str] = field(default_factory=dict)

    def add(self, other: "Total") -> None:
        self.seeds += other.seeds
        self.seconds += other.seconds
        self.on_postgresql += other.on_postgresql
        self.seconds_on_postgresql += other.seconds_on_postgresql
        self.responses += other.responses
        self.actions += other.actions
        self.faults += other.faults
        self.failed |= other.failed

    @property
    def missing(self) -> list[str]:
        """The faults that a long run has never met."""
        is_long = self.seeds + self.on_postgresql >= LONG
        return [name for name in FAULTS if is_long and not self.faults[name]]


def choose_seeds(asked: str) -> range:
    """Parse a number of seeds, or a range of them."""
    first, _, last = asked.rpartition("-")
    return range(int(first or 1), int(last) + 1)


@cache
def _server() -> Server:
    """The PostgreSQL server of this process."""
    server = Server()
    atexit.register(server.stop)
    server.make()
    server.start()
    return server


def run(seed: int) -> Run:
    """Run a seed on the database that it is for."""
    return _run_on_postgresql(seed) if seed % POSTGRESQL == 0 else run_seed(seed)


def _run_on_postgresql(seed: int) -> Run:
    server, name = _server(), f"seed_{seed}"
    asyncio.run(server.copy_migrated_database(name))
    try:
        return run_seed(seed, server.url(name))
    finally:
        asyncio.run(server.execute(f"DROP DATABASE {name} WITH (FORCE)"))


def run_seeds(seeds: list[int]) -> Total:
    """Run seeds one after another, in a process of the pool."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    # A run makes few cycles, and collecting them would visit all modules again and again.
    gc.collect()
    gc.freeze()
    gc.disable()
    total = Total()
    for seed in seeds:
        on_postgresql = seed % POSTGRESQL == 0
        if on_postgresql:
            _server()
        began = time.process_time()
        done = run(seed)
        seconds = time.process_time() - began
        if on_postgresql:
            total.on_postgresql += 1
            total.seconds_on_postgresql += seconds
        else:
            total.seeds += 1
            total.seconds += seconds
        total.responses += done.responses
        total.actions += done.actions
        total.faults += done.faults
        if done.error is not None:
            total.failed[seed] = report_failure(done)
    return total


def report_failure(run: Run) -> str:
    """Return the trace of a failed seed, and its error."""
    error = "".join(traceback.format_exception(run.error))
    return "\n".join(
        [f"seed {run.seed}: replay with `make simulate SEED={run.seed}`", *run.trace, error]
    )
