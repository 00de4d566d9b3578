"""CIDs as text and as bytes, and the trees of blocks below them."""

from contextlib import suppress

from libipld import encode_multibase

from imprint.domain.formats.cids import (
    Cid,
    Codec,
    Layout,
    NotACid,
    NotAssembled,
    NotAVarint,
    assemble,
    blocks,
    cid_bytes,
    cid_of,
    codec_of,
    digest_of,
    document_cid,
    parse_cid,
    read_links,
    read_varint,
    split_cid,
    write_varint,
)

BASES = "fFbBvVcCtTkKzZmMuU"
SMALL = Layout(chunk=16, width=3)
LIMIT = 64 * 1024


def check(data: bytes) -> None:
    """An accepted CID has one canonical text, and a document is assembled from its blocks."""
    with suppress(NotACid):
        cid = parse_cid(data.decode("latin-1"))
        assert parse_cid(cid) == cid
        for base in BASES:
            assert parse_cid(encode_multibase(base, cid_bytes(cid))) == cid
    with suppress(NotACid):
        cid, rest = split_cid(data)
        assert cid_bytes(cid) + rest == data
        assert cid_of(codec_of(cid), digest_of(cid)) == cid
    with suppress(NotAVarint):
        number, end = read_varint(data)
        assert write_varint(number) == data[:end]
    with suppress(NotAssembled):
        read_links(data)
    _assemble(data)


def _assemble(data: bytes) -> None:
    cid = document_cid(data)
    assert (
        assemble(cid, {name: bytes(block) for name, block in blocks(data)}.__getitem__, LIMIT)
        == data
    )
    tree = list(blocks(data[:256], SMALL))
    assert b"".join(block for name, block in tree if codec_of(name) is Codec.RAW) == data[:256]
    # A tree whose every node is the input, as a store that does not check hashes would serve it.
    root = cid_of(Codec.DAG_PB, bytes(32))

    def load(at: Cid) -> bytes:
        return data if codec_of(at) is Codec.DAG_PB else data[:16]

    with suppress(NotAssembled):
        assemble(root, load, LIMIT)
