"""The outermost middleware, which handles every request and response.

The middleware chooses the request ID, applies the rate limits per client and the budgets that all
requests share, drains refused bodies, adds the security headers, counts and logs the response, and
responds to unexpected errors.
"""

import asyncio
import logging
import re
import time
from collections.abc import Callable, Mapping, MutableMapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from prometheus_client import Counter, Histogram
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from imprint.domain.drafts.files import new_id
from imprint.domain.errors import Code, RateLimited, Unavailable
from imprint.domain.rate_limits import Budget, RateLimiter, client_key
from imprint.logs import log_response
from imprint.metrics import OVERLOADS, RESPONSE_SECONDS, RESPONSES
from imprint.ports import Monotonic
from imprint.traces import start_request
from imprint.web.http.problems import error_response
from imprint.web.http.proxies import FORWARDED_FOR, warn_of_untrusted_proxy

WEBHOOK_PATHS = "/webhook/"
"""Path prefix of webhooks. Only servers call these paths, so CORS permits no page."""

TRACE_HEADERS = ("baggage", "sentry-trace", "traceparent", "tracestate")
"""Headers that tracing libraries add to every request from a page. The service ignores them."""


class PageCors(CORSMiddleware):
    """CORS for pages of these origins, on all paths except webhooks."""

    def __init__(self, app: ASGIApp, origins: tuple[str, ...]) -> None:
        super().__init__(
            app,
            allow_origins=origins,
            allow_methods=["DELETE", "GET", "HEAD", "POST"],
            allow_headers=[
                "Authorization",
                "Content-Type",
                "If-None-Match",
                "If-Range",
                "PAYMENT-SIGNATURE",
                "Range",
                "SIGN-IN-WITH-X",
                "X-Request-Id",
                # x402 clients send this response header with their requests.
                "Access-Control-Expose-Headers",
                *TRACE_HEADERS,
            ],
            expose_headers=[
                "Accept-Ranges",
                "Content-Range",
                "Date",
                "ETag",
                "Link",
                "PAYMENT-REQUIRED",
                "PAYMENT-RESPONSE",
                "Retry-After",
                "WWW-Authenticate",
                "X-Ipfs-Path",
                "X-Ipfs-Roots",
                "X-Request-Id",
            ],
            max_age=600,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(WEBHOOK_PATHS):
            await self.app(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    def preflight_response(self, request_headers: Headers) -> Response:
        """Return Starlette's response, or an empty 204 if the page's origin is not permitted."""
        response = super().preflight_response(request_headers)
        if response.status_code == HTTPStatus.OK:
            return response
        return Response(status_code=204, headers={"Vary": "Origin"})


log = logging.getLogger("imprint.request")

request_id: ContextVar[str] = ContextVar("request_id", default="-")
"""The ID of the current request, which all of its log lines include."""

_BEFORE_SECRET = re.compile(r"private/?|%", re.IGNORECASE)
"""The path segment before the token of a private feed, in any spelling."""

_GIVEN_ID = re.compile(r"[A-Za-z0-9_-]{8,64}\Z")
"""The pattern of request IDs that are accepted from callers."""

SECURITY_HEADERS = {
    # Documents are untrusted: a browser must not guess their type, run anything in them, or send
    # another site the address of the page that a reader came from.
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Referrer-Policy": "no-referrer",
    # Front ends on other origins show the thumbnails.
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Cache-Control": "no-store",
}
"""Default headers of every response."""

RAW_SECURITY_HEADERS = [
    (name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items()
]
"""The security headers as raw bytes for the server."""

HEALTH_PATH = "/healthz"
"""The path that is exempt from all limits."""

UNLIMITED_PATHS = (HEALTH_PATH, "/readyz", WEBHOOK_PATHS)
"""Paths that the middleware does not limit.

Probes must always succeed, and `WebhookRoutes` has its own limit.
"""

SIGNED_PATHS = (
    "/auth/",
    "/create/",
    "/update/",
    "/publish/",
    "/delete/",
    "/revise/",
    "/writing/",
    "/operator",
    "/me/feeds",
    "/reports",
)
"""Paths on which every POST verifies a signature, commits to the database, or tries a secret."""

PROOF_HEADERS = frozenset({b"sign-in-with-x", b"payment-signature"})
"""Headers that carry a signature. A request with one of them costs as much as a login."""

PREVIEW_PATH = "/studio/preview"
"""The path on which every POST renders a text.

Its requests are counted separately, so that previews never block saving.
"""

CONTENT_PATHS = ("/create/", "/update/", "/publish/", "/revise/")
"""Paths whose bodies are stored and have a rate limit by size."""

LOGGED_PATH = 200
"""Maximum number of logged path characters. Unknown paths may have any length."""

OTHER_PATHS = "other"
"""The metrics label of all unknown paths, so that callers cannot add labels."""

MAX_DRAINED = 32 * 1024 * 1024
"""Maximum number of bytes of a refused body that are read and discarded.

Bodies sent by mistake are smaller.
"""

DRAIN_SECONDS = 2.0
"""Seconds for which a refused body is drained."""

UNDRAINED = (Code.REQUEST_TIMEOUT, Code.OVERLOADED)
"""Codes of refusals that are meant to save time, so bodies are not drained."""

UNCOUNTED_BODY = 64 * 1024
"""Number of body bytes that do not count as in flight. A connection buffers that many anyway."""

_MAX_LENGTH_DIGITS = len(str(MAX_DRAINED)) + 1


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """The rate limits per client, and the budgets that all requests of a process share.

    A request takes one of the `slots` once its body is complete, so that slow clients do
    not block others. A webhook takes one of its own slots from the beginning, because only
    its body proves that it comes from a provider.
    """

    monotonic: Monotonic
    reads: RateLimiter
    signed: RateLimiter
    previews: RateLimiter
    signed_bytes: RateLimiter
    slots: Budget
    webhook_slots: Budget
    body_bytes: Budget


@dataclass(slots=True)
class RequestBody:
    """The `receive` of one request, which tracks whether the whole body has arrived.

    The object holds the request's part of the budgets until `release`. A body that `is_stored` has
    a rate limit by size.
    """

    receive: Receive
    client: str
    limits: RequestLimits
    declared: int | None = None
    is_complete: bool = False
    expects_continue: bool = False
    is_stored: bool = field(default=False, init=False)
    is_over_budget: bool = field(default=False, init=False)
    received: int = field(default=0, init=False)
    _slots: Budget | None = field(default=None, init=False)
    _counted: int = field(default=0, init=False)

    @classmethod
    def of(
        cls,
        headers: Mapping[bytes, bytes],
        receive: Receive,
        client: str,
        limits: RequestLimits,
    ) -> "RequestBody":
        """Return the body that the headers of a request declare."""
        length = headers.get(b"content-length", b"")
        if not length and b"transfer-encoding" not in headers:
            return cls(receive, client, limits, is_complete=True)
        declared = int(length[:_MAX_LENGTH_DIGITS]) if length.isdigit() else None
        expects_continue = headers.get(b"expect", b"").lower() == b"100-continue"
        return cls(receive, client, limits, declared, declared == 0, expects_continue)

    async def __call__(self) -> Message:
        """Return the next message of the request.

        Refuses with `overloaded` above a budget, and `rate_limited` above a rate.
        """
        message = await self.receive()
        self._note(message)
        if self.received > UNCOUNTED_BODY:
            self._count()
        if self.is_complete and self._slots is None and message["type"] == "http.request":
            self.take_slot(self.limits.slots)
            if self.is_stored and self.limits.signed_bytes.rate is not None:
                self.limits.signed_bytes.admit(self.client, self.limits.monotonic(), self.received)
        return message

    def take_slot(self, slots: Budget) -> None:
        """Take one of these slots for the request. Raises `Unavailable` if no slot is free."""
        if not slots.take(self.client):
            is_general = slots is self.limits.slots
            OVERLOADS.labels("requests" if is_general else "webhooks").inc()
            raise Unavailable(Code.OVERLOADED, "Too many requests are in progress.")
        self._slots = slots

    def release(self) -> None:
        """Release all parts of the budgets that the request has taken."""
        if self._slots is not None:
            self._slots.give_back(self.client)
            self._slots = None
        if self._counted:
            self.limits.body_bytes.give_back(self.client, self._counted)
            self._counted = 0

    async def drain(self) -> None:
        """Read and discard the rest of the body, within `MAX_DRAINED` and `DRAIN_SECONDS`.

        A client that is still sending when its connection is closed never sees the response,
        because the client's operating system discards the response.
        """
        # A client that expects 100 Continue has not sent its body, and will not after a refusal.
        if self.expects_continue or (self.declared or 0) > MAX_DRAINED:
            return
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                while not self.is_complete and self.received <= MAX_DRAINED:
                    self._note(await self.receive())
        except TimeoutError:
            pass

    def _note(self, message: Message) -> None:
        if message["type"] != "http.request":
            self.is_complete = True
            return
        self.received += len(message.get("body", b""))
        has_all = self.declared is not None and self.received >= self.declared
        self.is_complete = has_all or not message.get("more_body", False)

    def _count(self) -> None:
        if self.limits.body_bytes.take(self.client, self.received - self._counted):
            self._counted = self.received
            return
        # The body's reader drops its bytes, so that other requests can use them at once.
        self.is_over_budget = True
        self.release()
        OVERLOADS.labels("body_bytes").inc()
        raise Unavailable(Code.OVERLOADED, "Too many bytes are being received.")


def _respond_to_failure(request: Request) -> Response:
    return error_response()


@dataclass(slots=True)
class RequestMiddleware:
    """The middleware around the whole application. `paths` are the routes without parameters.

    With `counts_clients`, each client has limits, so a proxy must not hide its clients' addresses.
    With `logs_addresses`, the log line of a request has the IP address of its client.
    `respond_to_failure` builds the response to a request that caused an unexpected error.
    """

    app: ASGIApp
    limits: RequestLimits
    paths: frozenset[str] = frozenset()
    counts_clients: bool = True
    logs_addresses: bool = False
    respond_to_failure: Callable[[Request], Response] = _respond_to_failure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        id_token = request_id.set(_choose_id(headers))
        started = time.perf_counter()
        span = start_request(scope["method"], headers)
        status = size = 0
        peer = scope.get("client")
        client = client_key(peer[0]) if peer else "-"
        if FORWARDED_FOR in headers and peer and peer[1] and self.counts_clients:
            warn_of_untrusted_proxy()
        state = scope["state"] = {"client": client}
        body = RequestBody.of(headers, receive, client, self.limits)

        async def send_response(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                if not body.is_complete and (
                    body.is_over_budget or state.get("code") not in UNDRAINED
                ):
                    await body.drain()
                _add_headers(message, body.is_complete)
            elif message["type"] == "http.response.body" and scope["method"] != "HEAD":
                size += len(message.get("body", b""))
            await send(message)

        try:
            self._limit(scope, body, headers)
            await self.app(scope, body, send_response)
        except Exception as error:
            log.error("unexpected failure", exc_info=error)
            if status == 0:
                await self.respond_to_failure(Request(scope))(scope, receive, send_response)
        finally:
            body.release()
            route = self._report(scope, status, time.perf_counter() - started, size)
            if span is not None:
                span.end(route, status)
            request_id.reset(id_token)

    def _limit(self, scope: Scope, body: RequestBody, headers: Mapping[bytes, bytes]) -> None:
        """Record in the state of the request that the router must refuse this request.

        The request is not refused here, because pages of other origins can read only responses that
        passed the CORS middleware.
        """
        path: str = scope["path"]
        method: str = scope["method"]
        limits = self.limits
        try:
            if path.startswith(UNLIMITED_PATHS):
                if path.startswith(WEBHOOK_PATHS):
                    body.take_slot(limits.webhook_slots)
                elif path != HEALTH_PATH:
                    body.take_slot(limits.slots)
                return
            # Only endpoints with the method POST read a body.
            if body.is_complete or method != "POST":
                body.take_slot(limits.slots)
            elif path.startswith(CONTENT_PATHS):
                body.is_stored = True
            limiter = self._limiter(method, path, headers)
            if limiter.rate is not None:
                limiter.admit(body.client, limits.monotonic())
        except (Unavailable, RateLimited) as problem:
            scope["state"]["refusal"] = problem

    def _limiter(self, method: str, path: str, headers: Mapping[bytes, bytes]) -> RateLimiter:
        """Return the rate limiter that counts this request."""
        is_signed = method == "POST" and path.startswith(SIGNED_PATHS)
        if is_signed or not PROOF_HEADERS.isdisjoint(headers):
            return self.limits.signed
        if method == "POST" and path == PREVIEW_PATH:
            return self.limits.previews
        return self.limits.reads

    def _report(self, scope: Scope, status: int, seconds: float, size: int) -> str:
        """Count and log a response, and return the label of its path."""
        path, code = scope["path"], scope["state"].get("code")
        label = path if path in self.paths else scope["state"].get("route") or _path_label(path)
        _response_counter(label, status, code or "").inc()
        _response_histogram(label, status).observe(seconds)
        if log.isEnabledFor(logging.INFO):
            # The query is left out, because it may contain a page token.
            fields = {
                "method": scope["method"],
                "path": _logged_path(path),
                "status": status,
                "code": code,
                "milliseconds": round(seconds * 1000, 2),
                "bytes": size,
            }
            if self.logs_addresses:
                fields["client"] = (scope.get("client") or ("-",))[0]
            log_response(log, fields)
        return label


@lru_cache(maxsize=4096)
def _response_counter(path: str, status: int, code: str) -> Counter:
    # Looking up a child by its labels costs several times as much as incrementing it.
    return RESPONSES.labels(path, status, code)


@lru_cache(maxsize=1024)
def _response_histogram(path: str, status: int) -> Histogram:
    return RESPONSE_SECONDS.labels(path, status)


def _path_label(path: str) -> str:
    return "/ipfs/{cid}" if path.startswith("/ipfs/") else OTHER_PATHS


def _logged_path(path: str) -> str:
    """Return the path for the log, with the secret token of a private feed removed.

    The token is removed in every spelling of the path, such as `/FEEDS/private/…` or
    `/feeds/%2570rivate/…`. The service does not find these paths, but the token in them is real.
    """
    secret = _BEFORE_SECRET.search(path)
    if secret is None:
        return path[:LOGGED_PATH]
    return f"{path[: secret.start()][:LOGGED_PATH]}{secret[0]}…"


def _choose_id(headers: Mapping[bytes, bytes]) -> str:
    given = headers.get(b"x-request-id")
    if given is None:
        return new_id()
    text = given.decode("latin-1")
    return text if _GIVEN_ID.match(text) else new_id()


def _add_headers(message: MutableMapping[str, Any], keeps_connection: bool) -> None:
    headers = message["headers"]
    present = dict(headers)
    message["headers"] = headers = [
        *headers,
        (b"x-request-id", request_id.get().encode()),
        *[header for header in RAW_SECURITY_HEADERS if header[0] not in present],
    ]
    if not keeps_connection:
        headers.append((b"connection", b"close"))
