"""A fork server: a process that has loaded the service's code and forks services on request.

Loading Python modules takes most of the start-up time, so tests that kill a service
hundreds of times fork each one from here. A child runs the worker of `imprint serve` and
owns all the resources it opens.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.canaries import WATCH, unused_canaries

from imprint import failpoints
from imprint.cli.serve import run_worker
from imprint.domain.errors import CannotStart
from imprint.server.listeners import listen
from imprint.settings import read_settings

ROOT = Path(__file__).parents[2]


@dataclass(slots=True)
class ForkServer:
    """The client side of the fork server's pipe."""

    _process: "subprocess.Popen[str] | None" = None

    def ask(self, request: Mapping[str, Any]) -> int:
        """Send a request, and return the pid of a new child or the status of an ended one."""
        if self._process is None:
            paths = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.crash.fork_server"],
                env={**os.environ, "PYTHONPATH": paths},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            self._process.stdout.close()
            self._process.wait()
            self._process = None


@dataclass(slots=True)
class Child:
    """A service forked by the fork server, used like a process started by the test itself."""

    fork_server: ForkServer
    log: Path
    environ: Mapping[str, str]
    failpoint: str = ""
    pid: int = 0
    _status: int | None = field(default=None)

    def spawn(self) -> None:
        """Start the service without waiting until it is ready."""
        environ = unused_canaries(self.environ) | dict(self.environ)
        request = {"run": self.failpoint, "log": str(self.log), "environ": environ}
        WATCH.watch_output(self.log)
        self.pid, self._status = self.fork_server.ask(request), None

    @property
    def runs(self) -> bool:
        if self.pid and self._status is None:
            status = self.fork_server.ask({"look": self.pid})
            self._status = None if status < 0 else status
        return self.pid != 0 and self._status is None

    def wait(self, seconds: float) -> int:
        """Wait until the child ends and return its exit status, as reported by a shell."""
        deadline = time.monotonic() + seconds
        while self.runs:
            assert time.monotonic() < deadline, self.tail()
            time.sleep(0.01)
        assert self._status is not None
        return self._status

    def kill(self) -> None:
        """Kill the child if it is still running."""
        self._end(signal.SIGKILL)

    def stop(self, seconds: float = 20) -> int:
        """Ask the child to stop, wait, and return its exit status."""
        self._end(signal.SIGTERM, seconds)
        return self._status or 0

    def tail(self, lines: int = 40) -> str:
        """Return the end of the child's output."""
        written = self.log.read_text("utf-8", "replace") if self.log.exists() else ""
        return "\n".join(written.splitlines()[-lines:])

    def _end(self, number: int, seconds: float = 20) -> None:
        if self.runs:
            os.kill(self.pid, number)
            self.wait(seconds)


def _serve() -> int:
    """Serve like the only worker of `imprint serve`, without a supervisor that replaces it."""
    settings = read_settings(os.environ)
    server = settings.server
    # Only the first worker measures storage; that would disturb the trace.
    return run_worker(settings, _listen(server.host, server.port), place=1)


def _listen(host: str, port: int) -> socket.socket:
    """Listen as soon as the port is free.

    A program that the killed service was about to start may hold the port for a moment.
    """
    for _ in range(100):
        with suppress(CannotStart):
            return listen(host, port)
        time.sleep(0.02)
    return listen(host, port)


def _bring_up(request: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for each in (1, 2):
            os.dup2(log, each)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        kept = {name: text for name, text in os.environ.items() if not name.startswith("IMPRINT_")}
        os.environ.clear()
        os.environ.update(kept | request["environ"])
        if request["run"]:
            failpoints.arm(request["run"])
        status = _serve()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except Exception:  # noqa: BLE001 - it is written down, and nothing else can be done
        traceback.print_exc()
    finally:
        os._exit(status)


def _look(pid: int) -> int:
    """Return the exit status of a child, as reported by a shell, or -1 while it runs."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        return -1
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


if __name__ == "__main__":
    for line in sys.stdin:
        asked = json.loads(line)
        print(_bring_up(asked) if "run" in asked else _look(asked["look"]), flush=True)
