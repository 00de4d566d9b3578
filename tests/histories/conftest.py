"""The figures of all histories of a run, which are printed and saved at its end."""

import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from tests.histories.history import FEWEST_A_SECOND, PERIOD_SECONDS, Amount
from tools.trust import Result, save_result

OPERATIONS = int(os.environ.get("OPERATIONS") or 5_000)
KILLS = int(os.environ.get("KILLS") or 40)
SEED = int(os.environ.get("SEED") or 1)


@dataclass(slots=True)
class Tally:
    """The number of histories to run, and what those that have run contain."""

    histories: int
    counts: Counter[str] = field(default_factory=Counter)
    slow: list[str] = field(default_factory=list)
    """What histories that did not reach their numbers under load lack, as sentences."""
    skipped: set[str] = field(default_factory=set)
    rejected: list[str] = field(default_factory=list)

    @property
    def goal(self) -> Amount:
        """The confirmed operations and kills that each history needs."""
        return Amount(-(-OPERATIONS // self.histories), -(-KILLS // self.histories))


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
            tried="Clients of two replicas that are killed and disturbed; a checker compares all"
            f" responses with the model. Under load means at least {FEWEST_A_SECOND} confirmed"
            f" operations a second, measured over {PERIOD_SECONDS} seconds.",
            counts=dict(tally.counts),
            found="; ".join(tally.rejected) or "nothing",
            command=f"make test-histories OPERATIONS={OPERATIONS} KILLS={KILLS}",
            seconds=round(time.monotonic() - began),
            seed=str(SEED),
            exceptions=tuple(
                tally.slow
                + [f"The fault “{each}” was not possible here." for each in sorted(tally.skipped)]
            ),
        )
    )
