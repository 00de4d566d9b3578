"""The operator page: opened with a secret, and kept open by a cookie without that secret."""

import logging
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from imprint.auth.sessions import LIFETIME, OperatorSessions
from imprint.ports import Clock
from imprint.services.installation.operator_page import Operations
from imprint.web.http.requests import BodyReader, client_of
from imprint.web.http.responses import HTML_TYPE
from imprint.web.site.policy import content_policy
from imprint.web.site.templates import Templates

log = logging.getLogger(__name__)

COOKIE = "imprint_operator"
PATH = "/operator"

MAX_FORM = 4096
"""Maximum size in bytes of the form with the secret."""

FORM_TYPE = "application/x-www-form-urlencoded"

REFRESH_SECONDS = 15
"""Seconds between automatic reloads of the page, if the operator enabled them."""

HEADERS = {
    "Content-Security-Policy": content_policy(),
    "Cache-Control": "no-store",
    "X-Robots-Tag": "noindex, nofollow",
    # Browsers send the origin of a form only if this permits it.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Headers of every response of the operator page."""

WRONG_SECRET = "That is not the secret. It is the value of IMPRINT_OPERATOR_SECRET."
FROM_ELSEWHERE = "The form was sent from another site, so it was not accepted. Please try again."


@dataclass(frozen=True, slots=True)
class OperatorRoutes:
    """Routes of the operator page; if the URL `service` is https, the cookie is Secure."""

    sessions: OperatorSessions
    operations: Operations
    templates: Templates
    bodies: BodyReader
    service: str
    clock: Clock

    async def page(self, request: Request) -> Response:
        """`/operator`: the panels, or the form for the secret."""
        if request.method == "POST":
            return await self._sign_in(request)
        if not self._is_signed_in(request):
            return self._form(200)
        panels = await self.operations.panels()
        refreshes = request.query_params.get("refresh") == "on"
        html = self.templates.render(
            "operator.html", panels=panels, refreshes=refreshes, seconds=REFRESH_SECONDS
        )
        headers = dict(HEADERS)
        if refreshes:
            headers["Refresh"] = f"{REFRESH_SECONDS}"
        return Response(html, 200, headers, HTML_TYPE)

    async def sign_out(self, request: Request) -> Response:
        """`POST /operator/sign-out`: end the operator's session."""
        if not self._is_own_form(request):
            return self._form(403, FROM_ELSEWHERE)
        response = self._redirect()
        response.delete_cookie(
            COOKIE, PATH, secure=self._is_https, httponly=True, samesite="strict"
        )
        return response

    async def _sign_in(self, request: Request) -> Response:
        body = self.bodies.open(request, MAX_FORM)
        if not self._is_own_form(request):
            return self._form(403, FROM_ELSEWHERE)
        given = _read_secret(await body.read())
        if not self.sessions.is_secret(given):
            log.warning("a sign-in of the operator failed", extra={"client": client_of(request)})
            return self._form(403, WRONG_SECRET)
        log.info("the operator signed in", extra={"client": client_of(request)})
        response = self._redirect()
        response.set_cookie(
            COOKIE,
            self.sessions.issue(self.clock()),
            max_age=int(LIFETIME.total_seconds()),
            path=PATH,
            secure=self._is_https,
            httponly=True,
            samesite="strict",
        )
        return response

    @property
    def _is_https(self) -> bool:
        return self.service.startswith("https:")

    def _is_signed_in(self, request: Request) -> bool:
        return self.sessions.is_valid(request.cookies.get(COOKIE, ""), self.clock())

    def _is_own_form(self, request: Request) -> bool:
        """Whether a form was sent from this page; only browsers send an origin."""
        kind = request.headers.get("content-type", FORM_TYPE).partition(";")[0].strip().lower()
        if kind != FORM_TYPE:
            return False
        site = request.headers.get("sec-fetch-site")
        if site is not None:
            return site == "same-origin"
        origin = request.headers.get("origin")
        if origin is None:
            return True
        host = urlsplit(origin).netloc
        return bool(host) and host in (request.headers.get("host"), urlsplit(self.service).netloc)

    def _form(self, status: int, problem: str | None = None) -> Response:
        html = self.templates.render("operator_sign_in.html", problem=problem)
        return Response(html, status, HEADERS, HTML_TYPE)

    def _redirect(self) -> Response:
        return Response(status_code=303, headers={**HEADERS, "Location": PATH})


def _read_secret(body: bytes) -> bytes:
    """Return the field `secret` of a form; empty if it is missing or repeated."""
    try:
        found = parse_qs(body.decode("ascii"), max_num_fields=4, errors="surrogateescape")
    except ValueError:
        return b""
    values = found.get("secret", [])
    return values[0].encode("utf-8", "surrogateescape") if len(values) == 1 else b""
