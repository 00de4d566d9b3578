"""Port for the rate limits that all processes share."""

from datetime import datetime
from typing import Protocol

from imprint.domain.rate_limits import Rate


class RateLimits(Protocol):
    """How often each key was used lately, counted for all processes together."""

    async def admit(self, key: str, rate: Rate, now: datetime, cost: int = 1) -> None:
        """Count a request of `key` as `cost` of its rate.

        A cost above the whole rate counts as the whole. Raises `RateLimited`, with the seconds to
        wait rounded up: at least one, and no more than the period of the rate.
        """

    async def charge(self, key: str, rate: Rate, count: int, now: datetime) -> None:
        """Count so many requests of `key` more, at most until its next one has to wait."""
