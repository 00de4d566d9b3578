"""The edge: what every request and answer goes through — id, pace, load, headers, log line."""

import logging
import re
import time
from collections.abc import MutableMapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from prometheus_client import Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from imprint.domain.errors import Code, RateLimited, Unavailable
from imprint.domain.files import new_id
from imprint.domain.rate_limits import RateLimiter
from imprint.metrics import RESPONSE_SECONDS, RESPONSES
from imprint.ports import Clock
from imprint.web.problems import failure_response

log = logging.getLogger("imprint.request")

request_id: ContextVar[str] = ContextVar("request_id", default="-")
"""The id of the request being answered, for every log line that it causes."""

_FOREIGN_ID = re.compile(r"[A-Za-z0-9_-]{8,64}\Z")

ALWAYS = {
    # Documents are what strangers wrote: no browser may guess a type for them, run anything in
    # them, or tell another site where a reader came from.
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Referrer-Policy": "no-referrer",
    # Thumbnails are shown by front ends on other origins.
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Cache-Control": "no-store",
}
"""Headers of every answer that does not set them itself."""

_ALWAYS = [(name.lower().encode(), value.encode()) for name, value in ALWAYS.items()]

UNPACED = ("/healthz", "/readyz", "/webhook/")
"""Paths whose callers are expected, and lost if turned away."""

LOGGED_PATH = 200
"""How many characters of a path are logged: ours are shorter, and others can be of any length."""

OTHER_PATHS = "other"
"""What a path that anybody may have made up is called in the measures, which must not grow."""

SIGNED = ("/auth/", "/create/", "/update/", "/publish/", "/delete/")
"""Paths where every request costs a signature recovery."""


@dataclass(slots=True)
class RequestMiddleware:
    """An ASGI middleware around the whole application."""

    app: ASGIApp
    clock: Clock
    reads: RateLimiter
    signed: RateLimiter
    max_concurrent: int
    trusted_proxies: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()
    _running: int = field(default=0, init=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        id_token = request_id.set(_choose_id(scope))
        started = time.perf_counter()
        status = 0
        scope["state"] = {}

        async def send_dressed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _dress(message)
            await send(message)

        self._running += 1
        try:
            await self._serve(scope, receive, send_dressed)
        except Exception as error:
            log.error("unexpected failure", exc_info=error)
            if status == 0:
                await failure_response()(scope, receive, send_dressed)
        finally:
            self._running -= 1
            self._report(scope, status, time.perf_counter() - started)
            request_id.reset(id_token)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        try:
            if self._running > self.max_concurrent and path != "/healthz":
                raise Unavailable(Code.OVERLOADED, "Too many requests are being answered.")
            self._pace(path, scope)
        except (Unavailable, RateLimited) as problem:
            # Answered further in, like every other refusal, so that pages of other origins see it.
            scope["state"]["refusal"] = problem
        await self.app(scope, receive, send)

    def _pace(self, path: str, scope: Scope) -> None:
        if path.startswith(UNPACED):
            return
        # A page of another origin asks before each write whether it may; that costs no signature.
        is_signed = path.startswith(SIGNED) and scope["method"] != "OPTIONS"
        pacer = self.signed if is_signed else self.reads
        if pacer.rate is not None:
            pacer.admit(self._caller(scope), self.clock())

    def _caller(self, scope: Scope) -> str:
        client = scope.get("client")
        address: str = client[0] if client else "-"
        if address not in self.trusted_proxies:
            return address
        for hop in reversed(_header(scope, b"x-forwarded-for").split(",")):
            if hop.strip() and hop.strip() not in self.trusted_proxies:
                return hop.strip()
        return address

    def _report(self, scope: Scope, status: int, seconds: float) -> None:
        # The query is left out: it may carry a page token.
        path, code = scope["path"], scope["state"].get("code")
        known = path if path in self.paths else _family(path)
        _count(known, status, code or "").inc()
        _clock(known).observe(seconds)
        if log.isEnabledFor(logging.INFO):
            facts = {
                "method": scope["method"],
                "path": path[:LOGGED_PATH],
                "status": status,
                "code": code,
                "milliseconds": round(seconds * 1000, 2),
            }
            log.info("answered", extra=facts)


@lru_cache(maxsize=4096)
def _count(path: str, status: int, code: str) -> Counter:
    # Finding a child by its labels costs several times what counting does.
    return RESPONSES.labels(path, status, code)


@lru_cache(maxsize=256)
def _clock(path: str) -> Histogram:
    return RESPONSE_SECONDS.labels(path)


def _family(path: str) -> str:
    return "/ipfs/{cid}" if path.startswith("/ipfs/") else OTHER_PATHS


def _choose_id(scope: Scope) -> str:
    given = _header(scope, b"x-request-id")
    return given if given and _FOREIGN_ID.match(given) else new_id()


def _header(scope: Scope, name: bytes) -> str:
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value).decode("latin-1")
    return ""


def _dress(message: MutableMapping[str, Any]) -> None:
    headers = message["headers"] = list(message["headers"])
    present = {name for name, _ in headers}
    headers.append((b"x-request-id", request_id.get().encode()))
    headers += [header for header in _ALWAYS if header[0] not in present]
