"""Posts: publishing, pricing, selling and transferring."""

from typing import Any

import pytest

NOBODY = "0x" + "00" * 20


def test_the_first_post_has_id_1(market: Any) -> None:
    assert market.read("nextTokenId") == 1
    assert market.publish(market.people[0]) == 1
    assert market.read("nextTokenId") == 2


def test_a_published_post_can_be_read_back(market: Any) -> None:
    author = market.people[0]
    market.publish(author)
    assert market.read("getPostInfo", 1) == (
        author,
        "bafkreiaaa",
        "On ink",
        "bafkreibbb",
        "What it is made of",
        10**17,
    )


def test_an_unknown_post_has_a_zero_entry(market: Any) -> None:
    assert market.read("getPostInfo", 9) == (NOBODY, "", "", "", "", 0)


def test_a_cid_is_mapped_to_its_post(market: Any) -> None:
    market.publish(market.people[0])
    assert market.read("postCidToTokenId", "bafkreiaaa") == 1
    assert market.read("postCidToTokenId", "bafkreiaab") == 0


def test_creating_a_post_emits_an_event(market: Any) -> None:
    receipt = market.send(market.people[0], "createPost", market.post())
    assert market.events(receipt.logs, "PostCreated") == [
        {
            "tokenId": 1,
            "postTitle": "On ink",
            "postCid": "bafkreiaaa",
            "thumbnailCid": "bafkreibbb",
            "author": market.people[0],
            "costInNativeInWei": 10**17,
        }
    ]


def test_an_event_is_emitted_for_each_hashtag(own_market: Any) -> None:
    receipt = own_market.send(own_market.people[0], "createPost", own_market.post())
    assert own_market.events(receipt.logs, "PostTagged") == [
        {"tokenId": 1, "hashtag": "ink"},
        {"tokenId": 1, "hashtag": "craft"},
    ]


@pytest.mark.parametrize(
    ("changes", "refusal", "values"),
    [
        ({"postCid": ""}, "CidMissing", ()),
        ({"postTitle": ""}, "TitleMissing", ()),
        ({"postTitle": "t" * 101}, "TitleTooLong", (101, 100)),
        ({"thumbnailCid": ""}, "ThumbnailMissing", ()),
        ({"description": "d" * 501}, "DescriptionTooLong", (501, 500)),
        ({"priceInNative": 10**18 + 1}, "PriceTooHigh", (10**18 + 1, 10**18)),
    ],
)
def test_a_post_that_exceeds_a_limit_is_refused(
    market: Any, changes: dict[str, Any], refusal: str, values: tuple[int, ...]
) -> None:
    refused = market.refuse(market.people[0], "createPost", market.post(**changes))
    assert (refused.name, refused.values) == (refusal, values)


def test_a_post_at_every_limit_is_accepted(own_market: Any) -> None:
    limits = {
        "postTitle": "t" * 100,
        "description": "d" * 500,
        "priceInNative": 10**18,
        "hashtags": [f"tag{number}" for number in range(10)],
    }
    assert own_market.publish(own_market.people[0], **limits) == 1


def test_an_eleventh_hashtag_is_refused(own_market: Any) -> None:
    post = own_market.post(hashtags=["tag"] * 11)
    refused = own_market.refuse(own_market.people[0], "createPost", post)
    assert (refused.name, refused.values) == ("TooManyHashtags", (11, 10))


def test_an_already_published_cid_is_refused_from_any_author(market: Any) -> None:
    market.publish(market.people[0])
    refused = market.refuse(market.people[1], "createPost", market.post())
    assert (refused.name, refused.values) == ("CidAlreadyPublished", (1,))


def test_a_sale_pays_the_author_and_refunds_the_rest(market: Any) -> None:
    author, reader = market.people[:2]
    market.publish(author)
    author_before, reader_before = market.account(author).balance, market.account(reader).balance
    receipt = market.send(reader, "subscribePost", 1, value=3 * 10**17)
    fee = receipt.gas_used * receipt.gas_price
    assert market.account(author).balance == author_before + 10**17
    assert market.account(reader).balance == reader_before - 10**17 - fee
    assert market.account(market.address).balance == 0


def test_a_sale_mints_one_token_and_emits_an_event(market: Any) -> None:
    author, reader = market.people[:2]
    market.publish(author)
    receipt = market.send(reader, "subscribePost", 1, value=10**17)
    assert market.read("balanceOf", reader, 1) == 1
    assert market.events(receipt.logs, "PostSubscribed") == [
        {"tokenId": 1, "subscriber": reader, "totalCost": 10**17}
    ]
    assert market.events(receipt.logs, "Transfer") == [
        {"caller": reader, "sender": NOBODY, "receiver": reader, "id": 1, "amount": 1}
    ]


def test_a_free_post_can_be_subscribed_to(market: Any) -> None:
    author, reader = market.people[:2]
    market.publish(author, priceInNative=0)
    market.send(reader, "subscribePost", 1)
    assert market.read("balanceOf", reader, 1) == 1


def test_buying_twice_is_refused(market: Any) -> None:
    author, reader = market.people[:2]
    market.publish(author)
    market.send(reader, "subscribePost", 1, value=10**17)
    refused = market.refuse(reader, "subscribePost", 1, value=10**17)
    assert (refused.name, refused.values) == ("AlreadySubscribed", (1, reader))


def test_an_author_cannot_buy_their_own_post(market: Any) -> None:
    author = market.people[0]
    market.publish(author)
    assert market.refuse(author, "subscribePost", 1, value=10**17).name == "AuthorNeedNotBuy"


def test_paying_too_little_is_refused(market: Any) -> None:
    market.publish(market.people[0])
    refused = market.refuse(market.people[1], "subscribePost", 1, value=10**17 - 1)
    assert (refused.name, refused.values) == ("PaymentTooLow", (10**17 - 1, 10**17))


def test_an_unknown_post_cannot_be_bought(market: Any) -> None:
    refused = market.refuse(market.people[1], "subscribePost", 5, value=1)
    assert (refused.name, refused.values) == ("UnknownPost", (5,))


def test_the_author_can_change_the_price(market: Any) -> None:
    author = market.people[0]
    market.publish(author)
    receipt = market.send(author, "updatePostPrice", 1, 7)
    assert market.read("getPostInfo", 1)[5] == 7
    assert market.events(receipt.logs, "PostPriceUpdated") == [
        {"tokenId": 1, "oldPrice": 10**17, "newPrice": 7}
    ]


def test_only_the_author_can_change_the_price(market: Any) -> None:
    author, other = market.people[:2]
    market.publish(author)
    refused = market.refuse(other, "updatePostPrice", 1, 7)
    assert (refused.name, refused.values) == ("OnlyAuthor", (1, author))


def test_a_price_above_the_limit_is_refused(market: Any) -> None:
    author = market.people[0]
    market.publish(author)
    assert market.refuse(author, "updatePostPrice", 1, 10**18 + 1).name == "PriceTooHigh"


def test_the_price_of_an_unknown_post_cannot_be_changed(market: Any) -> None:
    assert market.refuse(market.people[0], "updatePostPrice", 1, 1).name == "UnknownPost"


def test_a_token_can_be_transferred(market: Any) -> None:
    author, reader, friend = market.people[:3]
    market.publish(author)
    market.send(reader, "subscribePost", 1, value=10**17)
    market.send(reader, "transfer", friend, 1, 1)
    assert market.read("balanceOf", reader, 1) == 0
    assert market.read("balanceOf", friend, 1) == 1


def test_a_token_cannot_be_transferred_by_a_non_holder(market: Any) -> None:
    author, reader = market.people[:2]
    market.publish(author)
    assert market.refuse(reader, "transfer", author, 1, 1).name == "ERC6909InsufficientBalance"
