"""Decides whether a history fits the model of the service.

- Each draft of an author is a register. An update or a delete names the version that it replaces,
  and takes effect only if that version is the current one. The operations on a register must be
  linearizable: each takes effect at one moment between its start and its end. An operation with
  an unknown outcome takes effect at any moment after its start, or never.
- A list shows one version of each draft.
- A nonce of a signer is used at most once, and is only refused as used if it may have been used.
- A session that was ended is never accepted again, and only refused as ended if it may have been.
- A reader gets the text of a post only after buying it, and always after having bought it.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tests.histories.history import Operation

WRITES = {"create", "update", "delete"}
STALE_VERSION = {"not_found", "not_pending"}
"""Codes of refusals because the named version is not the current one."""

ENDED = {"session": "session_ended", "writing_session": "writing_session_invalid"}
"""Codes of refusals because a session was ended, by the argument that names the session."""

PRESENT = "?"
"""The value of a draft in a list, if nobody knows the content of the listed version."""

INFINITY = float("inf")


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a part of a history breaks. `key` is the register, nonce or session."""

    rule: str
    key: Hashable
    operations: tuple[Operation, ...]

    def __str__(self) -> str:
        return f"{self.rule}: {self.key} ({len(self.operations)} operations)"


def find_violations(operations: Sequence[Operation]) -> list[Violation]:
    """Return every broken rule. The history fits the model if there is none."""
    return [violation for check in CHECKS for violation in check(operations)]


# Registers


def check_registers(operations: Sequence[Operation]) -> Iterator[Violation]:
    """Find the drafts whose operations are not linearizable."""
    for key, its_own in _by_register(operations).items():
        if not is_linearizable([_step_of(each) for each in _merge_attempts(its_own)]):
            yield Violation("a draft is not linearizable", key, tuple(its_own))


State = tuple[str | None, frozenset[str]]
"""The current version of a draft, or None if it does not exist, and the nonces spent on it."""

NOTHING: State = (None, frozenset())


@dataclass(frozen=True, slots=True)
class Step:
    """An operation on a register. `apply` returns the next state, or None if it cannot happen.

    A step that is not `required` may also never happen.
    """

    start: float
    end: float
    required: bool
    apply: Callable[[State], State | None]


def is_linearizable(steps: Sequence[Step]) -> bool:
    """Search for an order in which all required steps can happen (Wing & Gong, with
    memoization)."""
    required = sum(1 << at for at, step in enumerate(steps) if step.required)
    stack = [(0, NOTHING)]
    seen = set(stack)
    while stack:
        done, state = stack.pop()
        if done & required == required:
            return True
        left = [at for at in range(len(steps)) if not done >> at & 1]
        limit = min(steps[at].end for at in left if steps[at].required)
        for at in sorted(left, key=lambda at: steps[at].end, reverse=True):
            if steps[at].start > limit:
                continue
            changed = steps[at].apply(state)
            if changed is not None and (node := (done | 1 << at, changed)) not in seen:
                seen.add(node)
                stack.append(node)
    return False


def _by_register(operations: Sequence[Operation]) -> dict[tuple[str, str], list[Operation]]:
    """Return the operations on each register. A list of drafts is a read of all of them."""
    registers: dict[tuple[str, str], list[Operation]] = defaultdict(list)
    for each in operations:
        if "register" in each.arguments and _counts(each):
            registers[each.arguments["author"], each.arguments["register"]].append(each)
    begun, gone = {}, {}
    for key, its_own in registers.items():
        begun[key] = min((each.start for each in its_own if each.kind == "create"), default=0.0)
        ends = [each.end for each in its_own if each.kind == "delete" and each.outcome == "ok"]
        gone[key] = min(ends, default=INFINITY)
    lists = [each for each in operations if each.kind == "list" and each.outcome == "ok"]
    by_author: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for key in registers:
        by_author[key[0]].append(key)
    for each in lists:
        for key in by_author[each.arguments["author"]]:
            seen = each.result["values"].get(key[1])
            # An absent draft says nothing before its creation and after its deletion.
            if seen is not None or (
                each.result["complete"] and begun[key] <= each.end and each.start <= gone[key]
            ):
                arguments = {"author": key[0], "register": key[1]}
                registers[key].append(
                    replace(each, arguments=arguments, result={"value": seen}, kind="observe")
                )
    return registers


def _counts(operation: Operation) -> bool:
    """Whether an operation says anything about its register."""
    if operation.kind in WRITES:
        return operation.outcome != "fail" or operation.code in STALE_VERSION | {"nonce_used"}
    return operation.outcome == "ok" or operation.code == "not_found"


def _merge_attempts(operations: Iterable[Operation]) -> list[Operation]:
    """Replace the unknown attempts of each write by one, because at most one takes effect.

    None of them took effect if another attempt did.
    """
    merged, unknown = [], {}
    for each in operations:
        if each.outcome != "unknown":
            merged.append(each)
            continue
        nonce = each.arguments["nonce"]
        if nonce not in unknown or each.start < unknown[nonce].start:
            unknown[nonce] = each
    confirmed = {each.arguments["nonce"] for each in merged if _is_done(each)}
    return merged + [each for nonce, each in unknown.items() if nonce not in confirmed]


def _is_done(operation: Operation) -> bool:
    return operation.kind in WRITES and operation.outcome == "ok"


def _step_of(operation: Operation) -> Step:
    required = operation.outcome != "unknown"
    end = operation.end if required else INFINITY
    return Step(operation.start, end, required, partial(_apply, operation))


def _apply(operation: Operation, state: State) -> State | None:
    """Return the state after an operation with this response, or None if it contradicts it."""
    current, spent = state
    arguments = operation.arguments
    if operation.kind not in WRITES:
        return state if _agrees(operation, current) else None
    nonce, expected = arguments["nonce"], arguments.get("expected")
    if operation.code == "nonce_used":
        return state if nonce in spent else None
    if nonce in spent:
        return None
    if operation.code in STALE_VERSION and operation.outcome == "fail":
        return state if current != expected else None
    return (arguments.get("value"), spent | {nonce}) if current == expected else None


def _agrees(operation: Operation, current: str | None) -> bool:
    """Whether a read or a list agrees with the current version."""
    if operation.kind == "observe":
        seen = operation.result["value"]
        return current is not None if seen == PRESENT else current == seen
    expected = operation.arguments["expected"]
    if operation.outcome == "fail":
        return bool(current != expected)
    return bool(operation.result["value"] == expected == current)


# Lists


def check_lists(operations: Sequence[Operation]) -> Iterator[Violation]:
    """Find drafts that a list shows more than once, such as in an old and a new version."""
    for each in operations:
        for draft in each.result.get("repeated", ()):
            key = each.arguments["author"], draft
            yield Violation("a list shows a draft twice", key, (each,))


# Nonces


def check_nonces(operations: Sequence[Operation]) -> Iterator[Violation]:
    """Find nonces that were used twice, and nonces refused as used that nobody can have used."""
    by_nonce: dict[tuple[str, str], list[Operation]] = defaultdict(list)
    for each in operations:
        if "nonce" in each.arguments:
            by_nonce[each.arguments["author"], each.arguments["nonce"]].append(each)
    for key, attempts in by_nonce.items():
        if sum(each.outcome == "ok" for each in attempts) > 1:
            yield Violation("a nonce was used twice", key, tuple(attempts))
        began = [each.start for each in attempts if each.outcome != "fail"]
        refused = [each.end for each in attempts if each.code == "nonce_used"]
        if refused and min(refused) < min(began, default=INFINITY):
            yield Violation("a nonce was spent on nothing", key, tuple(attempts))


# Sessions


def check_sessions(operations: Sequence[Operation]) -> Iterator[Violation]:
    """Find ended sessions that were accepted, and refused sessions that nobody can have ended."""
    for name, code in ENDED.items():
        openings = {
            each.result[name]: each
            for each in operations
            if each.outcome == "ok" and each.kind == f"open {name}"
        }
        uses: dict[str, list[Operation]] = defaultdict(list)
        for each in operations:
            if name in each.arguments:
                uses[each.arguments[name]].append(each)
        ends = [each for each in operations if each.kind.startswith(f"end {name}")]
        ends = [each for each in ends if each.outcome != "fail"]
        for session, opening in openings.items():
            its_ends = [each for each in ends if _may_end(each, opening, name)]
            involved = (opening, *its_ends, *(u for u in uses[session] if u not in its_ends))
            ended = min(
                (e.end for e in its_ends if e.outcome == "ok" and _must_end(e, opening, name)),
                default=INFINITY,
            )
            accepted = [u for u in uses[session] if u.outcome == "ok" and u.start > ended]
            if accepted:
                yield Violation(f"an ended {name} was accepted", session, involved)
            began = min((each.start for each in its_ends), default=INFINITY)
            if any(u.code == code and u.end < began for u in uses[session]):
                yield Violation(f"a live {name} was refused as ended", session, involved)


def _may_end(end: Operation, opening: Operation, name: str) -> bool:
    """Whether an operation ends a session, or may end it together with all others."""
    if end.kind == f"end {name}":
        return bool(end.arguments["ended"] == opening.result[name])
    same_author = end.arguments["author"] == opening.arguments["author"]
    return same_author and (end.outcome == "unknown" or opening.start < end.end)


def _must_end(end: Operation, opening: Operation, name: str) -> bool:
    """Whether an operation certainly ends a session, which was opened before it began."""
    return end.kind == f"end {name}" or opening.end < end.start


# Posts


def check_purchases(operations: Sequence[Operation]) -> Iterator[Violation]:
    """Find texts of posts served before their purchase, and refused after it."""
    by_reader: dict[tuple[str, str], list[Operation]] = defaultdict(list)
    for each in operations:
        if "post" in each.arguments:
            by_reader[each.arguments["author"], each.arguments["post"]].append(each)
    for key, its_own in by_reader.items():
        bought = [each for each in its_own if each.kind == "buy"]
        began = min((each.start for each in bought), default=INFINITY)
        ended = min((each.end for each in bought), default=INFINITY)
        reads = [each for each in its_own if each.kind == "read post"]
        if any(each.outcome == "ok" and each.end < began for each in reads):
            yield Violation("a post was served before its purchase", key, tuple(its_own))
        if any(each.code == "not_entitled" and each.start > ended for each in reads):
            yield Violation("a post was refused after its purchase", key, tuple(its_own))
        if any(each.result.get("value") != key[1] for each in reads if each.outcome == "ok"):
            yield Violation("a post was served with another text", key, tuple(its_own))


CHECKS = (check_registers, check_lists, check_nonces, check_sessions, check_purchases)
