"""Leases: one process at a time does the work, and another takes over if that process dies.

A lease is not a lock. A holder that was paused for longer than its lease continues alongside the
new holder until it notices the loss. Work under a lease must therefore be correct even without it.
"""

import asyncio
import logging
import math
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from secrets import token_hex

from imprint.domain.errors import Unavailable
from imprint.ports import Clock, Monotonic, monotonic, utc_now
from imprint.ports.installation import LeaseStore
from imprint.services.tasks.periodic_task import run_periodically

log = logging.getLogger(__name__)

COLLECTOR_LEASE = "janitor"
"""The lease of the process that collects garbage, or has paused collection."""

LEASE_TIME = timedelta(seconds=60)
"""How long a lease lasts after each renewal. A dead holder loses it after this time."""

SHORT_LEASE_TIME = timedelta(seconds=6)
"""The lease duration for work that readers wait for: publication and the post index."""

PATIENCE = timedelta(minutes=10)
"""How long a command waits for the current holder of a lease."""

RENEWALS = 3
"""Number of renewals within the duration of a lease. Two may fail without losing the lease."""

_RETRY_SECONDS = 0.2
"""Seconds between two attempts to take a lease."""

_MARK = " #"
"""Separates the readable prefix of a holder's name from the suffix that makes it unique."""

MONITOR_SECONDS = 5.0
"""Seconds between two checks of a lease."""

SHORTEST_LIMIT = timedelta(seconds=30)
"""Shortest time without a lease holder after which an alarm is raised."""


class CollectionNotPaused(Exception):
    """The garbage collector could not be paused, or may have run, so documents may be missing."""


def name_holder(task: str) -> str:
    """Return a unique name for a holder, which says what the holder does and where it runs."""
    return f"{task} on {os.uname().nodename}, process {os.getpid()}{_MARK}{token_hex(4)}"


def describe_holder(holder: str) -> str:
    """Return the readable prefix of a holder's name."""
    return holder.partition(_MARK)[0]


@dataclass(slots=True)
class HeldLease:
    """A lease that this process holds and renews. `lost` says whether the lease was lost."""

    leases: LeaseStore
    name: str
    length: timedelta
    holder: str
    monotonic: Monotonic = monotonic
    _until: float = field(default=-math.inf, init=False)
    _lost: bool = field(default=False, init=False)

    @property
    def lost(self) -> bool:
        """Whether another process may hold the lease, or may have held it."""
        return self._lost or self.monotonic() >= self._until

    async def take(self) -> bool:
        """Take or renew the lease. Returns False if another holder has it."""
        # The duration is counted from before the request, so that this process never believes that
        # it holds a lease that has already expired in the database.
        until = self.monotonic() + self.length.total_seconds()
        taken = await self.leases.take_lease(self.name, self.holder, self.length)
        self._until = until if taken else -math.inf
        return taken

    async def hold(self) -> bool:
        """Take the lease, or renew it if that is due. Returns False if another holder has it."""
        left = self._until - self.monotonic()
        if not self._lost and left > self.length.total_seconds() * (1 - 1 / RENEWALS):
            return True
        self._lost = False
        return await self.take()

    async def keep(self) -> None:
        """Renew the lease until it is lost, then log the loss."""
        while not self._lost:
            await asyncio.sleep(self.length.total_seconds() / RENEWALS)
            until = self._until
            # If the database is unavailable only for a moment, the next attempt is early enough.
            with suppress(Unavailable):
                await self.take()
            # If the lease had already expired, it counts as lost even if it was taken again,
            # because another process may have held it meanwhile.
            self._lost = self.lost or self.monotonic() >= until
        log.warning(
            "a lease was lost",
            extra={"lease": self.name, "holder": describe_holder(self.holder)},
        )

    async def release(self) -> None:
        """Release the lease if it is still held. If the database is unavailable, the lease expires
        by itself."""
        self._until = -math.inf
        try:
            await self.leases.release_lease(self.name, self.holder)
        except Unavailable as problem:
            log.warning(
                "a lease was not released",
                extra={"lease": self.name, "code": problem.code},
            )


@dataclass(slots=True)
class LeaseMonitor:
    """Detects, in every process, that no process has held a lease for longer than `limit`.

    At the beginning and end of such a period, `show` is called with a flag that says whether a
    process does the work.
    """

    leases: LeaseStore
    name: str
    task: str
    limit: timedelta
    show: Callable[[bool], object]
    monotonic: Monotonic = monotonic
    show_age: Callable[[float], object] = lambda _: None
    """Called at every check with the seconds since the lease was last held."""
    running: bool = field(default=True, init=False)
    _since: float = field(init=False)
    _looked_at: float = field(init=False)
    _late: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._since = self._looked_at = self.monotonic()

    @classmethod
    def limit_of(cls, interval: float, length: timedelta) -> timedelta:
        """Return how long a task's lease may be free, given the task's interval and lease
        duration."""
        return max(SHORTEST_LIMIT, 3 * timedelta(seconds=interval) + length)

    def is_running(self) -> bool:
        """Whether a process is doing the work, as far as this process knows."""
        return self.running

    async def run(self) -> None:
        """Check the lease until cancelled."""
        await run_periodically("lease monitor", self.look, MONITOR_SECONDS, optional=True)

    async def look(self) -> None:
        """Check once. Two failed checks raise the alarm, and one successful check clears it."""
        now = self.monotonic()
        if now - self._looked_at > SHORTEST_LIMIT.total_seconds():
            # The machine slept, or this process was paused. The process that does the work may have
            # been paused too, so it gets the full limit again.
            self._since = now
        self._looked_at = now
        try:
            age = await self.leases.lease_age(self.name)
        except Unavailable:
            # No process can take a lease while the database is unavailable, and processes need a
            # moment to take it afterwards.
            self._since = self.monotonic()
            raise
        self.show_age(math.nan if age is None else age.total_seconds())
        free = age is None or age > self.limit
        late = free and self.monotonic() - self._since > self.limit.total_seconds()
        if late and self._late and self.running:
            self._tell(running=False)
        elif not free and not self.running:
            self._tell(running=True)
        self._late = late

    def _tell(self, *, running: bool) -> None:
        self.running = running
        self.show(running)
        if running:
            log.warning("a background task runs again", extra={"task": self.task})
        else:
            seconds = self.limit.total_seconds()
            log.error(
                "no process runs a background task that should run",
                extra={"task": self.task, "seconds": seconds},
            )


@asynccontextmanager
async def hold_lease(
    leases: LeaseStore,
    name: str,
    length: timedelta,
    holder: str,
    monotonic: Monotonic = monotonic,
) -> AsyncIterator[HeldLease | None]:
    """Hold a lease within the `with` block, and renew it in the background.

    Yields None if another holder has it.
    """
    lease = HeldLease(leases, name, length, holder, monotonic)
    if not await lease.take():
        yield None
        return
    async with kept(lease):
        yield lease


@asynccontextmanager
async def kept(lease: HeldLease) -> AsyncIterator[None]:
    """Renew a held lease in the background within the `with` block, then release it."""
    try:
        async with prolonged(lease):
            yield
    finally:
        await lease.release()


@asynccontextmanager
async def prolonged(lease: HeldLease) -> AsyncIterator[None]:
    """Renew a held lease in the background within the `with` block."""
    renewal = asyncio.create_task(lease.keep())
    try:
        yield
    finally:
        renewal.cancel()
        # Awaiting the renewal directly would mean suppressing `CancelledError`, and with it a
        # cancellation of this task.
        (ended,) = await asyncio.gather(renewal, return_exceptions=True)
        if isinstance(ended, Exception):
            raise ended


@asynccontextmanager
async def pause_collection(
    leases: LeaseStore, task: str, clock: Clock = utc_now, patience: timedelta = PATIENCE
) -> AsyncIterator[HeldLease]:
    """Hold the collector's lease for a task, so that no process destroys documents meanwhile.

    Waits for another holder, and reports the wait once. Raises `CollectionNotPaused` if that takes
    longer than `patience`, or if the lease was lost before the end.
    """
    lease = HeldLease(leases, COLLECTOR_LEASE, LEASE_TIME, name_holder(task))
    await _wait_for(lease, clock, patience)
    async with kept(lease):
        yield lease
        if lease.lost:
            raise CollectionNotPaused(
                "Garbage collection may have run in the meantime. Please try again."
            )


async def _wait_for(lease: HeldLease, clock: Clock, patience: timedelta) -> None:
    deadline = lease.monotonic() + patience.total_seconds()
    told = False
    while not await lease.take():
        found = await lease.leases.find_lease(lease.name)
        if lease.monotonic() >= deadline:
            holder = "another process" if found is None else describe_holder(found.holder)
            raise CollectionNotPaused(
                f"Documents are in use: {holder} has not finished in "
                f"{patience.total_seconds():.0f} seconds. Please try again later."
            )
        if found is not None and found.left > timedelta(0) and not told:
            told = True
            now = clock()
            log.warning(
                "waiting for %s: until %s if it has died, or until %s at the latest if it is "
                "still working",
                describe_holder(found.holder),
                f"{now + found.left:%H:%M:%S} UTC",
                f"{now + patience:%H:%M:%S} UTC",
            )
        await asyncio.sleep(_RETRY_SECONDS)
