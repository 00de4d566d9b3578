"""Client keys, leaky buckets by key, and budgets with fair shares."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.domain.errors import Code, RateLimited
from imprint.domain.rate_limits import MAX_KEYS, Budget, Rate, RateLimiter, client_key

NOW = 86_400.0


def after(seconds: float) -> float:
    return NOW + seconds


def refused_for(limiter: RateLimiter, key: str, now: float, cost: int = 1) -> int | None:
    """Return the seconds to wait, or None if the request is admitted."""
    try:
        limiter.admit(key, now, cost)
    except RateLimited as refusal:
        return refusal.retry_after
    return None


def test_every_request_is_admitted_if_no_rate_is_set() -> None:
    limiter = RateLimiter(None)
    assert [refused_for(limiter, "a", NOW) for _ in range(1000)] == [None] * 1000


def test_requests_up_to_the_count_are_admitted_in_a_burst() -> None:
    limiter = RateLimiter(Rate(3, 60))
    assert [refused_for(limiter, "a", NOW) for _ in range(4)] == [None, None, None, 20]


def test_a_request_above_the_rate_has_the_code_rate_limited() -> None:
    limiter = RateLimiter(Rate(1, 60))
    limiter.admit("a", NOW)
    with pytest.raises(RateLimited) as caught:
        limiter.admit("a", NOW)
    assert caught.value.code is Code.RATE_LIMITED


def test_one_more_request_is_admitted_after_its_share_of_the_period() -> None:
    limiter = RateLimiter(Rate(3, 60))
    for _ in range(3):
        limiter.admit("a", NOW)
    assert refused_for(limiter, "a", after(19)) == 1
    assert refused_for(limiter, "a", after(20)) is None
    assert refused_for(limiter, "a", after(20)) == 20


def test_the_wait_is_sufficient_and_at_least_a_second() -> None:
    limiter = RateLimiter(Rate(100, 1))
    for _ in range(100):
        limiter.admit("a", NOW)
    assert refused_for(limiter, "a", NOW) == 1


def test_a_refused_request_does_not_extend_the_wait() -> None:
    limiter = RateLimiter(Rate(1, 10))
    limiter.admit("a", NOW)
    assert [refused_for(limiter, "a", after(second)) for second in (1, 5, 9)] == [9, 5, 1]
    assert refused_for(limiter, "a", after(10)) is None


def test_each_key_has_its_own_bucket() -> None:
    limiter = RateLimiter(Rate(1, 60))
    limiter.admit("a", NOW)
    assert refused_for(limiter, "b", NOW) is None
    assert refused_for(limiter, "a", NOW) == 60


def test_the_least_recently_used_key_is_evicted() -> None:
    limiter = RateLimiter(Rate(1, 60))
    limiter.admit("old", NOW)
    limiter.admit("recent", NOW)
    assert refused_for(limiter, "old", NOW) == 60
    for number in range(MAX_KEYS - 1):
        limiter.admit(f"key {number}", NOW)
    assert refused_for(limiter, "old", NOW) == 60
    assert refused_for(limiter, "recent", NOW) is None


# Costs


def test_a_request_counts_according_to_its_cost() -> None:
    limiter = RateLimiter(Rate(100, 10))
    assert refused_for(limiter, "a", NOW, 70) is None
    assert refused_for(limiter, "a", NOW, 40) == 1
    assert refused_for(limiter, "a", NOW, 30) is None


def test_the_wait_is_rounded_up() -> None:
    limiter = RateLimiter(Rate(10, 15))
    for _ in range(10):
        limiter.admit("a", NOW)
    assert refused_for(limiter, "a", NOW) == 2
    assert refused_for(limiter, "a", after(1.4)) == 1
    assert refused_for(limiter, "a", after(1.5)) is None


def test_a_cost_above_the_bucket_size_needs_an_empty_bucket() -> None:
    limiter = RateLimiter(Rate(100, 10))
    assert refused_for(limiter, "a", NOW, 1_000_000) is None
    assert refused_for(limiter, "a", NOW, 1_000_000) == 10
    assert refused_for(limiter, "a", after(10), 1_000_000) is None


def test_refunded_requests_do_not_count() -> None:
    limiter = RateLimiter(Rate(1, 60))
    for _ in range(5):
        limiter.admit("a", NOW)
        limiter.take_back("a")
    limiter.admit("a", NOW)
    assert refused_for(limiter, "a", NOW) == 60


def test_a_refund_to_an_unknown_key_gives_no_credit() -> None:
    limiter = RateLimiter(Rate(1, 60))
    limiter.take_back("a", 10)
    limiter.admit("a", NOW)
    assert refused_for(limiter, "a", NOW) == 60


@given(
    st.integers(1, 2**31),
    st.integers(1, 100_000),
    st.lists(st.tuples(st.integers(1, 2**32), st.floats(0, 10_000)), max_size=20),
)
def test_a_client_that_waits_for_retry_after_is_admitted(
    count: int, seconds: int, requests: list[tuple[int, float]]
) -> None:
    limiter, moment = RateLimiter(Rate(count, seconds)), 0.0
    for cost, pause in requests:
        moment += pause
        wait = refused_for(limiter, "a", after(moment), cost)
        if wait is not None:
            assert 1 <= wait <= seconds
            moment += wait
            assert refused_for(limiter, "a", after(moment), cost) is None


# Keys of clients


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("::FFFF:cb00:7107", "203.0.113.7"),
        ("2001:db8:0:1::7", "2001:db8:0:1::/64"),
        ("2001:0DB8:0000:0001:ffff:ffff:ffff:ffff", "2001:db8:0:1::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("fe80::2%25", "fe80::/64"),
        ("::1", "::/64"),
        ("testclient", "testclient"),
        ("203.0.113.007", "203.0.113.007"),
        ("-", "-"),
        ("", ""),
    ],
)
def test_a_client_key_is_the_ipv4_address_or_the_ipv6_network(address: str, key: str) -> None:
    assert client_key(address) == key


def test_neighbouring_ipv6_networks_are_separate_clients() -> None:
    assert client_key("2001:db8:0:1::7") != client_key("2001:db8:0:2::7")


# Budgets


def test_a_client_may_hold_at_most_a_quarter_of_a_budget() -> None:
    budget = Budget.of(100)
    assert budget.take("a", 25)
    assert not budget.take("a")
    assert budget.take("b", 25)


def test_all_clients_together_may_hold_at_most_the_total() -> None:
    budget = Budget.of(100)
    assert all(budget.take(client, 25) for client in "abcd")
    assert not budget.take("e")
    budget.give_back("a")
    assert budget.take("e")


def test_a_client_may_always_hold_one_item_of_the_largest_size() -> None:
    assert Budget.of(100, largest=60).take("a", 60)
    assert Budget.of(100, largest=1000).take("a", 1000)


def test_taking_too_much_of_a_budget_changes_nothing() -> None:
    budget = Budget.of(100)
    assert not budget.take("a", 26)
    assert (budget.taken, budget.held("a")) == (0, 0)


def test_a_client_is_dropped_after_returning_everything() -> None:
    budget = Budget.of(100)
    budget.take("a", 20)
    budget.give_back("a", 5)
    assert (budget.taken, budget.held("a")) == (15, 15)
    budget.give_back("a", 15)
    assert budget == Budget.of(100)
