"""Limits on the number of connections open in a process, in total and per client."""

import ipaddress
import logging
import resource
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache

from imprint.domain.rate_limits import client_key
from imprint.metrics import CONNECTIONS, CONNECTIONS_CLOSED

log = logging.getLogger(__name__)

RESERVED_FILES = 256
"""Number of file descriptors reserved for databases, documents, nodes, metrics and images."""

MAX_LINGERING = 32
"""Number of refused connections per client that stay open until the client reads the refusal."""

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections may be open, and how long a client may stay idle on one.

    `exempt` lists networks whose clients may open any number of connections, because a
    proxy sends the requests of many clients.
    """

    connections: int = 64
    per_address: int = 64
    exempt: tuple[_Network, ...] = ()
    head_seconds: float = 10
    write_seconds: float = 15

    @classmethod
    def within(
        cls,
        files: int,
        *,
        connections: int,
        per_address: int,
        proxies: Iterable[object] = (),
        write_seconds: float,
    ) -> "ConnectionLimits":
        """Return the limits for a process that may open this many files.

        If there are too few file descriptors for `connections`, one address gets at most a quarter
        of the file descriptors that are not reserved.
        """
        # If the limit is very low, half of it is reserved.
        most = max(files - RESERVED_FILES, files // 2, 1)
        if most < connections:
            log.warning(
                "the limit of open files allows fewer connections than IMPRINT_MAX_CONNECTIONS",
                extra={"files": files, "connections": most},
            )
            connections, per_address = most, min(per_address, max(most // 4, 1))
        exempt = tuple(ipaddress.ip_network(str(each), strict=False) for each in proxies)
        return cls(connections, per_address, exempt, write_seconds=write_seconds)


def raise_file_limit() -> int:
    """Raise the soft limit on open files to the hard limit, and return the effective limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        # Some systems report a hard limit that they do not allow.
        return soft
    return hard if hard != resource.RLIM_INFINITY else 2**31


class Admission(Enum):
    """The decision about a new connection."""

    ADMITTED = auto()
    REFUSED = auto()
    """The client has too many connections, but there is room to respond with a refusal."""
    DROPPED = auto()
    """The client has too many connections, and too many of them are already being refused."""
    FULL = auto()
    """The process has too many connections. This connection is not counted."""


@dataclass(slots=True)
class OpenConnections:
    """The number of open connections, in total and per client.

    While the server `is_draining`, each connection is closed after its next response.
    """

    limits: ConnectionLimits
    is_draining: bool = False
    count: int = 0
    by_client: dict[str, int] = field(default_factory=dict)

    def add(self, address: str) -> Admission:
        """Count a connection from this IP address, unless the process has too many."""
        if self.count >= self.limits.connections:
            CONNECTIONS_CLOSED.labels("connections").inc()
            return Admission.FULL
        self.count += 1
        CONNECTIONS.inc()
        key = client_key(address)
        own = self.by_client[key] = self.by_client.get(key, 0) + 1
        if own <= self.limits.per_address or self._is_exempt(address):
            return Admission.ADMITTED
        CONNECTIONS_CLOSED.labels("connections_per_address").inc()
        excess = own - self.limits.per_address
        return Admission.REFUSED if excess <= MAX_LINGERING else Admission.DROPPED

    def remove(self, address: str) -> None:
        """Count a connection as closed."""
        self.count -= 1
        CONNECTIONS.dec()
        key = client_key(address)
        if self.by_client[key] == 1:
            del self.by_client[key]
        else:
            self.by_client[key] -= 1

    def _is_exempt(self, address: str) -> bool:
        exempt = self.limits.exempt
        return bool(exempt) and _is_within(address, exempt)


@lru_cache(maxsize=1024)
def _is_within(address: str, networks: tuple[_Network, ...]) -> bool:
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return any((mapped or ip) in network for network in networks)
