"""Rate limits: how many requests are admitted in a time, for each key.

The limiter here works within one process and counts the requests of an IP address. Logins and
signed writes also have a limit per signer, which `Catalog.admit` counts for all processes.
"""

from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address

from imprint.domain.errors import RateLimited

MAX_KEYS = 100_000
"""The most keys in memory; the least recently used one is evicted first."""

CLIENT_PREFIX = 64
"""Bits of an IPv6 address that name a client: a network gives each customer all of the others."""


@lru_cache(maxsize=8192)
def client_key(address: str) -> str:
    """The key of the client with this IP address, the same for every spelling of it.

    An IPv6 address counts as its /64, and one that an IPv4 address is mapped to as that. A text
    that is not an address is its own key.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Network((int(parsed), CLIENT_PREFIX), strict=False))


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` requests at once, and on average `count` in `seconds`."""

    count: int
    seconds: int


@dataclass(slots=True)
class RateLimiter:
    """Leaky buckets of one process, one for each key; without a rate there is no limit."""

    rate: Rate | None
    _levels: dict[str, tuple[float, float]] = field(default_factory=dict)

    def admit(self, key: str, now: datetime) -> None:
        """Count one request of `key`. Refuses `rate_limited` while its bucket is full."""
        if self.rate is None:
            return
        moment = now.timestamp()
        leak = self.rate.count / self.rate.seconds
        level, since = self._levels.pop(key, (0.0, moment))
        level = max(0.0, level - max(0.0, moment - since) * leak)
        full = level + 1 > self.rate.count
        self._levels[key] = (level if full else level + 1, moment)
        if len(self._levels) > MAX_KEYS:
            del self._levels[next(iter(self._levels))]
        if full:
            raise RateLimited(max(1, round((level + 1 - self.rate.count) / leak)))
