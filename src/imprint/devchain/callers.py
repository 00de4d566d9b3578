"""Callers: by which host names the node can be called, and from which pages in a browser.

The accounts of the chain sign whatever they are asked to. A page that a developer visits must not
be able to ask: neither from its own origin, nor through its own DNS name that resolves to this
machine (DNS rebinding), which browsers take for the same origin.
"""

from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

LOCALHOST = "localhost"
"""The name of this machine; its subdomains are too (RFC 6761), and no DNS server is asked."""

_WEB = ("http", "https")
"""The schemes of web pages; others are browser extensions, with which wallets call nodes."""


def is_loopback(host: str) -> bool:
    """Whether a host, as in a setting or a URL, is this machine only."""
    name = host.lower().rstrip(".")
    if name == LOCALHOST or name.endswith(f".{LOCALHOST}"):
        return True
    try:
        return ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


class CallerCheck:
    """Middleware that refuses requests to another host name, and from pages of other origins."""

    def __init__(
        self, app: ASGIApp, hosts: Collection[str] = (), origins: Collection[str] = ()
    ) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (problem := self._find_problem(scope)):
            await PlainTextResponse(problem, 403)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _find_problem(self, scope: Scope) -> str | None:
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self._is_known(f"//{hosts[0]}", scope):
            return (
                "This chain is for development. Call it at localhost, at the address it listens on,"
                " or by the name in --host."
            )
        if not all(self._may_call(origin, scope) for origin in origins):
            return (
                "This chain is for development. Pages of this origin may not call it; list the"
                " origin in IMPRINT_CORS_ORIGINS if they should."
            )
        return None

    def _may_call(self, origin: str, scope: Scope) -> bool:
        scheme, separator, _ = origin.partition("://")
        is_extension = bool(separator) and scheme.lower() not in _WEB
        # A sandboxed frame has the origin `null`, whatever page contains it.
        return is_extension or origin in self._origins or self._is_known(origin, scope)

    def _is_known(self, url: str, scope: Scope) -> bool:
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            return False
        return is_loopback(host) or host in self._hosts or _is_server(host, scope)


def _is_server(host: str, scope: Scope) -> bool:
    """Whether the host is the address on which this connection was accepted."""
    server = scope.get("server")
    try:
        return server is not None and ip_address(host) == ip_address(server[0])
    except ValueError:
        return False
