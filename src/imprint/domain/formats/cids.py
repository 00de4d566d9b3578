"""CIDs, the content addresses of IPFS, and the block trees of documents.

This module has four sections: varints, CIDs, the UnixFS tree of a document, and the
assembly of a document from its blocks.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from typing import NewType

from libipld import decode_multibase, encode_multibase

# --- Varints: unsigned numbers, seven bits a byte, the lowest bits first ---

MAX_VARINT_BYTES = 9
"""Maximum length in bytes of a multiformats varint. Its value is below 2^63."""


class NotAVarint(ValueError):
    """The bytes are truncated, or not the shortest possible encoding."""


def write_varint(number: int) -> bytes:
    """Encode a number in as few bytes as possible."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def read_varint(data: bytes, at: int = 0) -> tuple[int, int]:
    """Decode the number at an offset, and return it with the next offset. Raises `NotAVarint`."""
    number = 0
    for index in range(MAX_VARINT_BYTES):
        byte = data[at + index : at + index + 1]
        if not byte:
            break
        number |= (byte[0] & 0x7F) << 7 * index
        if byte[0] < 0x80:
            if byte[0] == 0 and index:
                raise NotAVarint("A number is encoded in more bytes than necessary.")
            return number, at + index + 1
    raise NotAVarint("A number is truncated.")


def take_varint(read: Callable[[int], bytes]) -> int | None:
    """Read the next number from a stream, or None at its end. Raises `NotAVarint`."""
    taken = b""
    while len(taken) < MAX_VARINT_BYTES:
        byte = read(1)
        if not byte and not taken:
            return None
        taken += byte
        if not byte or byte[0] < 0x80:
            break
    return read_varint(taken)[0]


# --- CIDs: a version, a codec, and a SHA-256 digest ---

Cid = NewType("Cid", str)
"""A validated CIDv1 in lower-case base32, so that each content has exactly one `Cid`."""

_SHA2_256 = b"\x12\x20"
"""The multihash code of SHA-256, and the digest length of 32 bytes."""

_DIGEST = 32
"""Size of a SHA-256 digest in bytes."""


class Codec(IntEnum):
    """The format of the hashed bytes: the content itself, or a node that links to parts of it.

    `DAG_JSON` is for export manifests. No request names a CID of this codec, so `parse_cid` refuses
    it.
    """

    RAW = 0x55
    DAG_PB = 0x70
    DAG_JSON = 0x0129


_PREFIXES = {codec: b"\x01" + write_varint(codec) + _SHA2_256 for codec in Codec}
"""The possible prefixes of a binary CID. The digest follows the prefix."""

_PARSED_PREFIXES = {_PREFIXES[Codec.RAW], _PREFIXES[Codec.DAG_PB]}

_LENGTHS = {
    base: length
    for bases, length in (("fF", 73), ("bBvV", 59), ("cCtT", 65), ("kK", 56), ("zZmMuU", 49))
    for base in bases
}
"""Length of the text of a 36-byte CID in each multibase. Other multibases are refused.

libipld refuses stray bits and foreign characters. With a fixed length and padding only at
the end, no CID has two texts in one base, except where the base ignores case.
"""

_VERSION_0_LENGTH = 46


class NotACid(ValueError):
    """The text is not a CID, or is a CID of an unsupported type."""


def parse_cid(text: str) -> Cid:
    """Parse a CID in any common multibase, or a CIDv0, into a base32 CIDv1.

    Raises `NotACid` for a text that is not the canonical form of exactly one CID, for codecs other
    than raw and dag-pb, and for hashes other than SHA-256.
    """
    if len(text) == _VERSION_0_LENGTH and text.startswith("Qm"):
        # CIDv0 is the bare multihash of a dag-pb node, in base58.
        return _check_cid(bytes([1, Codec.DAG_PB]) + _decode_multibase("z" + text))
    if len(text) != _LENGTHS.get(text[:1]):
        raise NotACid("A CID must have the prefix of a known multibase and the matching length.")
    if "=" in text.rstrip("="):
        # libipld also decodes several padded pieces in a row.
        raise NotACid("A CID may have padding only at its end.")
    return _check_cid(_decode_multibase(text))


def cid_of(codec: Codec, digest: bytes) -> Cid:
    """Return the CID of the block with this SHA-256 digest."""
    return _encode_cid(_PREFIXES[codec] + digest)


def cid_bytes(cid: Cid) -> bytes:
    """Return the binary form of a CID, which has 36 bytes, or 37 bytes for DAG-JSON."""
    return decode_multibase(cid)[1]


def codec_of(cid: Cid) -> Codec:
    """Return the codec of a CID."""
    binary = cid_bytes(cid)
    return next(codec for codec, prefix in _PREFIXES.items() if binary.startswith(prefix))


def digest_of(cid: Cid) -> bytes:
    """Return the SHA-256 digest in a CID."""
    return cid_bytes(cid)[-_DIGEST:]


def split_cid(data: bytes) -> tuple[Cid, bytes]:
    """Split `data` into the binary CID at its start and the remaining bytes. Raises `NotACid`."""
    for prefix in _PREFIXES.values():
        end = len(prefix) + _DIGEST
        if data.startswith(prefix) and len(data) >= end:
            return _encode_cid(data[:end]), data[end:]
    raise NotACid("Only CIDv1 with raw, dag-pb or dag-json and SHA-256 is supported.")


def _decode_multibase(text: str) -> bytes:
    try:
        return decode_multibase(text)[1]
    except ValueError:
        raise NotACid("The text is not the canonical form of a CID.") from None


def _check_cid(binary: bytes) -> Cid:
    if len(binary) != 4 + _DIGEST or binary[:4] not in _PARSED_PREFIXES:
        raise NotACid("Only CIDv1 with raw or dag-pb and SHA-256 is supported.")
    return _encode_cid(binary)


def _encode_cid(binary: bytes) -> Cid:
    return Cid(encode_multibase("b", binary))


# --- The UnixFS tree of a document: leaves below balanced dag-pb nodes ---


@dataclass(frozen=True, slots=True)
class Layout:
    """The size of a leaf in bytes, and the number of children of a node.

    Leaves are raw blocks. In CIDv0 trees, leaves are dag-pb nodes, and links are bare multihashes.
    """

    chunk: int
    width: int
    raw: bool = True


KUBO_LAYOUT = Layout(chunk=262_144, width=174)
"""The layout of `ipfs add --cid-version=1`: chunks of 256 KiB, and nodes of up to 174 links."""

WIDE_LAYOUT = Layout(chunk=1_048_576, width=1024)
"""The profile unixfs-v1-2025 of IPIP-0499: chunks of 1 MiB, and nodes of up to 1024 links."""

LAYOUTS = (
    KUBO_LAYOUT,
    WIDE_LAYOUT,
    Layout(KUBO_LAYOUT.chunk, KUBO_LAYOUT.width, raw=False),
    Layout(WIDE_LAYOUT.chunk, KUBO_LAYOUT.width, raw=False),
)
"""The layouts in use, starting with our own.

The others occur in imported documents: the profile of 2025, and both chunk sizes with CIDv0. Up to
174 MiB, `ipfs add --chunker=size-1048576` builds the same trees as the profile of 2025.
"""


_CHUNKS = {each.chunk for each in LAYOUTS}

_LINK_FIELD, _HASH_FIELD, _LEAF_FIELD = 2, 1, 2
"""Protobuf field numbers: a link in a node, the CID in a link, and the content in the data of a
leaf."""


@dataclass(frozen=True, slots=True)
class _Node:
    """The root block of a tree with `length` bytes of content and `total` bytes of blocks."""

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
    """Return the CID of a document, which is the CID of its only chunk or of its root node."""
    if layout.raw and len(data) <= layout.chunk:
        return cid_of(Codec.RAW, sha256(data).digest())
    return _build_tree(data, layout).cid


def layout_of(cid: Cid, data: bytes) -> Layout | None:
    """Return the layout in which these bytes have this CID, or None if no layout gives it."""
    return next((each for each in LAYOUTS if document_cid(data, each) == cid), None)


def blocks(data: bytes, layout: Layout = KUBO_LAYOUT) -> Iterator[tuple[Cid, bytes | memoryview]]:
    """Yield every block of a document with its CID, depth first from the root, in CAR order.

    A block that occurs twice in the tree is yielded twice. Leaves are views of `data`, not
    copies.
    """
    yield from _walk(_build_tree(data, layout))


def blocks_of(cid: Cid, data: bytes) -> Iterator[tuple[Cid, bytes | memoryview]]:
    """Like `blocks`, in the layout in which this document has this CID."""
    return blocks(data, layout_of(cid, data) or KUBO_LAYOUT)


def _walk(root: _Node) -> Iterator[tuple[Cid, bytes | memoryview]]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node.cid, node.block
        waiting.extend(reversed(node.children))


def _build_tree(data: bytes, layout: Layout) -> _Node:
    view = memoryview(data)
    starts = range(0, len(data), layout.chunk) or range(1)
    leaf = _leaf if layout.raw else _leaf_node
    level = [leaf(view[start : start + layout.chunk]) for start in starts]
    while len(level) > 1:
        groups = range(0, len(level), layout.width)
        level = [_join(level[first : first + layout.width], layout) for first in groups]
    return level[0]


def _leaf(chunk: memoryview) -> _Node:
    return _Node(Codec.RAW, sha256(chunk).digest(), chunk, len(chunk), len(chunk))


def _leaf_node(chunk: memoryview) -> _Node:
    data = _encode_field(_LEAF_FIELD, bytes(chunk)) if chunk else b""
    block = _encode_field(1, b"\x08\x02" + data + b"\x18" + write_varint(len(chunk)))
    return _Node(Codec.DAG_PB, sha256(block).digest(), block, len(chunk), len(block))


def _join(children: Sequence[_Node], layout: Layout) -> _Node:
    """Build the dag-pb node above `children`.

    Links come before the data, and each link has an empty name. Other encodings of the same node
    exist, but their CIDs differ from the CIDs that IPFS nodes compute.
    """
    links = b"".join(_encode_field(_LINK_FIELD, _encode_link(child, layout)) for child in children)
    length = sum(child.length for child in children)
    sizes = b"".join(b"\x20" + write_varint(child.length) for child in children)
    block = links + _encode_field(1, b"\x08\x02\x18" + write_varint(length) + sizes)
    total = len(block) + sum(child.total for child in children)
    return _Node(Codec.DAG_PB, sha256(block).digest(), block, length, total, children)


def _encode_link(child: _Node, layout: Layout) -> bytes:
    prefix = _PREFIXES[child.codec] if layout.raw else _SHA2_256
    hash_field = _encode_field(_HASH_FIELD, prefix + child.digest)
    return hash_field + _encode_field(2, b"") + b"\x18" + write_varint(child.total)


def _encode_field(number: int, value: bytes) -> bytes:
    """Encode a protobuf bytes field."""
    return bytes([number << 3 | 2]) + write_varint(len(value)) + value


# --- Assembly: from the blocks of a tree back to the document ---

_LEAF_KEYS = {0x08, 0x12, 0x18}
"""The protobuf keys in the data of a leaf: its type, its content, and the content's size."""

_NODE_KEYS = {0x0A, 0x12}
"""The protobuf keys of a node: its data, and a link."""

_LINK_KEYS = {0x0A, 0x12, 0x18}
"""The protobuf keys of a link: its CID, its name, and the size of the tree below it."""

_BYTES_FIELD = 2
"""The protobuf wire type of a bytes field. The only other type used here is a number."""

MAX_NODES = 4096
"""Maximum number of blocks in a document, so that reading a corrupt tree always ends."""


class NotAssembled(ValueError):
    """The blocks do not form a single document."""


def read_links(block: bytes, most: int = WIDE_LAYOUT.width) -> list[Cid]:
    """Return the CIDs that a dag-pb node links to, in order.

    Raises `NotAssembled`, including for more than `most` links.
    """
    try:
        fields = _read_fields(block, _NODE_KEYS, most + 1)
        return [_read_cid(value) for number, value in fields if number == _LINK_FIELD]
    except (NotAVarint, NotACid) as error:
        raise NotAssembled("A block is not a dag-pb node, or has too many links.") from error


def assemble(cid: Cid, load: Callable[[Cid], bytes], limit: int) -> bytes:
    """Return the document with this CID, assembled from blocks that `load` has verified.

    Raises `NotAssembled` above `limit` bytes, and for a tree other than the one that
    `document_cid` computes for the same bytes in one of the `LAYOUTS`.
    """
    pieces: list[bytes] = []
    length, seen = 0, 0
    # A tree has fewer nodes than leaves, except for one node above one leaf.
    most = min(MAX_NODES, 2 * (limit // min(_CHUNKS) + 2))
    waiting = [cid]
    while waiting:
        at = waiting.pop()
        block = load(at)
        seen += 1
        if seen + len(waiting) > most:
            raise NotAssembled(f"The document {cid} has too many blocks.")
        if codec_of(at) is Codec.DAG_PB:
            links = read_links(block)
            waiting += reversed(links)
            if links:
                continue
            block = _read_leaf(block)
        # Checked here and not only at the end: a few bytes in blocks can expand into a large
        # document.
        chunk = len(pieces[0]) if pieces else max(_CHUNKS)
        if len(block) > chunk or (pieces and (chunk not in _CHUNKS or len(pieces[-1]) != chunk)):
            raise NotAssembled(f"The blocks of {cid} are not those of a document.")
        pieces.append(block)
        length += len(block)
        if length > limit:
            raise NotAssembled(f"The document {cid} is larger than it should be.")
    document = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    if layout_of(cid, document) is None:
        raise NotAssembled(f"The blocks of {cid} are not those of a document.")
    return document


def _read_leaf(block: bytes) -> bytes:
    """Return the content of a dag-pb node without links."""
    try:
        data = [value for _, value in _read_fields(block, _NODE_KEYS, 1)]
        fields = _read_fields(b"".join(data), _LEAF_KEYS, len(_LEAF_KEYS))
        return b"".join(value for _, value in fields)
    except NotAVarint as error:
        raise NotAssembled("A block is not a leaf of a document.") from error


def _read_cid(link: bytes) -> Cid:
    fields = _read_fields(link, _LINK_KEYS, len(_LINK_KEYS))
    hashes = [value for number, value in fields if number == _HASH_FIELD]
    if len(hashes) != 1:
        raise NotACid("A link has no CID.")
    if hashes[0].startswith(_SHA2_256) and len(hashes[0]) == len(_SHA2_256) + _DIGEST:
        return cid_of(Codec.DAG_PB, hashes[0][-_DIGEST:])
    cid, rest = split_cid(hashes[0])
    if rest or codec_of(cid) is Codec.DAG_JSON:
        raise NotACid("A link does not lead to a part of a document.")
    return cid


def _read_fields(message: bytes, keys: set[int], most: int) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes fields of a protobuf message that have these keys, skipping numeric fields.

    Raises `NotAVarint`, including for more than `most` fields.
    """
    at, count = 0, 0
    while at < len(message):
        key, at = read_varint(message, at)
        value, at = read_varint(message, at)
        count += 1
        if key not in keys or count > most:
            raise NotAVarint("A message has an unknown field, or too many fields.")
        if key & 7 == _BYTES_FIELD:
            if at + value > len(message):
                raise NotAVarint("A field extends past the end of its message.")
            yield key >> 3, message[at : at + value]
            at += value
