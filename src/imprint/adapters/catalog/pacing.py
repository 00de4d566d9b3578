"""Rates that all processes share: one number for each key, the time until which it is spoken for.

Each request pushes that time further by its share of the period; one that would push it further
than a whole period ahead is refused, and pushes nothing.
"""

from datetime import datetime

from imprint.adapters.catalog import statements as sql
from imprint.adapters.catalog.rows import micros
from imprint.adapters.catalog.steps import Query, Steps, Value
from imprint.domain.errors import RateLimited
from imprint.domain.rate_limits import Rate

_SECOND = 1_000_000


def admit(key: str, rate: Rate, now: datetime) -> Steps[None]:
    """Count one request of a key. Refuses `rate_limited`."""
    share = rate.seconds * _SECOND // rate.count
    latest = micros(now) + rate.seconds * _SECOND
    values: dict[str, Value] = {
        "key": key,
        "now": micros(now),
        "share": share,
        "first": micros(now) + share,
        "latest": latest,
    }
    if (yield Query(sql.ADMIT, values)):
        return
    rows = yield Query(sql.PACE, {"key": key})
    spoken_for = rows[0][0] if rows else latest
    raise RateLimited(max(1, -(-(spoken_for + share - latest) // _SECOND)))
