"""The gateway endpoint, which serves public documents as bytes, as a block or as a CAR file.

The endpoint follows the IPFS trustless gateway specification and the range requests of RFC 9110.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.drafts.documents import MAX_IMAGE_BYTES, SMALL_DOCUMENT
from imprint.domain.errors import Code, OutOfRange, Refusal
from imprint.domain.formats.car import write_car
from imprint.domain.formats.cids import Cid, blocks_of
from imprint.services.access.reads import Reads
from imprint.services.content.thumbnails import Box, Thumbnails, box_of
from imprint.services.posts.posts import Posts
from imprint.web.http.large_responses import PIECE, LargeResponse, Reservation, ResponseBudget
from imprint.web.http.requests import canonical_cid, client_of, only_value, query_params
from imprint.web.http.responses import (
    IMMUTABLE,
    JSON_TYPE,
    PRIVATE,
    SHORT_LIVED,
    accepted,
    entity_tag,
    is_current,
    not_modified,
    quality,
)

# Representations

RAW_TYPE = "application/vnd.ipld.raw"
CAR_TYPE = "application/vnd.ipld.car"

_PICTURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}
"""Magic bytes of images. The media type is derived from the bytes, which the CID covers."""

_OTHER = "application/octet-stream"

_DOCUMENT_START = b'{"content":'
"""The first bytes of a document. Documents are JSON, which browsers never execute."""

_KINDS = {**_PICTURES, _DOCUMENT_START: JSON_TYPE}

_SIDE = re.compile("[1-9][0-9]{0,4}\\Z")
"""The width or height of an image in pixels."""


class Format(StrEnum):
    """The formats in which a document can be requested."""

    PLAIN = "plain"
    RAW = "raw"
    CAR = "car"


@dataclass(frozen=True, slots=True)
class Representation:
    """The representation of a document that a request asks for.

    `duplicates` and `root_only` apply only to a CAR file, and `box` only to an image, which
    is scaled down until it fits.
    """

    format: Format
    duplicates: bool = True
    root_only: bool = False
    box: Box | None = None

    def tag(self, cid: Cid) -> str:
        """Return the entity tag, which differs whenever the bytes differ."""
        if self.format is Format.PLAIN:
            return entity_tag(cid if self.box is None else f"{cid}.{self.box[0]}x{self.box[1]}")
        if self.format is Format.RAW:
            return entity_tag(f"{cid}.raw")
        scope = "block" if self.root_only else "all"
        return entity_tag(f"{cid}.car.{scope}.{'y' if self.duplicates else 'n'}")

    def media_type(self, body: bytes) -> str:
        """Return the media type of a body in this representation."""
        if self.format is Format.RAW:
            return RAW_TYPE
        if self.format is Format.CAR:
            return f"{CAR_TYPE}; version=1; order=dfs; dups={'y' if self.duplicates else 'n'}"
        known = (kind for start, kind in _KINDS.items() if body.startswith(start))
        return next(known, _OTHER)

    def disposition(self, cid: Cid, media_type: str) -> str | None:
        """Return the `Content-Disposition`. Browsers show images and JSON, and save the rest."""
        if self.format is Format.PLAIN:
            return "attachment" if media_type == _OTHER else None
        return f'attachment; filename="{cid}.{"car" if self.format is Format.CAR else "bin"}"'

    def memory(self, size: int) -> int:
        """Return the memory in bytes needed for the body of a document of this size.

        A CAR is slightly longer than the document.
        """
        if self.format is Format.PLAIN and self.box is None:
            return size
        return 2 * size + size // 64 + 4096

    def encode(self, cid: Cid, document: bytes) -> bytes:
        """Encode the document as the response body."""
        if self.format is Format.PLAIN:
            return document
        found = blocks_of(cid, document)
        if self.format is Format.RAW:
            return bytes(next(found)[1])
        kept = [next(found)] if self.root_only else found
        return b"".join(write_car(cid, kept if self.duplicates else _deduplicated(kept)))


def requested_representation(request: Request) -> Representation:
    """Return the representation named by the parameter `format`, or else by the header `Accept`.

    Refuses an unknown format, CAR version or scope.
    """
    media_type, parameters = _accepted(request)
    chosen = {RAW_TYPE: Format.RAW, CAR_TYPE: Format.CAR}.get(media_type, Format.PLAIN)
    query = query_params(request)
    if (given := only_value(query, "format")) is not None:
        if given not in (Format.RAW, Format.CAR):
            raise Refusal(Code.INVALID_REQUEST, "The parameter 'format' must be 'raw' or 'car'.")
        chosen = Format(given)
    scope = only_value(query, "dag-scope") or "all"
    if scope not in ("block", "entity", "all"):
        raise Refusal(Code.INVALID_REQUEST, "The scope must be 'block', 'entity' or 'all'.")
    if chosen is Format.PLAIN:
        return Representation(chosen, box=_requested_box(query))
    if chosen is Format.RAW:
        return Representation(chosen)
    if parameters.get("version", "1") != "1":
        raise Refusal(Code.INVALID_REQUEST, "Only CAR version 1 is supported.")
    return Representation(chosen, parameters.get("dups", "y") != "n", scope == "block")


def _requested_box(query: QueryParams) -> Box | None:
    """Return the box given by the parameters `img-width` and `img-height`, if either is present."""
    sides = [only_value(query, name) for name in ("img-width", "img-height")]
    if sides == [None, None]:
        return None
    if not all(side is None or _SIDE.match(side) for side in sides):
        raise Refusal(Code.INVALID_REQUEST, "A width or height must be a number of pixels.")
    return box_of(*(None if side is None else int(side) for side in sides))


def _accepted(request: Request) -> tuple[str, Mapping[str, str]]:
    """Return the IPFS media type that a client prefers, with its parameters.

    Returns no media type if the client prefers the plain bytes.
    """
    wanted = accepted(request)
    plain = max(quality(wanted, each) for each in (*_KINDS.values(), _OTHER))
    named = [each for each in wanted if each.name in (RAW_TYPE, CAR_TYPE)]
    best = max(named, key=lambda each: each.quality, default=None)
    if best is None or not best.quality or best.quality < plain:
        return "", {}
    return best.name, best.parameters


def _deduplicated(
    found: Iterable[tuple[Cid, bytes | memoryview]],
) -> Iterator[tuple[Cid, bytes | memoryview]]:
    seen: set[Cid] = set()
    for cid, block in found:
        if cid not in seen:
            seen.add(cid)
            yield cid, block


# Ranges

_ONE_RANGE = re.compile(r"bytes=[ \t]*([0-9]{0,15})-([0-9]{0,15})[ \t]*\Z", re.ASCII)
"""Pattern for a single range, matched in one pass.

A request for several ranges does not match and gets the whole document, as the standard allows.
Only attackers would request several ranges, because assembling them is expensive.
"""


@dataclass(frozen=True, slots=True)
class Range:
    """The bytes from `first` to `last`, both inclusive, of a document of `size` bytes."""

    first: int
    last: int
    size: int

    @property
    def header(self) -> str:
        """Return the value of `Content-Range`."""
        return f"bytes {self.first}-{self.last}/{self.size}"


def requested_range(request: Request, tag: str, size: int) -> Range | None:
    """Return the requested part of a document. None means the whole document.

    If `If-Range` names another version, the result is the whole document, too. Raises `OutOfRange`
    for a range that begins after the end.
    """
    given = _ONE_RANGE.match(request.headers.get("range", ""))
    if given is None or request.headers.get("if-range", tag) != tag:
        return None
    first, last = given.groups()
    if not first:
        return _suffix(int(last), size) if last else None
    if last and int(last) < int(first):
        return None
    if int(first) >= size:
        raise OutOfRange(size)
    return Range(int(first), min(int(last or size), size - 1), size)


def _suffix(length: int, size: int) -> Range:
    if not length or not size:
        raise OutOfRange(size)
    return Range(max(size - length, 0), size - 1, size)


# The endpoint

PROBE = "bafkqaaa"
"""A CID that contains its own (empty) block. Clients request it to detect a gateway."""


Read = Callable[[], Awaitable[bytes]]
"""Reads the bytes of a document."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A public document of `size` bytes, with its representation and cache header."""

    cid: Cid
    representation: Representation
    size: int
    cache: str

    @property
    def tag(self) -> str:
        return self.representation.tag(self.cid)


@dataclass(frozen=True, slots=True)
class GatewayRoutes:
    """Serve `/ipfs/{cid}`. Private and unknown CIDs get a 404 in every representation."""

    reads: Reads
    posts: Posts
    thumbnails: Thumbnails
    budget: ResponseBudget
    fallback: str | None = None
    """The origin of another gateway, which may have thumbnails that are not stored here."""

    async def document(self, request: Request) -> Response:
        representation = requested_representation(request)
        if request.path_params["cid"] == PROBE and representation.format is Format.RAW:
            return Response(headers={"Cache-Control": IMMUTABLE}, media_type=RAW_TYPE)
        cid = canonical_cid(request.path_params["cid"])
        await self.reads.measures.check_picture(cid)
        size = await self.reads.public_size(cid)
        if size is not None:
            load = partial(self._picture, cid, representation, client_of(request))
            found = _Found(cid, representation, size or MAX_IMAGE_BYTES, IMMUTABLE)
            return await self._respond(request, found, load)
        file = await self.reads.free_document(cid)
        if file is not None:
            representation = replace(representation, box=None)
            # The post's author may set a price at any time, so the response must not be cached for
            # long.
            found = _Found(cid, representation, file.size, SHORT_LIVED)
            return await self._respond(request, found, partial(self.reads.document_of, file))
        if await self._may_be_elsewhere(request, cid, representation):
            headers = {"Location": f"{self.fallback}/ipfs/{cid}", "Cache-Control": PRIVATE}
            return Response(status_code=302, headers=headers)
        raise _not_found(request)

    async def _respond(self, request: Request, found: _Found, read: Read) -> Response:
        """Return the document that `read` reads, or 304 if the client already has it."""
        tag, representation = found.tag, found.representation
        if is_current(request, tag):
            response = not_modified(tag, found.cache)
            response.headers["Vary"] = "Accept"
            response.headers["Cache-Tag"] = f"cid-{found.cid}"
            return response

        async def load() -> tuple[bytes, int]:
            document = await read()
            if representation.format is Format.PLAIN:
                return document, len(document)
            if len(document) > SMALL_DOCUMENT:
                # Splitting a large document into blocks would block the event loop.
                body = await asyncio.to_thread(representation.encode, found.cid, document)
            else:
                body = representation.encode(found.cid, document)
            return body, len(document) + len(body)

        expected = representation.memory(found.size)
        reservation = await self.budget.share(client_of(request), tag, expected, load)
        try:
            return _document_response(request, found, reservation)
        except Exception:
            reservation.close()
            raise

    async def _may_be_elsewhere(
        self, request: Request, cid: Cid, representation: Representation
    ) -> bool:
        """Whether the other gateway may have a document that is not stored here."""
        if self.fallback is None or representation.format is not Format.PLAIN:
            return False
        return not _only_if_cached(request) and await self.posts.names_thumbnail(cid)

    async def _picture(self, cid: Cid, representation: Representation, client: str) -> bytes:
        if representation.box is not None:
            return await self.thumbnails.fitted(cid, representation.box, client)
        return await self.reads.public_document(cid)


def _only_if_cached(request: Request) -> bool:
    return "only-if-cached" in request.headers.get("cache-control", "").lower()


def _not_found(request: Request) -> Refusal:
    # Private and unknown CIDs get the same response, so that nobody learns which drafts exist.
    if _only_if_cached(request):
        return Refusal(Code.NOT_CACHED, "There is no public document with this cid here.")
    return Refusal(Code.NOT_FOUND, "There is no public document with this cid.")


def _document_response(request: Request, found: _Found, reservation: Reservation) -> Response:
    """Build the response with a document and close the reservation. Raises `OutOfRange`."""
    body: bytes | memoryview = reservation.body
    cid, representation, tag = found.cid, found.representation, found.tag
    media_type = representation.media_type(reservation.body)
    headers = {
        "ETag": tag,
        "Cache-Control": found.cache,
        "Vary": "Accept",
        "Cache-Tag": f"cid-{cid}",
        "Accept-Ranges": "none" if representation.format is Format.CAR else "bytes",
    }
    if representation.box is None:
        headers |= {"X-Ipfs-Path": f"/ipfs/{cid}", "X-Ipfs-Roots": cid}
    if disposition := representation.disposition(cid, media_type):
        headers["Content-Disposition"] = disposition
    part = None
    if representation.format is not Format.CAR and request.method == "GET":
        part = requested_range(request, tag, len(body))
    if part is not None:
        headers["Content-Range"] = part.header
        body = memoryview(body)[part.first : part.last + 1]
    headers["Content-Length"] = str(len(body))
    status = 200 if part is None else 206
    if request.method == "GET" and len(body) > PIECE:
        return LargeResponse(reservation, body, status, headers, media_type)
    reservation.close()
    shown = b"" if request.method == "HEAD" else bytes(body)
    return Response(shown, status, headers, media_type)
