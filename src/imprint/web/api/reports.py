"""Endpoints for reports by readers, and for the measures on an author's posts."""

from dataclasses import dataclass
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.errors import Code, Refusal
from imprint.domain.moderation import ReportReason
from imprint.domain.rate_limits import RateLimiter
from imprint.interface.posts import (
    MeasuresResponse,
    ReportBody,
    ReportId,
    ReportResponse,
)
from imprint.ports import Monotonic
from imprint.services.accounts.login import Login
from imprint.services.moderation import Moderation
from imprint.web.api.post_records import measure_record
from imprint.web.http.requests import (
    SMALL_BODY,
    BodyReader,
    canonical_post_id,
    check_parameters,
    client_of,
)
from imprint.web.http.responses import own_response

FORM_TYPE = "application/x-www-form-urlencoded"

_FIELDS = 8
"""Maximum number of fields in a form."""


@dataclass(frozen=True, slots=True)
class ReportRoutes:
    """Each endpoint parses its request, and calls the operator's desk."""

    login: Login
    moderation: Moderation
    bodies: BodyReader
    limiter: RateLimiter
    monotonic: Monotonic

    async def own_measures(self, request: Request) -> Response:
        """`/me/measures`: the operator's decisions about the session's author."""
        check_parameters(request)
        session = await self.login.authenticate(request.headers.get("authorization"))
        measures = tuple(
            measure_record(post_id, decision)
            for post_id, decision in await self.moderation.measures_on(session.address)
        )
        return own_response(MeasuresResponse(measures))

    async def report(self, request: Request) -> Response:
        """`POST /reports`: store a report. If it came from a form, redirect back to the page."""
        check_parameters(request)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        is_form = kind == FORM_TYPE
        if is_form:
            body = _read_form(await self.bodies.open(request, SMALL_BODY).read())
        else:
            body = await self.bodies.read_json(request, ReportBody, SMALL_BODY)
        post_id, reason = canonical_post_id(body.post_id), _reason(body.reason)
        self.limiter.admit(client_of(request), self.monotonic())
        report = await self.moderation.report(post_id, reason, body.text, body.contact)
        if is_form:
            headers = {"Location": f"/p/{post_id}#reported", "Cache-Control": "no-store"}
            return Response(status_code=303, headers=headers)
        return own_response(ReportResponse(ReportId(report.id)), 202)


def _reason(text: str) -> ReportReason:
    try:
        return ReportReason(text)
    except ValueError:
        reasons = ", ".join(ReportReason)
        raise Refusal(Code.INVALID_REQUEST, f"A reason is one of {reasons}.") from None


def _read_form(body: bytes) -> ReportBody:
    """Return the report in a form. Refuses a malformed form, and one with a duplicate field."""
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_FIELDS
        )
        fields = dict(pairs)
        if len(fields) != len(pairs):
            raise ValueError("a field is given twice")
        # Browsers send line breaks as two characters.
        fields = {name: value.replace("\r\n", "\n") for name, value in fields.items()}
        return msgspec.convert(fields, ReportBody)
    except (ValueError, msgspec.ValidationError):
        raise Refusal(Code.INVALID_REQUEST, "The form cannot be read.") from None
