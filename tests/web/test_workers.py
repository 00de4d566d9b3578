"""`imprint serve` with one worker and several: one that dies is replaced, and no request fails."""

import asyncio
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest
from tests.processes import PLAIN, Service, free_port, running
from tests.world import World

MISCONFIGURED = 2
CALLERS = 4


def _service(folder: Path, **changes: str) -> Service:
    given = {
        "CHAIN_RPC_URL": f"http://127.0.0.1:{free_port()}",
        "CHAIN_ID": "31337",
        "MARKETPLACE_ADDRESS": "0x" + "11" * 20,
        "JWT_SECRET": "5f0c1b7a93e84d26a1f47c3b9e60d815",
        "RATE_LIMITS": "off",
        "WORKERS": "2",
    }
    return Service(folder, given | changes)


def _workers(service: Service) -> set[int]:
    command = ["pgrep", "-P", str(service.process.pid)]
    listed = subprocess.run(command, check=False, capture_output=True, text=True)
    return {int(line) for line in listed.stdout.split()}


def _await(holds: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@dataclass(slots=True)
class _Load:
    """What became of many requests."""

    responses: int = 0
    failures: list[str] = field(default_factory=list)


@contextmanager
def _calling(service: Service) -> Iterator[_Load]:
    load, done = _Load(), threading.Event()

    def call() -> None:
        with httpx2.Client(base_url=service.url, timeout=30, verify=PLAIN) as client:
            while not done.is_set():
                try:
                    assert client.get("/healthz").status_code == 200
                    load.responses += 1
                except (AssertionError, httpx2.TransportError) as error:
                    load.failures.append(repr(error))
                time.sleep(0.005)

    callers = [threading.Thread(target=call) for _ in range(CALLERS)]
    for caller in callers:
        caller.start()
    try:
        yield load
    finally:
        done.set()
        for caller in callers:
            caller.join()


@pytest.mark.parametrize("count", [1, 2])
def test_workers_are_replaced_under_load_without_a_failed_request(
    tmp_path: Path, count: int
) -> None:
    with running(_service(tmp_path, WORKERS=str(count))) as service:
        _await(lambda: len(_workers(service)) == count)
        old = _workers(service)
        with _calling(service) as load:
            _await(lambda: load.responses > 50)
            os.kill(service.process.pid, signal.SIGHUP)
            _await(lambda: len(_workers(service)) == count and not _workers(service) & old)
            seen = load.responses
            _await(lambda: load.responses > seen + 50)
        assert load.failures == []
        assert service.stop() == 0


def test_a_killed_worker_is_replaced_and_all_end_together(tmp_path: Path) -> None:
    with running(_service(tmp_path)) as service:
        _await(lambda: len(_workers(service)) == 2)
        old = _workers(service)
        os.kill(min(old), signal.SIGKILL)
        _await(lambda: len(_workers(service) - old) == 1)
        assert max(old) in _workers(service)
        workers = _workers(service)
        assert service.stop() == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_misconfigured_worker_ends_the_whole(town: World, tmp_path: Path) -> None:
    service = _service(tmp_path, CHAIN_RPC_URL=town.node.url, CHAIN_ID="1")
    service.process.spawn()
    try:
        assert await asyncio.to_thread(service.process.wait) == MISCONFIGURED
    finally:
        service.kill()
    assert "chain 1 is configured" in service.tail()
