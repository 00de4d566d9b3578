"""Responses: the records of files, sessions and deliveries, entity tags and cache headers."""

from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.files import File
from imprint.interface import drafts as records
from imprint.interface.accounts import Session
from imprint.interface.codec import encode_json, encode_once
from imprint.interface.deliveries import DeliveryResponse, EventResponse
from imprint.services.accounts.login import SignedIn
from imprint.services.posts.lists import ListPage
from imprint.services.publication.webhooks import DeliveryResult

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
"""Hashtags that cannot be members of `keyvalues`: names of other members in any case, and those
that JavaScript objects inherit. Names with two leading underscores, such as `__proto__`, are left
out too."""


def key_values(file: File) -> Any:
    """The `KeyValues` of a file with its hashtags, none of which replaces another member."""
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
    """A file as writes return it."""
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
"""The number of cached records, of a kilobyte each with its file."""

_records: BoundedCache[int, tuple[File, records.File]] = BoundedCache(_KEPT)
"""Records by the identity of their files, which the catalog keeps between lists."""


def read_record(file: File) -> records.File:
    """A file as reads return it."""
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
        # Encoded once: lists repeat the same records.
        encode_once(key_values(file)),
        file.hashtags,
        file.thumbnail_cid,
        str(publication.post_id) if publication else None,
        publication.published_at if publication else None,
        publication.tx_hash if publication else None,
    )


def files_response(listed: ListPage) -> records.FilesResponse:
    """The body for a page of a list."""
    files = tuple([read_record(file) for file in listed.files])
    return records.FilesResponse(files, listed.next_page_token)


def tagged_files_response(listed: ListPage, tags: tuple[str, ...]) -> records.TaggedFilesResponse:
    """The body for a page of a list by tags."""
    files = tuple([read_record(file) for file in listed.files])
    return records.TaggedFilesResponse(files, len(files), tags, listed.next_page_token)


def login_response(signed_in: SignedIn) -> Session:
    """The body for a new session."""
    session = signed_in.session
    lasts = duration_text(session.seconds)
    return Session(session.token, signed_in.address, lasts, session.expires_at)


def duration_text(seconds: int) -> str:
    """A duration in the largest of hours, minutes and seconds that gives a whole number."""
    for unit, length in (("h", 3600), ("m", 60)):
        if seconds % length == 0:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def delivery_response(result: DeliveryResult) -> DeliveryResponse:
    """The response to a provider whose delivery was received."""
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
"""Cache header for public responses that the next block may change: lists, totals, a free post."""

PRIVATE = "no-store"
"""Cache header for responses to one reader, or that change all the time."""

OWN = "private, no-store"
"""Cache header for the records of one address: library, sales, private feeds, writing sessions."""


def json_response(value: object, cache: str | None = None) -> Response:
    """A JSON response with status 200."""
    headers = {"Cache-Control": cache} if cache else None
    return Response(encode_json(value), headers=headers, media_type="application/json")


def own_response(value: object, status: int = 200) -> Response:
    """A JSON response with records of the session's own address."""
    return Response(encode_json(value), status, {"Cache-Control": OWN}, "application/json")


def empty_response(cache: str = OWN) -> Response:
    """The response after something was ended or removed: 204, without a body."""
    return Response(status_code=204, headers={"Cache-Control": cache})


def entity_tag(name: str) -> str:
    """The strong entity tag of bytes that this name identifies, such as a cid."""
    return f'"{name}"'


def is_current(request: Request, tag: str) -> bool:
    """Whether the client already has the content with this tag."""
    given = request.headers.get("if-none-match")
    if given is None:
        return False
    return any(part.strip().removeprefix("W/") in (tag, "*") for part in given.split(","))


def not_modified(tag: str, cache: str) -> Response:
    """The response 304: the client's copy is current."""
    return Response(status_code=304, headers={"ETag": tag, "Cache-Control": cache})
