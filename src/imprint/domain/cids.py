"""Varints: numbers as IPFS writes them, seven bits a byte, the lowest first."""

from base64 import b32decode, b32encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from hashlib import sha256
from typing import NewType

MAX_VARINT_BYTES = 9
"""More bytes than this no varint has: its number is below 2^63."""


class NotAVarint(ValueError):
    """The bytes do not end, or could be written with fewer."""


def write_varint(number: int) -> bytes:
    """The number in as few bytes as possible."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def read_varint(data: bytes, at: int = 0) -> tuple[int, int]:
    """The number at a place, and the place after it. Refuses with `NotAVarint`."""
    number = 0
    for index in range(MAX_VARINT_BYTES):
        byte = data[at + index : at + index + 1]
        if not byte:
            break
        number |= (byte[0] & 0x7F) << 7 * index
        if byte[0] < 0x80:
            if byte[0] == 0 and index:
                raise NotAVarint("A number is written with more bytes than it needs.")
            return number, at + index + 1
    raise NotAVarint("A number does not end.")


def take_varint(read: Callable[[int], bytes]) -> int | None:
    """The next number of a stream; None at its end. Refuses with `NotAVarint`."""
    taken = b""
    while len(taken) < MAX_VARINT_BYTES:
        byte = read(1)
        if not byte and not taken:
            return None
        taken += byte
        if not byte or byte[0] < 0x80:
            break
    return read_varint(taken)[0]


Cid = NewType("Cid", str)
"""A CIDv1 in lower-case base32, checked: one text for one content."""

MAX_CID_LENGTH = 128
"""Longer texts are refused unread; the longest spelling understood here has 73 characters."""

_SHA2_256 = b"\x12\x20"
"""The multihash code of SHA-256, and its length of 32 bytes."""

_DIGEST = 32
"""How many bytes a digest has."""


class Codec(IntEnum):
    """What the hashed bytes are: the content itself, or a node that links to pieces of it.

    `DAG_JSON` is for the manifests of exports, which nobody names to the service: such a cid is
    made and split here, but never parsed from a text.
    """

    RAW = 0x55
    DAG_PB = 0x70
    DAG_JSON = 0x0129


_PREFIXES = {codec: b"\x01" + write_varint(codec) + _SHA2_256 for codec in Codec}
"""How the binary form of a cid begins; the digest follows."""


class NotACid(ValueError):
    """The text is no cid, or one of a kind that is never made here."""


@dataclass(frozen=True, slots=True)
class _Spelling:
    """How the 36 bytes of a cid look in one base.

    All those cids begin with the same few bits, so in every base they have one length; a text of
    that length with the right first and last bits is the only one for its bytes.
    """

    digits: dict[str, int]
    radix: int
    length: int
    spare_bits: int = 0
    padding: str = ""


def _spell(alphabet: str, length: int, spare_bits: int = 0, padding: str = "") -> _Spelling:
    digits = {char: value for value, char in enumerate(alphabet)}
    return _Spelling(digits, len(alphabet), length, spare_bits, padding)


def _spell_any_case(alphabet: str, length: int, spare_bits: int = 0, pad: str = "") -> _Spelling:
    exact = _spell(alphabet, length, spare_bits, pad)
    upper = {char.upper(): value for char, value in exact.digits.items()}
    return _Spelling(exact.digits | upper, exact.radix, length, spare_bits, pad)


_LOWER = "abcdefghijklmnopqrstuvwxyz"
_BITCOIN = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_FLICKR = "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"
_DIGITS = "0123456789"
_BASE16 = _spell_any_case(_DIGITS + "abcdef", 72)
_BASE32 = _spell_any_case(_LOWER + "234567", 58, 2)
_BASE32_PADDED = _spell_any_case(_LOWER + "234567", 58, 2, "=" * 6)
_BASE32HEX = _spell_any_case(_DIGITS + "abcdefghijklmnopqrstuv", 58, 2)
_BASE32HEX_PADDED = _spell_any_case(_DIGITS + "abcdefghijklmnopqrstuv", 58, 2, "=" * 6)
_BASE36 = _spell_any_case(_DIGITS + _LOWER, 55)
_BASE64 = _spell(_LOWER.upper() + _LOWER + _DIGITS + "+/", 48)
_BASE64URL = _spell(_LOWER.upper() + _LOWER + _DIGITS + "-_", 48)

_SPELLINGS = {
    "f": _BASE16,
    "F": _BASE16,
    "b": _BASE32,
    "B": _BASE32,
    "c": _BASE32_PADDED,
    "C": _BASE32_PADDED,
    "v": _BASE32HEX,
    "V": _BASE32HEX,
    "t": _BASE32HEX_PADDED,
    "T": _BASE32HEX_PADDED,
    "k": _BASE36,
    "K": _BASE36,
    "z": _spell(_BITCOIN, 48),
    "Z": _spell(_FLICKR, 48),
    "m": _BASE64,
    "M": _BASE64,
    "u": _BASE64URL,
    "U": _BASE64URL,
}
"""The multibase prefixes, as their registry has them: bases 16, 32 and 36 ignore case.

The padded forms of base 64 are the bare ones, since 36 bytes leave nothing to pad.
"""

_VERSION_0 = _spell(_BITCOIN, 46)
"""The old spelling: the multihash alone, in base58, always of a dag-pb node."""


@lru_cache(maxsize=8192)
def parse_cid(text: str) -> Cid:
    """The cid written as `text`, in CIDv1 and base32.

    Refuses, with `NotACid`, what is not exactly one cid in a known spelling, and every codec but
    raw and dag-pb and every hash but SHA-256: no other is made here.
    """
    if len(text) > MAX_CID_LENGTH:
        raise NotACid("A cid is shorter than this.")
    if len(text) == _VERSION_0.length and text.startswith("Qm"):
        multihash = _decode(text, _VERSION_0, 34)
        return _check(bytes([1, Codec.DAG_PB]) + multihash)
    spelling = _SPELLINGS.get(text[:1])
    if spelling is None:
        raise NotACid("A cid begins with the letter of a known multibase, or with Qm.")
    return _check(_decode(text[1:], spelling, 36))


def cid_of(codec: Codec, digest: bytes) -> Cid:
    """The cid of what has this SHA-256 digest."""
    return _write(_PREFIXES[codec] + digest)


@lru_cache(maxsize=8192)
def cid_bytes(cid: Cid) -> bytes:
    """The cid in its binary form: 36 bytes, or 37 with DAG-JSON."""
    return b32decode(cid[1:].upper() + "=" * (-(len(cid) - 1) % 8))


def codec_of(cid: Cid) -> Codec:
    """Whether the cid is of the content itself, or of a node above pieces of it."""
    binary = cid_bytes(cid)
    return next(codec for codec, prefix in _PREFIXES.items() if binary.startswith(prefix))


def digest_of(cid: Cid) -> bytes:
    """The SHA-256 digest in a cid."""
    return cid_bytes(cid)[-_DIGEST:]


def split_cid(data: bytes) -> tuple[Cid, bytes]:
    """The cid in binary that `data` begins with, and what follows it. Refuses with `NotACid`."""
    for prefix in _PREFIXES.values():
        end = len(prefix) + _DIGEST
        if data.startswith(prefix) and len(data) >= end:
            return _write(data[:end]), data[end:]
    raise NotACid("Only CIDv1 of raw, dag-pb or dag-json with SHA-256 is understood here.")


def _decode(text: str, spelling: _Spelling, size: int) -> bytes:
    digits = text.removesuffix(spelling.padding)
    if len(text) != spelling.length + len(spelling.padding) or len(digits) != spelling.length:
        raise NotACid("A cid in this spelling has another length.")
    number = 0
    try:
        for char in digits:
            number = number * spelling.radix + spelling.digits[char]
    except KeyError:
        raise NotACid("A character does not belong to the spelling of this cid.") from None
    if number & ((1 << spelling.spare_bits) - 1) or (number >> spelling.spare_bits) >> (8 * size):
        raise NotACid("This spelling is not the canonical one of its bytes.")
    return (number >> spelling.spare_bits).to_bytes(size)


def _check(binary: bytes) -> Cid:
    if binary[0] != 1 or binary[1] not in (Codec.RAW, Codec.DAG_PB) or binary[2:4] != _SHA2_256:
        raise NotACid("Only CIDv1 of raw or dag-pb with SHA-256 is understood here.")
    return _write(binary)


@lru_cache(maxsize=8192)
def _write(binary: bytes) -> Cid:
    # Whoever makes a document and whoever stores it both spell its cid.
    return Cid("b" + b32encode(binary).decode().rstrip("=").lower())


@dataclass(frozen=True, slots=True)
class Layout:
    """How large a leaf is in bytes, and how many children a node has."""

    chunk: int
    width: int


KUBO_LAYOUT = Layout(chunk=262_144, width=174)
"""What `ipfs add --cid-version=1` does: 256 KiB, and as many links as fit into 8 KiB."""

WIDE_LAYOUT = Layout(chunk=1_048_576, width=1024)
"""The profile unixfs-v1-2025 of IPIP-0499: 1 MiB, and 1024 links."""


@dataclass(frozen=True, slots=True)
class _Node:
    """A block and what hangs below it: `length` bytes of content in `total` bytes of blocks."""

    codec: Codec
    digest: bytes
    block: bytes | memoryview
    length: int
    total: int
    children: Sequence["_Node"] = ()

    @property
    def cid(self) -> Cid:
        return cid_of(self.codec, self.digest)


def document_cid(data: bytes, layout: Layout = KUBO_LAYOUT) -> Cid:
    """The cid of a document: of its bytes if they are one chunk, otherwise of its tree."""
    if len(data) <= layout.chunk:
        return cid_of(Codec.RAW, sha256(data).digest())
    return _plant(data, layout).cid


def blocks(data: bytes, layout: Layout = KUBO_LAYOUT) -> Iterator[tuple[Cid, bytes | memoryview]]:
    """Every block of a document with its cid, depth first from the root, as a CAR has them.

    A block that occurs twice in the tree comes twice. Leaves are views of `data`, not copies.
    """
    waiting = [_plant(data, layout)]
    while waiting:
        node = waiting.pop()
        yield node.cid, node.block
        waiting.extend(reversed(node.children))


def _plant(data: bytes, layout: Layout) -> _Node:
    view = memoryview(data)
    starts = range(0, len(data), layout.chunk) or range(1)
    level = [_leaf(view[start : start + layout.chunk]) for start in starts]
    while len(level) > 1:
        groups = range(0, len(level), layout.width)
        level = [_join(level[first : first + layout.width]) for first in groups]
    return level[0]


def _leaf(chunk: memoryview) -> _Node:
    return _Node(Codec.RAW, sha256(chunk).digest(), chunk, len(chunk), len(chunk))


def _join(children: Sequence[_Node]) -> _Node:
    """The dag-pb node above `children`.

    Links come before the data, and each carries an empty name: other encodings of the same node
    exist, but they would have other cids than those that IPFS nodes make.
    """
    links = b"".join(_encode_field(2, _encode_link(child)) for child in children)
    length = sum(child.length for child in children)
    sizes = b"".join(b"\x20" + write_varint(child.length) for child in children)
    block = links + _encode_field(1, b"\x08\x02\x18" + write_varint(length) + sizes)
    total = len(block) + sum(child.total for child in children)
    return _Node(Codec.DAG_PB, sha256(block).digest(), block, length, total, children)


def _encode_link(child: _Node) -> bytes:
    binary = bytes([1, child.codec, 0x12, 0x20]) + child.digest
    return _encode_field(1, binary) + _encode_field(2, b"") + b"\x18" + write_varint(child.total)


def _encode_field(number: int, value: bytes) -> bytes:
    """A protobuf field of bytes."""
    return bytes([number << 3 | 2]) + write_varint(len(value)) + value


_LINK_FIELD, _HASH_FIELD = 2, 1
"""The numbers of two fields: a link of a node, and the cid in a link."""

_BYTES_FIELD, _NUMBER_FIELD = 2, 0
"""The types of protobuf fields that nodes have."""

MAX_NODES = 4096
"""How many blocks a document may have, so that links in circles of damage end somewhere."""


class NotAssembled(ValueError):
    """The blocks are not those of one document."""


def read_links(block: bytes) -> list[Cid]:
    """The cids that a dag-pb node links to, in order. Refuses with `NotAssembled`."""
    try:
        links = [value for number, value in _read_fields(block) if number == _LINK_FIELD]
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
    hashes = [value for number, value in _read_fields(link) if number == _HASH_FIELD]
    if len(hashes) != 1:
        raise NotACid("A link leads nowhere.")
    cid, rest = split_cid(hashes[0])
    if rest or codec_of(cid) is Codec.DAG_JSON:
        raise NotACid("A link leads to no part of a document.")
    return cid


def _read_fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of bytes of a protobuf message; numbers are passed over."""
    at = 0
    while at < len(message):
        key, at = read_varint(message, at)
        value, at = read_varint(message, at)
        if key & 7 == _BYTES_FIELD and at + value <= len(message):
            yield key >> 3, message[at : at + value]
            at += value
        elif key & 7 != _NUMBER_FIELD:
            raise NotAVarint("A field ends outside its message, or has a strange type.")
