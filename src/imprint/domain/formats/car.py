"""CAR version 1: the IPFS format for many blocks in one file or stream.

    header   its length as a varint, then DAG-CBOR of {"roots": [cid, …], "version": 1}
    section  its length as a varint, then a binary CID, then the block. One section per block

Only the header is DAG-CBOR. Headers that `write_header` could not have written are
rejected.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256

from imprint.domain.formats.cids import (
    Cid,
    NotACid,
    NotAVarint,
    cid_bytes,
    digest_of,
    split_cid,
    take_varint,
    write_varint,
)

MAX_BLOCK = 2 * 1024 * 1024
"""Size in bytes of the largest block that IPFS nodes exchange. Larger blocks are refused unread."""

MAX_ROOTS = 23
"""Maximum number of roots. The length of a longer array does not fit in the first CBOR byte."""

_LONGEST_CID = 37
_LONGEST_HEADER = 64 + MAX_ROOTS * (_LONGEST_CID + 5)
_ROOTS = b"\xa2\x65roots"
_VERSION_1 = b"\x67version\x01"
_ARRAY, _CID_TAG, _BYTES = 0x80, b"\xd8\x2a", 0x58

Read = Callable[[int], bytes]
"""Returns the requested number of bytes, or fewer at the end of the stream."""


class NotACar(ValueError):
    """The bytes are not a complete CAR, or a block does not match its CID."""


def write_header(roots: Sequence[Cid]) -> bytes:
    """Encode the header of a CAR with these roots."""
    if not 1 <= len(roots) <= MAX_ROOTS:
        raise ValueError(f"A CAR must have 1 to {MAX_ROOTS} roots.")
    links = b"".join(_write_link(cid_bytes(root)) for root in roots)
    header = _ROOTS + bytes([_ARRAY + len(roots)]) + links + _VERSION_1
    return write_varint(len(header)) + header


def write_section(cid: Cid, block: bytes | memoryview) -> bytes:
    """Encode a block with its CID."""
    binary = cid_bytes(cid)
    return b"".join((write_varint(len(binary) + len(block)), binary, block))


def write_car(root: Cid, blocks: Iterable[tuple[Cid, bytes | memoryview]]) -> Iterator[bytes]:
    """Yield a complete CAR in chunks."""
    yield write_header([root])
    for cid, block in blocks:
        yield write_section(cid, block)


def read_header(read: Read) -> tuple[Cid, ...]:
    """Read the header of a CAR and return its roots. Raises `NotACar`."""
    length = _take_length(read)
    if length is None or length > _LONGEST_HEADER:
        raise NotACar("This is not a CAR: it does not start with a header.")
    header = _take(read, length)
    if not header.startswith(_ROOTS) or not header.endswith(_VERSION_1):
        raise NotACar("The header is not that of a version 1 CAR.")
    links = header[len(_ROOTS) : -len(_VERSION_1)]
    try:
        roots = tuple(_read_links(links))
    except (NotACid, IndexError) as error:
        raise NotACar("The header does not list its roots correctly.") from error
    if not roots or write_header(roots)[-length:] != header:
        raise NotACar("The header does not list its roots correctly.")
    return roots


def read_sections(read: Read) -> Iterator[tuple[Cid, bytes]]:
    """Yield every block after the header, each verified against its CID.

    Raises `NotACar` for a block that is too large or does not match, and for a truncated CAR.
    """
    while (length := _take_length(read)) is not None:
        if length > MAX_BLOCK + _LONGEST_CID:
            raise NotACar(f"A block has more than {MAX_BLOCK} bytes.")
        try:
            cid, block = split_cid(_take(read, length))
        except NotACid as error:
            raise NotACar("A block has a CID of an unsupported kind.") from error
        if len(block) > MAX_BLOCK:
            raise NotACar(f"A block has more than {MAX_BLOCK} bytes.")
        if sha256(block).digest() != digest_of(cid):
            raise NotACar(f"The block {cid} is damaged: its bytes do not match its hash.")
        yield cid, block


def _write_link(binary: bytes) -> bytes:
    # A CID in DAG-CBOR is tag 42 around a byte string that begins with a zero byte.
    return _CID_TAG + bytes([_BYTES, len(binary) + 1]) + b"\0" + binary


def _read_links(links: bytes) -> Iterator[Cid]:
    at = 1
    for _ in range(min(links[0] - _ARRAY, MAX_ROOTS)):
        end = at + 4 + links[at + 3]
        cid, rest = split_cid(links[at + 5 : end])
        if rest:
            raise NotACid("A CID is followed by unexpected bytes.")
        yield cid
        at = end


def _take_length(read: Read) -> int | None:
    try:
        return take_varint(read)
    except NotAVarint as error:
        raise NotACar("The CAR is damaged or truncated: a length is wrong.") from error


def _take(read: Read, length: int) -> bytes:
    taken = read(length)
    if len(taken) != length:
        raise NotACar("The CAR is truncated: it ends inside a block.")
    return taken
