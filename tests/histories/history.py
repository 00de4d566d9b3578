"""Histories: what clients asked of the service and what it responded, in JSON lines."""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

Outcome = Literal["ok", "fail", "unknown"]


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


@dataclass(slots=True)
class History:
    """The operations of all clients in the order of their ends."""

    operations: list[Operation] = field(default_factory=list)
    clock: Callable[[], float] = time.monotonic
    acknowledged: int = 0
    """Number of operations that were confirmed, without refusals."""

    def add(self, operation: Operation) -> None:
        self.operations.append(operation)
        self.acknowledged += operation.outcome == "ok"


def write_history(operations: Iterable[Operation], path: Path) -> None:
    """Write one operation per line."""
    lines = [json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in operations]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines), "utf-8")


def read_history(path: Path) -> list[Operation]:
    """Read what `write_history` wrote."""
    return [Operation(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]
