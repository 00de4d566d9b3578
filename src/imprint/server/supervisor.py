"""The supervisor of several worker processes on one socket: it starts, replaces and stops them."""

import logging
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType

from imprint.server.listeners import refuse_connections

log = logging.getLogger(__name__)

MISCONFIGURED = 2
"""The exit status for what a restart does not mend, as wrong settings."""

RESTART_SECONDS = 0.5
"""How long to wait before a dead worker is replaced, so that repeated crashes use no processor."""

LONGEST_RESTART_SECONDS = 30.0
"""How long to wait at most; the pause of a place doubles until a worker there is ready."""

SUCCESSOR_SECONDS = 60.0
"""How long a new worker may take to be ready before the old one stays in its place."""

STOP_SECONDS = 60.0
"""How long workers may take to stop before they are killed."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)
"""The signals that wake the supervisor."""

_READY = b"r"
"""What a worker sends when it serves."""


@dataclass(frozen=True, slots=True)
class Link:
    """What a worker has of its supervisor.

    `has_peers` is whether other workers serve: then this one need not accept connections before it
    is ready.
    """

    supervisor: socket.socket
    has_peers: bool = False

    def report_ready(self) -> None:
        """Tell the supervisor that this worker serves."""
        with suppress(OSError):
            self.supervisor.sendall(_READY)

    def watch(self, stop_seconds: float) -> None:
        """Stop this process, as SIGTERM does, when its supervisor has ended without stopping it.

        A thread watches, because a process that starts or hangs has no event loop that could.
        """
        watching = threading.Thread(target=self._stop_at_end, args=(stop_seconds,), daemon=True)
        watching.start()

    def _stop_at_end(self, stop_seconds: float) -> None:
        with suppress(OSError):
            while self.supervisor.recv(64):
                pass
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(stop_seconds)
        os._exit(1)


@dataclass(slots=True, eq=False)
class _Worker:
    """A worker as its supervisor sees it.

    `successor` is the worker that takes this one's place when it is ready, at the latest at the
    successor's `deadline`.
    """

    pid: int
    place: int
    link: socket.socket
    is_ready: bool = False
    is_leaving: bool = False
    successor: "_Worker | None" = None
    deadline: float | None = None


@dataclass(slots=True)
class Supervisor:
    """Keeps `count` workers running; SIGHUP replaces each by a new one when that is ready.

    `work` runs in the worker: it gets the worker's index and its link to the supervisor, and
    returns its exit status. Workers are forked after everything is loaded and before anything is
    opened, so that they share memory but no connections. If the supervisor is killed, they stop.

    A worker that cannot start for a lasting reason ends the service, but only if none has ever
    been ready: later the others serve on, and its place is tried again.

    Signal handlers do nothing: a signal only wakes the loop in `run`, where all decisions are made,
    so that no signal interrupts one.
    """

    count: int
    work: Callable[[int, Link], int]
    listeners: Sequence[socket.socket] = ()
    pause: float = RESTART_SECONDS
    successor_seconds: float = SUCCESSOR_SECONDS
    stop_seconds: float = STOP_SECONDS
    _workers: dict[int, _Worker] = field(default_factory=dict)
    _due: dict[int, float] = field(default_factory=dict)
    _failures: dict[int, int] = field(default_factory=dict)
    _was_ready: bool = False
    _stop_deadline: float | None = None
    _status: int = 0

    def run(self) -> int:
        """Supervise the workers until a signal stops them; returns the service's exit status."""
        with _signal_socket() as signals:
            for place in range(self.count):
                self._start(place)
            while self._workers or self._due:
                self._react(self._wait(signals))
                self._reap()
                self._replace()
                self._give_up()
        return self._status

    def _wait(self, signals: socket.socket) -> set[int]:
        """The signals that have arrived; notes which workers have become ready."""
        watched = {each.link: each for each in self._workers.values() if not each.is_ready}
        found, _, _ = select.select([signals, *watched], [], [], self._timeout())
        for link in found:
            if link is not signals and _receive(link) == _READY:
                self._on_ready(watched[link])
        return set(signals.recv(4096)) if signals in found else set()

    def _timeout(self) -> float | None:
        """Seconds until something has to be done without a signal; None if nothing has."""
        times = [*self._due.values()]
        times += [each.deadline for each in self._workers.values() if each.deadline is not None]
        if self._stop_deadline is not None:
            times.append(self._stop_deadline)
        return max(min(times) - time.monotonic(), 0) if times else None

    def _react(self, numbers: set[int]) -> None:
        if numbers & {signal.SIGINT, signal.SIGTERM}:
            self._stop()
        elif signal.SIGHUP in numbers and self._stop_deadline is None:
            self._renew()

    def _start(self, place: int) -> _Worker:
        # Signals are blocked until the new worker has replaced the handlers that it inherited: with
        # these it would act as the supervisor. It receives blocked signals right after.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        own, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                _reset_signals()
                # With copies of these, workers would not notice the end of their supervisor.
                for each in self._workers.values():
                    each.link.close()
                own.close()
                link = Link(theirs, any(each.is_ready for each in self._workers.values()))
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
                link.watch(self.stop_seconds)
                status = self.work(place, link)
            except Exception:
                log.exception("worker failed", extra={"place": place})
            finally:
                # A worker must never return into the code of its supervisor.
                os._exit(status)
        theirs.close()
        own.setblocking(False)
        worker = self._workers[pid] = _Worker(pid, place, own)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return worker

    def _on_ready(self, worker: _Worker) -> None:
        worker.is_ready = self._was_ready = True
        worker.deadline = None
        self._failures.pop(worker.place, None)
        for old in self._workers.values():
            if old.successor is worker:
                _tell_to_leave(old)

    def _reap(self) -> None:
        """Collect the workers that have ended."""
        while self._workers:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            worker = self._workers.pop(pid, None)
            if worker is not None:
                worker.link.close()
                if self._stop_deadline is None:
                    self._on_end(worker, os.waitstatus_to_exitcode(status))

    def _on_end(self, worker: _Worker, status: int) -> None:
        if worker.is_leaving:
            return
        fields = {"place": worker.place, "exit_status": status}
        old = next((each for each in self._workers.values() if each.successor is worker), None)
        if old is not None:
            old.successor = None
            log.error("new worker ended before it was ready; the old one stays", extra=fields)
        elif worker.successor is not None:
            worker.successor.deadline = None
            log.error("worker died and is replaced", extra=fields)
        elif status == MISCONFIGURED and not self._was_ready:
            self._status = status
            self._stop()
        elif status == MISCONFIGURED:
            log.error("worker cannot start; the others go on, and it is tried again", extra=fields)
            self._schedule(worker)
        else:
            log.error("worker died and is replaced", extra=fields)
            self._schedule(worker)

    def _schedule(self, worker: _Worker) -> None:
        """Start a worker in the place of this one after a pause."""
        failures = 0 if worker.is_ready else self._failures.get(worker.place, 0)
        self._failures[worker.place] = failures + 1
        longest = max(self.pause, LONGEST_RESTART_SECONDS)
        # Beyond some doublings the number only grows.
        pause = min(self.pause * 2 ** min(failures, 16), longest)
        self._due[worker.place] = time.monotonic() + pause

    def _replace(self) -> None:
        """Start a worker in every place whose pause is over."""
        now = time.monotonic()
        for place in [place for place, due in self._due.items() if due <= now]:
            del self._due[place]
            self._start(place)

    def _renew(self) -> None:
        """Start a successor of each worker that serves; it leaves when the successor is ready."""
        for worker in list(self._workers.values()):
            if worker.is_ready and not worker.is_leaving and worker.successor is None:
                worker.successor = self._start(worker.place)
                worker.successor.deadline = time.monotonic() + self.successor_seconds

    def _give_up(self) -> None:
        """End what has taken too long: successors that are not ready, workers that do not stop."""
        now = time.monotonic()
        for worker in self._workers.values():
            if worker.deadline is not None and worker.deadline <= now:
                worker.deadline = None
                os.kill(worker.pid, signal.SIGTERM)
        if self._stop_deadline is not None and self._stop_deadline <= now:
            self._stop_deadline = now + self.stop_seconds
            for pid in self._workers:
                log.error("worker does not stop and is killed", extra={"pid": pid})
                os.kill(pid, signal.SIGKILL)

    def _stop(self) -> None:
        """Stop all workers.

        First the listening sockets are closed here: as long as one copy is open, the system accepts
        connections that nobody will serve. The last worker closes the last copy.
        """
        if self._stop_deadline is None:
            self._stop_deadline = time.monotonic() + self.stop_seconds
        self._due.clear()
        for listener in self.listeners:
            refuse_connections(listener)
            listener.close()
        for worker in self._workers.values():
            worker.deadline = None
            os.kill(worker.pid, signal.SIGTERM)


def _tell_to_leave(worker: _Worker) -> None:
    worker.is_leaving = True
    os.kill(worker.pid, signal.SIGTERM)


def _receive(link: socket.socket) -> bytes:
    with suppress(OSError):
        return link.recv(len(_READY))
    return b""


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


def _reset_signals() -> None:
    """Undo the supervisor's handlers in a worker. SIGHUP is ignored: it is for the supervisor."""
    signal.set_wakeup_fd(-1)
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN if each == signal.SIGHUP else signal.SIG_DFL)
