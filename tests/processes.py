"""Processes that tests start: on free ports, with a log that can be read, ended by their ids."""

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

POLL_SECONDS = 0.05

PLAIN = False
"""Passed as `verify`: on this machine nothing is encrypted, and reading certificates is slow."""


PORTS = range(10_000, 32_768)
"""Below those that Linux gives to outgoing connections: a service can be restarted on its port."""

REFUSED_BY_FETCH = {10_080}
"""To these, browsers and Node make no connection ("bad port")."""


def _draw_ports() -> list[int]:
    """The ports of this worker, in an order that no other process has.

    Suites that run side by side have a LANE each, such as `1/2`.
    """
    lane, _, lanes = os.environ.get("LANE", "0/1").partition("/")
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    ports = [port for port in PORTS if port not in REFUSED_BY_FETCH]
    ports = ports[int(lane) :: int(lanes)][worker::workers]
    # Not of the shared generator: a test that seeds it would draw as another one does.
    random.SystemRandom().shuffle(ports)
    return ports


_ports = _draw_ports()


def free_port() -> int:
    """A port of this machine that nobody uses, and that no test was given before: many listen to
    theirs only later, or again."""
    while True:
        port = _ports.pop()
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


def has_ended(pid: int) -> bool:
    """Whether a process has ended with all its threads, and so has closed what it had open."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return not any(map(_runs, Path(f"/proc/{pid}/task").iterdir()))
    return True


def _runs(thread: Path) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        # One that nobody has waited for stays listed, in this state.
        return " Z " not in (thread / "stat").read_text()
    return False


class NotReady(Exception):
    """A process ended, or was silent for too long; the text has the end of its log."""


@dataclass(slots=True)
class Process:
    """A command that runs beside the test, with nothing of this project in its environment."""

    command: Sequence[str]
    log: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    _running: "subprocess.Popen[bytes] | None" = None

    def start(self, ready: Callable[[], bool], seconds: float = 180) -> None:
        """Run it and wait until it is ready. Raises `NotReady`, with nothing left running."""
        self.spawn()
        deadline = time.monotonic() + seconds
        while not ready():
            if not self.runs or time.monotonic() > deadline:
                self.kill()
                raise NotReady(self.tail())
            time.sleep(POLL_SECONDS)

    def spawn(self) -> None:
        """Run it, whatever becomes of it."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith("IMPRINT_")}
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
        """The ids of the processes that it has started, as a supervisor its workers."""
        listed = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        with suppress(OSError):
            return [int(each) for each in listed.read_text().split()]
        return []

    @property
    def worker(self) -> int:
        """The id of the only worker of a service."""
        (pid,) = self.children
        return pid

    def wait(self, seconds: float = 60) -> int:
        """The exit status, once it ends by itself."""
        assert self._running is not None
        return self._running.wait(seconds)

    def stop(self, seconds: float = 60, how: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to end, and wait for it; its exit status."""
        assert self._running is not None
        self._running.send_signal(how)
        return self.wait(seconds)

    def kill(self) -> None:
        """End it without asking, if it still runs, and its children with it, as a power cut."""
        if self._running is not None:
            if self.runs:
                # It starts no more while it is stopped.
                self.freeze()
            children = self.children
            self._signal_children(signal.SIGKILL)
            self._running.kill()
            self._running.wait()
            # Nobody else waits for them, and the next to listen here needs their address.
            while not all(map(has_ended, children)):
                time.sleep(POLL_SECONDS)

    def freeze(self) -> None:
        """Stop it with SIGSTOP: connections are accepted and get no response."""
        assert self._running is not None
        self._running.send_signal(signal.SIGSTOP)
        with suppress(ChildProcessError):
            # Until it has stopped indeed, or has ended; both can still be waited for afterwards.
            options = os.WSTOPPED | os.WEXITED | os.WNOWAIT
            os.waitid(os.P_PID, self._running.pid, options)
        self._signal_children(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        assert self._running is not None
        self._signal_children(signal.SIGCONT)
        self._running.send_signal(signal.SIGCONT)

    def _signal_children(self, number: signal.Signals) -> None:
        for child in self.children:
            with suppress(ProcessLookupError):
                os.kill(child, number)

    def tail(self, lines: int = 40) -> str:
        """The end of what it wrote."""
        written = self.log.read_text("utf-8", "replace") if self.log.exists() else ""
        return "\n".join(written.splitlines()[-lines:])


@dataclass(slots=True)
class Service:
    """An Imprint in a process of its own: `imprint serve` or `imprint dev`.

    `given` are settings by their names without the prefix.
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
        """Run it until it responses. Raises `NotReady` with the end of its log."""
        self.process.start(self._responds)

    def stop(self) -> int:
        """Ask it to end, as an operator does; its exit status."""
        return self.process.stop()

    def kill(self) -> None:
        """End it as a power cut does."""
        self.process.kill()

    def tail(self, lines: int = 40) -> str:
        return self.process.tail(lines)

    def _responds(self) -> bool:
        try:
            health = httpx2.get(f"{self.url}/healthz", timeout=5, verify=PLAIN)
            readiness = httpx2.get(f"{self.url}/readyz", timeout=5, verify=PLAIN)
        except httpx2.TransportError:
            return False
        # A service whose start takes long responds before it can do anything else.
        return health.status_code == 200 and "The service is starting." not in readiness.text


@contextmanager
def running(service: Service) -> Iterator[Service]:
    """The service while it runs; it ends with the block, however that ends."""
    service.start()
    try:
        yield service
    finally:
        service.kill()
