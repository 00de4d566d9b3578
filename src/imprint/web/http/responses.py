"""Responses: file records, media types, entity tags, validators and cache headers."""

import re
from base64 import b32encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.files import File
from imprint.interface import drafts as records
from imprint.interface.accounts import Session
from imprint.interface.codec import encode_json, encode_once
from imprint.interface.service import DeliveryResponse, EventResponse
from imprint.services.accounts.login import SignedIn
from imprint.services.posts.lists import ListPage
from imprint.services.publication.webhooks import DeliveryResult
from imprint.web.http.large_responses import LargeResponse, Reservation

# Records made from values of the domain and the services

RESERVED_TAGS = frozenset(
    name.lower()
    for name in (
        *(
            field
            for struct in (records.KeyValues, records.File)
            for field in struct.__struct_encode_fields__
        ),
        *("constructor", "prototype"),
    )
)
"""Hashtags that cannot be members of `keyvalues`.

The names of its other members, in any letter case, are reserved, and so are the names that
JavaScript objects inherit. Names with two leading underscores, such as `__proto__`, are also left
out.
"""


def key_values(file: File) -> Any:
    """Return the `KeyValues` of a file. Its hashtags never replace another member."""
    publication = file.publication
    if not file.hashtags and publication is None:
        return records.KeyValues(file.owner, file.state.value)
    members: dict[str, str | datetime] = {"owner": file.owner, "status": file.state.value}
    if publication is not None:
        members["publishedAt"] = publication.published_at
    members |= {
        tag: tag for tag in file.hashtags if tag not in RESERVED_TAGS and not tag.startswith("__")
    }
    return members


def file_record(file: File) -> records.Draft:
    """Return a file in the form that writes return."""
    return records.Draft(
        file.id,
        file.name,
        file.cid,
        file.size,
        file.created_at,
        file.group_id,
        key_values(file),
    )


_KEPT = 2_048
"""Number of cached records, each about a kilobyte including its file."""

_records: BoundedCache[int, tuple[File, records.File]] = BoundedCache(_KEPT)
"""Records keyed by the identity of their files, which the catalog caches between lists."""


def read_record(file: File) -> records.File:
    """Return a file in the form that reads return."""
    known = _records.get(id(file))
    if known is not None and known[0] is file:
        return known[1]
    record = _make_record(file)
    _records.put(id(file), (file, record))
    return record


def _make_record(file: File) -> records.File:
    publication = file.publication
    return records.File(
        file.id,
        file.name,
        file.cid,
        file.size,
        file.created_at,
        file.group_id,
        # Records are encoded once, because lists repeat the same records.
        encode_once(key_values(file)),
        file.hashtags,
        file.thumbnail_cid,
        str(publication.post_id) if publication else None,
        publication.published_at if publication else None,
        publication.tx_hash if publication else None,
    )


def files_response(listed: ListPage) -> records.FilesResponse:
    """Return the body for a page of a list."""
    files = tuple([read_record(file) for file in listed.files])
    return records.FilesResponse(files, listed.next_page_token)


def tagged_files_response(listed: ListPage, tags: tuple[str, ...]) -> records.TaggedFilesResponse:
    """Return the body for a page of a list by tags."""
    files = tuple([read_record(file) for file in listed.files])
    return records.TaggedFilesResponse(files, len(files), tags, listed.next_page_token)


def login_response(signed_in: SignedIn) -> Session:
    """Return the body for a new session."""
    session = signed_in.session
    lasts = duration_text(session.seconds)
    return Session(session.token, signed_in.address, lasts, session.expires_at)


def duration_text(seconds: int) -> str:
    """Format a duration in the largest unit, up to hours, that gives a whole number."""
    for unit, length in (("h", 3600), ("m", 60)):
        if seconds % length == 0:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def delivery_response(result: DeliveryResult) -> DeliveryResponse:
    """Return the response to a provider whose delivery was received."""
    events = tuple(
        EventResponse(
            None if event.post_id is None else str(event.post_id),
            event.spelled_cid,
            event.status.value,
        )
        for event in result.events
    )
    return DeliveryResponse(True, result.applied, result.ignored, result.duplicate, events)


# HTTP responses

IMMUTABLE = "public, max-age=31536000, immutable"
"""Cache header for bytes named by their hash, which never change."""

SHORT_LIVED = "public, max-age=5"
"""Cache header for public responses that the next block may change, such as lists and totals."""

SHARED = "public, max-age=5, stale-while-revalidate=25"
"""Cache header for pages, feeds and files for crawlers, which are the same for everybody.

The header allows half a minute of caching in total, because a withheld post must disappear from
shared caches within a minute.
"""

PRIVATE = "no-store"
"""Cache header for responses that are for one reader or change all the time."""

OWN = "private, no-store"
"""Cache header for records of one address, such as its library, sales and private feeds."""

PAID_VARY = "Authorization, SIGN-IN-WITH-X, PAYMENT-SIGNATURE"
"""The `Vary` header of responses that depend on the reader of a paid post."""


def json_response(value: object, cache: str | None = None) -> Response:
    """Build a JSON response with status 200."""
    return encoded_response(encode_json(value), cache)


def encoded_response(body: bytes, cache: str | None = None) -> Response:
    """Build the response with status 200 for encoded JSON."""
    headers = {"Cache-Control": cache} if cache else None
    return Response(body, headers=headers, media_type=JSON_TYPE)


def own_response(value: object, status: int = 200) -> Response:
    """Build a JSON response with records of the session's own address."""
    return Response(encode_json(value), status, {"Cache-Control": OWN}, "application/json")


def empty_response(cache: str = OWN) -> Response:
    """Build a response with status 204 and no body."""
    return Response(status_code=204, headers={"Cache-Control": cache})


def entity_tag(name: str) -> str:
    """Return the strong entity tag of bytes identified by this name, such as a CID."""
    return f'"{name}"'


def is_current(request: Request, tag: str) -> bool:
    """Whether the client already has the content with this tag."""
    given = request.headers.get("if-none-match")
    if given is None:
        return False
    return any(part.strip().removeprefix("W/") in (tag, "*") for part in given.split(","))


def not_modified(tag: str, cache: str) -> Response:
    """Build the 304 response for a client whose copy is current."""
    return Response(status_code=304, headers={"ETag": tag, "Cache-Control": cache})


TAG_BYTES = 20
"""Number of hash bytes in an entity tag, which has 32 digits in base32."""


def content_tag(body: bytes) -> str:
    """Return the strong entity tag of a body, which is the same in every process."""
    return entity_tag(b32encode(sha256(body).digest()[:TAG_BYTES]).decode().lower())


def validators(body: bytes, modified_at: datetime | None = None) -> dict[str, str]:
    """Return the header `ETag` and, if there is a date, `Last-Modified`."""
    headers = {"ETag": content_tag(body)}
    if modified_at is not None:
        headers["Last-Modified"] = format_datetime(modified_at, usegmt=True)
    return headers


def is_unchanged(request: Request, headers: Mapping[str, str]) -> bool:
    """Whether the client has the content with these validators.

    The date must be identical, because after a reorg the newest post may be older than
    before.
    """
    if "if-none-match" in request.headers:
        return is_current(request, headers["ETag"])
    given = request.headers.get("if-modified-since")
    return given is not None and given == headers.get("Last-Modified")


def cached_response(
    request: Request, body: str | bytes, media_type: str, cache: str, cache_tag: str | None = None
) -> Response:
    """Build a response with an entity tag, or a 304. `cache_tag` is for shared caches."""
    content = body.encode() if isinstance(body, str) else body
    headers = {**validators(content), "Cache-Control": cache}
    if cache_tag is not None:
        headers["Cache-Tag"] = cache_tag
    if is_unchanged(request, headers):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=media_type)


def reserved_response(
    request: Request, reservation: Reservation, headers: Mapping[str, str], media_type: str
) -> Response:
    """Build the response with a reservation's body, or a 304. Both contain the validators."""
    if is_unchanged(request, headers):
        reservation.close()
        return Response(status_code=304, headers=headers)
    return LargeResponse(reservation, reservation.body, 200, headers, media_type)


JSON_TYPE = "application/json"
PROBLEM_TYPE = "application/problem+json"
CSV_TYPE = "text/csv"
HTML_TYPE = "text/html"

MAX_ACCEPT = 1024
"""Maximum number of characters of `Accept` that are read. Browsers send about 200."""

_QUALITY = re.compile(r"(?:0(?:\.[0-9]*)?|1(?:\.0*)?)\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class MediaRange:
    """A media type or range that a client accepts. An invalid quality counts as zero."""

    name: str
    parameters: Mapping[str, str]
    quality: float


def prefers(request: Request, media_type: str) -> bool:
    """Whether a client prefers this media type over JSON."""
    return _prefers(_accept(request), media_type)


def accepted(request: Request) -> tuple[MediaRange, ...]:
    """Return the media ranges that a client accepts, in the order of its `Accept` header."""
    return _media_ranges(_accept(request))


def quality(wanted: tuple[MediaRange, ...], media_type: str) -> float:
    """Return the quality of a media type, from the most specific range that includes it."""
    named = {each.name: each.quality for each in wanted}
    kind = media_type.partition("/")[0]
    ranges = (media_type, f"{kind}/*", "*/*")
    return next((named[each] for each in ranges if each in named), 0.0)


def _accept(request: Request) -> str:
    return ",".join(request.headers.getlist("accept"))[:MAX_ACCEPT]


@lru_cache(maxsize=256)
def _prefers(accept: str, media_type: str) -> bool:
    wanted = _media_ranges(accept)
    as_json = max(quality(wanted, JSON_TYPE), quality(wanted, PROBLEM_TYPE))
    return quality(wanted, media_type) > as_json


@lru_cache(maxsize=256)
def _media_ranges(accept: str) -> tuple[MediaRange, ...]:
    return tuple(_media_range(part) for part in accept.lower().split(",") if part.strip())


def _media_range(part: str) -> MediaRange:
    name, *rest = (piece.strip() for piece in part.split(";"))
    pairs = (piece.split("=", 1) for piece in rest if "=" in piece)
    parameters = {key.strip(): value.strip() for key, value in pairs}
    given = parameters.get("q", "1")
    return MediaRange(name, parameters, float(given) if _QUALITY.match(given) else 0.0)
