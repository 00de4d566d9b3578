"""Processes under measurement: on a core of their own, with the time and memory they took."""

import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from imprint.server.http import listen

SERVICE_CORE, LOAD_CORE = 0, 1
"""The service is measured on one core, and the load is made on the other."""

WEBHOOK_SECRET = secrets.token_hex(32)
"""What signs the deliveries of this run."""

MARKETPLACE = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
"""Where the development chain has its marketplace."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A process that answers on a port."""

    process: subprocess.Popen[bytes]
    port: int
    start_seconds: float

    @property
    def pids(self) -> list[int]:
        """The process and its workers."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [self.process.pid, *map(int, children.split())]

    @property
    def processor_seconds(self) -> float:
        """The time that the process and its workers have computed so far."""
        # In nanoseconds, thread by thread: what the kernel tells of a whole process is in ticks.
        total = 0
        for pid in self.pids:
            for task in Path(f"/proc/{pid}/task").iterdir():
                total += int((task / "schedstat").read_text().split()[0])
        return total / 1e9

    def unpin(self) -> None:
        """Let the process and its workers run on every core."""
        for pid in self.pids:
            os.sched_setaffinity(pid, cores())

    @property
    def memory_megabytes(self) -> float:
        """The resident memory of the largest of them."""
        sizes = []
        for pid in self.pids:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            sizes += [int(line.split()[1]) for line in lines if line.startswith("VmRSS")]
        return max(sizes) / 1024


def cores() -> set[int]:
    """All cores of this machine."""
    return set(range(os.cpu_count() or 1))


def free_port() -> int:
    """A port that nobody listens on."""
    with listen("127.0.0.1", 0) as probe:
        port: int = probe.getsockname()[1]
        return port


def pin(core: int, pid: int = 0) -> None:
    """Keep a process (this one) on one core, where there are several."""
    if (os.cpu_count() or 1) > core:
        os.sched_setaffinity(pid, {core})


@contextmanager
def pinned(core: int) -> Iterator[None]:
    """Keep this process on one core for a while."""
    before = os.sched_getaffinity(0)
    pin(core)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def run_process(
    arguments: list[str], port: int, ready: str, environ: dict[str, str], core: int = SERVICE_CORE
) -> Iterator[Measured]:
    """Start a Python process and wait until it answers; it ends with the block."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env={**os.environ, **environ},
        stderr=subprocess.DEVNULL,
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
    raise RuntimeError(f"{url} did not answer.")


@contextmanager
def run_chain(folder: Path) -> Iterator[str]:
    """A development chain with the marketplace on it; the address of its JSON-RPC."""
    port, rpc_port = free_port(), free_port()
    arguments = ["-m", "imprint", "dev", "--port", str(port), "--rpc-port", str(rpc_port)]
    arguments += ["--data-dir", str(folder)]
    with run_process(arguments, port, "/healthz", {"IMPRINT_LOG_LEVEL": "error"}, LOAD_CORE):
        yield f"http://127.0.0.1:{rpc_port}"


@contextmanager
def run_service(
    folder: Path, rpc_url: str, database: str, workers: int = 1, **given: str
) -> Iterator[Measured]:
    """`imprint serve`, as an operator would run it but for the rate limits and the follower.

    Deliveries that the load makes up would be undone by a follower, and their undoing measured.
    """
    port = free_port()
    environ = {
        "IMPRINT_PORT": str(port),
        "IMPRINT_DATA_DIR": str(folder),
        "IMPRINT_DATABASE_URL": database,
        "IMPRINT_CHAIN_RPC_URL": rpc_url,
        "IMPRINT_CHAIN_ID": "31337",
        "IMPRINT_MARKETPLACE_ADDRESS": MARKETPLACE,
        "IMPRINT_JWT_SECRET": secrets.token_hex(32),
        "IMPRINT_WEBHOOK_A_SECRET": WEBHOOK_SECRET,
        "IMPRINT_RATE_LIMITS": "off",
        "IMPRINT_LOG_LEVEL": "warning",
        "IMPRINT_WORKERS": str(workers),
        "IMPRINT_CHAIN_FOLLOW_SECONDS": "0",
    } | given
    with run_process(["-m", "imprint", "serve"], port, "/healthz", environ) as measured:
        yield measured
