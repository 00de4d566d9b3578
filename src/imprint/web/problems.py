"""Problem answers: one body for every "no" and every "not now" (RFC 9457)."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import Response

from imprint.domain.errors import Code, NonceUsed, OutOfRange, Problem, RateLimited, Unavailable
from imprint.web.responses import file_record

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
    ),
    401: (
        Code.SIGNATURE_INVALID,
        Code.SIGNATURE_STALE,
        Code.SESSION_MISSING,
        Code.SESSION_INVALID,
        Code.SESSION_EXPIRED,
        Code.WEBHOOK_SIGNATURE_INVALID,
    ),
    403: (Code.NOT_OWNER, Code.SUBJECT_MISMATCH, Code.NOT_ENTITLED, Code.NOT_FREE),
    404: (Code.NOT_FOUND,),
    405: (Code.METHOD_NOT_ALLOWED,),
    408: (Code.REQUEST_TIMEOUT,),
    409: (Code.NONCE_USED, Code.NOT_PENDING, Code.ALREADY_ONCHAIN),
    412: (Code.NOT_CACHED,),
    413: (Code.TOO_LARGE,),
    415: (Code.UNSUPPORTED_MEDIA_TYPE,),
    416: (Code.RANGE_NOT_SATISFIABLE,),
    429: (Code.RATE_LIMITED,),
    503: (
        Code.CHAIN_UNAVAILABLE,
        Code.STORAGE_UNAVAILABLE,
        Code.DATABASE_UNAVAILABLE,
        Code.OVERLOADED,
    ),
}
"""Every code under the status it is answered with."""

STATUS_OF = {code: status for status, codes in STATUSES.items() for code in codes}

CHALLENGED = (Code.SESSION_MISSING, Code.SESSION_INVALID, Code.SESSION_EXPIRED)
"""What a client can mend by signing in, and is asked to."""

RETRY_AFTER_OUTAGE = 2
"""Seconds after which a dependency that did not answer is worth asking again."""

MEDIA_TYPE = "application/problem+json"

FAILURE = "internal_error"
"""The code of every defect of ours; no refusal, and nothing that a client can mend."""


def problem_response(problem: Problem) -> Response:
    """The answer that tells a client about this problem."""
    status = STATUS_OF[problem.code]
    extra: dict[str, Any] = {}
    headers: dict[str, str] = {}
    if isinstance(problem, NonceUsed):
        extra["file"] = file_record(problem.file) if problem.file else None
    if isinstance(problem, RateLimited):
        headers["Retry-After"] = str(problem.retry_after)
    if isinstance(problem, OutOfRange):
        headers["Content-Range"] = f"bytes */{problem.size}"
    if isinstance(problem, Unavailable):
        headers["Retry-After"] = str(RETRY_AFTER_OUTAGE)
    if problem.code in CHALLENGED:
        headers["WWW-Authenticate"] = _challenge(problem.code)
    return _answer(status, problem.code, problem.detail, headers, extra)


def _challenge(code: Code) -> str:
    # Without credentials there is no error to name (RFC 6750).
    return "Bearer" if code is Code.SESSION_MISSING else 'Bearer error="invalid_token"'


def _answer(
    status: int,
    code: str,
    detail: str,
    headers: dict[str, str] | None = None,
    extra: dict[str, Any] | None = None,
) -> Response:
    body = {
        "type": f"urn:imprint:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        "error": detail,
        **(extra or {}),
    }
    return Response(msgspec.json.encode(body), status, headers, MEDIA_TYPE)


def method_response(allowed: Sequence[str]) -> Response:
    """The answer to a method that a path does not take."""
    detail = "This path does not take this method."
    return _answer(405, Code.METHOD_NOT_ALLOWED, detail, {"Allow": ", ".join(allowed)})


def failure_response() -> Response:
    """The answer to a defect of ours: it says nothing that was not meant to be said."""
    return _answer(500, FAILURE, "Something went wrong on our side.")
