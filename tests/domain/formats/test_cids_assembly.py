"""Assembling documents from their blocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.domain.formats.cids import (
    Layout,
    NotAssembled,
    assemble,
    blocks,
    document_cid,
    read_links,
)

LARGE = bytes(range(256)) * 5000


def store(data, *layout):
    return {cid: bytes(block) for cid, block in blocks(data, *layout)}


@pytest.mark.parametrize("data", [b"", b"x", bytes(262_144), LARGE])
def test_a_document_is_reassembled_from_its_blocks(data):
    assert assemble(document_cid(data), store(data).__getitem__, len(data)) == data


def test_a_document_larger_than_expected_is_refused():
    with pytest.raises(NotAssembled, match="larger"):
        assemble(document_cid(LARGE), store(LARGE).__getitem__, len(LARGE) - 1)


@pytest.mark.parametrize("layout", [Layout(262_144, width=2), Layout(100_000, width=2)])
def test_a_tree_of_a_different_shape_is_refused(layout):
    root = document_cid(LARGE, layout)
    with pytest.raises(NotAssembled, match="are not those of a document"):
        assemble(root, store(LARGE, layout).__getitem__, len(LARGE))


def test_an_endless_tree_is_refused():
    root = document_cid(LARGE)
    with pytest.raises(NotAssembled, match="too many"):
        assemble(root, lambda _: store(LARGE)[root].replace(b"\x01\x55", b"\x01\x70"), len(LARGE))


@pytest.mark.parametrize(
    "node",
    [
        b"\x12\x00",
        b"\x08\x00",
        b"\x12\x02\x20\x01",
        b"\x12\x7f",
        b"\x0a\x00\x0a\x00" * 1000,
    ],
    ids=["no CID", "number", "unknown field of a link", "too long", "many fields"],
)
def test_a_node_that_is_not_dag_pb_is_refused(node):
    with pytest.raises(NotAssembled, match="dag-pb"):
        read_links(node)


def test_a_node_with_too_many_links_is_refused():
    node = store(LARGE)[document_cid(LARGE)]
    assert len(read_links(node, 5)) == 5
    with pytest.raises(NotAssembled, match="too many"):
        read_links(node, 3)


def test_no_more_blocks_are_loaded_than_a_document_of_that_size_has():
    root, loaded = document_cid(LARGE), []

    def load(cid):
        loaded.append(cid)
        return store(LARGE)[root].replace(b"\x01\x55", b"\x01\x70")

    with pytest.raises(NotAssembled):
        assemble(root, load, len(LARGE))
    assert len(loaded) <= 12


def test_leaves_are_refused_as_soon_as_one_has_the_wrong_size():
    half, loaded = Layout(chunk=131_072, width=174), []
    found = store(LARGE, half)

    def load(cid):
        loaded.append(cid)
        return found[cid]

    with pytest.raises(NotAssembled, match="are not those of a document"):
        assemble(document_cid(LARGE, half), load, len(LARGE))
    assert len(loaded) == 3


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_either_read_as_links_or_refused(data):
    try:
        found = read_links(data)
    except NotAssembled:
        return
    assert len(found) <= len(data) // 36
