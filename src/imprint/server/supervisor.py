"""The supervisor of several worker processes on one socket: it starts, replaces and stops them."""

import logging
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

log = logging.getLogger(__name__)

MISCONFIGURED = 2
"""The exit status for wrong settings: a restart does not help."""

RESTART_SECONDS = 0.5
"""How long to wait before a dead worker is replaced, so that repeated crashes use no processor."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)
"""The signals that wake the supervisor."""


@dataclass(slots=True)
class Supervisor:
    """Keeps `count` workers running; SIGHUP starts a new worker beside each and stops the old ones.

    `work` runs in the worker: it gets the worker's index and returns its exit status. Workers are
    forked after everything is loaded and before anything is opened, so that they share memory but
    no connections.

    Signal handlers do nothing: a signal only wakes the loop in `run`, where all decisions are made,
    so that no signal interrupts one.
    """

    count: int
    work: Callable[[int], int]
    pause: float = RESTART_SECONDS
    _places: dict[int, int] = field(default_factory=dict)
    _leaving: set[int] = field(default_factory=set)
    _due: dict[int, float] = field(default_factory=dict)
    _stopping: bool = False
    _status: int = 0

    def run(self) -> int:
        """Supervise the workers until a signal stops them; returns the service's exit status."""
        with _signal_socket() as signals:
            for place in range(self.count):
                self._start(place)
            while self._places or self._due:
                self._react(_wait_for_signals(signals, self._timeout()))
                self._reap()
                self._replace()
        return self._status

    def _timeout(self) -> float | None:
        """Seconds until the next worker has to be replaced; None if there is none."""
        return max(min(self._due.values()) - time.monotonic(), 0) if self._due else None

    def _react(self, numbers: set[int]) -> None:
        if numbers & {signal.SIGINT, signal.SIGTERM}:
            self._stop()
        elif signal.SIGHUP in numbers and not self._stopping:
            self._renew()

    def _start(self, place: int) -> None:
        # Signals are blocked until the new worker has replaced the handlers that it inherited: with
        # these it would act as the supervisor. It receives blocked signals right after.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                _reset_signals()
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
                status = self.work(place)
            finally:
                # A worker must never return into the code of its supervisor.
                os._exit(status)
        self._places[pid] = place
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def _reap(self) -> None:
        """Collect the workers that have ended."""
        while self._places:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            if pid in self._places:
                place = self._places.pop(pid)
                if not self._is_expected(pid):
                    self._on_death(place, os.waitstatus_to_exitcode(status))

    def _is_expected(self, pid: int) -> bool:
        expected = self._stopping or pid in self._leaving
        self._leaving.discard(pid)
        return expected

    def _on_death(self, place: int, status: int) -> None:
        if status == MISCONFIGURED:
            self._status = status
            self._stop()
            return
        log.error("worker died and is replaced", extra={"place": place, "exit_status": status})
        self._due[place] = time.monotonic() + self.pause

    def _replace(self) -> None:
        """Start a worker in every place whose pause is over."""
        now = time.monotonic()
        for place in [place for place, due in self._due.items() if due <= now]:
            del self._due[place]
            self._start(place)

    def _renew(self) -> None:
        for pid, place in list(self._places.items()):
            if pid not in self._leaving:
                self._start(place)
                self._leaving.add(pid)
                os.kill(pid, signal.SIGTERM)

    def _stop(self) -> None:
        self._stopping = True
        self._due.clear()
        for pid in self._places:
            os.kill(pid, signal.SIGTERM)


@contextmanager
def _signal_socket() -> Iterator[socket.socket]:
    """A socket on which the numbers of signals arrive, until the end of the block."""
    reader, writer = socket.socketpair()
    with reader, writer:
        writer.setblocking(False)
        signal.set_wakeup_fd(writer.fileno())
        previous = {each: signal.signal(each, _ignore) for each in _SIGNALS}
        try:
            yield reader
        finally:
            for each, handler in previous.items():
                signal.signal(each, handler)
            signal.set_wakeup_fd(-1)


def _ignore(number: int, frame: FrameType | None) -> None:
    """Do nothing: Python writes to the socket only for signals that have a handler."""


def _wait_for_signals(signals: socket.socket, timeout: float | None) -> set[int]:
    ready, _, _ = select.select([signals], [], [], timeout)
    return set(signals.recv(4096)) if ready else set()


def _reset_signals() -> None:
    """Undo the supervisor's handlers in a worker. SIGHUP is ignored: it is for the supervisor."""
    signal.set_wakeup_fd(-1)
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN if each == signal.SIGHUP else signal.SIG_DFL)
