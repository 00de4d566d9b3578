"""Hypothesis settings shared by tests."""

from hypothesis import HealthCheck, settings

SHARED_FIXTURE = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
"""For tests whose examples share a fixture. The suppressions of a test replace the default ones, so
the slow-machine check is repeated here."""
