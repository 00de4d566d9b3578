"""Measures a scenario and its floors in alternating rounds.

A shared machine is slow for seconds at a time. With alternating rounds, both sides slow down
together, so the ratio in a round hardly changes, and the median of all rounds changes even less.
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
"""Number of rounds per scenario."""


@dataclass(slots=True)
class Samples:
    """The results of a scenario's rounds, and the rates of its floors."""

    outcomes: list[Outcome] = field(default_factory=list)
    processor_us: list[float] = field(default_factory=list)
    floors: dict[str, list[float]] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Responses per second."""
        return median(outcome.rate for outcome in self.outcomes)

    def ratio(self, name: str) -> float:
        """Return the rate as a fraction of a floor's rate."""
        pairs = zip(self.outcomes, self.floors[name], strict=True)
        return median(outcome.rate / floor for outcome, floor in pairs)

    def send(self, service: Measured, requests: Sequence[bytes]) -> None:
        """Measure one round. Raises RuntimeError if a response has a status other than 200."""
        outcome, seconds = send_timed(service, requests)
        bad = {status: n for status, n in outcome.statuses.items() if status != 200}
        if bad:
            raise RuntimeError(f"Unexpected statuses: {bad}.")
        self.outcomes.append(outcome)
        self.processor_us.append(seconds / len(requests) * 1e6)


def cut(requests: Sequence[bytes], rounds: int = ROUNDS) -> list[Sequence[bytes]]:
    """Divide the requests among the rounds."""
    size = len(requests) // rounds
    return [requests[number * size : (number + 1) * size] for number in range(rounds)]


def take_turns(service: Measured, requests: Sequence[bytes], floors: Sequence[Floor]) -> Samples:
    """Send the requests in rounds, measuring every floor before each round."""
    samples = Samples(floors={floor.name: [] for floor in floors})
    for some in cut(requests):
        for floor in floors:
            samples.floors[floor.name].append(floor.sample())
        samples.send(service, some)
    return samples


def send_timed(service: Measured, requests: Sequence[bytes]) -> tuple[Outcome, float]:
    """Send a load and return the outcome and the service's processor seconds."""
    before = service.processor_seconds
    outcome = asyncio.run(send_load(service.port, list(requests)))
    time.sleep(0.02)
    return outcome, service.processor_seconds - before
