"""Rate limits shared by all processes."""

from datetime import timedelta

import pytest

from imprint.domain.errors import RateLimited
from imprint.domain.rate_limits import Rate

RATE = Rate(3, 60)


async def spend(world, key="write 0x1", after=0.0):
    await world.stores.rate_limits.admit(key, RATE, world.now + timedelta(seconds=after))


async def test_requests_up_to_the_limit_are_admitted_and_the_next_is_refused(world):
    for _ in range(3):
        await spend(world)
    with pytest.raises(RateLimited) as refused:
        await spend(world)
    assert refused.value.retry_after == 20


async def test_each_key_has_its_own_rate_limit(world):
    for _ in range(3):
        await spend(world)
    await spend(world, "write 0x2")


async def test_the_allowance_is_refilled_evenly(world):
    for _ in range(3):
        await spend(world)
    await spend(world, after=20)
    with pytest.raises(RateLimited):
        await spend(world, after=20)
    await spend(world, after=40)


async def test_a_refused_request_does_not_count(world):
    for _ in range(3):
        await spend(world)
    for _ in range(10):
        with pytest.raises(RateLimited):
            await spend(world)
    await spend(world, after=20)


async def test_a_pruned_key_starts_with_its_full_allowance(world):
    for _ in range(3):
        await spend(world)
    await world.stores.garbage.prune_replays(world.now + timedelta(seconds=61))
    for _ in range(3):
        await spend(world)


@pytest.mark.parametrize("spent", [0, 1])
async def test_a_charge_counts_as_the_given_number_of_requests(world, spent):
    for _ in range(spent):
        await spend(world)
    await world.stores.rate_limits.charge("write 0x1", RATE, 2 - spent, world.now)
    await spend(world)
    with pytest.raises(RateLimited):
        await spend(world)


@pytest.mark.parametrize("spent", [0, 1, 3])
async def test_a_charge_above_the_limit_uses_up_no_more_than_the_allowance(world, spent):
    for _ in range(spent):
        await spend(world)
    for _ in range(5):
        await world.stores.rate_limits.charge("write 0x1", RATE, 100, world.now)
    with pytest.raises(RateLimited) as refused:
        await spend(world)
    assert refused.value.retry_after == 20
    await spend(world, after=20)


async def test_a_charge_counts_from_the_time_it_is_made(world):
    await spend(world)
    later = world.now + timedelta(seconds=300)
    await world.stores.rate_limits.charge("write 0x1", RATE, 2, later)
    await spend(world, after=300)
    with pytest.raises(RateLimited):
        await spend(world, after=300)


async def test_a_request_counts_according_to_its_cost(world):
    rate = Rate(100, 60)
    await world.stores.rate_limits.admit("bytes 0x1", rate, world.now, cost=60)
    with pytest.raises(RateLimited) as refused:
        await world.stores.rate_limits.admit("bytes 0x1", rate, world.now, cost=41)
    assert refused.value.retry_after == 1
    await world.stores.rate_limits.admit("bytes 0x1", rate, world.now, cost=40)


async def test_a_cost_above_the_limit_uses_up_the_allowance_of_a_whole_period(world):
    await world.stores.rate_limits.admit("bytes 0x1", Rate(100, 60), world.now, cost=1000)
    with pytest.raises(RateLimited) as refused:
        await world.stores.rate_limits.admit("bytes 0x1", Rate(100, 60), world.now, cost=1000)
    assert refused.value.retry_after == 60
    await world.stores.rate_limits.admit(
        "bytes 0x1", Rate(100, 60), world.later(seconds=60), cost=1000
    )


@pytest.mark.parametrize("after", [0.000001, 0.5, 18.999999, 19, 19.999999])
async def test_retry_after_is_rounded_up_and_sufficient(world, after):
    for _ in range(3):
        await spend(world)
    with pytest.raises(RateLimited) as refused:
        await spend(world, after=after)
    assert 20 - after <= refused.value.retry_after < 21 - after
    await spend(world, after=after + refused.value.retry_after)


async def test_retry_after_is_never_longer_than_the_period(world):
    ahead = world.now + timedelta(seconds=40)
    for _ in range(3):
        await world.stores.rate_limits.admit("write 0x1", RATE, ahead)
    with pytest.raises(RateLimited) as refused:
        await spend(world)
    assert refused.value.retry_after == 60
    await spend(world, after=60)


@pytest.mark.parametrize("seconds", [41, 60, 3600, 86_400])
async def test_entries_stored_with_a_clock_far_ahead_are_ignored(world, seconds):
    ahead = world.now + timedelta(seconds=seconds)
    for _ in range(3):
        await world.stores.rate_limits.admit("write 0x1", RATE, ahead)
    for _ in range(3):
        await spend(world)
    with pytest.raises(RateLimited) as refused:
        await spend(world)
    assert refused.value.retry_after == 20


async def test_processes_with_slightly_different_clocks_share_one_limit(world):
    ahead = world.now + timedelta(seconds=1)
    admitted = 0
    for moment in (ahead, world.now) * 10:
        try:
            await world.stores.rate_limits.admit("write 0x1", RATE, moment)
        except RateLimited:
            continue
        admitted += 1
    assert admitted == 3


async def test_a_charge_ignores_an_entry_stored_with_a_clock_far_ahead(world):
    await world.stores.rate_limits.charge("write 0x1", RATE, 3, world.now + timedelta(hours=1))
    await world.stores.rate_limits.charge("write 0x1", RATE, 2, world.now)
    await spend(world)
    with pytest.raises(RateLimited) as refused:
        await spend(world)
    assert refused.value.retry_after == 20
