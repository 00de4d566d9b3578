"""JSON Schemas of feeds, and of posts as Markdown."""

from imprint.domain.drafts.tags import MAX_TAG_LENGTH
from imprint.web.api.json_feed import VERSION
from imprint.web.docs.patterns import (
    FEED_TOKEN_PATTERN,
    HASHTAG_PATTERN,
    PLACE_PATTERN,
    POST_ID_PATTERN,
)
from imprint.web.docs.schema import (
    Schema,
    array,
    closed_structure,
    nullable,
    ref,
    string,
    structure,
)

_MOMENT = {"type": "string", "format": "date-time"}
_ADDRESSES = {
    "atom": string("The address of the feed as Atom."),
    "json": string("The address of the feed as JSON Feed."),
}


def describe_feeds() -> dict[str, Schema]:
    """The components of feeds, and of posts as Markdown."""
    return {
        "Hashtag": string(
            f"One hashtag of up to {MAX_TAG_LENGTH} letters, digits, `_` and `-`.", HASHTAG_PATTERN
        ),
        "HttpDate": string("A date as HTTP writes it (RFC 9110)."),
        "FeedToken": string("32 bytes in base64url.", FEED_TOKEN_PATTERN),
        "FeedId": string("The `id` of a private feed.", "^[A-Za-z0-9-]{1,64}$"),
        "ChainPlace": string("A place on the chain, as a number.", PLACE_PATTERN),
        "EmptyBody": closed_structure("An empty object.", {}),
        "AtomFeed": string("An Atom document (RFC 4287)."),
        "JsonFeed": _json_feed(),
        "FeedItem": _item(),
        "FeedAccess": structure(
            "A private feed and its addresses, which are secret and shown once.",
            {"id": string("The id of the feed."), **_ADDRESSES},
        ),
        "PrivateFeed": structure(
            "A private feed.",
            {
                "id": string("The id of the feed."),
                "createdAt": {**_MOMENT, "description": "When it was made."},
                "fetchedAt": nullable({**_MOMENT, "description": "When it was last fetched."}),
            },
        ),
        "FeedList": structure(
            "Private feeds.", {"feeds": array("The feeds, the oldest first.", ref("PrivateFeed"))}
        ),
        "Markdown": string("Markdown."),
    }


def _json_feed() -> Schema:
    hub = structure(
        "A WebSub hub.", {"type": string("`WebSub`."), "url": string("The address of the hub.")}
    )
    return structure(
        "A JSON Feed of version 1.1.",
        {
            "version": string(f"`{VERSION}`."),
            "title": string("The title of the feed."),
            "home_page_url": string("Where a stranger begins."),
            "feed_url": string("The address of the feed, or of this page of it."),
            "next_url": string("The address of the next page, on all pages but the last."),
            "items": array("The posts, the newest first.", ref("FeedItem")),
            "hubs": array("Where to subscribe to changes.", hub),
        },
        "next_url",
        "hubs",
    )


def _item() -> Schema:
    author = structure(
        "An author.", {"name": string("The address."), "url": string("About the author.")}
    )
    details = structure(
        "What JSON Feed has no members for.",
        {
            "id": string("The post's id, a decimal number below 2^256.", POST_ID_PATTERN),
            "cid": string("The cid of the document, as the chain has it."),
            "price": string("The price in wei, in decimal digits."),
            "priceText": string("The price in ETH."),
            "free": {"type": "boolean", "description": "Whether the price is zero."},
            "hosted": {"type": "boolean", "description": "Whether the document is stored here."},
            "hasText": {
                "type": "boolean",
                "description": "Whether `content_text` is the text of the post.",
            },
        },
    )
    return structure(
        "A post in a feed.",
        {
            "id": string("An id that never changes."),
            "url": string("The page of the post."),
            "title": string("The title."),
            "summary": string("The description."),
            "content_text": string("The text, or else description and price."),
            "date_published": {**_MOMENT, "description": "When it was published."},
            "date_modified": {
                **_MOMENT,
                "description": "When it was published or its price was changed; in a private feed "
                "also when its token arrived.",
            },
            "authors": array("Its author.", author),
            "tags": array("Its hashtags.", {"type": "string"}),
            "_imprint": details,
        },
    )
