"""The figures of all histories of a run, which are printed and saved at its end."""

import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from tools.trust import Result, save_result

OPERATIONS = int(os.environ.get("OPERATIONS") or 5_000)
KILLS = int(os.environ.get("KILLS") or 40)
SEED = int(os.environ.get("SEED") or 1)
FEWEST_A_SECOND = 100
"""Confirmed operations a second below which a history does not count as made under load."""


@dataclass(slots=True)
class Tally:
    """The number of histories to run, and what those that have run contain."""

    histories: int
    counts: Counter[str] = field(default_factory=Counter)
    slow: list[str] = field(default_factory=list)
    skipped: set[str] = field(default_factory=set)
    rejected: list[str] = field(default_factory=list)

    @property
    def operations(self) -> int:
        """The number of confirmed operations that each history needs."""
        return -(-OPERATIONS // self.histories)

    @property
    def kills(self) -> int:
        """The number of kills that each history needs."""
        return -(-KILLS // self.histories)


@pytest.fixture(scope="session")
def tally(request: pytest.FixtureRequest) -> Iterator[Tally]:
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    chosen = [item for item in items if "tally" in item.fixturenames]
    tally = Tally(len(chosen) or 1)
    began = time.monotonic()
    yield tally
    if not tally.counts:
        return
    if request.session.testsfailed and not tally.rejected:
        tally.rejected.append("a test that failed")
    save_result(
        Result(
            suite="Histories",
            tried="Clients of two replicas that are killed and disturbed while they serve at"
            " least 100 operations a second; a checker compares all responses with the model.",
            counts=dict(tally.counts),
            found="; ".join(tally.rejected) or "nothing",
            command=f"make test-histories OPERATIONS={OPERATIONS} KILLS={KILLS}",
            seconds=round(time.monotonic() - began),
            seed=str(SEED),
            exceptions=tuple(
                [f"The history of {each} does not count: it was slower." for each in tally.slow]
                + [f"The fault “{each}” was not possible here." for each in sorted(tally.skipped)]
            ),
        )
    )
