"""The groups of settings."""

from tests.settings.environments import read

from imprint.domain.rate_limits import Rate


def test_rates_are_enforced_only_while_rate_limits_are_on():
    assert read().limits.enforced(Rate(1, 2)) == Rate(1, 2)
    assert read(RATE_LIMITS="off").limits.enforced(Rate(1, 2)) is None
