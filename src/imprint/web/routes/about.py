"""The endpoints about the service itself: what a client needs to know, and how the service is."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.errors import Code, Refusal
from imprint.ports import Clock
from imprint.services.readiness import Readiness
from imprint.web.docs.page import DOCS_POLICY
from imprint.web.responses import PRIVATE, json_response

SETTLED = "public, max-age=300"
"""For what changes only when the operator restarts the service."""


@dataclass(frozen=True, slots=True)
class AboutRoutes:
    """Facts made once, at start, and the condition of the dependencies."""

    facts: Mapping[str, Any]
    openapi: bytes
    page: bytes
    readiness: Readiness

    async def well_known(self, request: Request) -> Response:
        return json_response(self.facts, SETTLED)

    async def describe(self, request: Request) -> Response:
        headers = {"Cache-Control": SETTLED}
        return Response(self.openapi, headers=headers, media_type="application/json")

    async def docs(self, request: Request) -> Response:
        headers = {"Content-Security-Policy": DOCS_POLICY, "Cache-Control": SETTLED}
        return Response(self.page, headers=headers, media_type="text/html")

    async def healthz(self, request: Request) -> Response:
        return json_response({"status": "alive"}, PRIVATE)

    async def readyz(self, request: Request) -> Response:
        condition = await self.readiness.check()
        checks = {
            "database": _word(condition.database),
            "storage": _word(condition.storage),
            "chain": _word(condition.chain),
        }
        answer = json_response({"status": condition.status, "checks": checks}, PRIVATE)
        answer.status_code = 200 if condition.ready else 503
        return answer


def _word(answers: bool) -> str:
    return "ok" if answers else "unavailable"


GOOD_FOR = timedelta(days=180)
"""How long the contact may be believed; the standard asks for less than a year."""


@dataclass(frozen=True, slots=True)
class ContactRoutes:
    """The operator's contact, if there is one."""

    contact: str | None
    clock: Clock

    async def show(self, request: Request) -> Response:
        if self.contact is None:
            raise Refusal(Code.NOT_FOUND, "The operator of this service has named no contact.")
        # By whole days, so that it is the same text for everybody who looks today.
        expires = (self.clock() + GOOD_FOR).strftime("%Y-%m-%dT00:00:00Z")
        text = f"Contact: {self.contact}\nExpires: {expires}\n"
        return Response(text, headers={"Cache-Control": SETTLED}, media_type="text/plain")
