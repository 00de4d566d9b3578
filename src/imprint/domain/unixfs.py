"""UnixFS: how a document becomes blocks, so that every IPFS node finds the same cid for it.

A document of one chunk is its own block. A larger one is cut into chunks, which are the leaves of
a balanced tree: nodes link to up to `width` children, level by level, until one is left.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from imprint.domain.cids import Cid, Codec, cid_of
from imprint.domain.varints import write_varint


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
    links = b"".join(_field(2, _link(child)) for child in children)
    length = sum(child.length for child in children)
    sizes = b"".join(b"\x20" + write_varint(child.length) for child in children)
    block = links + _field(1, b"\x08\x02\x18" + write_varint(length) + sizes)
    total = len(block) + sum(child.total for child in children)
    return _Node(Codec.DAG_PB, sha256(block).digest(), block, length, total, children)


def _link(child: _Node) -> bytes:
    binary = bytes([1, child.codec, 0x12, 0x20]) + child.digest
    return _field(1, binary) + _field(2, b"") + b"\x18" + write_varint(child.total)


def _field(number: int, value: bytes) -> bytes:
    """A protobuf field of bytes."""
    return bytes([number << 3 | 2]) + write_varint(len(value)) + value
