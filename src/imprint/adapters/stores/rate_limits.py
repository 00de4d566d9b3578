"""`RateLimits` in the database: one timestamp per key."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from imprint.adapters.database.database import Database
from imprint.adapters.database.transaction import Transaction, Value, micros
from imprint.domain.errors import RateLimited
from imprint.domain.rate_limits import Rate

ADMIT = """
INSERT INTO paces (key, until) VALUES (:key, :first)
ON CONFLICT (key) DO UPDATE
SET until = :share
    + CASE WHEN paces.until BETWEEN :now AND :furthest THEN paces.until ELSE :now END
WHERE paces.until + :share <= :latest OR paces.until > :furthest
RETURNING 1"""
CHARGE = """
INSERT INTO paces (key, until) VALUES (:key, :first)
ON CONFLICT (key) DO UPDATE
SET until = CASE WHEN paces.until <= :now OR paces.until > :furthest THEN :first
    WHEN paces.until + :share > :latest THEN :latest ELSE paces.until + :share END"""
RATE_LIMIT = "SELECT until FROM paces WHERE key = :key"

_SECOND = 1_000_000
"""Number of microseconds per second, because times are stored in microseconds."""


@dataclass(frozen=True, slots=True)
class SqlRateLimits:
    """The rate limits of all keys."""

    database: Database

    async def admit(self, key: str, rate: Rate, now: datetime, cost: int = 1) -> None:
        await self.database.transact((), _admit, key, rate, now, cost, durable=False)

    async def charge(self, key: str, rate: Rate, count: int, now: datetime) -> None:
        # Moves the timestamp by the shares of the requests, at most to a period from now.
        share = rate.seconds * _SECOND // rate.count * count
        latest = micros(now) + rate.seconds * _SECOND
        values: dict[str, Value] = {
            "key": key,
            "now": micros(now),
            "share": share,
            "first": min(micros(now) + share, latest),
            "latest": latest,
            "furthest": latest + rate.seconds * _SECOND,
        }
        await self.database.change(CHARGE, values, durable=False)


async def _admit(tx: Transaction, key: str, rate: Rate, now: datetime, cost: int) -> None:
    """Count a request against its key, for all processes together. Raises `RateLimited`.

    One timestamp is stored per key. A request moves the timestamp forward by its share of the
    period, starting from now if the timestamp has passed. A request that would move the timestamp
    more than a whole period ahead of now is refused. A request that costs more than the whole rate
    takes the whole period.

    A timestamp for which the request would wait longer than a period was stored with a wrong clock,
    and counts as passed. A timestamp that is ahead by less may come from a process whose clock
    differs a little. If it counted as passed, the limits of all such processes would add up.
    """
    values = admission(key, rate, now, cost)
    if await tx.fetchone(ADMIT, **values) is None:
        share, latest = values["share"], values["latest"]
        row = await tx.fetchone(RATE_LIMIT, key=key)
        until = latest if row is None else row["until"]
        wait = -(-(until + share - latest) // _SECOND)
        # The row may have been changed after the request was refused.
        raise RateLimited(min(max(1, wait), rate.seconds))


def admission(key: str, rate: Rate, now: datetime, cost: int = 1) -> dict[str, Any]:
    """Return the parameters of the statement `ADMIT`."""
    moment, period = micros(now), rate.seconds * _SECOND
    share = period * min(cost, rate.count) // rate.count
    return {
        "key": key,
        "now": moment,
        "share": share,
        "first": moment + share,
        "latest": moment + period,
        "furthest": moment + 2 * period - share,
    }
