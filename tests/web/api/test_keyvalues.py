"""The `keyvalues` of records: owner, status, publication and hashtags never hide each other."""

import json
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.world import World

from imprint.domain.drafts.files import File, Publication, State
from imprint.domain.drafts.tags import NotTags, parse_hashtags
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.interface.codec import encode_json
from imprint.web.http.responses import file_record, key_values, read_record

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
OWNER = Address("0x" + "ab" * 20)
MEMBERS = {"owner": OWNER, "status": "onchain", "publishedAt": "2026-01-02T03:04:05Z"}


def post(*hashtags: str) -> File:
    publication = Publication(7, AT, None)
    cid = Cid("bafkreia")
    return File(
        "id", "group", OWNER, "name", cid, 1, AT, State.ONCHAIN, 1, hashtags, None, publication
    )


def written(file: File) -> dict[str, str]:
    """The encoded keyvalues, which are the same for reads and writes."""
    read = msgspec.json.decode(encode_json(read_record(file)))["keyvalues"]
    assert read == msgspec.json.decode(encode_json(file_record(file)))["keyvalues"]
    return dict(read)


def test_each_hashtag_is_both_a_key_and_its_value() -> None:
    assert written(post("poetry", "日本", "2026")) == MEMBERS | {
        "poetry": "poetry",
        "日本": "日本",
        "2026": "2026",
    }


@pytest.mark.parametrize(
    "tag",
    [
        "owner",
        "status",
        "publishedat",
        "published_at",
        "hashtags",
        "id",
        "cid",
        "name",
        "size",
        "group_id",
        "keyvalues",
        "tx_hash",
        "post_id",
        "thumbnail_cid",
        "created_at",
        "constructor",
        "prototype",
        "__proto__",
        "__definegetter__",
        "__",
    ],
)
def test_a_hashtag_with_the_name_of_a_member_is_left_out(tag: str) -> None:
    assert parse_hashtags(tag) == (tag,)
    assert written(post(tag, "ink")) == MEMBERS | {"ink": "ink"}


@given(st.lists(st.text(max_size=12), max_size=10))
def test_no_hashtag_changes_another_member(texts: list[str]) -> None:
    try:
        tags = parse_hashtags(",".join(texts))
    except NotTags:
        return
    pairs = json.loads(encode_json(key_values(post(*tags))), object_pairs_hook=list)
    names = [name for name, _ in pairs]
    assert len({name.casefold() for name in names}) == len(names)
    assert dict(pairs) | MEMBERS == dict(pairs)
    assert set(names) - set(MEMBERS) <= set(tags)


async def test_a_draft_has_its_hashtags_but_no_publication_time(world: World) -> None:
    alice = world.wallet(0)
    file = await world.create(alice)
    await world.publish(alice, file["cid"], "Poetry,owner")
    expected = {"owner": alice.address, "status": "pending", "poetry": "poetry"}
    assert (await world.metadata(file["cid"]))["keyvalues"] == expected
    updated = await world.update(alice, file["cid"], "Other words.")
    assert updated["keyvalues"] == expected
