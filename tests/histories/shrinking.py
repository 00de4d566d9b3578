"""Makes a rejected history as small as possible, so that a person can read it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.histories.checker import WRITES, Violation, find_violations
from tests.histories.history import Operation

Rejects = Callable[[Sequence[Operation]], bool]


def shrink(violation: Violation) -> list[Operation]:
    """Return a part of the history that breaks the same rule with fewer operations.

    Only parts are considered that the service could have produced if the whole were correct:
    the history up to a moment, and without operations that changed nothing. A part without the
    write of a value that was read would break the rule for a wrong reason.
    """

    def rejects(operations: Sequence[Operation]) -> bool:
        found = find_violations(operations)
        return any((each.rule, each.key) == (violation.rule, violation.key) for each in found)

    ordered = sorted(violation.operations, key=lambda each: each.end)
    return _drop_effectless(_cut(ordered, rejects), rejects)


def _cut(operations: list[Operation], rejects: Rejects) -> list[Operation]:
    """Return the shortest beginning of a history that is rejected.

    Operations that had not ended by then have an unknown outcome.
    """
    for number, last in enumerate(operations, start=1):
        begun = [each for each in operations[number:] if each.start < last.end]
        running = [replace(each, outcome="unknown", result={}) for each in begun if _acts(each)]
        if rejects(operations[:number] + running):
            return operations[:number] + running
    return operations


def _drop_effectless(operations: list[Operation], rejects: Rejects) -> list[Operation]:
    """Drop ever smaller groups of operations without effect, while the rest is rejected."""
    size = len(operations)
    while size:
        at = 0
        while at < len(operations):
            group = operations[at : at + size]
            kept = [each for each in group if _acts(each)]
            rest = operations[:at] + kept + operations[at + size :]
            if len(kept) < len(group) and rejects(rest):
                operations = rest
            else:
                at += size
        size //= 2
    return operations


def _acts(operation: Operation) -> bool:
    """Whether an operation may have changed anything."""
    changes = operation.kind in WRITES or operation.kind.startswith(("open ", "end ", "buy"))
    return changes and operation.outcome != "fail"
