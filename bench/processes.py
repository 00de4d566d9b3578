"""Processes that are pinned to a core, and whose processor time and memory are measured."""

import asyncio
import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.loads import Outcome, send_load
from imprint.server.listeners import listen

CHECKOUT = Path(__file__).parents[1]
"""The checkout that contains this file."""

SERVICE_CORE, LOAD_CORE = 0, 1
"""Numbers of the cores on which the service and the load generator run."""

AFTERMATH_SECONDS = 0.03
"""Seconds that a service has for what follows a response, such as writing the log."""

WEBHOOK_SECRET = secrets.token_hex(32)
"""Secret that signs this run's webhook deliveries."""

MARKETPLACE = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
"""Marketplace address on the development chain."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A process that listens on a port."""

    process: subprocess.Popen[bytes]
    port: int
    start_seconds: float

    @property
    def pids(self) -> list[int]:
        """The IDs of the process and its workers."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [self.process.pid, *map(int, children.split())]

    @property
    def processor_seconds(self) -> float:
        """Processor seconds used so far by the process and its workers."""
        # A thread's schedstat is in nanoseconds, but a process's stat only in clock ticks.
        total = 0
        for pid in self.pids:
            for task in Path(f"/proc/{pid}/task").iterdir():
                total += int((task / "schedstat").read_text().split()[0])
        return total / 1e9

    def unpin(self) -> None:
        """Allow the process and its workers to run on all cores."""
        for pid in self.pids:
            os.sched_setaffinity(pid, cores())

    @property
    def memory_megabytes(self) -> float:
        """Return the resident memory of the largest process in megabytes."""
        sizes = []
        for pid in self.pids:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            sizes += [int(line.split()[1]) for line in lines if line.startswith("VmRSS")]
        return max(sizes) / 1024


def cores() -> set[int]:
    """Return all cores of the machine."""
    return set(range(os.cpu_count() or 1))


def free_port() -> int:
    """Return an unused port."""
    with listen("127.0.0.1", 0) as probe:
        port: int = probe.getsockname()[1]
        return port


def pin(core: int, pid: int = 0) -> None:
    """Pin a process (this one by default) to a core, if the machine has it."""
    if (os.cpu_count() or 1) > core:
        os.sched_setaffinity(pid, {core})


@contextmanager
def pinned(core: int) -> Iterator[None]:
    """Pin this process to a core until the `with` block exits."""
    before = os.sched_getaffinity(0)
    pin(core)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def run_process(
    arguments: list[str],
    port: int,
    ready: str,
    environ: dict[str, str],
    core: int = SERVICE_CORE,
    *,
    python: str = sys.executable,
    folder: Path = CHECKOUT,
    log: Path = Path(os.devnull),
) -> Iterator[Measured]:
    """Start a Python process, wait until it responds, and stop it when the `with` block exits."""
    began = time.perf_counter()
    with log.open("ab") as output:
        process = subprocess.Popen(
            [python, *arguments], cwd=folder, env={**os.environ, **environ}, stderr=output
        )
    pin(core, process.pid)
    try:
        _wait(f"http://127.0.0.1:{port}{ready}", process)
        yield Measured(process, port, time.perf_counter() - began)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _wait(url: str, process: subprocess.Popen[bytes], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except OSError:
            time.sleep(0.01)
    raise RuntimeError(f"{url} did not respond.")


def send_timed(service: Measured, requests: Sequence[bytes]) -> tuple[Outcome, float]:
    """Send a load and return the outcome and the service's processor seconds."""
    before = service.processor_seconds
    outcome = asyncio.run(send_load(service.port, list(requests)))
    # What a request leaves to do is part of its cost.
    time.sleep(AFTERMATH_SECONDS)
    return outcome, service.processor_seconds - before


@contextmanager
def run_chain(folder: Path) -> Iterator[str]:
    """Run a development chain with the marketplace and yield its JSON-RPC URL."""
    with run_node(folder) as (_, rpc_url):
        yield rpc_url


@contextmanager
def run_node(folder: Path) -> Iterator[tuple[Measured, str]]:
    """Run a development chain with the marketplace and yield its process and JSON-RPC URL."""
    port, rpc_port = free_port(), free_port()
    arguments = ["-m", "imprint", "dev", "--port", str(port), "--rpc-port", str(rpc_port)]
    arguments += ["--data-dir", str(folder)]
    environ = {"IMPRINT_LOG_LEVEL": "error"}
    with run_process(arguments, port, "/healthz", environ, LOAD_CORE) as node:
        yield node, f"http://127.0.0.1:{rpc_port}"


@contextmanager
def run_service(
    folder: Path,
    rpc_url: str,
    database: str,
    workers: int = 1,
    *,
    checkout: Path = CHECKOUT,
    settings: Mapping[str, str] | None = None,
    log: Path = Path(os.devnull),
) -> Iterator[Measured]:
    """Run `imprint serve` as an operator would, but without rate limits and chain following.

    The log is written, but nowhere by default. Following the chain would undo the load's
    deliveries, whose events are not on the chain. Another checkout runs with the Python in its own
    `.venv`.
    """
    port = free_port()
    environ = {
        **service_environ(folder, rpc_url, database),
        "IMPRINT_PORT": str(port),
        "IMPRINT_WORKERS": str(workers),
        **(settings or {}),
    }
    python = sys.executable if checkout == CHECKOUT else str(checkout / ".venv/bin/python")
    command = ["-m", "imprint", "serve"]
    with run_process(
        command, port, "/healthz", environ, python=python, folder=checkout, log=log
    ) as measured:
        yield measured


def service_environ(folder: Path, rpc_url: str, database: str) -> dict[str, str]:
    """Return the settings of a service or command, without rate limits and chain following."""
    return {
        "IMPRINT_DATA_DIR": str(folder),
        "IMPRINT_DATABASE_URL": database,
        "IMPRINT_CHAIN_RPC_URL": rpc_url,
        "IMPRINT_CHAIN_ID": "31337",
        "IMPRINT_MARKETPLACE_ADDRESS": MARKETPLACE,
        "IMPRINT_JWT_SECRET": secrets.token_hex(32),
        "IMPRINT_WEBHOOK_A_SECRET": WEBHOOK_SECRET,
        "IMPRINT_RATE_LIMITS": "off",
        "IMPRINT_CHAIN_FOLLOW_SECONDS": "0",
    }
