"""Workers: several processes on one socket, watched over by the one that started them."""

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
"""The exit status when the settings are wrong: starting again will not help."""

PAUSE_SECONDS = 0.5
"""How long to wait before a worker that died is replaced, so that dying does not become a loop."""

_HEEDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)
"""The signals that a supervisor wakes up for."""


@dataclass(slots=True)
class Supervisor:
    """Keeps `count` workers running; SIGHUP puts a new one beside each and lets the old ones end.

    `work` is a worker's whole life: it is called with the worker's place and gives its exit status.
    Workers are forked when everything is loaded and nothing is open, so that they share what never
    changes and nothing that does.

    A signal does nothing but wake the one loop in which everything is decided, so that none can
    come between two halves of anything.
    """

    count: int
    work: Callable[[int], int]
    pause: float = PAUSE_SECONDS
    _places: dict[int, int] = field(default_factory=dict)
    _leaving: set[int] = field(default_factory=set)
    _due: dict[int, float] = field(default_factory=dict)
    _stopping: bool = False
    _status: int = 0

    def run(self) -> int:
        """Watch over the workers until told to stop; the exit status of the whole."""
        with _heed_signals() as signals:
            for place in range(self.count):
                self._start(place)
            while self._places or self._due:
                self._heed(_await_signals(signals, self._patience()))
                self._bury()
                self._replace()
        return self._status

    def _patience(self) -> float | None:
        """Seconds until somebody is to be replaced; None if nobody is."""
        return max(min(self._due.values()) - time.monotonic(), 0) if self._due else None

    def _heed(self, numbers: set[int]) -> None:
        if numbers & {signal.SIGINT, signal.SIGTERM}:
            self._stop()
        elif signal.SIGHUP in numbers and not self._stopping:
            self._renew()

    def _start(self, place: int) -> None:
        # Until it has shed what it inherited, a new worker must not act on a signal: it would take
        # it for its supervisor. It gets what was sent to it meanwhile right after.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, _HEEDED)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                _shed_signals()
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
                status = self.work(place)
            finally:
                # Whatever happened, a worker never returns into its supervisor's code.
                os._exit(status)
        self._places[pid] = place
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def _bury(self) -> None:
        """Take leave of the workers that have ended."""
        while self._places:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            if pid in self._places:
                self._mourn(pid, self._places.pop(pid), os.waitstatus_to_exitcode(status))

    def _mourn(self, pid: int, place: int, status: int) -> None:
        expected = pid in self._leaving
        self._leaving.discard(pid)
        if self._stopping or expected:
            return
        if status == MISCONFIGURED:
            self._status = status
            self._stop()
            return
        log.error("worker died and is replaced", extra={"place": place, "exit_status": status})
        self._due[place] = time.monotonic() + self.pause

    def _replace(self) -> None:
        """Start a worker wherever one died a while ago."""
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
def _heed_signals() -> Iterator[socket.socket]:
    """A socket from which the numbers of signals can be read, as long as the block lasts."""
    reader, writer = socket.socketpair()
    with reader, writer:
        writer.setblocking(False)
        signal.set_wakeup_fd(writer.fileno())
        kept = {each: signal.signal(each, _note) for each in _HEEDED}
        try:
            yield reader
        finally:
            for each, handler in kept.items():
                signal.signal(each, handler)
            signal.set_wakeup_fd(-1)


def _note(number: int, frame: FrameType | None) -> None:
    """Do nothing: that there is a handler makes the number readable."""


def _await_signals(signals: socket.socket, patience: float | None) -> set[int]:
    ready, _, _ = select.select([signals], [], [], patience)
    return set(signals.recv(4096)) if ready else set()


def _shed_signals() -> None:
    """Give a new worker signals of its own. That of a terminal's end is its supervisor's matter."""
    signal.set_wakeup_fd(-1)
    for each in _HEEDED:
        signal.signal(each, signal.SIG_IGN if each == signal.SIGHUP else signal.SIG_DFL)
