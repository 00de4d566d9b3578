"""The endpoints about the service itself: facts, documentation, contact, health and readiness."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.errors import Code, Refusal, Unavailable
from imprint.ports import Clock
from imprint.services.installation.readiness import Condition, Readiness
from imprint.web.http.media_types import HTML_TYPE, prefers
from imprint.web.http.problems import on_problem
from imprint.web.http.responses import PRIVATE, json_response

STARTING = "The service is starting."

UNTIL_RESTART = "public, max-age=300"
"""For what changes only when the operator restarts the service."""

WITH_THE_TIME = "public, max-age=5"
"""For the parameters of the service, whose `now` must not be older than a few seconds."""

CONTACT_VALIDITY = timedelta(days=180)
"""How long the security contact is valid; RFC 9116 recommends less than a year."""

DRAINING = "imprint.draining"
"""The member of the scope of a request that a server sets while it stops."""

CHECKS = {Code.DATABASE_UNAVAILABLE: "database", Code.STORAGE_UNAVAILABLE: "storage"}
"""The members of the readiness that tell whether a dependency which is always needed responds."""


@dataclass(slots=True)
class StartingRoutes:
    """The endpoints of a service that cannot start before a dependency responds.

    `missing` is what every request gets, except for health, readiness and the assets of pages. If
    the service has pages, browsers get it as one, which `refuse_page` makes.
    """

    missing: Unavailable
    refuse_page: Callable[[Response, str], Response] | None = None

    async def healthz(self, request: Request) -> Response:
        return json_response({"status": "alive"}, PRIVATE)

    async def readyz(self, request: Request) -> Response:
        checks = dict.fromkeys(_checks(Condition(False, False, False)), "unknown")
        if name := CHECKS.get(self.missing.code):
            checks[name] = "unavailable"
        details = [f"{STARTING} {self.missing.detail}"]
        return _readiness("not ready", checks, details)

    async def refuse(self, request: Request, error: HTTPException) -> Response:
        response = await on_problem(request, self.missing)
        if self.refuse_page is None or not prefers(request, HTML_TYPE):
            return response
        return self.refuse_page(response, STARTING)


@dataclass(slots=True)
class LazyText:
    """A large text that the first request for it renders, in a thread."""

    render: Callable[[], bytes]
    _rendered: bytes | None = None

    async def read(self) -> bytes:
        if self._rendered is None:
            self._rendered = await asyncio.to_thread(self.render)
        return self._rendered


@dataclass(frozen=True, slots=True)
class AboutRoutes:
    """Facts, documentation and contact, rendered once, and the state of the dependencies."""

    facts: bytes
    """The members of the parameters but `now`, as an object that is not closed."""
    marketplace: bytes
    openapi: LazyText
    page: LazyText
    page_policy: str
    """The content security policy of the docs page."""
    readiness: Readiness
    security_contact: str | None
    clock: Clock

    async def facts_json(self, request: Request) -> Response:
        # No entity tag: 304 would keep the time of the client's copy.
        now = int(self.clock().timestamp())
        headers = {"Cache-Control": WITH_THE_TIME}
        return Response(
            b'%s,"now":%d}' % (self.facts, now), headers=headers, media_type="application/json"
        )

    async def marketplace_json(self, request: Request) -> Response:
        headers = {"Cache-Control": UNTIL_RESTART}
        return Response(self.marketplace, headers=headers, media_type="application/json")

    async def security_txt(self, request: Request) -> Response:
        if self.security_contact is None:
            raise Refusal(Code.NOT_FOUND, "The operator of this service has named no contact.")
        # In whole days, so that the text is the same for a day and can be cached.
        expires = (self.clock() + CONTACT_VALIDITY).strftime("%Y-%m-%dT00:00:00Z")
        text = f"Contact: {self.security_contact}\nExpires: {expires}\n"
        return Response(text, headers={"Cache-Control": UNTIL_RESTART}, media_type="text/plain")

    async def openapi_json(self, request: Request) -> Response:
        openapi = await self.openapi.read()
        headers = {"Cache-Control": UNTIL_RESTART}
        return Response(openapi, headers=headers, media_type="application/json")

    async def docs(self, request: Request) -> Response:
        page = await self.page.read()
        headers = {"Content-Security-Policy": self.page_policy, "Cache-Control": UNTIL_RESTART}
        return Response(page, headers=headers, media_type="text/html")

    async def healthz(self, request: Request) -> Response:
        return json_response({"status": "alive"}, PRIVATE)

    async def readyz(self, request: Request) -> Response:
        condition = await self.readiness.check()
        status, details = condition.status, condition.details
        if DRAINING in request.scope:
            status, details = "not ready", ["The service is stopping.", *details]
        return _readiness(status, _checks(condition), details)


def _readiness(status: str, checks: Mapping[str, str], details: Sequence[str]) -> Response:
    body = {"status": status, "checks": checks, "details": details}
    response = json_response(body, PRIVATE)
    response.status_code = 503 if status == "not ready" else 200
    return response


def _checks(condition: Condition) -> dict[str, str]:
    """What the readiness says about each dependency."""
    checks = {
        "database": _word(condition.database, condition.database_writes),
        "storage": _word(condition.storage, condition.storage_writes),
        "chain": _word(condition.chain),
        "disk": "ok" if condition.disk else "low",
        "follower": "ok" if condition.follower else "stopped",
        "indexer": "ok" if condition.indexer else "stopped",
        "collector": "ok" if condition.collector else "stopped",
        "records": "ok" if condition.records else "damaged",
    }
    if condition.chain and not condition.history:
        checks["chain"] = "disagrees"
    return checks


def _word(can_read: bool, can_write: bool = True) -> str:
    if not can_read:
        return "unavailable"
    return "ok" if can_write else "read_only"
