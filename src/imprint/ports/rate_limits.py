"""Port for the rate limits that all processes share."""

from datetime import datetime
from typing import Protocol

from imprint.domain.rate_limits import Rate


class RateLimits(Protocol):
    """Recent use of each key, counted for all processes together."""

    async def admit(self, key: str, rate: Rate, now: datetime, cost: int = 1) -> None:
        """Count a request of `key` as `cost` of its rate.

        A cost above the whole rate counts as the whole rate. Raises `RateLimited` with the seconds
        to wait, rounded up: at least one, and at most the period of the rate.
        """

    async def charge(self, key: str, rate: Rate, count: int, now: datetime) -> None:
        """Count this many more requests of `key`, at most until the next one has to wait."""
