"""Marketplace calls compared with those of another library, amounts, and receipts."""

import pytest
from eth_abi.abi import encode
from hypothesis import given
from hypothesis import strategies as st

from imprint.client import (
    buy_many_call,
    buy_post_call,
    change_price_call,
    create_post_call,
    created_post_id,
    format_coin,
    parse_coin,
)
from imprint.client.marketplace import Receipt, ReceiptLog
from imprint.domain.formats.addresses import keccak256
from imprint.domain.posts.marketplace import POST_CREATED

HERE = "0x" + "ab" * 20
POST = "(string,string,string,string,uint256,string[])"
TEXTS = st.text(min_size=1, max_size=20)


def calldata(name: str, kinds: list[str], *values: object) -> bytes:
    return keccak256(f"{name}({','.join(kinds)})".encode())[:4] + encode(kinds, values)


@given(TEXTS, TEXTS, TEXTS, st.integers(0, 10**18), st.lists(st.text(max_size=40), max_size=10))
def test_a_post_call_is_encoded_as_other_libraries_encode_it(
    cid, title, description, price, hashtags
):
    call = create_post_call(
        HERE,
        cid=cid,
        title=title,
        thumbnail_cid="bafk",
        description=description,
        price=price,
        hashtags=hashtags,
    )
    post = (cid, title, "bafk", description, price, hashtags)
    assert (call.to, call.value) == (HERE, 0)
    assert call.data == calldata("createPost", [POST], post)


def test_a_call_contains_the_chain_id_if_one_is_given():
    post = create_post_call(HERE, cid="c", title="t", thumbnail_cid="p", chain_id=5)
    others = [f(HERE, 7, 1, chain_id=5) for f in (buy_post_call, change_price_call)]
    assert [call.as_json()["chainId"] for call in (post, *others)] == ["0x5"] * 3
    assert "chainId" not in buy_post_call(HERE, 7, 1).as_json()


def test_a_purchase_has_a_value_and_a_price_change_does_not():
    bought, changed = buy_post_call(HERE, "7", 10), change_price_call(HERE, 7, 20)
    assert (bought.data, bought.value) == (calldata("subscribePost", ["uint256"], 7), 10)
    kinds = ["uint256", "uint256"]
    assert (changed.data, changed.value) == (calldata("updatePostPrice", kinds, 7, 20), 0)


@given(st.lists(st.integers(0, 2**256 - 1), max_size=5))
def test_a_purchase_for_a_receiver_is_encoded_as_other_libraries_encode_it(ids):
    receiver = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
    call = buy_many_call(HERE, ids, receiver, 30, chain_id=5)
    assert call.data == calldata("buyMany", ["uint256[]", "address"], ids, receiver)
    assert (call.to, call.value, call.as_json()["chainId"]) == (HERE, 30, "0x5")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"cid": ""}, "needs a cid"),
        ({"title": ""}, "needs a title"),
        ({"title": "ü" * 51}, "100 bytes"),
        ({"description": "x" * 501}, "500 bytes"),
        ({"price": 10**18 + 1}, "between 0 and 1 coin"),
        ({"price": -1}, "between 0 and 1 coin"),
        ({"hashtags": ["x"] * 11}, "10 hashtags"),
    ],
)
def test_a_post_the_contract_would_reject_is_refused_by_the_client(wrong, sentence):
    post = {"cid": "bafk", "title": "A title", "thumbnail_cid": "bafk"}
    with pytest.raises(ValueError, match=sentence):
        create_post_call(HERE, **(post | wrong))


def test_only_a_log_from_the_marketplace_identifies_the_created_post():
    def receipt(address: str) -> Receipt:
        topics = (POST_CREATED, (7).to_bytes(32), bytes(32))
        return Receipt("0x", "success", 1, (ReceiptLog(address, topics, b""),))

    assert created_post_id(receipt(HERE), HERE.upper().replace("X", "x")) == "7"
    assert created_post_id(receipt("0x" + "cd" * 20), HERE) is None


@given(st.integers(0, 2**256 - 1))
def test_formatting_and_parsing_an_amount_round_trips(wei):
    assert parse_coin(format_coin(wei)) == wei


@pytest.mark.parametrize(
    "text", ["", ".", "1,5", "-1", "1e3", "1.", "0.0000000000000000001", "٣", "1" * 80]
)
def test_an_invalid_amount_is_refused(text):
    with pytest.raises(ValueError, match="amount"):
        parse_coin(text)
