"""The CID of a document is the same as the one that IPFS computes."""

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.domain.formats.cids import (
    KUBO_LAYOUT,
    LAYOUTS,
    WIDE_LAYOUT,
    Codec,
    Layout,
    NotAssembled,
    assemble,
    blocks,
    blocks_of,
    cid_bytes,
    cid_of,
    codec_of,
    document_cid,
    layout_of,
    parse_cid,
)

FOLDER = Path(__file__).parents[2] / "vectors"
VECTORS = json.loads((FOLDER / "cid.json").read_text())["vectors"]
VERSION_0 = json.loads((FOLDER / "cid_version_0.json").read_text())["vectors"]

small_layouts = st.builds(Layout, chunk=st.integers(1, 9), width=st.integers(2, 5))
documents = st.binary(max_size=400)


def name_vector(vector: dict[str, object]) -> str:
    return f"{vector.get('text', vector.get('size'))} in {vector['chunk']}"


@pytest.mark.parametrize("vector", VECTORS, ids=name_vector)
def test_the_cid_of_a_document_matches_ipfs(vector: dict[str, object]) -> None:
    text = vector.get("text")
    data = text.encode() if isinstance(text, str) else bytes(int(str(vector["size"])))
    layout = Layout(int(str(vector["chunk"])), int(str(vector["width"])))
    assert layout in (KUBO_LAYOUT, WIDE_LAYOUT)
    assert document_cid(data, layout) == vector["cid"]


@pytest.mark.parametrize("vector", VERSION_0, ids=name_vector)
def test_the_version_0_cid_of_a_document_matches_ipfs(vector: dict[str, object]) -> None:
    data = bytes(int(str(vector["size"])))
    layout = Layout(int(str(vector["chunk"])), int(str(vector["width"])), raw=False)
    assert layout in LAYOUTS
    cid = parse_cid(str(vector["cid"]))
    assert document_cid(data, layout) == cid
    assert layout_of(cid, data) is not None
    assert layout_of(cid, data + b"\0") is None


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", [0, 1, 262_145, 1_048_577, 2_500_000])
def test_a_document_in_every_layout_is_assembled_from_its_blocks(layout: Layout, size: int) -> None:
    data = Random(size).randbytes(size)
    cid = document_cid(data, layout)
    found = {each: bytes(block) for each, block in blocks_of(cid, data)}
    assert next(iter(found)) == cid
    assert assemble(cid, found.__getitem__, size) == data


@pytest.mark.parametrize("layout", LAYOUTS)
def test_leaves_of_unexpected_sizes_are_refused(layout: Layout) -> None:
    odd = replace(layout, chunk=100_000)
    data = bytes(300_000)
    cid = document_cid(data, odd)
    with pytest.raises(NotAssembled):
        assemble(
            cid, {each: bytes(block) for each, block in blocks(data, odd)}.__getitem__, 300_000
        )


def test_the_default_layout_matches_ipfs_add() -> None:
    data = bytes(300_000)
    assert document_cid(data) == document_cid(data, KUBO_LAYOUT)
    assert document_cid(data) != document_cid(data, WIDE_LAYOUT)


def test_a_document_of_one_chunk_is_a_single_block() -> None:
    assert list(blocks(b"hello world")) == [(document_cid(b"hello world"), b"hello world")]


def test_an_empty_document_has_one_empty_block() -> None:
    assert list(blocks(b"")) == [(document_cid(b""), b"")]


def test_leaves_are_views_of_the_document_rather_than_copies() -> None:
    data = bytes(300_000)
    leaves = [block for cid, block in blocks(data) if codec_of(cid) is Codec.RAW]
    assert all(isinstance(leaf, memoryview) and leaf.obj is data for leaf in leaves)


@given(documents, small_layouts)
def test_the_first_block_is_the_root(data: bytes, layout: Layout) -> None:
    assert next(blocks(data, layout))[0] == document_cid(data, layout)


@given(documents, small_layouts)
def test_every_block_matches_its_cid(data: bytes, layout: Layout) -> None:
    for cid, block in blocks(data, layout):
        assert cid_of(codec_of(cid), sha256(block).digest()) == cid


@given(documents, small_layouts)
def test_the_leaves_in_order_make_up_the_document(data: bytes, layout: Layout) -> None:
    leaves = [bytes(block) for cid, block in blocks(data, layout) if codec_of(cid) is Codec.RAW]
    assert b"".join(leaves) == data
    assert all(0 < len(leaf) <= layout.chunk for leaf in leaves) or leaves == [b""]


@given(documents, small_layouts)
def test_every_block_is_linked_from_an_earlier_one(data: bytes, layout: Layout) -> None:
    seen = b""
    for place, (cid, block) in enumerate(blocks(data, layout)):
        assert place == 0 or cid_bytes(cid) in seen
        seen += bytes(block)


@given(documents, documents, small_layouts)
def test_different_documents_have_different_cids(a: bytes, b: bytes, layout: Layout) -> None:
    assert (document_cid(a, layout) == document_cid(b, layout)) is (a == b)
