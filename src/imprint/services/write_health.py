"""Write health: whether signed writes of this process fail, and because of which dependency."""

from dataclasses import dataclass, field

from imprint.domain.errors import Code, Damaged, Unavailable
from imprint.ports import Monotonic, monotonic

WINDOW = 1.0
"""Seconds over which failed writes are compared with successful writes.

A successful probe counts only if no write has failed in that time.
"""


@dataclass(slots=True)
class _Failures:
    """Writes that failed because of one dependency in one window, and when they first and last
    did."""

    since: float
    last: float
    count: int
    succeeded_before: int


@dataclass(slots=True)
class WriteHealth:
    """The outcomes of the signed writes of this process.

    Completing a write just increments `succeeded`. A dependency is failing while more writes failed
    because of it than succeeded since the window began. Successful writes or a successful probe end
    this state.
    """

    clock: Monotonic = monotonic
    succeeded: int = 0
    _failures: dict[Code, _Failures] = field(default_factory=dict, init=False)

    def note(self, code: Code, problem: Unavailable) -> None:
        """Count a write that failed in a call to the dependency with this code.

        Only failures of the dependency itself count. A damaged record, or a document that is just
        being destroyed, makes only one write fail. Repeating this write must not make the whole
        service not ready.
        """
        if problem.code is not code or isinstance(problem, Damaged):
            return
        now = self.clock()
        found = self._failures.get(code)
        if found is None or now - found.since > WINDOW:
            self._failures[code] = _Failures(now, now, 1, self.succeeded)
        else:
            found.count += 1
            found.last = now

    def is_failing(self, code: Code) -> bool:
        """Whether writes currently fail because of the dependency with this code."""
        found = self._failures.get(code)
        return found is not None and found.count > self.succeeded - found.succeeded_before

    def note_probe(self, code: Code) -> None:
        """Record that this dependency responded to a probe."""
        found = self._failures.get(code)
        if found is not None and self.clock() - found.last > WINDOW:
            del self._failures[code]
