"""Trusted proxies, and the address of a client whose request came through them.

The middleware of uvicorn also handles several header lines and networks. However, it accepts text
that is not an address as the client, and does not trust an IPv4 proxy on an IPv6 socket.
"""

import logging
from collections.abc import Iterable
from functools import cache, lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from starlette.types import ASGIApp, Receive, Scope, Send

MAX_HOPS = 32
"""Maximum number of addresses read per request, starting with the last.

No real chain of proxies is this long.
"""

FORWARDED_FOR = b"x-forwarded-for"

log = logging.getLogger(__name__)


class TrustedProxies:
    """The proxies whose `X-Forwarded-For` header is trusted, given as IP addresses and networks."""

    def __init__(self, given: Iterable[str]) -> None:
        self._networks = tuple(ip_network(each) for each in given)
        self._cached = lru_cache(maxsize=4096)(self._is_trusted)

    def __contains__(self, address: str) -> bool:
        """Whether this is the address of a trusted proxy, in any spelling."""
        return self._cached(address)

    def find_client(self, peer: str, lines: Iterable[bytes]) -> str:
        """Return the client's address, derived from the peer and the lines of `X-Forwarded-For`.

        Each proxy adds the address that called it, so the client is the last address that is not a
        trusted proxy. Addresses before the client's address are only claims by the client. Text
        that is not an address ends the search at the proxy that forwarded it.
        """
        client = peer
        listed = b",".join(lines).decode("latin-1").rsplit(",", MAX_HOPS)[-MAX_HOPS:]
        for text in reversed(listed):
            if client not in self:
                break
            if not text.strip():
                continue
            hop = _parse_hop(text.strip())
            if hop is None:
                break
            client = str(hop)
        return client

    def _is_trusted(self, address: str) -> bool:
        parsed = _parse_address(address)
        return parsed is not None and any(parsed in network for network in self._networks)


class ForwardedClient:
    """Middleware that replaces the address of a trusted proxy with the address of its client."""

    def __init__(self, app: ASGIApp, proxies: TrustedProxies) -> None:
        self.app = app
        self._proxies = proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        peer = scope.get("client")
        if peer is not None and peer[0] in self._proxies:
            lines = [value for name, value in scope["headers"] if name == FORWARDED_FOR]
            if lines:
                # Port 0 marks that the header was trusted.
                scope["client"] = (self._proxies.find_client(peer[0], lines), 0)
        await self.app(scope, receive, send)


@cache
def warn_of_untrusted_proxy() -> None:
    """Log, once per process, that `X-Forwarded-For` arrives from an untrusted peer."""
    log.warning(
        "A request has the header X-Forwarded-For, but comes from an address that is not in"
        " IMPRINT_TRUSTED_PROXIES, so the header is ignored. If that is your proxy, list its"
        " address or network there: until then all its clients are one, with one rate limit."
    )


def _parse_hop(text: str) -> IPv4Address | IPv6Address | None:
    """Parse an address with or without a port: `ip`, `ip:port`, `[ip]` or `[ip]:port`."""
    if text.startswith("["):
        host, closed, rest = text[1:].partition("]")
        separator, port = rest[:1], rest[1:]
        if not closed or separator not in ("", ":"):
            return None
    elif text.count(":") == 1:
        host, separator, port = text.partition(":")
    else:
        host, separator, port = text, "", ""
    if separator and not (port.isascii() and port.isdigit()):
        return None
    return _parse_address(host)


def _parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """Parse an IP address without its zone. Converts an IPv4-mapped address to IPv4."""
    try:
        parsed = ip_address(text)
    except ValueError:
        return None
    if isinstance(parsed, IPv4Address):
        return parsed
    return parsed.ipv4_mapped or IPv6Address(int(parsed))
