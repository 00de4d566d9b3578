"""Settings of hypothesis that tests share."""

from hypothesis import HealthCheck, settings

SHARED_FIXTURE = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
"""For a test whose examples share a fixture. Suppressions of a test replace the common ones, so the
slow-machine check is repeated here."""
