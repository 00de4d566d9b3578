"""The endpoints about the service itself: what a client needs to know, and how the service is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from imprint.flows.readiness import Readiness
from imprint.web.answers import PRIVATE, json_answer
from imprint.web.pages import DOCS_POLICY

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
        return json_answer(self.facts, SETTLED)

    async def describe(self, request: Request) -> Response:
        headers = {"Cache-Control": SETTLED}
        return Response(self.openapi, headers=headers, media_type="application/json")

    async def docs(self, request: Request) -> Response:
        headers = {"Content-Security-Policy": DOCS_POLICY, "Cache-Control": SETTLED}
        return Response(self.page, headers=headers, media_type="text/html")

    async def healthz(self, request: Request) -> Response:
        return json_answer({"status": "alive"}, PRIVATE)

    async def readyz(self, request: Request) -> Response:
        condition = await self.readiness.examine()
        checks = {
            "database": _word(condition.database),
            "storage": _word(condition.storage),
            "chain": _word(condition.chain),
        }
        answer = json_answer({"status": condition.word, "checks": checks}, PRIVATE)
        answer.status_code = 200 if condition.ready else 503
        return answer


def _word(answers: bool) -> str:
    return "ok" if answers else "unavailable"
