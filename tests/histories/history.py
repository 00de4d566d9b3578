"""Histories: what clients asked of the service and what it responded, in JSON lines."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

Outcome = Literal["ok", "fail", "unknown"]

FEWEST_A_SECOND = 100
"""Confirmed operations per second from which on replicas count as loaded."""

PERIOD_SECONDS = 5
"""Seconds in which the rate is measured."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A request and its response.

    `fail` means that the operation had no effect, and `unknown` that it may have had one, even
    after its end. `arguments` are what the client sent, and `result` what it received.
    """

    process: int
    kind: str
    arguments: dict[str, Any]
    start: float
    end: float
    outcome: Outcome
    result: dict[str, Any] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """The code of a refusal."""
        return str(self.result.get("code", ""))


@dataclass(frozen=True, slots=True)
class Amount:
    """Numbers of confirmed operations and of kills."""

    operations: int
    kills: int


@dataclass(slots=True)
class History:
    """The operations of all clients in the order of their ends, and the moments of the kills."""

    operations: list[Operation] = field(default_factory=list)
    clock: Callable[[], float] = time.monotonic
    _confirmed: Counter[int] = field(default_factory=Counter)
    """Number of operations confirmed in each period, without refusals."""
    _kills: Counter[int] = field(default_factory=Counter)

    def add(self, operation: Operation) -> None:
        self.operations.append(operation)
        if operation.outcome == "ok":
            self._confirmed[int(operation.end // PERIOD_SECONDS)] += 1

    def add_kill(self) -> None:
        self._kills[int(self.clock() // PERIOD_SECONDS)] += 1

    @property
    def acknowledged(self) -> int:
        """Number of operations that were confirmed, without refusals."""
        return self._confirmed.total()

    @property
    def total(self) -> Amount:
        return Amount(self.acknowledged, self._kills.total())

    @property
    def under_load(self) -> Amount:
        """What happened in periods with at least `FEWEST_A_SECOND` confirmed operations a
        second."""
        least = FEWEST_A_SECOND * PERIOD_SECONDS
        loaded = [period for period, number in self._confirmed.items() if number >= least]
        return Amount(
            sum(self._confirmed[period] for period in loaded),
            sum(self._kills[period] for period in loaded),
        )


def write_history(operations: Iterable[Operation], path: Path) -> None:
    """Write one operation per line."""
    lines = [json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in operations]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines), "utf-8")


def read_history(path: Path) -> list[Operation]:
    """Read what `write_history` wrote."""
    return [Operation(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
