"""Start-up of `imprint serve`."""

import ctypes
import os
import subprocess
import sys

import pytest
from tests.cli.installations import run

from imprint.cli.serve import ARENAS, pin_worker

NO_CPU = 1_000_000

COUNT_ARENAS = """
import ctypes, sys, threading
from imprint.cli.serve import limit_arenas

libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
limit_arenas()
together = threading.Barrier(8)
def work():
    libc.malloc(10_000)
    together.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
[each.start() for each in threads]
[each.join() for each in threads]
stream = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
libc.malloc_info(0, stream)
libc.fclose(stream)
"""
"""Writes glibc's account of the arenas that eight threads have used."""


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


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="this is not glibc")
@pytest.mark.parametrize("given", [None, "5"])
def test_threads_share_a_few_memory_arenas(tmp_path, given):
    environ = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    if given is not None:
        environ["MALLOC_ARENA_MAX"] = given
    account = tmp_path / "arenas.xml"
    subprocess.run([sys.executable, "-c", COUNT_ARENAS, str(account)], env=environ, check=True)
    assert account.read_text().count("<heap nr=") == int(given or ARENAS)
