"""Refusals of what is no request, which the application never sees: they look like all others."""

import logging
from collections.abc import Iterable

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from imprint.domain.drafts.files import new_id
from imprint.domain.errors import Problem
from imprint.metrics import RESPONSES
from imprint.web.http.middleware import OTHER_PATHS, RAW_SECURITY_HEADERS, request_id
from imprint.web.http.problems import problem_response

log = logging.getLogger("imprint.request")


def write_refusal(problem: Problem, default_headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The bytes of the response; it is counted and logged like all others."""
    response = problem_response(problem)
    token = request_id.set(new_id())
    fields = {"status": response.status_code, "code": problem.code}
    RESPONSES.labels(OTHER_PATHS, response.status_code, problem.code).inc()
    log.info("answered", extra={"method": None, "path": None, **fields, "milliseconds": 0})
    headers = [
        *default_headers,
        *response.raw_headers,
        (b"x-request-id", request_id.get().encode()),
        *RAW_SECURITY_HEADERS,
        (b"connection", b"close"),
    ]
    request_id.reset(token)
    lines = [name + b": " + value + b"\r\n" for name, value in headers]
    return STATUS_LINE[response.status_code] + b"".join(lines) + b"\r\n" + bytes(response.body)
