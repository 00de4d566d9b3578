"""Rate limits and budgets: how much each client may request per period, and hold at once.

Limits and budgets are per process, and identify a client by the key that `client_key` derives from
its IP address. Logins and signed writes also have a limit per signer, which the `RateLimits` port
counts across all processes.
"""

import math
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address

from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.errors import RateLimited

MAX_KEYS = 100_000
"""Maximum number of keys in memory. The least recently used key is evicted first."""

_TOLERANCE = 1e-6
"""Tolerance for clock precision in seconds, so that a client that waited is not refused."""

CLIENT_PREFIX = 64
"""Number of leading bits of an IPv6 address that identify a client.

Internet providers usually assign a customer the whole network with this prefix.
"""

INVALID_IMAGE_COST = 9
"""Number of additional writes charged to a signer's rate limit for an invalid image."""

SHARE = 4
"""One client may hold at most a budget's total divided by this number."""


@lru_cache(maxsize=8192)
def client_key(address: str) -> str:
    """Return the key of the client with this IP address. Every spelling gives the same key.

    An IPv6 address counts as its /64, and an IPv4-mapped address as its IPv4 address. Text that is
    not an address is its own key.
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


def write_key(signer: str) -> str:
    """Return the key that counts a signer's signed writes."""
    return f"write {signer}"


@dataclass(frozen=True, slots=True)
class Rate:
    """A limit of `count` requests per `seconds` on average. Bursts of `count` are allowed."""

    count: int
    seconds: int


@dataclass(slots=True)
class RateLimiter:
    """Leaky buckets of one process, one per key. Without a rate there is no limit."""

    rate: Rate | None
    _levels: BoundedCache[str, tuple[float, float]] = field(
        default_factory=lambda: BoundedCache(MAX_KEYS)
    )

    def admit(self, key: str, now: float, cost: int = 1) -> None:
        """Count a request of `key`. Refuses with `rate_limited` if the bucket is too full.

        `now` is monotonic: if a clock were set back, a full bucket would stay full until the clock
        caught up. A request that costs more than a whole bucket is admitted if the bucket is empty.
        """
        if self.rate is None:
            return
        leak = self.rate.count / self.rate.seconds
        level, since = self._levels.get(key, (0.0, now))
        level = max(0.0, level - (now - since) * leak)
        filled = level + min(cost, self.rate.count)
        wait = (filled - self.rate.count) / leak - _TOLERANCE
        self._levels.put(key, (level if wait > 0 else filled, now))
        if wait > 0:
            raise RateLimited(min(math.ceil(wait), self.rate.seconds))

    def take_back(self, key: str, cost: int = 1) -> None:
        """Undo the count of an admitted request of `key`."""
        if (found := self._levels.get(key)) is not None:
            level, since = found
            self._levels.put(key, (max(0.0, level - cost), since))


@dataclass(slots=True)
class Budget:
    """A limited amount that all clients of one process draw on.

    `share` is the maximum that one client may hold.
    """

    total: int
    share: int
    _taken: int = field(default=0, init=False)
    _held: dict[str, int] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, total: int, largest: int = 1, parts: int = SHARE) -> "Budget":
        """Return a budget in which a client's share is `total // parts`, but at least `largest`."""
        total = max(total, largest)
        return cls(total, max(total // parts, largest))

    @property
    def taken(self) -> int:
        """The total held by all clients."""
        return self._taken

    def held(self, client: str) -> int:
        """Return the amount that this client holds."""
        return self._held.get(client, 0)

    def take(self, client: str, amount: int = 1, *, is_shared: bool = False) -> bool:
        """Acquire an amount for a client. Returns False and changes nothing if it is too much.

        The client's share and the total limit the amount. With `is_shared`, another client already
        holds the same amount, so only the share is checked.
        """
        held = self._held.get(client, 0) + amount
        if held > self.share:
            return False
        if not is_shared:
            taken = self._taken + amount
            if taken > self.total:
                return False
            self._taken = taken
        self._held[client] = held
        return True

    def give_back(self, client: str, amount: int = 1, *, is_shared: bool = False) -> None:
        """Release all or part of what a client holds. With `is_shared`, another client keeps it."""
        if not is_shared:
            self._taken -= amount
        held = self._held[client] - amount
        if held:
            self._held[client] = held
        else:
            del self._held[client]
