"""`imprint serve` with several workers: a dead worker is replaced, and all stop together."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.canaries import CANARIES
from tests.processes import Service, free_port, running


def _service(folder: Path) -> Service:
    given = {
        "CHAIN_RPC_URL": f"http://127.0.0.1:{free_port()}",
        "CHAIN_ID": "31337",
        "MARKETPLACE_ADDRESS": "0x" + "11" * 20,
        "JWT_SECRET": CANARIES["JWT_SECRET"],
        "RATE_LIMITS": "off",
        "WORKERS": "2",
    }
    return Service(folder, given)


def _workers(service: Service) -> set[int]:
    command = ["pgrep", "-P", str(service.process.pid)]
    listed = subprocess.run(command, check=False, capture_output=True, text=True)
    return {int(line) for line in listed.stdout.split()}


def _await(holds: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_killed_worker_is_replaced_and_all_workers_stop_together(tmp_path: Path) -> None:
    with running(_service(tmp_path)) as service:
        _await(lambda: len(_workers(service)) == 2)
        old = _workers(service)
        os.kill(min(old), signal.SIGKILL)
        _await(lambda: len(_workers(service) - old) == 1)
        assert max(old) in _workers(service)
        workers = _workers(service)
        assert service.stop() == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
