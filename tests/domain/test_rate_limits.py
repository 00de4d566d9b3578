"""The limiter of one process: leaky buckets by key."""

from datetime import UTC, datetime, timedelta

import pytest

from imprint.domain.errors import Code, RateLimited
from imprint.domain.rate_limits import MAX_KEYS, Rate, RateLimiter

NOW = datetime(2030, 1, 31, 12, 0, 0, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def refused_for(limiter: RateLimiter, key: str, now: datetime) -> int | None:
    """The seconds to wait, or None if the request is admitted."""
    try:
        limiter.admit(key, now)
    except RateLimited as refusal:
        return refusal.retry_after
    return None


def test_without_a_rate_everything_is_admitted() -> None:
    limiter = RateLimiter(None)
    assert [refused_for(limiter, "a", NOW) for _ in range(1000)] == [None] * 1000


def test_as_many_requests_as_the_count_are_admitted_at_once() -> None:
    limiter = RateLimiter(Rate(3, 60))
    assert [refused_for(limiter, "a", NOW) for _ in range(4)] == [None, None, None, 20]


def test_a_refusal_says_rate_limited() -> None:
    limiter = RateLimiter(Rate(1, 60))
    limiter.admit("a", NOW)
    with pytest.raises(RateLimited) as caught:
        limiter.admit("a", NOW)
    assert caught.value.code is Code.RATE_LIMITED


def test_one_request_is_admitted_after_its_share_of_the_time() -> None:
    limiter = RateLimiter(Rate(3, 60))
    for _ in range(3):
        limiter.admit("a", NOW)
    assert refused_for(limiter, "a", after(19)) == 1
    assert refused_for(limiter, "a", after(20)) is None
    assert refused_for(limiter, "a", after(20)) == 20


def test_the_wait_is_long_enough_and_at_least_a_second() -> None:
    limiter = RateLimiter(Rate(100, 1))
    for _ in range(100):
        limiter.admit("a", NOW)
    assert refused_for(limiter, "a", NOW) == 1


def test_a_refused_request_does_not_prolong_the_wait() -> None:
    limiter = RateLimiter(Rate(1, 10))
    limiter.admit("a", NOW)
    assert [refused_for(limiter, "a", after(second)) for second in (1, 5, 9)] == [9, 5, 1]
    assert refused_for(limiter, "a", after(10)) is None


def test_keys_do_not_share_a_bucket() -> None:
    limiter = RateLimiter(Rate(1, 60))
    limiter.admit("a", NOW)
    assert refused_for(limiter, "b", NOW) is None
    assert refused_for(limiter, "a", NOW) == 60


def test_a_clock_that_is_set_back_refills_nothing_and_breaks_nothing() -> None:
    limiter = RateLimiter(Rate(1, 60))
    limiter.admit("a", NOW)
    assert refused_for(limiter, "a", after(-3600)) == 60


def test_the_least_recent_key_is_evicted() -> None:
    limiter = RateLimiter(Rate(1, 60))
    limiter.admit("old", NOW)
    limiter.admit("recent", NOW)
    assert refused_for(limiter, "old", NOW) == 60
    for number in range(MAX_KEYS - 1):
        limiter.admit(f"key {number}", NOW)
    assert refused_for(limiter, "old", NOW) == 60
    assert refused_for(limiter, "recent", NOW) is None
