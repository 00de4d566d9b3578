"""Nodes of IPFS' graphs as this service needs them: marks, links, and the blocks of a CAR."""

from collections.abc import Iterator
from hashlib import sha256

from imprint.domain.cids import Cid, Codec, NotACid, cid_bytes, cid_of, codec_of, parse_cid
from imprint.domain.files import Network

_DIRECTORY = b"\x0a\x02\x08\x01"
"""The data of a UnixFS directory, as the field of a dag-pb node."""

_LINK, _HASH = 2, 1
"""The numbers of two fields: a link of a node, and the cid in a link."""

_BYTES = 2
"""The protobuf wire type of bytes; of the others only varints (0) occur here."""


class NotANode(ValueError):
    """The bytes are no node, or no CAR, of the kind that is made here."""


def write_mark(cid: Cid, network: Network) -> tuple[Cid, bytes]:
    """The mark of a document in a network, with its cid: a directory with this one entry.

    It depends on nothing but the two, so that anybody can tell which mark to look for. The size
    of the entry is left at 0: whoever looks for a mark does not know it.
    """
    name = f"imprint-{network}".encode()
    link = b"\x0a\x24" + cid_bytes(cid) + b"\x12" + bytes([len(name)]) + name + b"\x18\x00"
    block = b"\x12" + bytes([len(link)]) + link + _DIRECTORY
    return cid_of(Codec.DAG_PB, sha256(block).digest()), block


def has_cid(block: bytes, cid: Cid) -> bool:
    """Whether these are the bytes of this one block."""
    return cid_of(codec_of(cid), sha256(block).digest()) == cid


def read_links(block: bytes) -> list[Cid]:
    """The cids that a dag-pb node links to, in order. Raises `NotANode`."""
    links = [value for number, value in _fields(block) if number == _LINK]
    return [
        _read_cid(value) for link in links for number, value in _fields(link) if number == _HASH
    ]


def read_car(car: bytes) -> dict[Cid, bytes]:
    """The blocks of a CARv1 file, each checked against its cid. Raises `NotANode`."""
    found: dict[Cid, bytes] = {}
    size, at = _varint(car, 0)
    at += size
    while at < len(car):
        size, at = _varint(car, at)
        section = car[at : at + size]
        if size < 36 or len(section) != size:
            raise NotANode("A CAR ends inside a block.")
        cid, block = _read_cid(section[:36]), section[36:]
        if not has_cid(block, cid):
            raise NotANode("A block of a CAR does not have its cid.")
        found[cid] = block
        at += size
    return found


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of bytes of a protobuf message; varints are passed over."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        value, at = _varint(message, at)
        if key & 7 == _BYTES:
            if at + value > len(message):
                raise NotANode("A field ends outside its message.")
            yield key >> 3, message[at : at + value]
            at += value
        elif key & 7:
            raise NotANode("A field has a type that nodes do not have.")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 63, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise NotANode("A number does not end.")


def _read_cid(binary: bytes) -> Cid:
    try:
        return parse_cid("f" + binary.hex())
    except NotACid as error:
        raise NotANode("A link is to something that is never made here.") from error
