"""Rounds: a scenario and what it is compared with take turns.

A machine that others use too is slow for seconds at a time. What takes turns is slow together, so
the ratio of a round hardly changes, and the median of several rounds less so.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from bench.floors import Floor
from bench.loads import Outcome, send_load
from bench.processes import Measured

ROUNDS = 13
"""How many turns everything takes."""


@dataclass(slots=True)
class Taken:
    """What the rounds of a scenario gave, and those of the floors beside it."""

    outcomes: list[Outcome] = field(default_factory=list)
    processor_us: list[float] = field(default_factory=list)
    beside: dict[str, list[float]] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Answers in a second."""
        return median(outcome.rate for outcome in self.outcomes)

    def ratio(self, name: str) -> float:
        """The rate over that of a floor."""
        pairs = zip(self.outcomes, self.beside[name], strict=True)
        return median(outcome.rate / floor for outcome, floor in pairs)

    def load(self, service: Measured, requests: Sequence[bytes]) -> None:
        """One round."""
        outcome, seconds = send_timed(service, requests)
        bad = {status: n for status, n in outcome.statuses.items() if status != 200}
        if bad:
            raise RuntimeError(f"Some were answered {bad}.")
        self.outcomes.append(outcome)
        self.processor_us.append(seconds / len(requests) * 1e6)


def cut(requests: Sequence[bytes], rounds: int = ROUNDS) -> list[Sequence[bytes]]:
    """The requests of each round."""
    size = len(requests) // rounds
    return [requests[number * size : (number + 1) * size] for number in range(rounds)]


def take_turns(service: Measured, requests: Sequence[bytes], floors: Sequence[Floor]) -> Taken:
    """Send the requests in rounds, with a sample of every floor before each."""
    taken = Taken(beside={floor.name: [] for floor in floors})
    for some in cut(requests):
        for floor in floors:
            taken.beside[floor.name].append(floor.sample())
        taken.load(service, some)
    return taken


def send_timed(service: Measured, requests: Sequence[bytes]) -> tuple[Outcome, float]:
    """Send a load; what came of it, and the processor time that the service took."""
    before = service.processor_seconds
    outcome = asyncio.run(send_load(service.port, list(requests)))
    time.sleep(0.02)
    return outcome, service.processor_seconds - before
