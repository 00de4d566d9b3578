"""What a worker of `imprint serve` does before it serves."""

import os

import pytest

from imprint.cli.serve import pin_worker

NO_CPU = 1_000_000

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="this system pins no process"
)


def test_a_worker_whose_cpu_was_taken_away_serves_without(caplog: pytest.LogCaptureFixture):
    before = os.sched_getaffinity(0)
    pin_worker((min(before), NO_CPU), 1)
    assert os.sched_getaffinity(0) == before
    assert "the worker is not pinned" in caplog.text
