"""The supervisor of worker processes on one socket, with systemd watchdog support."""

import logging
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from types import FrameType

import msgspec

from imprint.metrics import READY, RELOADS, SUPERVISOR, WORKER_EXITS, WORKERS
from imprint.server.link import Kind, Link, WorkerLink, open_link
from imprint.server.listeners import refuse_connections
from imprint.server.metrics_server import (
    Family,
    MergedSamples,
    MetricsServer,
    decode_samples,
    encode_samples,
    read_samples,
    set_value,
)


class ServiceNotifier:
    """Notifies the service manager about this process. Does nothing if there is no service
    manager."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._address = environ.get("NOTIFY_SOCKET", "")
        if self._address.startswith("@"):
            # A name in the abstract namespace of Linux.
            self._address = "\0" + self._address[1:]
        self._interval = _watchdog_interval(environ) if self._address else None
        self._next_sign = 0.0

    def ready(self, status: str) -> None:
        """Report that the service has started or has finished a reload."""
        self._send("READY=1", f"MAINPID={os.getpid()}", f"STATUS={status}")

    def reloading(self) -> None:
        """Report that a reload begins. The reload ends with `ready`."""
        microseconds = time.monotonic_ns() // 1000
        self._send("RELOADING=1", f"MONOTONIC_USEC={microseconds}", "STATUS=reloading")

    def stopping(self) -> None:
        """Report that the service is stopping."""
        self._send("STOPPING=1", "STATUS=stopping")

    @property
    def due(self) -> float | None:
        """The deadline for the next watchdog notification, or None without a watchdog."""
        return None if self._interval is None else self._next_sign

    def sign_of_life(self) -> None:
        """Notify the watchdog that this process is alive, if a notification is due."""
        now = time.monotonic()
        if self._interval is not None and now >= self._next_sign:
            self._next_sign = now + self._interval
            self._send("WATCHDOG=1")

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.sendto("\n".join(lines).encode(), self._address)


def _watchdog_interval(environ: Mapping[str, str]) -> float | None:
    """Seconds between watchdog notifications: half of the watchdog's timeout."""
    microseconds, pid = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    if not microseconds.isdecimal() or pid not in ("", str(os.getpid())):
        return None
    return int(microseconds) / 2 / 1_000_000


log = logging.getLogger(__name__)

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)
"""The signals that wake up the supervisor."""


STOP_SECONDS = 60.0
"""Seconds that workers may take to stop before they are killed."""

MISCONFIGURED = 2
"""The exit status for problems that a restart does not fix, such as invalid settings."""

RESTART_SECONDS = 0.5
"""Delay in seconds before a dead worker is replaced, so that crash loops use little CPU time."""

LONGEST_RESTART_SECONDS = 30.0
"""Maximum delay in seconds before a dead worker is replaced. Failed starts double the delay."""

SUCCESSOR_SECONDS = 60.0
"""Seconds that a new worker may take to start before a reload is abandoned."""

SAMPLE_SECONDS = 1.0
"""Seconds that a scrape waits for a worker's metrics before its last reported counters are used."""


class ReloadRefused(Exception):
    """A reload cannot begin. The exception has one sentence per reason."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__(" ".join(reasons))
        self.reasons = list(reasons)


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan for the supervisor: the number of workers, their task, and their open sockets.

    `work` runs in the worker. The function gets the worker's slot and its link to the supervisor,
    and returns the worker's exit status. `changes` are the names of the settings that differ from
    the previous plan, and `adopt` is called when this plan takes over.
    """

    count: int
    work: Callable[[int, Link], int]
    listeners: tuple[socket.socket, ...] = ()
    metrics: socket.socket | None = None
    stop_seconds: float = STOP_SECONDS
    changes: tuple[str, ...] = ()
    adopt: Callable[[], None] = lambda: None

    @property
    def sockets(self) -> tuple[socket.socket, ...]:
        """Return all sockets of the plan."""
        return self.listeners if self.metrics is None else (*self.listeners, self.metrics)


class _State(Enum):
    """The state of a worker, as known to its supervisor."""

    STARTING = "starting"
    PREPARED = "prepared"
    READY = "ready"
    LEAVING = "leaving"


@dataclass(slots=True, eq=False)
class _Worker:
    """The supervisor's view of a worker. At the `deadline`, the supervisor takes action."""

    pid: int
    place: int
    plan: Plan
    link: WorkerLink
    state: _State = _State.STARTING
    deadline: float | None = None
    reason: str | None = None
    samples: list[Family] = field(default_factory=list)
    is_asked: bool = False


@dataclass(slots=True)
class _Reload:
    """A reload in progress: the new plan, and its workers, started one after another."""

    plan: Plan
    workers: list[_Worker] = field(default_factory=list)


@dataclass(slots=True)
class Supervisor:
    """Keeps the workers of a plan running. SIGHUP replaces them with those of `reread`'s plan.

    The new workers are started one after another. When all new workers are prepared, they begin to
    serve. When all of them serve, the old workers are told to stop. If `reread` raises
    `ReloadRefused`, or if a new worker exits or is late, the old workers continue and the new ones
    are stopped. Workers of two plans never keep running together.

    Workers are forked after everything is loaded and before anything is opened, so that
    they share memory but no connections. If the supervisor is killed, they stop.

    A worker that cannot start for a permanent reason ends the service, but only if no worker has
    ever been ready. Later, the other workers continue, and its slot is retried.

    Signal handlers do nothing: a signal only wakes the loop in `run`, which makes all
    decisions without interruption.
    """

    plan: Plan
    reread: Callable[[], Plan]
    pause: float = RESTART_SECONDS
    successor_seconds: float = SUCCESSOR_SECONDS
    notifier: ServiceNotifier = field(default_factory=ServiceNotifier)
    _metrics: MetricsServer = field(init=False)
    _workers: dict[int, _Worker] = field(default_factory=dict)
    _ended: MergedSamples = field(default_factory=MergedSamples)
    _due: dict[int, float] = field(default_factory=dict)
    _failures: dict[int, int] = field(default_factory=dict)
    _reload: _Reload | None = None
    _reload_again: bool = False
    _sample_deadline: float | None = None
    _was_ready: bool = False
    _told_ready: bool = False
    _stop_deadline: float | None = None
    _status: int = 0

    def __post_init__(self) -> None:
        self._metrics = MetricsServer(self.plan.metrics)

    def run(self) -> int:
        """Supervise the workers until a signal stops them, and return the service's exit status."""
        with signal_socket() as signals:
            self._due = dict.fromkeys(range(self.plan.count), 0.0)
            while self._workers or self._due:
                self._react(self._wait(signals))
                self._reap()
                self._replace()
                self._give_up()
                self._respond_to_scrapes()
                self.notifier.sign_of_life()
        self._metrics.close()
        return self._status

    def _wait(self, signals: socket.socket) -> set[int]:
        """Return the signals that have arrived.

        Also receives messages from workers and requests from scrapers.
        """
        links = {each.link: each for each in self._workers.values() if each.link.is_open}
        readers = [signals, *links, *self._metrics.readers]
        found, writable, _ = select.select(readers, self._metrics.writers, [], self._timeout())
        for link in found:
            if link in links:
                self._read(links[link])
        self._metrics.on_readable(found)
        self._metrics.on_writable(writable)
        return set(signals.recv(4096)) if signals in found else set()

    def _timeout(self) -> float | None:
        """Return the seconds until the next timed action, or None if there is none."""
        times = [*self._due.values()]
        times += [each.deadline for each in self._workers.values() if each.deadline is not None]
        others = self._stop_deadline, self._sample_deadline, self._metrics.due, self.notifier.due
        times += [each for each in others if each is not None]
        return max(min(times) - time.monotonic(), 0) if times else None

    def _react(self, numbers: set[int]) -> None:
        if numbers & {signal.SIGINT, signal.SIGTERM}:
            self._stop()
        elif signal.SIGHUP in numbers and self._stop_deadline is None:
            self._begin_reload()

    # Workers

    def _start(self, place: int, plan: Plan, *, is_gated: bool = False) -> _Worker:
        """Fork a worker. Raises `OSError` if the system allows no more processes."""
        # Signals are blocked until the new worker has replaced the handlers that it inherited, with
        # which it would act as the supervisor. Blocked signals are delivered right afterwards.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            own, theirs = open_link()
            pid = os.fork()
        except OSError:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            raise
        if pid == 0:
            status = 1
            try:
                reset_signals()
                own.close()
                self._close_copies(plan)
                link = Link(
                    theirs,
                    has_peers=any(each.state is _State.READY for each in self._workers.values()),
                    is_gated=is_gated,
                    collect=encode_samples,
                )
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
                link.watch(plan.stop_seconds)
                status = plan.work(place, link)
                link.report_samples()
            except Exception:
                log.exception("worker failed", extra={"place": place})
            finally:
                # A worker must never return into the code of its supervisor.
                os._exit(status)
        theirs.close()
        worker = self._workers[pid] = _Worker(pid, place, plan, own)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return worker

    def _close_copies(self, plan: Plan) -> None:
        """Close inherited descriptors that a worker does not need.

        With copies of links, workers would not notice that their supervisor has exited. With
        copies of sockets, a port that is no longer served would stay open.
        """
        for each in self._workers.values():
            each.link.close()
        self._metrics.close()
        plans = [self.plan] if self._reload is None else [self.plan, self._reload.plan]
        for other in {each for known in plans for each in known.sockets} - {*plan.listeners}:
            other.close()

    def _read(self, worker: _Worker) -> None:
        for kind, body in worker.link.read():
            if kind is Kind.SAMPLES:
                worker.is_asked = False
                # A worker that sends garbage must not end its supervisor.
                try:
                    worker.samples = decode_samples(body)
                except msgspec.DecodeError:
                    log.error("unreadable metrics of a worker", extra={"place": worker.place})
            elif kind is Kind.FAILED:
                worker.reason = body.decode("utf-8", "replace")
            elif worker.state is not _State.LEAVING:
                self._on_progress(worker, kind)

    def _on_progress(self, worker: _Worker, kind: Kind) -> None:
        if kind is Kind.WAITING:
            self._tell_ready("waiting for a dependency")
        elif kind is Kind.PREPARED:
            worker.state, worker.deadline = _State.PREPARED, None
            self._continue_reload()
        else:
            worker.state, worker.deadline = _State.READY, None
            self._was_ready = True
            self._failures.pop(worker.place, None)
            if all(each.state is _State.READY for each in self._workers.values()):
                self._tell_ready("serving")
            self._continue_reload()

    def _tell_ready(self, status: str) -> None:
        if not self._told_ready:
            self._told_ready = True
            self.notifier.ready(status)

    def _reap(self) -> None:
        """Reap the workers that have exited."""
        while self._workers:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            worker = self._workers.get(pid)
            if worker is not None:
                self._read(worker)
                del self._workers[pid]
                worker.link.close()
                self._ended.add(worker.samples, current=False)
                if self._stop_deadline is None:
                    self._on_end(worker, os.waitstatus_to_exitcode(status))

    def _on_end(self, worker: _Worker, status: int) -> None:
        if worker.state is _State.LEAVING:
            return
        fields = {"place": worker.place, "exit_status": status, "reason": worker.reason}
        if self._reload is not None and worker in self._reload.workers:
            why = worker.reason or f"A new worker ended with status {status}; see the log above."
            self._abandon_reload([why])
        elif status == MISCONFIGURED and not self._was_ready and self._reload is None:
            self._status = status
            self._stop()
        elif status == MISCONFIGURED:
            log.error("worker cannot start; the others continue, and it is retried", extra=fields)
            self._schedule(worker)
        else:
            log.error("worker died and will be replaced", extra=fields)
            self._schedule(worker)

    def _schedule(self, worker: _Worker) -> None:
        """Count the exit of this worker, and start a replacement after a delay."""
        WORKER_EXITS.inc()
        is_ready = worker.state is _State.READY
        failures = 0 if is_ready else self._failures.get(worker.place, 0)
        self._failures[worker.place] = failures + 1
        longest = max(self.pause, LONGEST_RESTART_SECONDS)
        # The exponent is limited, because the delay reaches its maximum long before that.
        pause = min(self.pause * 2 ** min(failures, 16), longest)
        self._due[worker.place] = time.monotonic() + pause

    def _replace(self) -> None:
        """Start a worker in every slot whose delay is over."""
        now = time.monotonic()
        for place in [place for place, due in self._due.items() if due <= now]:
            del self._due[place]
            try:
                self._start(place, self.plan)
            except OSError as error:
                log.error("no worker can be started", extra={"reason": error.strerror})
                self._due[place] = now + LONGEST_RESTART_SECONDS

    def _give_up(self) -> None:
        """End everything that has timed out: a reload, workers that do not stop, and scrapers."""
        now = time.monotonic()
        for worker in [*self._workers.values()]:
            if worker.deadline is None or worker.deadline > now:
                continue
            if worker.state is _State.LEAVING:
                worker.deadline = now + worker.plan.stop_seconds
                _kill(worker)
            else:
                worker.deadline = None
                seconds = self.successor_seconds
                self._abandon_reload([f"A new worker was not ready in {seconds:g} seconds."])
        if self._stop_deadline is not None and self._stop_deadline <= now:
            self._stop_deadline = now + self.plan.stop_seconds
            for worker in self._workers.values():
                _kill(worker)
        self._metrics.give_up()

    def _dismiss(self, worker: _Worker) -> None:
        """Tell a worker to stop. A worker that takes too long is killed."""
        worker.state = _State.LEAVING
        worker.deadline = time.monotonic() + worker.plan.stop_seconds
        if not worker.link.dismiss():
            os.kill(worker.pid, signal.SIGTERM)

    # Reloads

    def _begin_reload(self) -> None:
        if self._reload is not None:
            self._reload_again = True
            return
        self.notifier.reloading()
        try:
            plan = self.reread()
        except ReloadRefused as refused:
            self._fail_reload(refused.reasons)
            return
        except Exception:
            log.exception("the settings cannot be read")
            self._fail_reload(["The settings cannot be read; the log says more."])
            return
        self._reload = _Reload(plan)
        self._continue_reload()

    def _continue_reload(self) -> None:
        """Take the next step of the reload, if one is in progress and can proceed."""
        reload = self._reload
        if reload is None:
            return
        states = {each.state for each in reload.workers}
        if _State.STARTING in states:
            return
        if len(reload.workers) < reload.plan.count:
            try:
                worker = self._start(len(reload.workers), reload.plan, is_gated=True)
            except OSError as error:
                self._abandon_reload([f"No worker can be started: {error.strerror}."])
                return
            worker.deadline = time.monotonic() + self.successor_seconds
            reload.workers.append(worker)
        elif _State.PREPARED in states:
            if _State.READY not in states:
                for worker in reload.workers:
                    worker.deadline = time.monotonic() + self.successor_seconds
                    worker.link.permit()
        else:
            self._switch(reload.plan)

    def _switch(self, plan: Plan) -> None:
        """Let this plan take over, because all of its workers are serving."""
        old, self.plan, self._reload = self.plan, plan, None
        self._due.clear()
        self._failures.clear()
        self._metrics.listen(plan.metrics)
        _close_sockets(old, plan)
        for worker in self._workers.values():
            if worker.plan is old and worker.state is not _State.LEAVING:
                self._dismiss(worker)
        plan.adopt()
        RELOADS.labels("done").inc()
        changes = {"changed": list(plan.changes), "workers": plan.count}
        log.warning("reloaded: new workers serve", extra=changes)
        self._end_reload("serving")

    def _abandon_reload(self, reasons: Sequence[str]) -> None:
        """Keep the old workers, and stop the new ones."""
        reload, self._reload = self._reload, None
        if reload is None:
            return
        for worker in reload.workers:
            if worker.pid in self._workers:
                self._dismiss(worker)
        _close_sockets(reload.plan, self.plan)
        self._fail_reload(reasons)

    def _fail_reload(self, reasons: Sequence[str]) -> None:
        RELOADS.labels("failed").inc()
        log.error("reload failed; the service continues as before", extra={"reasons": [*reasons]})
        self._end_reload("serving; the last reload failed")

    def _end_reload(self, status: str) -> None:
        if self._told_ready or self._was_ready:
            # A reload that failed during start-up does not end the start-up.
            self._told_ready = True
            self.notifier.ready(status)
        if self._reload_again:
            self._reload_again = False
            self._begin_reload()

    # Metrics

    def _respond_to_scrapes(self) -> None:
        """Request the workers' metrics if a scraper is waiting, and respond when they arrive."""
        if not self._metrics.has_waiting:
            self._sample_deadline = None
            return
        open_links = [each for each in self._workers.values() if each.link.is_open]
        now = time.monotonic()
        if self._sample_deadline is None:
            self._sample_deadline = now + SAMPLE_SECONDS
            for worker in open_links:
                # Do not keep asking a worker that does not read.
                if not worker.is_asked:
                    worker.is_asked = True
                    worker.link.request_samples()
        if any(each.is_asked for each in open_links) and now < self._sample_deadline:
            return
        self._sample_deadline = None
        self._metrics.respond(self._merge_samples())

    def _merge_samples(self) -> MergedSamples:
        states = [each.state for each in self._workers.values()]
        for state in _State:
            WORKERS.labels(state.value).set(states.count(state))
        merged = MergedSamples()
        merged.add(read_samples(SUPERVISOR))
        if _State.READY not in states:
            # Workers run no readiness probe before they have started.
            merged.add(set_value(READY, 0))
        merged.add(self._ended.families(), current=False)
        for worker in self._workers.values():
            merged.add(worker.samples, current=not worker.is_asked)
        return merged

    # The end

    def _stop(self) -> None:
        """Stop all workers.

        The listening sockets are closed here first: as long as one copy is open, the system
        accepts connections that nobody will serve. The last worker closes the last copy.
        Metrics are served until the end.
        """
        if self._stop_deadline is None:
            self._stop_deadline = time.monotonic() + self.plan.stop_seconds
            self.notifier.stopping()
        self._due.clear()
        plans = [self.plan] if self._reload is None else [self.plan, self._reload.plan]
        self._reload = None
        for listener in {each for plan in plans for each in plan.listeners}:
            refuse_connections(listener)
            listener.close()
        for worker in self._workers.values():
            worker.state, worker.deadline = _State.LEAVING, None
            os.kill(worker.pid, signal.SIGTERM)


def _kill(worker: _Worker) -> None:
    log.error("worker did not stop and was killed", extra={"pid": worker.pid})
    os.kill(worker.pid, signal.SIGKILL)


def _close_sockets(left: Plan, kept: Plan) -> None:
    """Close the sockets of a plan that another plan does not need."""
    for each in {*left.sockets} - {*kept.sockets}:
        if each in left.listeners:
            refuse_connections(each)
        each.close()


@contextmanager
def signal_socket() -> Iterator[socket.socket]:
    """Context manager for a socket that receives the numbers of arriving signals."""
    reader, writer = socket.socketpair()
    with reader, writer:
        writer.setblocking(False)
        signal.set_wakeup_fd(writer.fileno())
        previous = {each: signal.signal(each, _ignore) for each in SIGNALS}
        try:
            yield reader
        finally:
            for each, handler in previous.items():
                signal.signal(each, handler)
            signal.set_wakeup_fd(-1)


def _ignore(number: int, frame: FrameType | None) -> None:
    """Do nothing: Python writes to the socket only for signals that have a handler."""


def reset_signals() -> None:
    """Reset the supervisor's signal handlers in a worker, which then ignores SIGHUP."""
    signal.set_wakeup_fd(-1)
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN if each == signal.SIGHUP else signal.SIG_DFL)
