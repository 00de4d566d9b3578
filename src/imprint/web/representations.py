"""Representations of a public document: as it is, its root block, or all blocks in a CAR.

The last two are what a trustless gateway of IPFS serves: a client proves them by their hashes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from starlette.requests import Request

from imprint.domain.car import write_car
from imprint.domain.cids import Cid
from imprint.domain.refusals import Code, Refusal
from imprint.domain.unixfs import blocks
from imprint.web.answers import entity_tag
from imprint.web.requests import query_of, query_text

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
        return b"".join(write_car(cid, kept if self.repeats else _once(kept)))


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


def _once(
    found: Iterable[tuple[Cid, bytes | memoryview]],
) -> Iterator[tuple[Cid, bytes | memoryview]]:
    seen: set[Cid] = set()
    for cid, block in found:
        if cid not in seen:
            seen.add(cid)
            yield cid, block
