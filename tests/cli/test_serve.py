"""Start-up of `imprint serve`."""

import os

import pytest
from tests.cli.installations import run

from imprint.cli.serve import pin_worker

NO_CPU = 1_000_000


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system pins no process")
def test_a_worker_runs_unpinned_if_its_cpu_does_not_exist(caplog: pytest.LogCaptureFixture):
    before = os.sched_getaffinity(0)
    pin_worker((min(before), NO_CPU), 1)
    assert os.sched_getaffinity(0) == before
    assert "the worker is not pinned" in caplog.text


def test_all_missing_settings_are_named_at_once():
    result = run({}, "serve")
    assert (result.exit_code, result.stdout) == (2, "")
    for name in ("CHAIN_RPC_URL", "CHAIN_ID", "MARKETPLACE_ADDRESS", "JWT_SECRET"):
        assert f"IMPRINT_{name} is missing" in result.stderr
