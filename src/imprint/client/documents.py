"""Documents: their bytes, and whether they match a cid."""

import msgspec

from imprint.domain.formats.cids import KUBO_LAYOUT, WIDE_LAYOUT, NotACid, document_cid, parse_cid


class Document(msgspec.Struct, frozen=True, rename="camel"):
    """The bytes of a document, with their media type and entity tag."""

    data: bytes
    media_type: str
    etag: str | None = None


def verify_document(data: bytes, cid: str) -> bool:
    """Tell whether these bytes have this cid, in any spelling; no text that is not a cid has any.

    >>> verify_document(b"hello", "bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq")
    True
    """
    try:
        wanted = parse_cid(cid)
    except NotACid:
        return False
    return any(document_cid(data, layout) == wanted for layout in (KUBO_LAYOUT, WIDE_LAYOUT))
