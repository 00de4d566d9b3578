"""Ranges: a part of a document, if a client asks for exactly one (RFC 9110).

Whoever asks for several gets the whole: putting them together is work that only attackers ask for.
"""

import asyncio
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.car import write_car
from imprint.domain.cids import Cid, blocks
from imprint.domain.documents import SMALL_DOCUMENT
from imprint.domain.errors import Code, OutOfRange, Refusal
from imprint.services.reads import Reads
from imprint.web.requests import canonical_cid, query_of, query_text
from imprint.web.responses import IMMUTABLE, entity_tag, is_current, not_modified

_ONE_RANGE = re.compile(r"bytes=[ \t]*([0-9]{0,15})-([0-9]{0,15})[ \t]*\Z", re.ASCII)
"""One range; what does not match is ignored, as the standard allows. It is matched in one pass."""


@dataclass(frozen=True, slots=True)
class Range:
    """The bytes from `first` to `last`, both included, of `size`."""

    first: int
    last: int
    size: int

    @property
    def header(self) -> str:
        """The range as the answer tells it."""
        return f"bytes {self.first}-{self.last}/{self.size}"


def requested_range(request: Request, tag: str, size: int) -> Range | None:
    """The part of a document that is asked for; None means the whole.

    A range that depends on another version of the document means the whole, too. Refuses, with
    `OutOfRange`, one that begins behind the end.
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


RAW_TYPE = "application/vnd.ipld.raw"
CAR_TYPE = "application/vnd.ipld.car"

_PICTURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}
"""How pictures begin. A type is only ever told from the bytes, which are all that is signed for."""

_OTHER = "application/octet-stream"


class Format(StrEnum):
    """How a document is wanted."""

    PLAIN = "plain"
    RAW = "raw"
    CAR = "car"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The representation that a request asks for."""

    format: Format
    repeats: bool = True
    root_only: bool = False

    def tag(self, cid: Cid) -> str:
        """The entity tag: one for each sequence of bytes."""
        if self.format is Format.PLAIN:
            return entity_tag(cid)
        if self.format is Format.RAW:
            return entity_tag(f"{cid}.raw")
        scope = "block" if self.root_only else "all"
        return entity_tag(f"{cid}.car.{scope}.{'y' if self.repeats else 'n'}")

    def media_type(self, body: bytes) -> str:
        """The type of a body of this representation."""
        if self.format is Format.RAW:
            return RAW_TYPE
        if self.format is Format.CAR:
            return f"{CAR_TYPE}; version=1; order=dfs; dups={'y' if self.repeats else 'n'}"
        known = (kind for start, kind in _PICTURES.items() if body.startswith(start))
        return next(known, _OTHER)

    def disposition(self, cid: Cid, media_type: str) -> str | None:
        """What a browser should do: show pictures, and keep everything else away from pages."""
        if self.format is Format.PLAIN:
            return "attachment" if media_type == _OTHER else None
        return f'attachment; filename="{cid}.{"car" if self.format is Format.CAR else "bin"}"'

    def represent(self, cid: Cid, document: bytes) -> bytes:
        """The body."""
        if self.format is Format.PLAIN:
            return document
        found = blocks(document)
        if self.format is Format.RAW:
            return bytes(next(found)[1])
        kept = [next(found)] if self.root_only else found
        return b"".join(write_car(cid, kept if self.repeats else _deduplicated(kept)))


def read_wanted(request: Request) -> Wanted:
    """What the parameter `format` says, or else the header `Accept`.

    Refuses another format, another version of CAR, and a scope that does not exist.
    """
    media_type, parameters = _accepted(request)
    wanted = {RAW_TYPE: Format.RAW, CAR_TYPE: Format.CAR}.get(media_type, Format.PLAIN)
    if "format" in query_of(request):
        given = query_text(request, "format", Code.INVALID_REQUEST)
        if given not in (Format.RAW, Format.CAR):
            raise Refusal(Code.INVALID_REQUEST, "The parameter 'format' is 'raw' or 'car'.")
        wanted = Format(given)
    scope = "all"
    if "dag-scope" in query_of(request):
        scope = query_text(request, "dag-scope", Code.INVALID_REQUEST)
        if scope not in ("block", "entity", "all"):
            raise Refusal(Code.INVALID_REQUEST, "A scope is 'block', 'entity' or 'all'.")
    if wanted is not Format.CAR:
        return Wanted(wanted)
    if parameters.get("version", "1") != "1":
        raise Refusal(Code.INVALID_REQUEST, "Only version 1 of CAR is served.")
    return Wanted(wanted, parameters.get("dups", "y") != "n", scope == "block")


def _accepted(request: Request) -> tuple[str, dict[str, str]]:
    """The representation of IPFS that `Accept` names first, with its parameters."""
    for part in request.headers.get("accept", "").split(","):
        media_type, *rest = (piece.strip().lower() for piece in part.split(";"))
        if media_type in (RAW_TYPE, CAR_TYPE):
            parameters = dict(piece.split("=", 1) for piece in rest if "=" in piece)
            if parameters.get("q", "1").strip("0."):
                return media_type, parameters
    return "", {}


def _deduplicated(
    found: Iterable[tuple[Cid, bytes | memoryview]],
) -> Iterator[tuple[Cid, bytes | memoryview]]:
    seen: set[Cid] = set()
    for cid, block in found:
        if cid not in seen:
            seen.add(cid)
            yield cid, block


PROBE = "bafkqaaa"
"""The cid of an empty block, which it holds itself: clients ask for it to recognize a gateway."""


@dataclass(frozen=True, slots=True)
class GatewayRoutes:
    """`/ipfs/{cid}`; a cid that is private, or unknown, is not found in any representation."""

    reading: Reads

    async def fetch(self, request: Request) -> Response:
        wanted = read_wanted(request)
        if request.path_params["cid"] == PROBE and wanted.format is Format.RAW:
            return Response(headers={"Cache-Control": IMMUTABLE}, media_type=RAW_TYPE)
        cid = canonical_cid(request.path_params["cid"])
        if not await self.reading.is_public(cid):
            raise _absence(request)
        tag = wanted.tag(cid)
        if is_current(request, tag):
            answer = not_modified(tag, IMMUTABLE)
            answer.headers["Vary"] = "Accept"
            return answer
        document = await self.reading.public_document(cid)
        if len(document) > SMALL_DOCUMENT:
            # Cutting it into blocks would hold up others.
            body = await asyncio.to_thread(wanted.represent, cid, document)
        else:
            body = wanted.represent(cid, document)
        return _document_response(request, cid, wanted, body)


def _absence(request: Request) -> Refusal:
    # Private and unknown alike: whoever has no right to a document does not learn of it.
    if "only-if-cached" in request.headers.get("cache-control", "").lower():
        return Refusal(Code.NOT_CACHED, "There is no public document with this cid here.")
    return Refusal(Code.NOT_FOUND, "There is no public document with this cid.")


def _document_response(request: Request, cid: Cid, wanted: Wanted, body: bytes) -> Response:
    tag, media_type = wanted.tag(cid), wanted.media_type(body)
    headers = {
        "ETag": tag,
        "Cache-Control": IMMUTABLE,
        "Vary": "Accept",
        "X-Ipfs-Roots": cid,
        "Accept-Ranges": "none" if wanted.format is Format.CAR else "bytes",
    }
    if disposition := wanted.disposition(cid, media_type):
        headers["Content-Disposition"] = disposition
    part = None
    if wanted.format is not Format.CAR and request.method == "GET":
        part = requested_range(request, tag, len(body))
    if part is not None:
        headers["Content-Range"] = part.header
        body = body[part.first : part.last + 1]
    headers["Content-Length"] = str(len(body))
    shown = b"" if request.method == "HEAD" else body
    return Response(shown, 200 if part is None else 206, headers, media_type)
