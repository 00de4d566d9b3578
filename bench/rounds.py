"""Measures a scenario and its floors in alternating rounds.

A shared machine is slow for seconds at a time, which processor time shows less than rates do. With
alternating rounds, both sides slow down together, so the ratio in a round hardly changes, and the
median of all rounds changes even less.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles

from bench.floors import Floor
from bench.loads import Outcome
from bench.processes import Measured, send_timed

ROUNDS = 13
"""Number of rounds per scenario."""


@dataclass(slots=True)
class Samples:
    """The results of a scenario's rounds, and the processor time of its floors."""

    outcomes: list[Outcome] = field(default_factory=list)
    processor_us: list[float] = field(default_factory=list)
    """Processor microseconds per request, in user and kernel code, of all processes."""
    floors: dict[str, list[float]] = field(default_factory=dict)
    """The processor microseconds of each floor, by name."""

    @property
    def rate(self) -> float:
        """Responses per second."""
        return median(outcome.rate for outcome in self.outcomes)

    def shares(self, name: str) -> list[float]:
        """Return a floor's processor time as a fraction of the scenario's, in each round."""
        pairs = zip(self.floors[name], self.processor_us, strict=True)
        return [floor / spent for floor, spent in pairs]

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
            samples.floors[floor.name].append(floor.sample() * 1e6)
        samples.send(service, some)
    return samples


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """Return the first and the third quartile."""
    low, _, high = quantiles(values, n=4) if len(values) > 1 else [*values] * 3
    return low, high
