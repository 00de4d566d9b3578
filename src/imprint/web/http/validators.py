"""Validators: entity tags and dates of generated content, and responses 304."""

from base64 import b32encode
from collections.abc import Mapping
from datetime import datetime
from email.utils import format_datetime
from hashlib import sha256

from starlette.requests import Request
from starlette.responses import Response

from imprint.web.http.large_responses import LargeResponse, Reservation
from imprint.web.http.responses import entity_tag, is_current

TAG_BYTES = 20
"""Bytes of the hash in an entity tag: 32 digits in base32."""


def content_tag(body: bytes) -> str:
    """The strong entity tag of a body, the same in every process."""
    return entity_tag(b32encode(sha256(body).digest()[:TAG_BYTES]).decode().lower())


def validators(body: bytes, modified_at: datetime | None = None) -> dict[str, str]:
    """The headers `ETag` and, with a date, `Last-Modified`."""
    headers = {"ETag": content_tag(body)}
    if modified_at is not None:
        headers["Last-Modified"] = format_datetime(modified_at, usegmt=True)
    return headers


def is_unchanged(request: Request, headers: Mapping[str, str]) -> bool:
    """Whether the client has the content with these validators.

    The date must be identical: after a reorg the newest post may be older than before.
    """
    if "if-none-match" in request.headers:
        return is_current(request, headers["ETag"])
    given = request.headers.get("if-modified-since")
    return given is not None and given == headers.get("Last-Modified")


def cached_response(request: Request, body: str | bytes, media_type: str, cache: str) -> Response:
    """A response with an entity tag, or 304."""
    content = body.encode() if isinstance(body, str) else body
    headers = {**validators(content), "Cache-Control": cache}
    if is_unchanged(request, headers):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=media_type)


def reserved_response(
    request: Request, reservation: Reservation, headers: Mapping[str, str], media_type: str
) -> Response:
    """The response with the body of a reservation, whose headers have its validators, or 304."""
    if is_unchanged(request, headers):
        reservation.close()
        return Response(status_code=304, headers=headers)
    return LargeResponse(reservation, reservation.body, 200, headers, media_type)
