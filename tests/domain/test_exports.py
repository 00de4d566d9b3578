"""Each block of an export has only one valid encoding, and forged blocks are refused."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from imprint.domain.drafts.files import File, Publication, State
from imprint.domain.exports import (
    ExportedFile,
    Manifest,
    NotAnExport,
    SignedRoot,
    read_manifest,
    read_page,
    read_signed_root,
    write_index,
    write_manifest,
    write_page,
    write_signed_root,
)
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid, Codec, cid_of
from imprint.domain.formats.dag_json import node_cid
from imprint.domain.posts.posts import LogPosition, PostCreated

CID = Cid("bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e")
OTHER = cid_of(Codec.DAG_PB, bytes(32))
NODE = node_cid(b"{}")
OWNER = Address("0x" + "a1" * 20)
MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
DRAFT = File(
    id="0d7b2b8e-3f43-4a86-9f1a-3a2b6d8c1e01",
    group_id="0d7b2b8e-3f43-4a86-9f1a-3a2b6d8c1e02",
    owner=OWNER,
    name=f"{OWNER}_1767323045678901",
    cid=CID,
    size=11,
    created_at=MOMENT,
    state=State.PENDING,
    position=0,
    hashtags=("essay", "über"),
    thumbnail_cid=OTHER,
    wrapped_key=b"\x01" * 69,
)
PLACE = LogPosition(31337, "0x" + "ab" * 32, 7, 0, "0x" + "cd" * 32)
EVENT = PostCreated(PLACE, 2**256 - 1, OWNER, CID, CID)
POST = replace(
    DRAFT, state=State.ONCHAIN, publication=Publication(EVENT.post_id, MOMENT, PLACE.tx_hash)
)
RECORD = json.loads(write_page([ExportedFile(POST, EVENT)]))["files"][0]


def page_with(record):
    text = json.dumps(
        {"files": [record]}, separators=(",", ":"), sort_keys=True, ensure_ascii=False
    )
    return text.encode()


@pytest.mark.parametrize("exported", [ExportedFile(DRAFT), ExportedFile(POST, EVENT)])
def test_a_page_contains_everything_about_a_file(exported):
    assert read_page(write_page([exported])) == [exported]


def test_an_index_links_to_pages():
    assert read_page(write_index([NODE, NODE])) == (NODE, NODE)


@pytest.mark.parametrize("owner", [None, OWNER])
def test_a_manifest_is_read_back_unchanged(owner):
    manifest = Manifest(MOMENT, 31337, OWNER, owner, 2, (NODE,))
    assert read_manifest(write_manifest(manifest)) == manifest


def test_a_signed_root_is_read_back_unchanged():
    root = SignedRoot(NODE, bytes(32), bytes(64))
    assert read_signed_root(write_signed_root(root)) == root


def test_an_export_from_a_newer_version_is_refused_with_a_message():
    with pytest.raises(NotAnExport, match="newer version"):
        read_signed_root(
            write_signed_root(SignedRoot(NODE, b"", b"")).replace(b'"version":1', b'"version":2')
        )


@pytest.mark.parametrize(
    "change",
    [
        {"id": "1"},
        {"group_id": None},
        {"owner": "0x" + "b0" * 20},
        {"owner": OWNER.upper()},
        {"name": f"{OWNER}_01"},
        {"name": f"{OWNER}_{2**63}"},
        {"size": -1},
        {"size": True},
        {"size": 1.5},
        {"created_at": "2026-01-02T03:04:05Z"},
        {"hashtags": "essay"},
        {"hashtags": ["a,b"]},
        {"hashtags": ["essay", "essay"]},
        {"hashtags": [""]},
        {"hashtags": [1]},
        {"thumbnail_cid": {"/": NODE}},
        {"thumbnail_cid": CID},
        {"wrapped_key": "key"},
        {"state": "onchain"},
        {"post": {}},
        {"post": RECORD["post"] | {"post_id": "01"}},
        {"post": RECORD["post"] | {"post_id": str(2**256)}},
        {"post": RECORD["post"] | {"spelled_cid": OTHER}},
        {"post": RECORD["post"] | {"block_hash": "0x12"}},
        {"post": RECORD["post"] | {"chain_id": "31337"}},
        {"post": RECORD["post"] | {"published_at": None}},
    ],
)
def test_a_forged_record_is_refused(change):
    read_page(page_with(RECORD | {"wrapped_key": None}))
    with pytest.raises(NotAnExport):
        read_page(page_with(RECORD | change))


@pytest.mark.parametrize("block", [b"[]", b"{}", b'{"files":1}', b'{"pages":[1]}', b"x"])
def test_a_malformed_page_manifest_or_root_is_refused(block):
    for read in (read_page, read_manifest, read_signed_root):
        with pytest.raises(NotAnExport):
            read(block)


def test_an_empty_or_oversized_page_or_index_is_refused():
    for block in (write_page([]), write_index([]), write_index([NODE] * 1001)):
        with pytest.raises(NotAnExport):
            read_page(block)
    assert len(read_page(write_index([NODE] * 1000))) == 1000
    with pytest.raises(NotAnExport):
        read_page(write_page([ExportedFile(DRAFT)] * 251))


@pytest.mark.parametrize("number", [-1, 2**63, 10**4000])
def test_a_manifest_with_an_out_of_range_number_is_refused(number):
    for manifest in (
        Manifest(MOMENT, number, OWNER, None, 2, (NODE,)),
        Manifest(MOMENT, 31337, OWNER, None, number, (NODE,)),
    ):
        with pytest.raises(NotAnExport):
            read_manifest(write_manifest(manifest))


@pytest.mark.parametrize(("key", "signature"), [(31, 64), (33, 64), (32, 63), (10**6, 64)])
def test_a_key_or_signature_of_the_wrong_size_is_refused(key, signature):
    with pytest.raises(NotAnExport, match="malformed"):
        read_signed_root(write_signed_root(SignedRoot(NODE, bytes(key), bytes(signature))))


def test_a_file_number_above_the_limit_is_refused():
    for number, allowed in ((2**62 - 1, True), (2**62, False)):
        page = write_page([ExportedFile(replace(DRAFT, name=f"{OWNER}_{number}"))])
        if allowed:
            assert read_page(page)
        else:
            with pytest.raises(NotAnExport):
                read_page(page)


@pytest.mark.parametrize("tag", ["", "a,b", "a\0b", "a" * 33])
def test_an_invalid_hashtag_is_refused(tag):
    with pytest.raises(NotAnExport):
        read_page(write_page([ExportedFile(replace(DRAFT, hashtags=(tag,)))]))
