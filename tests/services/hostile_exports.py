"""Hostile exports: one function per attack, so that a finding can be replayed.

Each export is signed and small, but claims to contain something expensive.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from imprint.auth.export_keys import ExportKey
from imprint.domain.drafts.documents import write_document
from imprint.domain.drafts.files import File, State
from imprint.domain.exports import (
    ExportedFile,
    Manifest,
    SignedRoot,
    signed_bytes,
    write_index,
    write_manifest,
    write_page,
    write_record,
    write_signed_root,
)
from imprint.domain.formats.car import write_header, write_section
from imprint.domain.formats.cids import (
    Cid,
    Codec,
    blocks,
    cid_bytes,
    cid_of,
    document_cid,
    write_varint,
)
from imprint.domain.formats.dag_json import node_cid, write_node

KEY = ExportKey(bytes(range(32)))
OWNER = "0x" + "11" * 20
MARKETPLACE = "0x5fbdb2315678afecb367f032d93f642f64180aa3"
MOMENT = datetime(2026, 11, 15, tzinfo=UTC)
LEAF = 262_144
WIDTH = 174
ABSENT = cid_of(Codec.RAW, bytes(32))
"""The CID of a missing block."""

Block = tuple[Cid, bytes]


# --- Parts of exports ---


def car_of(root: bytes, *parts: bytes | Block) -> bytes:
    """A CAR file with DAG-JSON nodes and other blocks, each of which occurs once."""
    sections = [(node_cid(each), each) if isinstance(each, bytes) else each for each in parts]
    unique = dict([(node_cid(root), root), *sections])
    written = b"".join(write_section(cid, block) for cid, block in unique.items())
    return write_header([node_cid(root)]) + written


def signed(manifest: bytes, *parts: bytes | Block) -> bytes:
    """An export with this manifest and these blocks."""
    signature = KEY.sign(signed_bytes(manifest))
    root = write_signed_root(SignedRoot(node_cid(manifest), KEY.public, signature))
    return car_of(root, manifest, *parts)


def manifest_of(pages: Sequence[Cid], files: int) -> bytes:
    return write_manifest(Manifest(MOMENT, 31337, MARKETPLACE, None, files, tuple(pages)))


def file_of(number: int, cid: Cid, size: int, **given: Any) -> ExportedFile:
    made = {
        "id": str(UUID(int=number)),
        "group_id": str(UUID(int=number + 2**64)),
        "owner": OWNER,
        "name": f"{OWNER}_{number}",
        "cid": cid,
        "size": size,
        "created_at": MOMENT,
        "state": State.PENDING,
        "position": 0,
        **given,
    }
    return ExportedFile(File(**made))


def with_files(files: Sequence[ExportedFile], *parts: bytes | Block) -> bytes:
    """An export of these files, 250 per page."""
    pages = [write_page(list(files[at : at + 250])) for at in range(0, len(files), 250)]
    manifest = manifest_of([node_cid(page) for page in pages], len(files))
    return signed(manifest, *pages, *parts)


def with_document(cid: Cid, size: int, *parts: bytes | Block, **given: Any) -> bytes:
    """An export of one file whose document has this CID."""
    return with_files([file_of(0, cid, size, **given)], *parts)


def with_page(page: bytes) -> bytes:
    return signed(manifest_of([node_cid(page)], 1), page)


def raw(data: bytes) -> Block:
    return cid_of(Codec.RAW, sha256(data).digest()), data


def dag_pb(block: bytes) -> Block:
    return cid_of(Codec.DAG_PB, sha256(block).digest()), block


def field(key: int, value: bytes) -> bytes:
    return bytes([key]) + write_varint(len(value)) + value


def link_to(cid: Cid, size: int = 0) -> bytes:
    inner = field(0x0A, cid_bytes(cid)) + field(0x12, b"") + b"\x18" + write_varint(size)
    return field(0x12, inner)


def tree_above(child: Block, levels: int, width: int) -> list[Block]:
    """Levels of nodes. Each node links `width` times to the node below it."""
    made = [child]
    for _ in range(levels):
        data = field(0x0A, b"\x08\x02\x18" + write_varint(2**40))
        made.append(dag_pb(link_to(made[-1][0], 2**40) * width + data))
    return made


def document(content: str, number: int = 0) -> bytes:
    return write_document(content, f"{OWNER}_{number}", bytes(16))


def valid() -> bytes:
    """A valid export of three files, one of which consists of a tree of blocks."""
    documents = [document("A.", 0), document("B. " * 200_000, 1), document("C.", 2)]
    files = [
        file_of(number, document_cid(each), len(each)) for number, each in enumerate(documents)
    ]
    parts = [(cid, bytes(block)) for each in documents for cid, block in blocks(each)]
    return with_files(files, *parts)


# --- Pages and indexes ---


def index_that_names_pages_twice() -> bytes:
    """An export of 8 KB that appears to contain 2^40 pages."""
    nodes = [write_node({"files": []})]
    for _ in range(40):
        nodes.append(write_index([node_cid(nodes[-1])] * 2))
    return signed(manifest_of([node_cid(nodes[-1])], 2**40), *nodes)


def index_that_names_a_full_page_twice() -> bytes:
    data = document("A.")
    page = write_page([file_of(0, document_cid(data), len(data))])
    index = write_index([node_cid(page)] * 2)
    return signed(manifest_of([node_cid(index)], 2), index, page, raw(data))


def indexes_without_end() -> bytes:
    nodes = [write_index([ABSENT])]
    for _ in range(5000):
        nodes.append(write_index([node_cid(nodes[-1])]))
    return signed(manifest_of([node_cid(nodes[-1])], 1), *nodes)


def index_of_many_links() -> bytes:
    return with_page(write_index([ABSENT] * 28_000))


def index_of_nothing() -> bytes:
    return with_page(write_index([]))


def page_of_nothing() -> bytes:
    return with_page(write_node({"files": []}))


def page_of_a_million_objects() -> bytes:
    return with_page(b'{"files":[' + b"{}," * 690_000 + b"{}]}")


def page_nested_too_deep() -> bytes:
    return with_page(b'{"files":' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}")


def more_files_than_counted() -> bytes:
    data = document("A.")
    page = write_page([file_of(number, document_cid(data), len(data)) for number in range(3)])
    return signed(manifest_of([node_cid(page)], 1), page, raw(data))


def two_records_of_one_document() -> bytes:
    data = document("A.")
    files = [file_of(number, document_cid(data), len(data)) for number in range(2)]
    return with_files(files, raw(data))


# --- Manifests, roots and records ---


def _changed_manifest(**given: Any) -> bytes:
    made = {
        "chain_id": 31337,
        "files": 0,
        "made_at": "2026-11-15T00:00:00.000000Z",
        "marketplace": MARKETPLACE,
        "owner": None,
        "pages": [],
        **given,
    }
    return signed(write_node(made))


def manifest_nested_too_deep() -> bytes:
    return signed(b"[" * 500_000)


def manifest_with_a_huge_number() -> bytes:
    return _changed_manifest(files=10**4000)


def manifest_with_more_digits_than_are_parsed() -> bytes:
    return signed(b'{"files":' + b"9" * 1_000_000 + b"}")


def manifest_with_a_negative_count() -> bytes:
    return _changed_manifest(files=-1)


def manifest_with_a_yes_for_a_chain() -> bytes:
    return _changed_manifest(chain_id=True)


def manifest_that_is_no_utf_8() -> bytes:
    return signed(b'{"files":"\xff\xfe"}')


def manifest_of_duplicate_members() -> bytes:
    return signed(b'{"files":1,"files":1}')


def link_that_is_a_list() -> bytes:
    return signed(b'{"/":["bafy"]}')


def link_that_is_an_object() -> bytes:
    return signed(b'{"/":{"a":1}}')


def bytes_that_are_a_list() -> bytes:
    return signed(b'{"/":{"bytes":["a"]}}')


def key_of_a_megabyte() -> bytes:
    manifest = manifest_of([], 0)
    return car_of(
        write_signed_root(SignedRoot(node_cid(manifest), bytes(1_000_000), bytes(64))), manifest
    )


def root_that_is_its_own_manifest() -> bytes:
    return car_of(write_node({"kind": "imprint-export", "version": 1}))


def number_that_leaves_none_for_the_next_name() -> bytes:
    data = write_document("A.", f"{OWNER}_{2**63 - 1}", bytes(16))
    return with_document(document_cid(data), len(data), raw(data), name=f"{OWNER}_{2**63 - 1}")


def record_of_wrong_types() -> bytes:
    record = write_record(file_of(0, ABSENT, 1)) | {"hashtags": [["a"], {"b": 1}]}
    return with_page(write_node({"files": [record]}))


# --- Documents ---


def node_of_a_million_links() -> bytes:
    node = dag_pb(b"\x12\x00" * 1_000_000)
    return with_document(node[0], 10**6, node)


def node_of_fifty_thousand_links() -> bytes:
    node = dag_pb(link_to(ABSENT) * 45_000)
    return with_document(node[0], 10**6, node)


def node_of_a_million_numbers() -> bytes:
    node = dag_pb(b"\x08\x00" * 1_000_000)
    return with_document(node[0], 10**6, node)


def link_of_a_million_numbers() -> bytes:
    node = dag_pb(field(0x12, b"\x18\x00" * 1_000_000))
    return with_document(node[0], 10**6, node)


def tree_that_repeats_a_large_leaf() -> bytes:
    """An export of two megabytes that expands to gigabytes, but claims to be fifteen megabytes."""
    made = tree_above(raw(b"a" * 2_000_000), 3, WIDTH)
    return with_document(made[-1][0], 15_000_000, *made)


def tree_that_repeats_a_leaf() -> bytes:
    """A tree that expands to gigabytes from one leaf of a valid size."""
    made = tree_above(raw(b"a" * LEAF), 3, WIDTH)
    return with_document(made[-1][0], 15_000_000, *made)


def tree_that_claims_a_terabyte() -> bytes:
    made = tree_above(raw(b"a" * LEAF), 3, WIDTH)
    return with_document(made[-1][0], 2**40, *made)


def tree_that_repeats_an_empty_leaf() -> bytes:
    made = tree_above(raw(b""), 6, WIDTH)
    return with_document(made[-1][0], 15_000_000, *made)


def tree_that_repeats_a_node_without_leaves() -> bytes:
    made = tree_above(dag_pb(field(0x0A, b"\x08\x02")), 40, 2)
    return with_document(made[-1][0], 15_000_000, *made)


def tree_too_deep() -> bytes:
    made = tree_above(raw(b"a"), 10_000, 1)
    return with_document(made[-1][0], 15_000_000, *made)


def documents_that_repeat_a_leaf() -> bytes:
    """Valid documents of 12 MB each that share their blocks."""
    made = {}
    files = []
    for number in range(5):
        data = document("a" * (12 * 1024 * 1024), number)
        made |= {cid: bytes(block) for cid, block in blocks(data)}
        files.append(file_of(number, document_cid(data), len(data)))
    return with_files(files, *made.items())


def sizes_that_lie() -> bytes:
    """A tree whose node claims wrong sizes for its two leaves."""
    leaves = [raw(bytes([each]) * LEAF) for each in range(2)]
    data = field(0x0A, b"\x08\x02\x18\x05\x20\x02\x20\x03")
    node = dag_pb(b"".join(link_to(cid, 2**62) for cid, _ in leaves) + data)
    return with_document(node[0], 2 * LEAF, node, *leaves)


def varint_without_end() -> bytes:
    node = dag_pb(b"\x12" + b"\xff" * 1000)
    return with_document(node[0], 10**6, node)


def field_that_ends_outside() -> bytes:
    node = dag_pb(b"\x12" + write_varint(2**62) + b"a")
    return with_document(node[0], 10**6, node)


def link_to_an_identity_cid() -> bytes:
    node = dag_pb(field(0x12, field(0x0A, b"\x01\x55\x00\x04text")))
    return with_document(node[0], 4, node)


def document_of_lists() -> bytes:
    """An export of sixteen megabytes that decodes to a gigabyte of Python lists."""
    data = b'{"content":[' + b"[]," * 5_400_000 + b'[]],"name":"","salt":""}'
    parts = [(cid, bytes(block)) for cid, block in blocks(data)]
    return with_document(document_cid(data), len(data), *parts)


def document_nested_too_deep() -> bytes:
    data = b'{"content":' + b"[" * 200_000
    return with_document(document_cid(data), len(data), raw(data))


def document_whose_name_moves_the_cursor() -> bytes:
    data = write_document("A.", "\x1b[2J" * 1000, bytes(16))
    return with_document(document_cid(data), len(data), raw(data))


def thumbnail_that_repeats_a_leaf() -> bytes:
    data = document("A.")
    made = tree_above(raw(b"\x89PNG\r\n\x1a\n" + b"a" * (LEAF - 8)), 3, WIDTH)
    return with_document(document_cid(data), len(data), raw(data), *made, thumbnail_cid=made[-1][0])


# --- The CAR around them ---


def nothing() -> bytes:
    return b""


def zeros() -> bytes:
    return bytes(100_000)


def header_that_claims_an_exabyte() -> bytes:
    return write_varint(2**60) + b"\xa2eroots"


def header_of_too_many_roots() -> bytes:
    header = b"\xa2eroots\x9a\xff\xff\xff\xff" + b"\x00" * 500 + b"gversion\x01"
    return write_varint(len(header)) + header


def header_length_without_end() -> bytes:
    return b"\xff" * 100


def block_that_claims_an_exabyte() -> bytes:
    return valid() + write_varint(2**60) + cid_bytes(ABSENT)


def block_of_three_megabytes() -> bytes:
    return valid() + write_section(*raw(bytes(3 * 1024 * 1024)))


def block_of_an_identity_cid() -> bytes:
    return valid() + b"\x08\x01\x55\x00\x04text"


def block_of_no_bytes() -> bytes:
    return valid() + b"\x00" * 1000


def many_tiny_blocks() -> bytes:
    tiny = b"".join(write_section(*raw(number.to_bytes(3, "big"))) for number in range(30_000))
    return valid() + tiny


def one_tiny_block_many_times() -> bytes:
    return valid() + write_section(*raw(b"")) * 30_000


def half() -> bytes:
    whole = valid()
    return whole[: len(whole) // 2]


def _attacks() -> dict[str, Callable[[], bytes]]:
    parts = {
        "car_of", "signed", "manifest_of", "file_of", "with_files", "with_document", "with_page",
        "raw", "dag_pb", "field", "link_to", "tree_above", "document", "valid",
    }  # fmt: skip
    return {
        name: value
        for name, value in globals().items()
        if getattr(value, "__module__", None) == __name__
        and not name.startswith("_")
        and name not in parts
    }


EXPORTS: dict[str, Callable[[], bytes]] = _attacks()
"""All hostile exports, by the name of the attack."""
