"""Settings of hypothesis that tests share."""

from hypothesis import HealthCheck, settings

SHARED_FIXTURE = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
"""For a test whose examples share a fixture. What a test suppresses replaces what all suppress, so
that the speed of the machine is named again."""
