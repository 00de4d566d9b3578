"""Problem responses: one JSON body for every refusal and every error (RFC 9457)."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.errors import (
    Code,
    NonceUsed,
    OutOfRange,
    PaymentRequired,
    Problem,
    RateLimited,
    Refusal,
    SignatureStale,
    Unavailable,
    Withheld,
)
from imprint.domain.formats.instants import format_instant
from imprint.interface import problems as records
from imprint.interface.codec import encode_json
from imprint.interface.problems import FAILURE
from imprint.web.http.responses import OWN, PAID_VARY, PROBLEM_TYPE, file_record

STATUSES: dict[int, tuple[Code, ...]] = {
    400: (
        Code.INVALID_REQUEST,
        Code.INVALID_JSON,
        Code.INVALID_CID,
        Code.INVALID_ADDRESS,
        Code.INVALID_POST_ID,
        Code.INVALID_TAGS,
        Code.INVALID_PAGE_TOKEN,
        Code.INVALID_TYPED_DATA,
        Code.INVALID_LOGIN_MESSAGE,
        Code.INVALID_IMAGE,
        Code.INVALID_PROFILE,
    ),
    401: (
        Code.SIGNATURE_INVALID,
        Code.SIGNATURE_STALE,
        Code.BODY_MISMATCH,
        Code.FORM_NOT_ACCEPTED,
        Code.WRITING_SESSION_INVALID,
        Code.WRITING_SESSION_EXPIRED,
        Code.SESSION_MISSING,
        Code.SESSION_INVALID,
        Code.SESSION_EXPIRED,
        Code.SESSION_ENDED,
        Code.WEBHOOK_SIGNATURE_INVALID,
    ),
    402: (Code.PAYMENT_REQUIRED,),
    403: (
        Code.NOT_OWNER,
        Code.NOT_AUTHOR,
        Code.SUBJECT_MISMATCH,
        Code.NOT_ENTITLED,
        Code.NOT_FREE,
        Code.AUTHOR_REFUSED,
        Code.WRITING_SESSION_SCOPE,
    ),
    404: (Code.NOT_FOUND, Code.NO_OPENING, Code.UNKNOWN_REVISION),
    405: (Code.METHOD_NOT_ALLOWED,),
    408: (Code.REQUEST_TIMEOUT,),
    409: (
        Code.NONCE_USED,
        Code.NOT_PENDING,
        Code.ALREADY_ONCHAIN,
        Code.NOT_FINAL,
        Code.TOO_MANY_FEEDS,
        Code.TOO_MANY_REVISIONS,
        Code.TOO_MANY_WRITING_SESSIONS,
    ),
    410: (Code.REMOVED,),
    412: (Code.NOT_CACHED,),
    413: (Code.TOO_LARGE, Code.QUOTA_EXCEEDED),
    415: (Code.UNSUPPORTED_MEDIA_TYPE,),
    416: (Code.RANGE_NOT_SATISFIABLE,),
    429: (Code.RATE_LIMITED,),
    451: (Code.WITHHELD,),
    501: (Code.NOT_IMPLEMENTED,),
    503: (
        Code.CHAIN_UNAVAILABLE,
        Code.STORAGE_UNAVAILABLE,
        Code.DATABASE_UNAVAILABLE,
        Code.INDEX_UNAVAILABLE,
        Code.OVERLOADED,
    ),
}
"""The error codes of each HTTP status."""

STATUS_OF = {code: status for status, codes in STATUSES.items() for code in codes}

HIDDEN = {Code.NOT_OWNER: 404, Code.NOT_ENTITLED: 404}
"""Statuses that replace 403 for the earlier front end, which signs its user out after a 403."""

_HIDING = STATUS_OF | HIDDEN

CHALLENGED = (
    Code.SESSION_MISSING,
    Code.SESSION_INVALID,
    Code.SESSION_EXPIRED,
    Code.SESSION_ENDED,
)
"""Codes whose responses ask the client to sign in."""

RETRY_AFTER_OUTAGE = 2
"""Seconds after which a client should retry if a dependency did not respond."""

FAILURE_DETAIL = "Something went wrong on our side."


def problem_response(problem: Problem, statuses: Mapping[Code, int] = STATUS_OF) -> Response:
    """Build the response to a request that failed with this problem."""
    extra: dict[str, Any] = {}
    headers: dict[str, str] = {}
    if isinstance(problem, SignatureStale):
        extra["now"] = int(problem.now.timestamp())
    if isinstance(problem, Withheld):
        extra |= {"statement": problem.statement, "since": format_instant(problem.since)}
    if isinstance(problem, NonceUsed):
        extra["action"] = problem.action
        extra["file"] = file_record(problem.file) if problem.file else None
    if isinstance(problem, RateLimited):
        headers["Retry-After"] = str(problem.retry_after)
    if isinstance(problem, PaymentRequired):
        headers |= payment_headers(problem)
    if isinstance(problem, OutOfRange):
        headers["Content-Range"] = f"bytes */{problem.size}"
    if isinstance(problem, Unavailable):
        headers["Retry-After"] = str(RETRY_AFTER_OUTAGE)
    if problem.code in CHALLENGED:
        headers["WWW-Authenticate"] = _challenge(problem.code)
    return _response(statuses[problem.code], problem.code, problem.detail, headers, extra)


def payment_headers(required: PaymentRequired) -> dict[str, str]:
    """Return the headers of every response with status 402."""
    headers = {"PAYMENT-REQUIRED": required.offer, "Cache-Control": OWN, "Vary": PAID_VARY}
    if required.retry_after is not None:
        headers["Retry-After"] = str(required.retry_after)
    return headers


def error_response() -> Response:
    """Build the response to an unexpected error, without revealing the cause."""
    return _response(500, FAILURE, FAILURE_DETAIL)


async def on_problem(request: Request, problem: Problem) -> Response:
    """Respond to a problem, and record its code for metrics and logs."""
    request.scope["state"]["code"] = problem.code
    return problem_response(problem)


async def on_hidden_problem(request: Request, problem: Problem) -> Response:
    """Respond as `on_problem` does, but with the statuses of `HIDDEN`."""
    request.scope["state"]["code"] = problem.code
    return problem_response(problem, _HIDING)


async def on_not_found(request: Request, error: HTTPException) -> Response:
    """Respond to a path that has no route."""
    return await on_problem(request, Refusal(Code.NOT_FOUND, "There is nothing at this path."))


async def on_method_not_allowed(request: Request, error: HTTPException) -> Response:
    """Respond to a method that a path does not allow."""
    detail = "This path does not accept this method."
    return _response(405, Code.METHOD_NOT_ALLOWED, detail, dict(error.headers or {}))


def _challenge(code: Code) -> str:
    # Without credentials there is no error to name (RFC 6750).
    return "Bearer" if code is Code.SESSION_MISSING else 'Bearer error="invalid_token"'


def problem_body(status: int, code: str, detail: str, **extra: Any) -> records.Problem:
    """Build the body of a problem. `extra` contains members that only some codes have."""
    kind, title = f"urn:imprint:problem:{code}", HTTPStatus(status).phrase
    return records.Problem(kind, title, status, detail, code, detail, **extra)


def _response(
    status: int,
    code: str,
    detail: str,
    headers: dict[str, str] | None = None,
    extra: dict[str, Any] | None = None,
) -> Response:
    body = problem_body(status, code, detail, **(extra or {}))
    return Response(encode_json(body), status, headers, PROBLEM_TYPE)
