"""Decoding logs and entries of the marketplace, genuine and malformed."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from eth_abi.abi import encode
from hypothesis import given
from hypothesis import strategies as st

from imprint.domain.formats.abi import NotAbi
from imprint.domain.formats.addresses import ZERO_ADDRESS, Address, keccak256
from imprint.domain.posts import marketplace
from imprint.domain.posts.market_events import (
    Origin,
    PostPublished,
    PostPurchased,
    PostTagged,
    PriceChanged,
    TokensMoved,
    position_of,
)
from imprint.domain.posts.marketplace import (
    MARKET_TOPICS,
    Log,
    Undecodable,
    cut_text,
    decode_access_changed,
    decode_market_event,
    decode_post_created,
    decode_post_details,
    decode_post_info,
    stand_in_block_hash,
)
from imprint.domain.posts.posts import AccessChanged, BlockRef, LogPosition

ARTIFACT = Path(marketplace.__file__).parents[2] / "marketplace" / "Marketplace.json"
AUTHOR = Address("0x" + "a1" * 20)
READER = Address("0x" + "b2" * 20)
MARKET = Address("0x" + "c3" * 20)
CID = "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"
PLACE = LogPosition(31337, "0x" + "d4" * 32, 7, 0, "0x" + "e5" * 32)


def word(value: int | str) -> bytes:
    return (int(value, 16) if isinstance(value, str) else value).to_bytes(32)


def created(cid: bytes = CID.encode(), title: bytes = b"A title") -> Log:
    data = encode(["bytes", "bytes", "bytes", "uint256"], [title, cid, b"thumb", 5])
    return Log(MARKET, (marketplace.POST_CREATED, word(9), word(AUTHOR)), data, PLACE)


def entry(cid: bytes = CID.encode(), author: Address = AUTHOR, price: int = 5) -> bytes:
    types = ["address", "bytes", "bytes", "bytes", "bytes", "uint256"]
    return encode(types, [author, cid, b"title", b"thumb", b"description", price])


def as_struct(returned: bytes) -> bytes:
    return word(32) + returned


@pytest.mark.parametrize(
    ("signature", "topic"),
    [
        (
            "PostCreated(uint256,string,string,string,address,uint256)",
            marketplace.POST_CREATED,
        ),
        ("PostSubscribed(uint256,address,uint256)", marketplace.POST_SUBSCRIBED),
        ("PostPriceUpdated(uint256,uint256,uint256)", marketplace.POST_PRICE_UPDATED),
        ("Transfer(address,address,address,uint256,uint256)", marketplace.TRANSFER),
        ("PostTagged(uint256,string)", marketplace.POST_TAGGED),
    ],
)
def test_a_topic_is_the_hash_of_its_signature(signature: str, topic: bytes) -> None:
    assert topic == keccak256(signature.encode())


@pytest.mark.parametrize(
    ("signature", "selector"),
    [
        ("getPostInfo(uint256)", marketplace.GET_POST_INFO),
        ("postCidToTokenId(string)", marketplace.POST_CID_TO_TOKEN_ID),
        ("balanceOf(address,uint256)", marketplace.BALANCE_OF),
    ],
)
def test_a_selector_is_a_prefix_of_the_hash_of_its_signature(
    signature: str, selector: bytes
) -> None:
    assert selector == keccak256(signature.encode())[:4]


def test_the_shipped_contract_has_every_topic_and_selector() -> None:
    members = json.loads(ARTIFACT.read_text())["abi"]
    hashes = {
        keccak256(f"{m['name']}({','.join(i['type'] for i in m['inputs'])})".encode())
        for m in members
        if m["type"] in ("function", "event")
    }
    assert {
        marketplace.POST_CREATED,
        marketplace.POST_SUBSCRIBED,
        marketplace.POST_PRICE_UPDATED,
        marketplace.TRANSFER,
    } <= hashes
    assert {
        marketplace.GET_POST_INFO,
        marketplace.POST_CID_TO_TOKEN_ID,
        marketplace.BALANCE_OF,
    } <= {digest[:4] for digest in hashes}


def test_a_post_created_log_contains_the_post_id_the_author_and_the_cid() -> None:
    event = decode_post_created(created())
    assert (event.post_id, event.author, event.spelled_cid, event.cid) == (9, AUTHOR, CID, CID)
    assert event.place == PLACE


def test_another_spelling_of_a_cid_is_converted_to_the_canonical_one() -> None:
    event = decode_post_created(created(cid=CID.upper().encode()))
    assert (event.spelled_cid, event.cid) == (CID.upper(), CID)


@pytest.mark.parametrize("text", ["", "hello", "../../etc/passwd", "bafk", "Qm" + "é" * 44])
def test_an_event_with_an_invalid_cid_decodes_to_an_event_with_no_cid(text: str) -> None:
    event = decode_post_created(created(cid=text.encode()))
    assert (event.spelled_cid, event.cid) == (text, None)


def test_a_post_with_a_title_that_is_not_utf_8_is_still_decoded() -> None:
    assert decode_post_created(created(title=b"\xff\xfe")).cid == CID


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        pytest.param(created(cid=b"\xff\xfe"), "not UTF-8", id="not UTF-8"),
        pytest.param(created(cid=b"a\0b"), "NUL", id="NUL"),
        pytest.param(created(cid=b"b" * 100_000), "too long", id="100 kB"),
        pytest.param(Log(MARKET, (), b"", PLACE), "first topic", id="anonymous"),
        pytest.param(
            Log(MARKET, (marketplace.TRANSFER, word(1), word(2)), b"", PLACE),
            "first topic",
            id="another event",
        ),
        pytest.param(
            Log(MARKET, (marketplace.POST_CREATED, word(9)), created().data, PLACE),
            "2 topics",
            id="a topic too few",
        ),
        pytest.param(
            Log(MARKET, (*created().topics, word(1)), created().data, PLACE),
            "4 topics",
            id="a topic too many",
        ),
        pytest.param(
            Log(MARKET, (*created().topics[:2], b"\1" * 32), created().data, PLACE),
            "address",
            id="an author of 32 bytes",
        ),
        pytest.param(
            Log(MARKET, (*created().topics[:2], b"\1" * 20), created().data, PLACE),
            "address",
            id="a topic of 20 bytes",
        ),
        pytest.param(Log(MARKET, created().topics, b"", PLACE), "too short", id="no data"),
        pytest.param(
            Log(MARKET, created().topics, word(128) + b"\xff" * 32 + bytes(96), PLACE),
            "outside",
            id="an offset bomb",
        ),
    ],
)
def test_an_invalid_log_is_reported_as_undecodable_with_a_reason(log: Log, reason: str) -> None:
    with pytest.raises(Undecodable, match=reason):
        decode_post_created(log)


@given(st.lists(st.binary(max_size=40), max_size=5), st.binary(max_size=400))
def test_random_logs_raise_no_error_other_than_undecodable(
    topics: list[bytes], data: bytes
) -> None:
    for first in (marketplace.POST_CREATED, marketplace.TRANSFER):
        log = Log(MARKET, (first, *topics), data, PLACE)
        for decode in (decode_post_created, decode_access_changed):
            try:
                decode(log)
            except Undecodable:
                continue


@pytest.mark.parametrize(
    ("topics", "holders"),
    [
        pytest.param(
            (marketplace.TRANSFER, word(AUTHOR), word(READER), word(9)),
            (AUTHOR, READER),
            id="a transfer concerns both sides",
        ),
        pytest.param(
            (marketplace.TRANSFER, word(ZERO_ADDRESS), word(READER), word(9)),
            (READER,),
            id="a mint concerns the receiver",
        ),
        pytest.param(
            (marketplace.POST_SUBSCRIBED, word(9), word(READER)),
            (READER,),
            id="a purchase concerns the buyer",
        ),
        pytest.param(
            (marketplace.POST_PRICE_UPDATED, word(9)),
            None,
            id="a price concerns everybody",
        ),
    ],
)
def test_a_log_names_the_holders_whose_access_changed(
    topics: tuple[bytes, ...], holders: tuple[Address, ...] | None
) -> None:
    log = Log(MARKET, topics, bytes(64), PLACE)
    assert decode_access_changed(log) == AccessChanged(PLACE, 9, holders)


@pytest.mark.parametrize(
    "topics",
    [
        (),
        (marketplace.POST_CREATED, word(9)),
        (marketplace.TRANSFER, word(AUTHOR), word(READER)),
        (marketplace.TRANSFER, word(AUTHOR), word(READER), word(9), word(9)),
        (marketplace.POST_SUBSCRIBED, word(9), word(READER), word(9)),
        (marketplace.POST_PRICE_UPDATED, word(9), word(9)),
    ],
)
def test_a_change_of_access_with_other_topics_is_refused(topics: tuple[bytes, ...]) -> None:
    with pytest.raises(Undecodable):
        decode_access_changed(Log(MARKET, topics, bytes(64), PLACE))


def test_a_change_of_access_by_a_malformed_address_is_refused() -> None:
    topics = (marketplace.TRANSFER, word(AUTHOR), b"\1" * 32, word(9))
    with pytest.raises(Undecodable):
        decode_access_changed(Log(MARKET, topics, bytes(64), PLACE))


@pytest.mark.parametrize("shape", [entry, lambda: as_struct(entry())])
def test_an_entry_can_be_read_from_a_struct_or_from_six_values(shape: object) -> None:
    assert callable(shape)
    read = decode_post_info(shape())
    assert (read.author, read.cid, read.price) == (AUTHOR, CID, 5)


def test_an_entry_of_zeros_counts_as_nonexistent() -> None:
    read = decode_post_info(as_struct(entry(cid=b"", author=ZERO_ADDRESS, price=0)))
    assert not read.exists
    assert read.cid is None


@pytest.mark.parametrize("cid", [b"\xff\xfe", b"hello", b"b" * 100_000])
def test_an_entry_with_an_invalid_cid_has_no_cid(cid: bytes) -> None:
    assert decode_post_info(entry(cid=cid)).cid is None


@pytest.mark.parametrize(
    "returned", [b"", bytes(31), bytes(32), bytes(64), word(32), bytes(192), entry()[:-32]]
)
def test_empty_or_short_return_data_is_refused(returned: bytes) -> None:
    with pytest.raises(NotAbi):
        decode_post_info(returned)


def test_a_placeholder_block_hash_depends_on_all_of_its_inputs() -> None:
    made = stand_in_block_hash(b"ab", b"c")
    assert len(made) == 66
    assert made.startswith("0x" + "0" * 16)
    assert made == stand_in_block_hash(b"ab", b"c")
    assert made != stand_in_block_hash(b"a", b"bc")


AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
ORIGIN = Origin(position_of(7, 0), BlockRef(7, "0x" + "d4" * 32), "0x" + "e5" * 32, AT)


def market_log(topics: list[bytes], data: bytes) -> Log:
    return Log(MARKET, tuple(topics), data, PLACE)


@pytest.mark.parametrize(
    ("log", "event"),
    [
        (
            created(),
            PostPublished(ORIGIN, 9, AUTHOR, CID.encode(), CID, b"thumb", b"A title", 5),
        ),
        (
            created(b"\xff\0", b"\0\x80" * 60),
            PostPublished(ORIGIN, 9, AUTHOR, b"\xff\0", None, b"thumb", b"\0\x80" * 50, 5),
        ),
        (
            market_log([marketplace.POST_SUBSCRIBED, word(9), word(READER)], word(5)),
            PostPurchased(ORIGIN, 9, READER, 5),
        ),
        (
            market_log([marketplace.POST_PRICE_UPDATED, word(9)], word(5) + word(2**256 - 1)),
            PriceChanged(ORIGIN, 9, 2**256 - 1),
        ),
        (
            market_log(
                [marketplace.TRANSFER, word(AUTHOR), word(READER), word(9)], word(AUTHOR) + word(3)
            ),
            TokensMoved(ORIGIN, 9, AUTHOR, READER, 3),
        ),
        (
            market_log([marketplace.POST_TAGGED, word(9)], encode(["bytes"], [b"\xff"])),
            PostTagged(ORIGIN, 9, b"\xff"),
        ),
    ],
)
def test_every_log_of_the_marketplace_is_decoded_to_an_event(log, event):
    assert decode_market_event(log, AT) == event


@given(
    st.sampled_from(MARKET_TOPICS),
    st.lists(st.binary(max_size=33) | st.binary(min_size=32, max_size=32), max_size=4),
    st.binary(max_size=300),
)
def test_arbitrary_logs_are_either_decoded_or_reported_as_undecodable(topic, topics, data):
    try:
        decode_market_event(market_log([topic, *topics], data), AT)
    except Undecodable:
        return


@pytest.mark.parametrize(
    "place",
    [
        LogPosition(1, "0x00", None, 0, "0x01"),
        LogPosition(1, "0x00", 7, 0, None),
        LogPosition(1, "0x00", 7, 2**20, "0x01"),
        LogPosition(1, "0x00", 2**43, 0, "0x01"),
    ],
)
def test_a_log_without_a_full_position_is_undecodable(place):
    log = created()
    with pytest.raises(Undecodable):
        decode_market_event(Log(log.address, log.topics, log.data, place), AT)


@given(st.text(max_size=60), st.integers(0, 60))
def test_a_text_is_truncated_between_characters(text, length):
    cut = cut_text(text.encode(), length)
    assert len(cut) <= length or cut == text.encode()
    assert text.startswith(cut.decode())


def test_bytes_that_are_not_utf_8_are_also_truncated():
    assert cut_text(b"\x80" * 101, 100) == b"\x80" * 100


@pytest.mark.parametrize("wrapped", [True, False], ids=["struct", "values"])
def test_the_details_of_a_post_are_truncated_at_a_character_boundary(wrapped: bool) -> None:
    types = ["address", "bytes", "bytes", "bytes", "bytes", "uint256"]
    about = b"\xff\0" + "ä".encode() * 300
    values = [AUTHOR, b"x" * 600, b"title", b"thumb", about, 5]
    data = encode([f"({','.join(types)})"], [values]) if wrapped else encode(types, values)
    details = decode_post_details(data)
    assert details.author == AUTHOR
    assert details.spelled_cid == b"x" * 512
    assert details.description == b"\xff\0" + "ä".encode() * 249


@given(st.binary(max_size=400))
def test_arbitrary_details_are_either_decoded_or_refused(returned: bytes) -> None:
    try:
        details = decode_post_details(returned)
    except NotAbi:
        return
    assert len(details.description) <= 500
