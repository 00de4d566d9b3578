"""Responses: the JSON bodies, entity tags and cache headers."""

from datetime import datetime
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.files import File
from imprint.services.accounts.login import SignedIn
from imprint.services.posts.lists import ListPage
from imprint.services.publication.webhooks import DeliveryResult

# JSON bodies


class LoginResponse(msgspec.Struct):
    """`POST /auth/login`"""

    token: str
    address: str
    expiresIn: str  # noqa: N815 - as in the interface
    expiresAt: datetime  # noqa: N815 - as in the interface


class KeyValues(msgspec.Struct, omit_defaults=True):
    """The metadata of a record; each hashtag is a further member whose value is its name."""

    owner: str
    status: str
    publishedAt: datetime | None = None  # noqa: N815 - as clients of the interface expect it


class Record(msgspec.Struct):
    """A file in the responses of writes."""

    id: str
    name: str
    cid: str
    size: int
    created_at: datetime
    group_id: str
    keyvalues: Any
    """`KeyValues`, also as a mapping or encoded already."""


class ReadRecord(Record):
    """A file in the responses of reads, with what publishing added."""

    hashtags: tuple[str, ...]
    thumbnail_cid: str | None
    post_id: str | None
    published_at: datetime | None
    tx_hash: str | None


class CreatedResponse(msgspec.Struct):
    """`POST /create/group`"""

    updatedUpload: Record  # noqa: N815 - as in the interface


class UpdatedResponse(msgspec.Struct):
    """`POST /update/file`"""

    upload: Record


class PublishedResponse(msgspec.Struct):
    """`POST /publish/file`"""

    thumbnailCid: str  # noqa: N815 - as in the interface


class DeletedFile(msgspec.Struct):
    """A draft that has been deleted."""

    id: str
    status: str


class DeletedResponse(msgspec.Struct):
    """`POST /delete/file`"""

    deletedFile: DeletedFile  # noqa: N815 - as in the interface


class ContentResponse(msgspec.Struct):
    """`GET /fileByCid`, `GET /fileByPostId`, `GET /freeFileByPostId`"""

    content: str
    file: ReadRecord


class FilesResponse(msgspec.Struct):
    """A page of a list."""

    files: list[ReadRecord]
    next_page_token: str | None


class TaggedFilesResponse(msgspec.Struct):
    """`GET /filesByTags`"""

    files: list[ReadRecord]
    count: int
    tags: tuple[str, ...]
    next_page_token: str | None


class EventResponse(msgspec.Struct):
    """The result of one event of a delivery."""

    postId: str | None  # noqa: N815 - as in the interface
    postCid: str | None  # noqa: N815 - as in the interface
    status: str


class DeliveryResponse(msgspec.Struct):
    """`POST /webhook/…/publish`"""

    success: bool
    applied: int
    ignored: int
    duplicate: bool
    events: list[EventResponse]


class MarketMetrics(msgspec.Struct, rename="camel"):
    """The totals of the marketplace; amounts are in wei."""

    total_users: int
    total_assets: int
    total_asset_worth: str
    total_volume: str


class CreatorMetrics(msgspec.Struct, rename="camel"):
    """The totals of an address as an author."""

    total_assets: int
    total_earnings: str
    total_subscribers: int
    total_asset_worth: str


class HolderMetrics(msgspec.Struct, rename="camel"):
    """The totals of an address as a reader."""

    total_purchases: int
    total_spent: str


class UserMetrics(msgspec.Struct, rename="camel"):
    """The totals of an address."""

    creator: CreatorMetrics
    holder: HolderMetrics


class HeatMap(msgspec.Struct, rename="camel"):
    """The day of every post and of every purchase of an address, in order."""

    creator: list[str]
    holder: list[str]


class GlobalMetricsResponse(msgspec.Struct, rename="camel"):
    """`GET /globalMetrics`"""

    status_code: int
    data: MarketMetrics


class UserMetricsResponse(msgspec.Struct, rename="camel"):
    """`GET /userMetrics`"""

    status_code: int
    data: UserMetrics


class HeatMapResponse(msgspec.Struct, rename="camel"):
    """`GET /heatmap`"""

    status_code: int
    data: HeatMap


# JSON bodies made from values of the domain and the services

RESERVED_TAGS = frozenset(
    name.lower()
    for name in (
        *(field for struct in (KeyValues, ReadRecord) for field in struct.__struct_fields__),
        *("constructor", "prototype"),
    )
)
"""Hashtags that are no members of `keyvalues`: names of other members in any case, and of what
objects of JavaScript inherit. Those that begin with two underscores, as `__proto__` does, are
left out too."""


def key_values(file: File) -> KeyValues | dict[str, str | datetime]:
    """The metadata of a file; no hashtag replaces another member."""
    publication = file.publication
    if not file.hashtags and publication is None:
        return KeyValues(file.owner, file.state.value)
    members: dict[str, str | datetime] = {"owner": file.owner, "status": file.state.value}
    if publication is not None:
        members["publishedAt"] = publication.published_at
    members |= {
        tag: tag for tag in file.hashtags if tag not in RESERVED_TAGS and not tag.startswith("__")
    }
    return members


def file_record(file: File) -> Record:
    """A file as writes return it."""
    return Record(
        file.id,
        file.name,
        file.cid,
        file.size,
        file.created_at,
        file.group_id,
        key_values(file),
    )


_KEPT = 2_048
"""How many records are kept, of a kilobyte each with its file."""

_records: BoundedCache[int, tuple[File, ReadRecord]] = BoundedCache(_KEPT)
"""Records by the identity of their files, which the catalog keeps from one list to the next."""


def read_record(file: File) -> ReadRecord:
    """A file as reads return it."""
    known = _records.get(id(file))
    if known is not None and known[0] is file:
        return known[1]
    record = _make_record(file)
    _records.put(id(file), (file, record))
    return record


def _make_record(file: File) -> ReadRecord:
    publication = file.publication
    return ReadRecord(
        file.id,
        file.name,
        file.cid,
        file.size,
        file.created_at,
        file.group_id,
        # Encoded once: a list has the same records again and again.
        msgspec.Raw(encode_json(key_values(file))),
        file.hashtags,
        file.thumbnail_cid,
        str(publication.post_id) if publication else None,
        publication.published_at if publication else None,
        publication.tx_hash if publication else None,
    )


def files_response(listed: ListPage) -> FilesResponse:
    """The body for a page of a list."""
    return FilesResponse([read_record(file) for file in listed.files], listed.next_page_token)


def tagged_files_response(listed: ListPage, tags: tuple[str, ...]) -> TaggedFilesResponse:
    """The body for a page of a list by tags."""
    files = [read_record(file) for file in listed.files]
    return TaggedFilesResponse(files, len(files), tags, listed.next_page_token)


def login_response(signed_in: SignedIn) -> LoginResponse:
    """The body for a new session."""
    session = signed_in.session
    lasts = duration_text(session.seconds)
    return LoginResponse(session.token, signed_in.address, lasts, session.expires_at)


def duration_text(seconds: int) -> str:
    """A duration in the largest of hours, minutes and seconds that it is a whole number of."""
    for unit, length in (("h", 3600), ("m", 60)):
        if seconds % length == 0:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def delivery_response(result: DeliveryResult) -> DeliveryResponse:
    """The body for a provider whose delivery was received."""
    events = [
        EventResponse(
            None if event.post_id is None else str(event.post_id),
            event.spelled_cid,
            event.status.value,
        )
        for event in result.events
    ]
    return DeliveryResponse(True, result.applied, result.ignored, result.duplicate, events)


# HTTP responses

encode_json = msgspec.json.Encoder().encode
"""The JSON of one of the bodies above."""

IMMUTABLE = "public, max-age=31536000, immutable"
"""For bytes named by their hash, which never change."""

SHORT_LIVED = "public, max-age=5"
"""For what everybody may see, and the next block may change: lists, totals, a free post."""

PRIVATE = "no-store"
"""For what only one reader may see, or what changes all the time."""

OWN = "private, no-store"
"""For what belongs to one address: its library, its sales, its private feeds, its writing
sessions."""


def json_response(value: object, cache: str | None = None) -> Response:
    """A JSON response with status 200."""
    headers = {"Cache-Control": cache} if cache else None
    return Response(encode_json(value), headers=headers, media_type="application/json")


def own_response(value: object, status: int = 200) -> Response:
    """A JSON response with what belongs to the address that asks."""
    return Response(encode_json(value), status, {"Cache-Control": OWN}, "application/json")


def empty_response(cache: str = OWN) -> Response:
    """The response to a request that has ended or removed something: 204, without a body."""
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
    """The response 304: the copy of the client is current."""
    return Response(status_code=304, headers={"ETag": tag, "Cache-Control": cache})
