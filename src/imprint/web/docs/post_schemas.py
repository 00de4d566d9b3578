"""JSON Schemas and examples of what the index shows."""

from datetime import timedelta
from typing import Any

import msgspec

from imprint.domain.drafts.tags import MAX_TAG_LENGTH, MAX_TAGS
from imprint.domain.posts.indexed_posts import PostOrder
from imprint.domain.posts.search import MAX_SEARCH
from imprint.services.posts.posts import MAX_PAGE_SIZE, MAX_TABLE_SIZE
from imprint.web.api import post_records as records
from imprint.web.api.feed_links import page_path
from imprint.web.docs.patterns import LOWER_ADDRESS_PATTERN, POST_ID_PATTERN
from imprint.web.docs.schema import Schema, array, choice, integer, nullable, ref, string

POST_STRUCTS: dict[str, type[msgspec.Struct]] = {
    "Post": records.PostRecord,
    "HeldPost": records.HeldPostRecord,
    "Held": records.HeldRecord,
    "Block": records.BlockRecord,
    "SalesTotal": records.SalesRecord,
    "PostLinks": records.PostLinks,
    "PostsAnswer": records.PostsResponse,
    "LibraryAnswer": records.LibraryResponse,
    "AuthorAnswer": records.AuthorResponse,
    "Sale": records.SaleRecord,
    "SalesAnswer": records.SalesResponse,
    "Day": records.DayRecord,
    "StatsAnswer": records.StatsResponse,
}
"""Component names, and the structs of the response bodies."""

POST_PAGE_TOKEN_PATTERN = "^[A-Za-z0-9_-]{38,4096}$"
"""Base64url of a nonce, a ciphertext and an authentication tag."""

_HASH = "^0x[0-9a-f]{64}$"
_ADDRESS = string("An Ethereum address in lower case.", LOWER_ADDRESS_PATTERN)
_AMOUNT = string("An amount in wei.", POST_ID_PATTERN)
_VOLUME = string("What was paid in all, in wei.", "^(0|[1-9][0-9]*)$")
_ID = string("The post's id.", POST_ID_PATTERN)
_NEXT = nullable(string("The token of the next page, if there is one.", POST_PAGE_TOKEN_PATTERN))
_TRANSACTION = string("The hash of the transaction.", _HASH)


def _moment(description: str) -> Schema:
    return string(description, format="date-time")


_POST: dict[str, Schema] = {
    "id": _ID,
    "author": _ADDRESS,
    "cid": string("The cid of the document, in its canonical spelling if it is one."),
    "thumbnailCid": string("The cid of the thumbnail, as the chain has it."),
    "title": string("The title, as the author wrote it: any characters."),
    "description": string("The description, as the author wrote it: any characters."),
    "price": _AMOUNT,
    "firstPrice": _AMOUNT,
    "free": {"type": "boolean", "description": "Whether the price is zero."},
    "hashtags": array("Normalized hashtags.", {"type": "string"}),
    "hosted": {"type": "boolean", "description": "Whether its document is here."},
    "createdAt": _moment("The time of its block."),
    "transaction": _TRANSACTION,
    "holders": integer("How many addresses hold its token now."),
    "snippet": string(
        "Only in a search: HTML in which everything but `<mark>` around the words is text."
    ),
}

POST_MEMBERS: dict[str, dict[str, Schema]] = {
    "Post": _POST,
    "HeldPost": _POST,
    "Held": {
        "balance": string("How many tokens.", POST_ID_PATTERN),
        "boughtAt": _moment("When the first of the tokens held now arrived."),
        "paid": nullable(string("What was paid; null if it was not bought.", POST_ID_PATTERN)),
    },
    "Block": {
        "number": integer("The number of the block."),
        "hash": string("The hash of the block.", _HASH),
    },
    "SalesTotal": {"count": integer("How many purchases."), "volume": _VOLUME},
    "PostLinks": {
        "self": string("The address of this record."),
        "content": string("The address of the content."),
        "page": string("The address of the page for readers."),
    },
    "PostsAnswer": {"posts": array("The posts.", ref("Post")), "next_page_token": _NEXT},
    "LibraryAnswer": {
        "posts": array("The posts, the latest arrival first.", ref("HeldPost")),
        "next_page_token": _NEXT,
    },
    "AuthorAnswer": {
        "address": _ADDRESS,
        "posts": integer("How many posts."),
        "readers": integer("How many addresses hold one of them now."),
        "firstPostAt": nullable(_moment("When the first was published.")),
        "lastPostAt": nullable(_moment("When the last was published.")),
    },
    "Sale": {
        "postId": _ID,
        "buyer": _ADDRESS,
        "price": _AMOUNT,
        "at": _moment("The time of its block."),
        "transaction": _TRANSACTION,
    },
    "SalesAnswer": {
        "sales": array("The sales, the newest first.", ref("Sale")),
        "next_page_token": _NEXT,
    },
    "Day": {
        "day": string("The day, in UTC.", "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
        "posts": integer("How many posts."),
        "sales": integer("How many purchases."),
        "volume": _VOLUME,
    },
    "StatsAnswer": {
        "posts": integer("How many posts."),
        "authors": integer("How many authors."),
        "readers": integer("How many addresses hold a post now."),
        "sales": integer("How many purchases."),
        "volume": _VOLUME,
        "days": array("The last 90 days, the oldest first.", ref("Day")),
    },
}
"""Schemas of members, which say more than the types of the structs."""


def describe_post_responses() -> dict[str, Schema]:
    """Components of responses that are not JSON."""
    return {"SalesTable": string("Comma-separated values (RFC 4180), with a line of names.")}


def describe_post_requests() -> dict[str, Schema]:
    """Components of the parameters of the index."""
    hashtag = string(f"A hashtag of up to {MAX_TAG_LENGTH} characters.")
    return {
        "TagList": {**array("Hashtags.", hashtag), "maxItems": MAX_TAGS},
        "Flag": {"type": "boolean", "description": "`true` or `false`."},
        "Amount": string("An amount in wei, a decimal number below 2^256.", POST_ID_PATTERN),
        "PostOrder": choice(
            "The order; `sales` and `price` have the highest first.", *(each for each in PostOrder)
        ),
        "SearchText": {**string("What is searched for."), "maxLength": MAX_SEARCH},
        "PageSize": {**integer("The size of a page.", 1), "maximum": MAX_PAGE_SIZE},
        "TableSize": {**integer("The size of a page.", 1), "maximum": MAX_TABLE_SIZE},
        "PostPageToken": string(
            "The `next_page_token` of a page, unchanged.", POST_PAGE_TOKEN_PATTERN
        ),
    }


def post_examples(known: dict[str, Any]) -> dict[str, msgspec.Struct]:
    """Examples of responses about the post of the other examples."""
    moment, url = known["moment"], "https://imprint.example"
    price = "1000000000000000000"
    block = records.BlockRecord(7, known["block_hash"])
    address = f"{url}/posts/{known['post_id']}"
    post = records.PostRecord(
        known["post_id"],
        known["owner"],
        known["cid"],
        known["thumbnail_cid"],
        "Wet ink",
        "On writing by hand.",
        price,
        price,
        False,
        tuple(known["tags"].split(",")),
        True,
        moment,
        block,
        known["tx_hash"],
        records.SalesRecord(1, price),
        1,
        records.PostLinks(
            self=address, content=f"{address}/content", page=url + page_path(known["post_id"])
        ),
    )
    later = moment + timedelta(hours=1)
    held = records.HeldRecord("1", later, price)
    sale = records.SaleRecord(
        known["post_id"], known["reader"], price, later, block, known["tx_hash"]
    )
    return {
        "Post": post,
        "PostsAnswer": records.PostsResponse([post], known["page_token"]),
        "LibraryAnswer": records.LibraryResponse(
            [records.HeldPostRecord(**msgspec.structs.asdict(post), held=held)], None
        ),
        "AuthorAnswer": records.AuthorResponse(
            known["owner"], 1, records.SalesRecord(1, price), 1, moment, moment
        ),
        "SalesAnswer": records.SalesResponse([sale], None),
        "StatsAnswer": records.StatsResponse(
            1, 1, 1, 1, price, [records.DayRecord(f"{moment:%Y-%m-%d}", 1, 1, price)]
        ),
    }
