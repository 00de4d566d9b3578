"""A lease has one holder at a time, even if clocks are wrong."""

from datetime import timedelta

import pytest

from imprint.ports.installation import Lease

MINUTE = timedelta(minutes=1)
HOUR = 3600.0


class Seconds:
    """A manually set clock."""

    def __init__(self):
        self.passed = 50_000.0

    def __call__(self):
        return self.passed


@pytest.fixture
def clock():
    return Seconds()


@pytest.fixture
def stores(open_another, clock):
    return open_another(clock)


async def test_a_lease_has_one_holder_until_it_expires(stores, clock):
    assert await stores.leases.take_lease("follow", "one", MINUTE)
    assert not await stores.leases.take_lease("follow", "two", MINUTE)
    assert await stores.leases.take_lease("keep", "two", MINUTE)
    clock.passed += 30
    assert await stores.leases.take_lease("follow", "one", MINUTE)
    clock.passed += 59.9
    assert not await stores.leases.take_lease("follow", "two", MINUTE)
    clock.passed += 0.1
    assert await stores.leases.take_lease("follow", "two", MINUTE)


async def test_a_lease_is_released_only_by_its_holder(stores):
    await stores.leases.take_lease("follow", "one", MINUTE)
    await stores.leases.release_lease("follow", "two")
    assert not await stores.leases.take_lease("follow", "two", MINUTE)
    await stores.leases.release_lease("follow", "one")
    assert await stores.leases.take_lease("follow", "two", MINUTE)


async def test_a_lease_taken_with_a_clock_far_ahead_counts_as_expired(stores, clock):
    clock.passed += HOUR
    assert await stores.leases.take_lease("follow", "one", MINUTE)
    clock.passed -= HOUR
    assert await stores.leases.find_lease("follow") is None
    assert await stores.leases.take_lease("follow", "two", MINUTE)
    assert not await stores.leases.take_lease("follow", "one", MINUTE)


async def test_a_lease_expires_after_the_duration_set_by_its_current_holder(stores, clock):
    assert await stores.leases.take_lease("copy", "one", 2 * MINUTE)
    clock.passed += 1
    assert not await stores.leases.take_lease("copy", "two", timedelta(seconds=6))


async def test_the_holder_of_a_lease_can_be_found(stores, clock):
    assert await stores.leases.find_lease("copy") is None
    await stores.leases.take_lease("copy", "one", MINUTE)
    clock.passed += 20
    assert await stores.leases.find_lease("copy") == Lease("one", timedelta(seconds=40))
    clock.passed += 50
    assert await stores.leases.find_lease("copy") == Lease("one", timedelta(seconds=-10))


async def test_the_age_of_a_lease_counts_from_its_expiry(stores, clock):
    assert await stores.leases.lease_age("copy") is None
    await stores.leases.take_lease("copy", "one", MINUTE)
    assert await stores.leases.lease_age("copy") == timedelta(0)
    clock.passed += 70
    assert await stores.leases.lease_age("copy") == timedelta(seconds=10)


async def test_the_age_of_a_released_lease_counts_from_its_release(stores, clock):
    await stores.leases.take_lease("copy", "one", MINUTE)
    await stores.leases.release_lease("copy", "one")
    clock.passed += 5
    assert await stores.leases.lease_age("copy") == timedelta(seconds=5)


async def test_releasing_an_expired_lease_does_not_reset_its_age(stores, clock):
    await stores.leases.take_lease("copy", "one", MINUTE)
    clock.passed += 90
    await stores.leases.release_lease("copy", "one")
    assert await stores.leases.lease_age("copy") == timedelta(seconds=30)


async def test_all_processes_share_one_clock_unless_a_clock_is_injected(open_another):
    one, two = open_another(), open_another()
    assert await one.leases.take_lease("follow", "one", MINUTE)
    assert not await two.leases.take_lease("follow", "two", MINUTE)
    found = await two.leases.find_lease("follow")
    assert timedelta(0) < found.left <= MINUTE
    await one.leases.release_lease("follow", "one")
    assert await two.leases.take_lease("follow", "two", MINUTE)


async def test_a_lease_of_an_earlier_release_with_a_wrong_clock_counts_as_expired(open_another):
    stores = open_another()
    await stores.database.transact((), _insert_old)
    assert await stores.leases.take_lease("follow", "new", MINUTE)


async def _insert_old(tx):
    """Insert a lease as an earlier release did: in microseconds since 1970, without a duration."""
    await tx.execute(
        "INSERT INTO leases (name, holder, held_until) VALUES ('follow', 'old', :until)",
        until=7_780_000_000_000_000,
    )
