"""The public gateway: documents that everybody may fetch, as IPFS serves them."""

import asyncio
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from imprint.domain.cids import Cid
from imprint.domain.documents import SMALL_DOCUMENT
from imprint.domain.refusals import Code, Refusal
from imprint.flows.reading import Reading
from imprint.web.answers import IMMUTABLE, is_current, not_modified
from imprint.web.ranges import requested_range
from imprint.web.representations import RAW_TYPE, Format, Wanted, read_wanted
from imprint.web.requests import canonical_cid

PROBE = "bafkqaaa"
"""The cid of an empty block, which it holds itself: clients ask for it to recognize a gateway."""


@dataclass(frozen=True, slots=True)
class GatewayRoutes:
    """`/ipfs/{cid}`; a cid that is private, or unknown, is not found in any representation."""

    reading: Reading

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
        return _answer(request, cid, wanted, body)


def _absence(request: Request) -> Refusal:
    # Private and unknown alike: whoever has no right to a document does not learn of it.
    if "only-if-cached" in request.headers.get("cache-control", "").lower():
        return Refusal(Code.NOT_CACHED, "There is no public document with this cid here.")
    return Refusal(Code.NOT_FOUND, "There is no public document with this cid.")


def _answer(request: Request, cid: Cid, wanted: Wanted, body: bytes) -> Response:
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
