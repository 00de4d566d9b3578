"""Leases: how they are taken, renewed in the background, awaited and lost."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.services.conftest import wait_until
from tests.stores import open_sqlite_stores
from tests.world import MovableClock

from imprint.bootstrap.stores import Stores
from imprint.domain.errors import Unavailable
from imprint.services.tasks.leases import (
    COLLECTOR_LEASE,
    LEASE_TIME,
    MONITOR_SECONDS,
    CollectionNotPaused,
    HeldLease,
    LeaseMonitor,
    describe_holder,
    hold_lease,
    name_holder,
    pause_collection,
    prolonged,
)

SHORT = timedelta(seconds=0.03)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
async def stores(tmp_path: Path, clock: MovableClock) -> AsyncIterator[Stores]:
    opened = open_sqlite_stores(tmp_path / "catalog.db", clock.monotonic)
    yield opened
    await opened.close()


async def test_a_lease_is_held_until_the_with_block_exits(stores: Stores) -> None:
    async with hold_lease(stores.leases, "copy", MINUTE, "one") as lease:
        assert lease is not None
        assert not lease.lost
        assert not await stores.leases.take_lease("copy", "two", MINUTE)
    assert await stores.leases.take_lease("copy", "two", MINUTE)


async def test_a_lease_held_by_another_process_is_not_taken(stores: Stores) -> None:
    await stores.leases.take_lease("copy", "two", MINUTE)
    async with hold_lease(stores.leases, "copy", MINUTE, "one") as lease:
        assert lease is None
    assert not await stores.leases.take_lease("copy", "three", MINUTE)


async def test_a_held_lease_is_renewed_after_a_third_of_its_time(
    stores: Stores, clock: MovableClock
) -> None:
    taken: list[str] = []

    class Watched:
        async def take_lease(self, name: str, holder: str, length: timedelta) -> bool:
            taken.append(holder)
            return await stores.leases.take_lease(name, holder, length)

        async def release_lease(self, name: str, holder: str) -> None:
            await stores.leases.release_lease(name, holder)

    lease = HeldLease(Watched(), "copy", MINUTE, "one", clock.monotonic)  # type: ignore[arg-type]
    for seconds, times in ((0, 1), (10, 1), (9, 1), (1, 2), (19, 2), (59, 3)):
        clock.advance(seconds)
        assert await lease.hold()
        assert len(taken) == times, seconds
    # Once the lease has expired, another process may take it.
    clock.advance(61)
    assert await stores.leases.take_lease("copy", "two", MINUTE)
    assert not await lease.hold()
    await stores.leases.release_lease("copy", "two")
    assert await lease.hold()
    await lease.release()
    assert await stores.leases.take_lease("copy", "two", MINUTE)
    assert not await lease.hold()


async def test_a_lease_is_free_after_a_failure(stores: Stores) -> None:
    with pytest.raises(ValueError, match="bad"):
        async with hold_lease(stores.leases, "copy", MINUTE, "one"):
            raise ValueError("bad")
    assert await stores.leases.take_lease("copy", "two", MINUTE)


async def test_a_lease_is_free_after_its_holder_is_cancelled(stores: Stores) -> None:
    held = asyncio.Event()

    async def hold() -> None:
        async with hold_lease(stores.leases, "copy", MINUTE, "one"):
            held.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(hold())
    await held.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert await stores.leases.take_lease("copy", "two", MINUTE)


async def _is_held(stores: Stores) -> bool:
    return await stores.leases.find_lease("copy") is not None


async def test_a_held_lease_is_renewed_in_the_background(
    stores: Stores, clock: MovableClock
) -> None:
    async with hold_lease(stores.leases, "copy", SHORT, "one", clock.monotonic) as lease:
        assert lease is not None
        for _ in range(3):
            clock.advance(SHORT.total_seconds() / 2)

            async def is_prolonged() -> bool:
                # Not the record in the database: a renewal that began before the clock advanced
                # may have written it.
                return lease._until - clock.monotonic() > SHORT.total_seconds() / 2

            await wait_until(is_prolonged)
        assert not lease.lost
        found = await stores.leases.find_lease("copy")
        assert found is not None
        assert found.left > SHORT / 2


async def test_a_lease_not_renewed_in_time_is_lost_for_good(
    stores: Stores, clock: MovableClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with hold_lease(stores.leases, "copy", SHORT, "one", clock.monotonic) as lease:
        assert lease is not None
        clock.advance(SHORT.total_seconds())
        assert lease.lost

        async def is_said() -> bool:
            return "a lease was lost" in caplog.text

        # The lease is taken again, but it stays lost: another process may have held it after it
        # expired.
        await wait_until(is_said)
        assert lease.lost


async def test_a_lease_survives_a_short_database_outage(
    stores: Stores, clock: MovableClock
) -> None:
    take, failures = stores.leases.take_lease, [Unavailable.database()]

    async def fail_once(name: str, holder: str, length: timedelta) -> bool:
        if failures:
            raise failures.pop()
        return await take(name, holder, length)

    async with hold_lease(stores.leases, "copy", SHORT, "one", clock.monotonic) as lease:
        assert lease is not None
        release = stores.leases.release_lease
        lease.leases = SimpleNamespace(take_lease=fail_once, release_lease=release)  # type: ignore[assignment]
        clock.advance(SHORT.total_seconds() / 2)

        async def is_prolonged() -> bool:
            found = await stores.leases.find_lease("copy")
            return found is not None and found.left > SHORT / 2

        await wait_until(is_prolonged)
        assert not failures
        assert not lease.lost


async def test_the_name_of_a_holder_contains_its_task_and_process() -> None:
    one, other = name_holder("backup"), name_holder("backup")
    assert one != other
    assert describe_holder(one) == describe_holder(other)
    assert describe_holder(one).startswith("backup on ")
    assert ", process " in describe_holder(one)


async def test_a_waiting_process_logs_the_holder_and_the_expiry(
    stores: Stores, clock: MovableClock, caplog: pytest.LogCaptureFixture
) -> None:
    await stores.leases.take_lease(COLLECTOR_LEASE, "backup on web-1, process 7 #1f", LEASE_TIME)
    clock.moment = clock.moment.replace(hour=12, minute=30, second=0)
    clock.passed += 20

    async def pause() -> None:
        async with pause_collection(stores.leases, "export", clock):
            pass

    task = asyncio.create_task(pause())

    async def is_said() -> bool:
        return "waiting" in caplog.text

    await wait_until(is_said)
    assert (
        "waiting for backup on web-1, process 7: until 12:30:40 UTC if it has died" in caplog.text
    )
    assert "until 12:40:00 UTC at the latest" in caplog.text
    clock.passed += 40
    await task
    assert len([line for line in caplog.messages if "waiting" in line]) == 1


async def test_a_wait_that_times_out_names_the_holder(stores: Stores) -> None:
    await stores.leases.take_lease(COLLECTOR_LEASE, "backup on web-1, process 7 #1f", LEASE_TIME)
    with pytest.raises(CollectionNotPaused, match="backup on web-1, process 7 has not finished"):
        async with pause_collection(stores.leases, "export", patience=timedelta(0)):
            pytest.fail("It is not paused.")


async def test_a_failed_lease_release_during_a_database_outage_is_only_logged(
    stores: Stores, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with hold_lease(stores.leases, "copy", MINUTE, "one") as lease:
        assert lease is not None
        await stores.close()
    assert "a lease was not released" in caplog.text


# Monitors


@dataclass(slots=True)
class Watched:
    """A monitor of a lease, and helpers for checking it."""

    stores: Stores
    clock: MovableClock
    shown: list[bool] = field(default_factory=lambda: [True])
    monitor: LeaseMonitor = field(init=False)

    def __post_init__(self) -> None:
        self.monitor = LeaseMonitor(
            self.stores.leases, "copy", "copier", MINUTE, self.shown.append, self.clock.monotonic
        )

    async def look(self, after: float, times: int = 2) -> bool:
        """Advance the clock in steps with a check at each, then run `times` more checks.

        Returns whether the task counts as running.
        """
        while after > MONITOR_SECONDS:
            self.clock.advance(MONITOR_SECONDS)
            await self.monitor.look()
            after -= MONITOR_SECONDS
        self.clock.advance(after)
        for _ in range(times):
            await self.monitor.look()
        assert self.shown[-1] is self.monitor.running
        return self.monitor.is_running()


@pytest.fixture
def watched(stores: Stores, clock: MovableClock) -> Watched:
    return Watched(stores, clock)


async def test_a_task_that_never_ran_is_reported_after_the_limit(watched: Watched) -> None:
    assert await watched.look(60)
    assert not await watched.look(0.1)


async def test_a_task_that_ended_is_reported_after_the_limit(watched: Watched) -> None:
    await watched.stores.leases.take_lease("copy", "one", MINUTE)
    assert await watched.look(100)
    assert await watched.look(20)
    assert not await watched.look(1)


async def test_a_task_that_runs_again_is_recognized_immediately(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    assert not await watched.look(61)
    assert not await watched.look(61, times=9)
    await watched.stores.leases.take_lease("copy", "one", MINUTE)
    assert await watched.look(1, times=1)
    assert await watched.look(1)
    levels = [record.levelname for record in caplog.records]
    assert levels == ["ERROR", "WARNING"]


async def test_a_task_run_by_another_process_counts_as_running(watched: Watched) -> None:
    for _ in range(10):
        await watched.stores.leases.take_lease("copy", "another", timedelta(seconds=6))
        assert await watched.look(30)


async def test_one_late_check_raises_no_alarm(watched: Watched) -> None:
    assert await watched.look(60)
    assert await watched.look(1, times=1)
    await watched.stores.leases.take_lease("copy", "one", MINUTE)
    assert await watched.look(1)


async def test_the_limit_restarts_after_the_machine_was_suspended(watched: Watched) -> None:
    """After a suspend, processes resume in any order, and a task may still pause between rounds."""
    await watched.stores.leases.take_lease("copy", "one", MINUTE)
    watched.clock.advance(3600)
    assert await watched.look(0)
    assert await watched.look(60)
    assert not await watched.look(1)


async def test_an_alarm_persists_through_a_database_outage(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    assert not await watched.look(61)

    async def fail(name: str) -> timedelta | None:
        raise Unavailable.database()

    watched.monitor.leases = SimpleNamespace(lease_age=fail)  # type: ignore[assignment]
    with pytest.raises(Unavailable):
        await watched.monitor.look()
    watched.monitor.leases = watched.stores.leases
    assert not await watched.look(120)
    assert [record.levelname for record in caplog.records] == ["ERROR"]


async def test_the_limit_restarts_after_a_database_outage(watched: Watched) -> None:
    async def fail(name: str) -> timedelta | None:
        raise Unavailable.database()

    watched.monitor.leases = SimpleNamespace(lease_age=fail)  # type: ignore[assignment]
    watched.clock.advance(3600)
    with pytest.raises(Unavailable):
        await watched.monitor.look()
    watched.monitor.leases = watched.stores.leases
    assert await watched.look(60)
    assert not await watched.look(1)


def test_the_limit_is_three_intervals_plus_a_lease_and_at_least_30_seconds() -> None:
    assert LeaseMonitor.limit_of(2, timedelta(seconds=6)) == timedelta(seconds=30)
    assert LeaseMonitor.limit_of(60, MINUTE) == timedelta(minutes=4)


async def test_a_task_can_be_cancelled_while_its_lease_is_being_released(
    stores: Stores,
) -> None:
    ending = asyncio.Event()

    class SlowToEnd(HeldLease):
        async def keep(self) -> None:
            try:
                await asyncio.sleep(3600)
            finally:
                ending.set()
                await asyncio.sleep(3600)

    async def work() -> None:
        async with prolonged(SlowToEnd(stores.leases, "copy", MINUTE, "one")):
            await asyncio.sleep(0)

    task = asyncio.create_task(work())
    await ending.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_error_during_renewal_is_raised(stores: Stores) -> None:
    class Broken(HeldLease):
        async def keep(self) -> None:
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        async with prolonged(Broken(stores.leases, "copy", MINUTE, "one")):
            await asyncio.sleep(0)
