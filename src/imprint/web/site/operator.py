"""The operator's pages, which are opened with a secret and kept open by a cookie."""

import csv
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from urllib.parse import parse_qs, parse_qsl, urlsplit

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from imprint.auth.sessions import LIFETIME, OperatorSessions
from imprint.domain.errors import Problem
from imprint.domain.moderation import (
    Ground,
    Measure,
    Report,
    TargetKind,
)
from imprint.domain.posts.indexed_posts import IndexedPost
from imprint.ports import Clock
from imprint.services.installation.operator_page import Operations
from imprint.services.moderation import Moderation, parse_target
from imprint.services.posts.posts import Posts, find_post
from imprint.web.api.post_records import FORMULA
from imprint.web.http.requests import BodyReader, client_of
from imprint.web.http.responses import CSV_TYPE, HTML_TYPE
from imprint.web.site.policy import content_policy
from imprint.web.site.templates import Templates
from imprint.web.site.words import page_words

log = logging.getLogger(__name__)

COOKIE = "imprint_operator"
PATH = "/operator"

DESK = "/operator/desk"

MAX_FORM = 4096
"""Maximum size in bytes of the form with the secret."""

MAX_DECISION = 32 * 1024
"""Maximum size in bytes of a form with a measure, including an escaped statement."""

SHOWN_REPORTS = 50
SHOWN_DECISIONS = 100

FORM_TYPE = "application/x-www-form-urlencoded"

REFRESH_SECONDS = 15
"""Seconds between automatic reloads of the page, if the operator enabled them."""

HEADERS = {
    "Content-Security-Policy": content_policy(),
    "Cache-Control": "no-store",
    "X-Robots-Tag": "noindex, nofollow",
    # Browsers send the header `Origin` with a form only if this policy permits it.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Headers of every response of the operator page."""

WRONG_SECRET, FROM_ELSEWHERE = "operator.wrong_secret", "operator.from_elsewhere"
UNREADABLE = "operator.unreadable"
"""Text key of the message that refuses an unreadable form."""


@dataclass(frozen=True, slots=True)
class OperatorRoutes:
    """Routes of the operator page. If the URL `service` is https, the cookie is Secure."""

    sessions: OperatorSessions
    operations: Operations
    moderation: Moderation
    posts: Posts
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

    async def desk(self, request: Request) -> Response:
        """`/operator/desk`: reports and measures. A form takes a measure, or closes reports."""
        if not self._is_signed_in(request):
            return self._form(200 if request.method == "GET" else 403)
        if request.method == "GET":
            return await self._desk(200)
        body = self.bodies.open(request, MAX_DECISION)
        if not self._is_own_form(request):
            return await self._desk(403, problem=page_words().text(FROM_ELSEWHERE))
        fields = _read_fields(await body.read())
        try:
            purged = await self._decide(fields)
        except Problem as refused:
            return await self._desk(400, problem=refused.detail)
        except (KeyError, ValueError):
            return await self._desk(400, problem=page_words().text(UNREADABLE))
        log.info("the operator decided", extra={"measure": fields.get("measure", "")})
        return await self._desk(200, purged=[f"{self.service}{path}" for path in purged])

    async def _decide(self, fields: Mapping[str, str]) -> list[str]:
        reports = [each for each in fields.get("reports", "").split(",") if each]
        purged: list[str] = []
        if fields.get("measure") != "none":
            target = parse_target(TargetKind(fields["kind"]), fields["target"].strip())
            purged = await self.moderation.decide(
                target,
                Measure(fields["measure"]),
                Ground(fields.get("ground", Ground.POLICY)),
                fields.get("statement", "").replace("\r\n", "\n"),
            )
        if reports:
            await self.moderation.close_reports(reports)
        return purged

    async def _desk(
        self, status: int, problem: str | None = None, purged: list[str] | None = None
    ) -> Response:
        reports = await self.moderation.open_reports(SHOWN_REPORTS)
        found = [(report, await self._reported_post(report)) for report in reports]
        measures = await self.moderation.measures.current()
        in_force = [each for held in measures.of_targets.values() for each in held.values()]
        html = self.templates.render(
            "operator_desk.html",
            reports=found,
            in_force=sorted(in_force, key=lambda each: each.at, reverse=True)[:SHOWN_DECISIONS],
            log=await self.moderation.log(SHOWN_DECISIONS),
            problem=problem,
            purged=purged,
        )
        return Response(html, status, HEADERS, HTML_TYPE)

    async def _reported_post(self, report: Report) -> IndexedPost | None:
        try:
            return await find_post(self.posts.index, report.post_id)
        except Problem:
            return None

    async def log_json(self, request: Request) -> Response:
        """`/operator/log.json`: every decision of the operator."""
        if not self._is_signed_in(request):
            return self._form(403)
        records = [each.record async for each in self.moderation.whole_log()]
        return Response(msgspec.json.encode(records), 200, HEADERS, "application/json")

    async def log_csv(self, request: Request) -> Response:
        """`/operator/log.csv`: every decision of the operator, as a table."""
        if not self._is_signed_in(request):
            return self._form(403)
        text = StringIO()
        table = csv.writer(text, lineterminator="\r\n")
        table.writerow(COLUMNS)
        async for each in self.moderation.whole_log():
            cells = [str(cell) for cell in each.record.values()]
            table.writerow([f"'{cell}" if cell.startswith(FORMULA) else cell for cell in cells])
        headers = HEADERS | {"Content-Disposition": 'attachment; filename="measures.csv"'}
        return Response(text.getvalue(), 200, headers, CSV_TYPE)

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
        """Whether a form was sent from this service's pages. Only browsers send the header
        `Origin`."""
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
        said = None if problem is None else page_words().text(problem)
        html = self.templates.render("operator_sign_in.html", problem=said)
        return Response(html, status, HEADERS, HTML_TYPE)

    def _redirect(self) -> Response:
        return Response(status_code=303, headers={**HEADERS, "Location": PATH})


COLUMNS = ("number", "at", "measure", "kind", "target", "ground", "statement")
"""The header line of the decision log as a table."""


def _read_fields(body: bytes) -> dict[str, str]:
    """Return the fields of a form, or no fields if it cannot be read."""
    try:
        return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=16))
    except ValueError:
        return {}


def _read_secret(body: bytes) -> bytes:
    """Return the field `secret` of a form, or an empty text if it is missing or repeated."""
    try:
        found = parse_qs(body.decode("ascii"), max_num_fields=4, errors="surrogateescape")
    except ValueError:
        return b""
    values = found.get("secret", [])
    return values[0].encode("utf-8", "surrogateescape") if len(values) == 1 else b""
