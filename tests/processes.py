"""Processes started by tests, with free ports and readable logs, and terminated by process id."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
from tests.canaries import WATCH, unused_canaries

POLL_SECONDS = 0.05

PLAIN = False
"""Value of `verify` for local connections. They need no certificates, which are slow to load."""


PORTS = range(10_000, 32_768)
"""Ports that Linux does not use for outgoing connections, so a service can reuse its port."""

REFUSED_BY_FETCH = {10_080}
"""Ports to which browsers and Node refuse to connect ("bad port")."""


def _draw_ports() -> list[int]:
    """The ports of this test worker, in an order that is unique to it.

    Suites that run in parallel each have a LANE, such as `1/2`.
    """
    lane, _, lanes = os.environ.get("LANE", "0/1").partition("/")
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    ports = [port for port in PORTS if port not in REFUSED_BY_FETCH]
    ports = ports[int(lane) :: int(lanes)][worker::workers]
    # Not the shared generator: a test that seeds it would draw the same ports as another.
    random.SystemRandom().shuffle(ports)
    return ports


_ports = _draw_ports()


def free_port() -> int:
    """Return a free port that no test has used, because many tests start listening only later, or
    listen again."""
    while True:
        port = _ports.pop()
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


def has_ended(pid: int) -> bool:
    """Whether a process has ended with all its threads, and has therefore closed its files."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return not any(map(_runs, Path(f"/proc/{pid}/task").iterdir()))
    return True


def _runs(thread: Path) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        # A zombie is still listed, in this state.
        return " Z " not in (thread / "stat").read_text()
    return False


class NotReady(Exception):
    """A process exited, or was not ready in time. The message contains the end of its log."""


@dataclass(slots=True)
class Process:
    """A command that runs beside the test. Its settings are `environ` and canaries for secrets."""

    command: Sequence[str]
    log: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    _running: "subprocess.Popen[bytes] | None" = None

    def start(self, ready: Callable[[], bool], seconds: float = 180) -> None:
        """Start the process and wait until it is ready. On `NotReady`, nothing is left running."""
        self.spawn()
        deadline = time.monotonic() + seconds
        while not ready():
            if not self.runs or time.monotonic() > deadline:
                self.kill()
                raise NotReady(self.tail())
            time.sleep(POLL_SECONDS)

    def spawn(self) -> None:
        """Start the process without waiting until it is ready."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith("IMPRINT_")}
        if "IMPRINT_CONFIG" not in self.environ:
            # Canaries in the environment would take precedence over the settings in the file.
            kept |= unused_canaries(self.environ)
        WATCH.watch_output(self.log)
        with self.log.open("ab") as sink:
            self._running = subprocess.Popen(
                self.command, env={**kept, **self.environ}, stdout=sink, stderr=subprocess.STDOUT
            )

    @property
    def runs(self) -> bool:
        return self._running is not None and self._running.poll() is None

    @property
    def pid(self) -> int:
        assert self._running is not None
        return self._running.pid

    @property
    def children(self) -> list[int]:
        """The ids of the child processes, such as a supervisor's workers."""
        listed = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        with suppress(OSError):
            return [int(each) for each in listed.read_text().split()]
        return []

    @property
    def worker(self) -> int:
        """The id of a service's only worker."""
        (pid,) = self.children
        return pid

    def wait(self, seconds: float = 60) -> int:
        """Wait until the process exits on its own, and return its exit status."""
        assert self._running is not None
        return self._running.wait(seconds)

    def stop(self, seconds: float = 60, how: signal.Signals = signal.SIGTERM) -> int:
        """Ask the process to exit, wait, and return its exit status."""
        assert self._running is not None
        self._running.send_signal(how)
        return self.wait(seconds)

    def kill(self) -> None:
        """Kill the process and its children, if it is still running, as in a power cut."""
        if self._running is not None:
            if self.runs:
                # It starts no more children while it is stopped.
                self.freeze()
            children = self.children
            self._signal_children(signal.SIGKILL)
            self._running.kill()
            self._running.wait()
            # Nobody else waits for the children, and the next process that listens here needs their
            # address.
            while not all(map(has_ended, children)):
                time.sleep(POLL_SECONDS)

    def freeze(self) -> None:
        """Suspend the process with SIGSTOP: connections are accepted but get no response."""
        assert self._running is not None
        self._running.send_signal(signal.SIGSTOP)
        with suppress(ChildProcessError):
            # Wait until it has really stopped, or has ended; both can still be waited for
            # afterwards.
            options = os.WSTOPPED | os.WEXITED | os.WNOWAIT
            os.waitid(os.P_PID, self._running.pid, options)
        self._signal_children(signal.SIGSTOP)

    def thaw(self) -> None:
        """Resume the process."""
        assert self._running is not None
        self._signal_children(signal.SIGCONT)
        self._running.send_signal(signal.SIGCONT)

    def _signal_children(self, number: signal.Signals) -> None:
        for child in self.children:
            with suppress(ProcessLookupError):
                os.kill(child, number)

    def tail(self, lines: int = 40) -> str:
        """The last lines of the output."""
        written = self.log.read_text("utf-8", "replace") if self.log.exists() else ""
        return "\n".join(written.splitlines()[-lines:])


@dataclass(slots=True)
class Service:
    """An Imprint service in a separate process: `imprint serve` or `imprint dev`.

    `given` are settings, named without their prefix.
    """

    folder: Path
    given: Mapping[str, str]
    command: str = "serve"
    port: int = field(default_factory=free_port)
    process: Process = field(init=False)

    def __post_init__(self) -> None:
        settings = {"PORT": str(self.port), "DATA_DIR": str(self.folder / "data"), **self.given}
        self.process = Process(
            [sys.executable, "-m", "imprint", self.command],
            self.folder / f"{self.command}-{self.port}.log",
            {f"IMPRINT_{name}": text for name, text in settings.items()},
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the service and wait until it responds. Raises `NotReady` with the end of its
        log."""
        self.process.start(self._responds)

    def stop(self) -> int:
        """Ask the service to exit, as an operator does, and return its exit status."""
        return self.process.stop()

    def kill(self) -> None:
        """Kill the service, as in a power cut."""
        self.process.kill()

    def tail(self, lines: int = 40) -> str:
        return self.process.tail(lines)

    def _responds(self) -> bool:
        try:
            health = httpx2.get(f"{self.url}/healthz", timeout=5, verify=PLAIN)
            readiness = httpx2.get(f"{self.url}/readyz", timeout=5, verify=PLAIN)
        except httpx2.TransportError:
            return False
        # A service with a slow start responds before it can do anything else.
        return health.status_code == 200 and "The service is starting." not in readiness.text


@contextmanager
def running(service: Service) -> Iterator[Service]:
    """Run the service, and stop it when the `with` block exits, even with an exception."""
    service.start()
    try:
        yield service
    finally:
        service.kill()
