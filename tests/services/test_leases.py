"""Leases: taken, prolonged in the background, waited for, and lost."""

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.services.conftest import wait_until
from tests.world import MovableClock

from imprint.adapters.catalog.sqlite import SqliteCatalog, open_catalog
from imprint.domain.errors import Unavailable
from imprint.services.leases import (
    COLLECTOR_LEASE,
    LEASE_TIME,
    CollectionNotPaused,
    describe_holder,
    hold_lease,
    name_holder,
    pause_collection,
)

SHORT = timedelta(seconds=0.03)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
async def catalog(tmp_path: Path, clock: MovableClock) -> AsyncIterator[SqliteCatalog]:
    opened = open_catalog(tmp_path / "catalog.db", clock.monotonic)
    yield opened
    await opened.close()


async def test_a_lease_is_held_inside_and_free_after(catalog: SqliteCatalog) -> None:
    async with hold_lease(catalog, "copy", MINUTE, "one") as lease:
        assert lease is not None
        assert not lease.lost
        assert not await catalog.take_lease("copy", "two", MINUTE)
    assert await catalog.take_lease("copy", "two", MINUTE)


async def test_a_lease_that_another_has_is_not_held(catalog: SqliteCatalog) -> None:
    await catalog.take_lease("copy", "two", MINUTE)
    async with hold_lease(catalog, "copy", MINUTE, "one") as lease:
        assert lease is None
    assert not await catalog.take_lease("copy", "three", MINUTE)


async def test_a_lease_is_free_after_a_failure(catalog: SqliteCatalog) -> None:
    with pytest.raises(ValueError, match="bad"):
        async with hold_lease(catalog, "copy", MINUTE, "one"):
            raise ValueError("bad")
    assert await catalog.take_lease("copy", "two", MINUTE)


async def test_a_lease_is_free_after_its_holder_was_cancelled(catalog: SqliteCatalog) -> None:
    async def hold() -> None:
        async with hold_lease(catalog, "copy", MINUTE, "one"):
            await asyncio.Event().wait()

    task = asyncio.create_task(hold())
    await wait_until(lambda: _is_held(catalog))
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert await catalog.take_lease("copy", "two", MINUTE)


async def _is_held(catalog: SqliteCatalog) -> bool:
    return await catalog.find_lease("copy") is not None


async def test_a_held_lease_is_prolonged_in_the_background(
    catalog: SqliteCatalog, clock: MovableClock
) -> None:
    async with hold_lease(catalog, "copy", SHORT, "one", clock.monotonic) as lease:
        assert lease is not None
        for _ in range(3):
            clock.advance(SHORT.total_seconds() / 2)

            async def is_prolonged() -> bool:
                found = await catalog.find_lease("copy")
                return found is not None and found.left > SHORT / 2

            await wait_until(is_prolonged)
        assert not lease.lost


async def test_a_lease_that_was_not_prolonged_in_time_is_lost_for_good(
    catalog: SqliteCatalog, clock: MovableClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with hold_lease(catalog, "copy", SHORT, "one", clock.monotonic) as lease:
        assert lease is not None
        clock.advance(SHORT.total_seconds())
        assert lease.lost

        async def is_said() -> bool:
            return "a lease was lost" in caplog.text

        # It is taken again after its end, when another process may have had it.
        await wait_until(is_said)
        assert lease.lost


async def test_a_lease_outlives_a_database_that_is_away_for_a_moment(
    catalog: SqliteCatalog, clock: MovableClock
) -> None:
    take, failures = catalog.take_lease, [Unavailable.database()]

    async def fail_once(name: str, holder: str, length: timedelta) -> bool:
        if failures:
            raise failures.pop()
        return await take(name, holder, length)

    async with hold_lease(catalog, "copy", SHORT, "one", clock.monotonic) as lease:
        assert lease is not None
        catalog.take_lease = fail_once  # type: ignore[method-assign]
        clock.advance(SHORT.total_seconds() / 2)

        async def is_prolonged() -> bool:
            found = await catalog.find_lease("copy")
            return found is not None and found.left > SHORT / 2

        await wait_until(is_prolonged)
        assert not failures
        assert not lease.lost


async def test_a_holder_is_named_by_what_it_does_and_where() -> None:
    one, other = name_holder("backup"), name_holder("backup")
    assert one != other
    assert describe_holder(one) == describe_holder(other)
    assert describe_holder(one).startswith("backup on ")
    assert ", process " in describe_holder(one)


async def test_who_waits_says_for_whom_and_until_when(
    catalog: SqliteCatalog, clock: MovableClock, caplog: pytest.LogCaptureFixture
) -> None:
    await catalog.take_lease(COLLECTOR_LEASE, "backup on web-1, process 7 #1f", LEASE_TIME)
    clock.moment = clock.moment.replace(hour=12, minute=30, second=0)
    clock.passed += 20

    async def pause() -> None:
        async with pause_collection(catalog, "export", clock):
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


async def test_who_waited_too_long_says_for_whom(catalog: SqliteCatalog) -> None:
    await catalog.take_lease(COLLECTOR_LEASE, "backup on web-1, process 7 #1f", LEASE_TIME)
    with pytest.raises(CollectionNotPaused, match="backup on web-1, process 7 has not finished"):
        async with pause_collection(catalog, "export", patience=timedelta(0)):
            pytest.fail("It is not paused.")


async def test_a_release_without_a_database_is_logged_and_no_failure(
    catalog: SqliteCatalog, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with hold_lease(catalog, "copy", MINUTE, "one") as lease:
        assert lease is not None
        await catalog.close()
    assert "a lease was not released" in caplog.text
