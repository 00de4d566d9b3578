"""Compares results of Imprint's code with those of an independent implementation.

Cases come from a seeded `Random`. Every difference must be a known one, or the comparison fails.
"""

import json
import os
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tools.trust import Result, save_result

HERE = Path(__file__).parent
CASES = int(os.environ.get("CASES") or 3_000)
SEED = int(os.environ.get("SEED") or 1)

MANY_CASES = 100_000
"""The number of cases from which every known difference must occur."""

SHOWN = 20
"""Number of unknown differences to show."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The input was refused. Two refusals are equal, whatever their reasons."""

    reason: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Known:
    """A difference that is accepted, and the reason for it in one sentence.

    `applies` recognises it in a case, our result, and the result of the other implementation.
    """

    name: str
    why: str
    applies: Callable[[Any, Any, Any], bool]


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing that both implementations do. `share` is its percentage of `CASES`.

    The shares of the main subjects add up to 100, and other subjects come on top. `theirs` takes a
    batch of cases, because starting the other implementation is expensive.
    """

    name: str
    share: int
    generate: Callable[[Random], Any]
    ours: Callable[[Any], Any]
    theirs: Callable[[list[Any]], list[Any]]
    known: Sequence[Known] = ()
    batch: int = 1_000


def compare(peer: str, tried: str, subjects: Sequence[Subject]) -> None:
    """Compare all cases of all subjects, and save the result. Raises AssertionError."""
    assert sum(subject.share for subject in subjects) >= 100
    began = time.monotonic()
    counts: dict[str, int] = {}
    occurred: Counter[tuple[str, Known]] = Counter()
    unknown: list[str] = []
    for subject in subjects:
        for number, (case, ours, theirs) in enumerate(_results(subject)):
            counts[subject.name] = number + 1
            if ours == theirs:
                continue
            for known in subject.known:
                if known.applies(case, ours, theirs):
                    occurred[subject.name, known] += 1
                    break
            else:
                found = f"{subject.name} {number}: {case!r}\n  {ours!r}\n  {theirs!r}"
                unknown.append(found)
    for (name, known), count in occurred.items():
        print(f"{peer}, {name}: {known.name} ({count})")
    shown = "\n".join(unknown[:SHOWN])
    assert not unknown, f"{len(unknown)} unknown differences from {peer}, seed {SEED}:\n{shown}"
    used = {known for _, known in occurred}
    unused = {each.name for subject in subjects for each in subject.known if each not in used}
    assert CASES < MANY_CASES or not unused, f"These differences did not occur: {unused}"
    save_result(
        Result(
            suite=f"Differences from {peer}",
            tried=tried,
            counts=counts,
            found="nothing",
            command=f"make test-differences PEER={peer.lower()} CASES={CASES} SEED={SEED}",
            seconds=round(time.monotonic() - began),
            seed=str(SEED),
            exceptions=tuple(
                f"{name}, {known.name} ({count} cases): {known.why}"
                for (name, known), count in occurred.items()
            ),
        )
    )


def _results(subject: Subject) -> Iterator[tuple[Any, Any, Any]]:
    """Yield each case of a subject with both results."""
    # A subject has a generator of its own, so that its cases do not depend on other subjects.
    rng = Random(f"{SEED} {subject.name}")
    total = CASES * subject.share // 100
    for start in range(0, total, subject.batch):
        cases = [subject.generate(rng) for _ in range(min(subject.batch, total - start))]
        yield from zip(cases, map(subject.ours, cases), subject.theirs(cases), strict=True)


class NodeProcess:
    """A Node script that reads and writes one line of JSON for each batch."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def ask(self, subject: str) -> Callable[[list[Any]], list[Any]]:
        """Return a function that sends a batch of cases about this subject."""

        def send(cases: list[Any]) -> list[Any]:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps({"subject": subject, "cases": cases}) + "\n")
            self._process.stdin.flush()
            return [_read_result(result) for result in json.loads(self._process.stdout.readline())]

        return send


def _read_result(result: Any) -> Any:
    is_refusal = isinstance(result, dict) and result.keys() == {"refused"}
    return Refused(result["refused"]) if is_refusal else result


@contextmanager
def run_node(script: str) -> Iterator[NodeProcess]:
    """Run a script in this folder until the context exits."""
    command = ["node", str(HERE / script)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        yield NodeProcess(process)
        assert process.stdin is not None
        process.stdin.close()
