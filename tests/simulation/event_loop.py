"""An event loop without threads and without real time, so that a seed determines a whole run."""

import asyncio
import os
import selectors
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import starlette.routing
from tests.world import MovableClock

from imprint.adapters.content import embedded
from imprint.adapters.database import group_commit
from imprint.adapters.database.group_commit import GroupCommit, Job
from imprint.adapters.database.schema import known_migrations
from imprint.adapters.database.sqlite import backup
from imprint.adapters.database.sqlite import database as sqlite_database
from imprint.adapters.database.sqlite.connections import connect_reader
from imprint.adapters.database.sqlite.rebuild import Findings
from imprint.bootstrap import adapters
from imprint.domain.drafts import files


class Crash(BaseException):
    """Ends a process at a failpoint."""


class Deadlock(Exception):
    """Every task waits for something that never happens."""


class _VirtualSelector(selectors.DefaultSelector):
    """Lets virtual time pass instead of waiting."""

    waited = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise Deadlock
        self.waited += timeout
        return []


class SimulatedLoop(asyncio.SelectorEventLoop):
    """Runs the work that other loops give to threads itself, in the order of the calls.

    With `is_virtual`, its time is that of `clock`, plus the time that all tasks have waited for
    timers. After `crashed` is set, nothing is written any more, as if the process had ended.
    """

    def __init__(self, clock: MovableClock, *, is_virtual: bool) -> None:
        selector = _VirtualSelector() if is_virtual else None
        super().__init__(selector)
        self._virtual = selector
        self._clock = clock
        self.crashed = False

    def time(self) -> float:
        if self._virtual is None:
            return super().time()
        return self._clock.monotonic() + self._virtual.waited

    def run_in_executor(  # type: ignore[override]  # the arguments of `func` are not typed here
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> "asyncio.Future[Any]":
        future = self.create_future()
        self.call_soon(_finish, future, partial(self.run_unless_crashed, func, *args))
        return future

    def run_unless_crashed(self, work: Callable[..., Any], *args: Any) -> Any:
        """Run work of a thread. Raises `Crash` if its process has ended, or ends meanwhile."""
        if self.crashed:
            raise Crash
        try:
            return work(*args)
        except Crash:
            self.crashed = True
            raise


def _finish(future: Any, work: Callable[[], Any]) -> None:
    """Set the result of a future to that of this work."""
    if future.cancelled():
        return
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001  the caller gets it, even a crash
        future.set_exception(error)
    else:
        future.set_result(result)


class _InlineExecutor:
    """Stands in for a pool of threads, and runs its work at once."""

    def __init__(self, *_: object, **__: object) -> None:
        self._loop = asyncio.get_running_loop()

    def submit(self, work: Callable[..., Any], *args: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        assert isinstance(self._loop, SimulatedLoop)
        _finish(future, partial(self._loop.run_unless_crashed, work, *args))
        return future

    def shutdown(self, wait: bool = True) -> None:
        """Nothing runs here any more."""


async def _submit(commits: GroupCommit[Any], work: Any) -> Any:
    """Replace `GroupCommit.submit`: jobs that are submitted in one turn share a commit."""
    if commits._closed:
        raise RuntimeError("This queue is closed.")
    loop = asyncio.get_running_loop()
    job = Job(work, loop, loop.create_future(), float("inf"))
    waiting = commits._waiting
    if not waiting:
        loop.call_soon(_commit, commits)
    waiting[job] = None
    return await job.future


def _commit(commits: GroupCommit[Any]) -> None:
    jobs = list(commits._waiting)
    commits._waiting.clear()
    loop = jobs[0].loop
    assert isinstance(loop, SimulatedLoop)
    try:
        loop.run_unless_crashed(commits._commit, jobs)
    except BaseException as error:  # noqa: BLE001  every caller gets it, even a crash
        for job in jobs:
            job.future.set_exception(error)
        return
    for job in jobs:
        _finish(job.future, partial(_result_of, job))


def _result_of(job: Job[Any]) -> Any:
    if job.error is not None:
        raise job.error
    return job.result


async def _close(commits: GroupCommit[Any]) -> None:
    commits._closed = True


class _Time:
    """Stands in for the module `time`."""

    def __init__(self, clock: MovableClock) -> None:
        self.monotonic = clock.monotonic
        self.time = lambda: clock.now().timestamp()
        self.time_ns = lambda: int(self.time() * 10**9)

    @staticmethod
    def thread_time() -> float:
        """No work is slow."""
        return 0.0


class _LazyConnection:
    """A connection for reading that is opened on first use."""

    def __init__(self, path: Path, *given: Any) -> None:
        self._opening = partial(connect_reader, path, *given)
        self._opened: sqlite3.Connection | None = None
        self.row_factory: Any = None

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()

    def __getattr__(self, name: str) -> Any:
        if self._opened is None:
            self._opened = self._opening()
            self._opened.row_factory = self.row_factory
        return getattr(self._opened, name)


_compile_path = cache(starlette.routing.compile_path)
_schema_after = cache(backup.schema_after)


@contextmanager
def without_threads(clock: MovableClock) -> Iterator[None]:
    """Run the threads of databases and stores on the event loop, with the time of `clock`."""
    time, newest = _Time(clock), len(known_migrations())
    with ExitStack() as replaced:
        for target, name, value in (
            (os, "sync", lambda: None),
            # The checks of a start take as long as ten requests, and are not simulated.
            (adapters, "read_schema", lambda path: newest),
            (sqlite_database, "read_schema", lambda path: newest),
            (sqlite_database, "examine_catalog", lambda path, connect: Findings()),
            (backup, "schema_after", _schema_after),
            (sqlite_database, "connect_reader", _LazyConnection),
            (embedded, "is_local", lambda folder: True),
            (starlette.routing, "compile_path", _compile_path),
            (GroupCommit, "submit", _submit),
            (GroupCommit, "close", _close),
            (embedded, "ThreadPoolExecutor", _InlineExecutor),
            (embedded, "time", time),
            (group_commit, "time", time),
            (files, "time", time),
            (sqlite_database, "time", time),
            (sqlite_database, "ThreadPoolExecutor", _InlineExecutor),
        ):
            replaced.enter_context(patch.object(target, name, value))
        yield
