"""Endpoints about the service itself: parameters, docs, contact, health and readiness."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.errors import Code, Refusal, Unavailable
from imprint.interface.service import Checks, Health, Parameters, Readiness, ServiceFacts
from imprint.ports import Clock
from imprint.services.installation import readiness
from imprint.web.http.problems import RETRY_AFTER_OUTAGE, on_problem
from imprint.web.http.responses import HTML_TYPE, PRIVATE, json_response, prefers

STARTING = "The service is starting."

UNTIL_RESTART = "public, max-age=300"
"""Cache header for responses that change only when the operator restarts the service."""

WITH_THE_TIME = "public, max-age=5"
"""Cache header for the service's parameters, because `now` must be at most a few seconds old."""

CONTACT_VALIDITY = timedelta(days=180)
"""How long the security contact is valid. RFC 9116 recommends less than a year."""

DRAINING = "imprint.draining"
"""The key in a request's scope that a server sets while it is stopping."""

CHECKS = {Code.DATABASE_UNAVAILABLE: "database", Code.STORAGE_UNAVAILABLE: "storage"}
"""The readiness checks for dependencies that are always needed."""


@dataclass(slots=True)
class StartingRoutes:
    """The endpoints of a service that cannot start before a dependency responds.

    Every request is refused with `missing`, except for health, readiness and the assets of
    pages. If the service has pages, browsers get a page that `refuse_page` renders.
    """

    missing: Unavailable
    refuse_page: Callable[[Response, str], Response] | None = None

    async def healthz(self, request: Request) -> Response:
        return json_response(Health("alive"), PRIVATE)

    async def readyz(self, request: Request) -> Response:
        missing = CHECKS.get(self.missing.code)
        words = (
            "unavailable" if name == missing else "unknown" for name in Checks.__struct_fields__
        )
        return _readiness("not ready", Checks(*words), [f"{STARTING} {self.missing.detail}"])

    async def refuse(self, request: Request, error: HTTPException) -> Response:
        response = await on_problem(request, self.missing)
        if self.refuse_page is None or not prefers(request, HTML_TYPE):
            return response
        return self.refuse_page(response, STARTING)


@dataclass(slots=True)
class LazyText:
    """A large text that is rendered in a thread on its first request."""

    render: Callable[[], bytes]
    _rendered: bytes | None = None

    async def read(self) -> bytes:
        if self._rendered is None:
            self._rendered = await asyncio.to_thread(self.render)
        return self._rendered


@dataclass(frozen=True, slots=True)
class AboutRoutes:
    """Serves the parameters, docs and contact, rendered once, and the state of the dependencies."""

    parameters: Parameters
    marketplace: bytes
    openapi: LazyText
    page: LazyText
    page_policy: str
    """The content security policy of the docs page."""
    readiness: readiness.Readiness
    security_contact: str | None
    clock: Clock

    async def facts_json(self, request: Request) -> Response:
        # No entity tag: a 304 would keep the `now` of the client's copy.
        now = int(self.clock().timestamp())
        facts = ServiceFacts(**msgspec.structs.asdict(self.parameters), now=now)
        return json_response(facts, WITH_THE_TIME)

    async def marketplace_json(self, request: Request) -> Response:
        headers = {"Cache-Control": UNTIL_RESTART}
        return Response(self.marketplace, headers=headers, media_type="application/json")

    async def security_txt(self, request: Request) -> Response:
        if self.security_contact is None:
            raise Refusal(
                Code.NOT_FOUND, "The operator of this service has not published a contact."
            )
        # The date is in whole days, so that the text is the same for a day and can be cached.
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
        return json_response(Health("alive"), PRIVATE)

    async def readyz(self, request: Request) -> Response:
        condition = await self.readiness.check()
        status, details = condition.status, condition.details
        if DRAINING in request.scope:
            status, details = "not ready", ["The service is stopping.", *details]
        return _readiness(status, _checks(condition), details)


def _readiness(status: str, checks: Checks, details: Sequence[str]) -> Response:
    response = json_response(Readiness(status, checks, tuple(details)), PRIVATE)
    if status == "not ready":
        response.status_code = 503
        response.headers["Retry-After"] = str(RETRY_AFTER_OUTAGE)
    return response


def _checks(condition: readiness.Condition) -> Checks:
    """Return the readiness status of each dependency."""
    disagrees = condition.chain and not (condition.history and condition.logs)
    return Checks(
        database=_word(condition.database, condition.database_writes),
        storage=_word(condition.storage, condition.storage_writes),
        chain="disagrees" if disagrees else _word(condition.chain),
        disk="ok" if condition.disk else "low",
        **{name: _task(condition, name) for name in ("follower", "indexer", "collector")},
        records="ok" if condition.records else "damaged",
    )


def _task(condition: readiness.Condition, name: str) -> str:
    if name in condition.off:
        return "off"
    return "ok" if getattr(condition, name) else "stopped"


def _word(can_read: bool, can_write: bool = True) -> str:
    if not can_read:
        return "unavailable"
    return "ok" if can_write else "read_only"
