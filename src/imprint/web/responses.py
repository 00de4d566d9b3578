"""Bodies: the words of the wire, which stop here."""

from datetime import datetime
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.files import File
from imprint.services.lists import ListPage
from imprint.services.login import SignedIn
from imprint.services.webhooks import DeliveryResult


class LoginBody(msgspec.Struct):
    """`POST /auth/login`"""

    signature: str
    salt: str
    address: str


class SignedBody(msgspec.Struct):
    """`POST /delete/file`: a signed write without content; what `salt` is, its verifier judges."""

    salt: Any
    address: str
    signature: str


class ContentBody(SignedBody):
    """`POST /create/group`, `POST /update/file`: a signed write with content."""

    content: str


class LoginAnswer(msgspec.Struct):
    """The session that a login gives."""

    token: str
    address: str
    expiresIn: str  # noqa: N815 - the wire's spelling
    expiresAt: datetime  # noqa: N815 - the wire's spelling


class KeyValues(msgspec.Struct):
    """The metadata of a record."""

    owner: str
    status: str


class Record(msgspec.Struct):
    """A file, as the writes answer it."""

    id: str
    name: str
    cid: str
    size: int
    created_at: datetime
    group_id: str
    keyvalues: KeyValues


class ReadRecord(Record):
    """A file, as the reads answer it: with what publishing added."""

    hashtags: tuple[str, ...]
    thumbnail_cid: str | None
    post_id: str | None
    published_at: datetime | None
    tx_hash: str | None


class CreatedAnswer(msgspec.Struct):
    """`POST /create/group`"""

    updatedUpload: Record  # noqa: N815 - the wire's spelling


class UpdatedAnswer(msgspec.Struct):
    """`POST /update/file`"""

    upload: Record


class PublishedAnswer(msgspec.Struct):
    """`POST /publish/file`"""

    thumbnailCid: str  # noqa: N815 - the wire's spelling


class DeletedFile(msgspec.Struct):
    """What is left to say of a deleted draft."""

    id: str
    status: str


class DeletedAnswer(msgspec.Struct):
    """`POST /delete/file`"""

    deletedFile: DeletedFile  # noqa: N815 - the wire's spelling


class ContentAnswer(msgspec.Struct):
    """`GET /fileByCid`, `GET /fileByPostId`, `GET /freeFileByPostId`"""

    content: str
    file: ReadRecord


class FilesAnswer(msgspec.Struct):
    """A page of a list."""

    files: list[ReadRecord]
    next_page_token: str | None


class TaggedFilesAnswer(msgspec.Struct):
    """`GET /filesByTags`"""

    files: list[ReadRecord]
    count: int
    tags: tuple[str, ...]
    next_page_token: str | None


class EventAnswer(msgspec.Struct):
    """What became of one event of a delivery."""

    postId: str | None  # noqa: N815 - the wire's spelling
    postCid: str | None  # noqa: N815 - the wire's spelling
    status: str


class DeliveryAnswer(msgspec.Struct):
    """`POST /webhook/…/publish`"""

    success: bool
    applied: int
    ignored: int
    duplicate: bool
    events: list[EventAnswer]


def file_record(file: File) -> Record:
    """A file in the seven fields of the contract."""
    return Record(
        file.id,
        file.name,
        file.cid,
        file.size,
        file.created_at,
        file.group_id,
        KeyValues(file.owner, file.state.value),
    )


def read_record(file: File) -> ReadRecord:
    """A file with what publishing added to it."""
    publication = file.publication
    return ReadRecord(
        file.id,
        file.name,
        file.cid,
        file.size,
        file.created_at,
        file.group_id,
        KeyValues(file.owner, file.state.value),
        file.hashtags,
        file.thumbnail_cid,
        str(publication.post_id) if publication else None,
        publication.published_at if publication else None,
        publication.tx_hash if publication else None,
    )


def files_answer(listed: ListPage) -> FilesAnswer:
    """A page, on the wire."""
    return FilesAnswer([read_record(file) for file in listed.files], listed.next_page_token)


def tagged_answer(listed: ListPage, tags: tuple[str, ...]) -> TaggedFilesAnswer:
    """A page of a list by tags, on the wire."""
    files = [read_record(file) for file in listed.files]
    return TaggedFilesAnswer(files, len(files), tags, listed.next_page_token)


def login_answer(signed_in: SignedIn) -> LoginAnswer:
    """A new session, on the wire."""
    session = signed_in.session
    return LoginAnswer(session.token, signed_in.address, "2h", session.expires_at)


def delivery_answer(receipt: DeliveryResult) -> DeliveryAnswer:
    """What a provider is told, on the wire."""
    events = [
        EventAnswer(
            None if event.post_id is None else str(event.post_id),
            event.spelled_cid,
            event.status.value,
        )
        for event in receipt.events
    ]
    return DeliveryAnswer(True, receipt.applied, receipt.ignored, receipt.duplicate, events)


_encode = msgspec.json.Encoder().encode

IMMUTABLE = "public, max-age=31536000, immutable"
"""For bytes named by their hash: they can never change, so nobody need ask again."""

FREE_POST = "public, max-age=5"
"""For a post that is free now: its author may set a price at any time."""

PRIVATE = "no-store"
"""For what only one reader may see."""


def json_response(value: object, cache: str | None = None) -> Response:
    """A JSON answer, 200."""
    headers = {"Cache-Control": cache} if cache else None
    return Response(_encode(value), headers=headers, media_type="application/json")


def entity_tag(name: str) -> str:
    """The strong tag of bytes that this name, a cid above all, says everything about."""
    return f'"{name}"'


def is_current(request: Request, tag: str) -> bool:
    """Whether the client holds this content already."""
    given = request.headers.get("if-none-match")
    if given is None:
        return False
    return any(part.strip().removeprefix("W/") in (tag, "*") for part in given.split(","))


def not_modified(tag: str, cache: str) -> Response:
    """The client's copy is good, 304."""
    return Response(status_code=304, headers={"ETag": tag, "Cache-Control": cache})
