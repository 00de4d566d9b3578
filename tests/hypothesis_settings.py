"""Hypothesis settings shared by tests."""

from hypothesis import HealthCheck, settings

SHARED_FIXTURE = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
"""Settings for tests whose examples share a fixture. Suppressed health checks replace the default
ones, so the check for slow machines is repeated here."""
