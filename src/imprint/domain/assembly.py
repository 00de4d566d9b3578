"""Assembly: a document put together from its blocks, the way back from `unixfs.blocks`."""

from collections.abc import Callable, Iterator

from imprint.domain.cids import Cid, Codec, NotACid, codec_of, split_cid
from imprint.domain.unixfs import document_cid
from imprint.domain.varints import NotAVarint, read_varint

_LINK, _HASH = 2, 1
"""The numbers of two fields: a link of a node, and the cid in a link."""

_BYTES, _NUMBER = 2, 0
"""The types of protobuf fields that nodes have."""

MAX_NODES = 4096
"""How many blocks a document may have, so that links in circles of damage end somewhere."""


class NotAssembled(ValueError):
    """The blocks are not those of one document."""


def read_links(block: bytes) -> list[Cid]:
    """The cids that a dag-pb node links to, in order. Refuses with `NotAssembled`."""
    try:
        links = [value for number, value in _fields(block) if number == _LINK]
        return [_read_cid(link) for link in links]
    except (NotAVarint, NotACid) as error:
        raise NotAssembled("A block is no node.") from error


def assemble(cid: Cid, load: Callable[[Cid], bytes], limit: int) -> bytes:
    """The document with this cid, from blocks that `load` has verified.

    Refuses, with `NotAssembled`, more than `limit` bytes, and a tree that is not the one which a
    document of these bytes has.
    """
    pieces, length, seen = [], 0, 0
    waiting = [cid]
    while waiting:
        at = waiting.pop()
        block = load(at)
        seen += 1
        if seen > MAX_NODES:
            raise NotAssembled(f"The document {cid} has too many blocks.")
        if codec_of(at) is Codec.DAG_PB:
            waiting += reversed(read_links(block))
            continue
        pieces.append(block)
        length += len(block)
        if length > limit:
            raise NotAssembled(f"The document {cid} is larger than it should be.")
    document = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    if document_cid(document) != cid:
        raise NotAssembled(f"The blocks of {cid} are not those of a document.")
    return document


def _read_cid(link: bytes) -> Cid:
    hashes = [value for number, value in _fields(link) if number == _HASH]
    if len(hashes) != 1:
        raise NotACid("A link leads nowhere.")
    cid, rest = split_cid(hashes[0])
    if rest or codec_of(cid) is Codec.DAG_JSON:
        raise NotACid("A link leads to no part of a document.")
    return cid


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of bytes of a protobuf message; numbers are passed over."""
    at = 0
    while at < len(message):
        key, at = read_varint(message, at)
        value, at = read_varint(message, at)
        if key & 7 == _BYTES and at + value <= len(message):
            yield key >> 3, message[at : at + value]
            at += value
        elif key & 7 != _NUMBER:
            raise NotAVarint("A field ends outside its message, or has a strange type.")
