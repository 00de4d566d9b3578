"""Positions are ordered as on the chain, and hashtags belong to the post of their transaction."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.domain.formats.addresses import Address
from imprint.domain.posts.market_events import (
    HIGHEST_BLOCK,
    LOGS_PER_BLOCK,
    AdapterPurchase,
    Origin,
    PostPublished,
    PostPurchased,
    PostTagged,
    attach_details,
    block_of,
    position_of,
)
from imprint.domain.posts.posts import BlockRef

AUTHOR, ADAPTER, PAYER, RECEIVER = (Address("0x" + two * 20) for two in ("a1", "ad", "b2", "c3"))

places = st.tuples(st.integers(0, HIGHEST_BLOCK), st.integers(0, LOGS_PER_BLOCK - 1))


def origin(index: int, tx_hash: str = "0x01") -> Origin:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Origin(position_of(1, index), BlockRef(1, "0x00"), tx_hash, at)


def post(post_id: int, index: int = 0, tx_hash: str = "0x01") -> PostPublished:
    where = origin(index, tx_hash)
    return PostPublished(where, post_id, AUTHOR, b"cid", None, b"thumbnail", b"title", 0)


def tag(post_id: int, text: bytes, index: int = 1, tx_hash: str = "0x01") -> PostTagged:
    return PostTagged(origin(index, tx_hash), post_id, text)


@given(places, places)
def test_positions_are_ordered_as_on_the_chain(one, other):
    assert (position_of(*one) < position_of(*other)) == (one < other)
    assert block_of(position_of(*one)) == one[0]
    assert position_of(*one) < 2**63


@pytest.mark.parametrize(("block", "index"), [(-1, 0), (0, -1), (HIGHEST_BLOCK + 1, 0), (0, 2**20)])
def test_a_position_out_of_range_is_refused(block, index):
    with pytest.raises(ValueError, match="too high"):
        position_of(block, index)


def test_hashtags_are_normalized_and_belong_to_their_post():
    events = [tag(1, b"#Poetry", 0), post(1, 1), tag(1, "M\u00c4RCHEN".encode(), 2), post(2, 3)]
    one, two = attach_details(events)
    assert isinstance(one, PostPublished)
    assert isinstance(two, PostPublished)
    assert one.hashtags == ("poetry", "m\u00e4rchen")
    assert two.hashtags == ()


@pytest.mark.parametrize("text", [b"", b" ", b"\xff", b"a,b", b"<b>", b"x" * 33, b"a\0"])
def test_an_invalid_hashtag_is_dropped(text):
    (one,) = attach_details([post(1), tag(1, text)])
    assert isinstance(one, PostPublished)
    assert one.hashtags == ()


def test_a_hashtag_in_another_transaction_is_ignored():
    (one,) = attach_details([post(1), tag(1, b"poetry", tx_hash="0x02")])
    assert isinstance(one, PostPublished)
    assert one.hashtags == ()


def purchase(buyer: Address, tx_hash: str = "0x01", price: int = 5) -> PostPurchased:
    return PostPurchased(origin(0, tx_hash), 1, buyer, price)


def bought(price: int = 5, tx_hash: str = "0x01", adapter: Address = ADAPTER) -> AdapterPurchase:
    return AdapterPurchase(origin(1, tx_hash), 1, adapter, PAYER, RECEIVER, price)


def test_a_purchase_through_an_adapter_has_a_payer_and_a_receiver():
    (one,) = attach_details([purchase(ADAPTER), bought()])
    assert one == replace(purchase(PAYER), adapter=ADAPTER, receiver=RECEIVER)


def test_each_purchase_in_a_transaction_has_its_own_payer():
    one, two = attach_details([purchase(ADAPTER), bought(), purchase(ADAPTER)])
    assert isinstance(one, PostPurchased)
    assert (one.buyer, two) == (PAYER, purchase(ADAPTER))


@pytest.mark.parametrize(
    "other",
    [bought(price=6), bought(tx_hash="0x02"), bought(adapter=RECEIVER)],
    ids=["price", "transaction", "contract"],
)
def test_an_adapter_report_about_another_purchase_is_ignored(other):
    assert attach_details([purchase(ADAPTER), other]) == [purchase(ADAPTER)]


def test_an_adapter_report_before_its_purchase_is_ignored():
    assert attach_details([bought(), purchase(ADAPTER)]) == [purchase(ADAPTER)]


def test_a_post_has_at_most_ten_hashtags():
    (one,) = attach_details([post(1), *(tag(1, b"t%d" % n, n + 1) for n in range(12))])
    assert isinstance(one, PostPublished)
    assert len(one.hashtags) == 10
