"""Seeded simulation: a random history of actions, compared with a model.

One number determines a whole run. `make simulate SEEDS=500` runs 500 seeds, and
`make simulate SEED=7` repeats a single one.
"""

import os
import subprocess
import sys
from collections import Counter

import pytest
from tests.simulation.workers import FAULTS, LONG, Total, choose_seeds, report_failure, run
from tools.files import ROOT

FEW_SEEDS = "400"
"""Enough to find the deliberate faults of `make mutations`."""


# A crash leaves coroutines that nobody awaits.
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "seed",
    [int(os.environ["SEED"])]
    if os.environ.get("SEED")
    else choose_seeds(os.environ.get("SEEDS") or FEW_SEEDS),
)
def test_a_simulated_history_ends_in_the_state_of_the_chain(seed: int):
    done = run(seed)
    if done.error is not None:
        print(report_failure(done))
        raise done.error


@pytest.mark.parametrize("seed", [33, 35, 108])
def test_a_seed_is_replayed_byte_for_byte(seed: int):
    """The trace ends with a digest of all requests and responses, with their headers."""

    def replay(hash_seed: str) -> str:
        environ = {**os.environ, "SEED": str(seed), "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-W", "ignore", "-m", "tests.simulation"]
        return subprocess.run(
            command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, check=True, text=True
        ).stdout

    first, second = replay("1"), replay("2")
    assert first.splitlines() == second.splitlines()
    assert len(first.splitlines()) > 5


def test_a_long_run_names_the_faults_that_it_never_met():
    total = Total(seeds=LONG, faults=Counter(set(FAULTS) - {"crash at after_purge"}))
    assert total.missing == ["crash at after_purge"]


def test_a_short_run_need_not_meet_every_fault():
    assert not Total(seeds=LONG - 1).missing
