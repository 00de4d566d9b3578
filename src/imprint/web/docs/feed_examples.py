"""Examples of feeds and of Markdown: the post of the other examples in each of them."""

from typing import Any

import msgspec

from imprint.domain.posts.feeds import Feed, FeedEntry
from imprint.domain.posts.indexed_posts import IndexedPost, Sales
from imprint.domain.posts.posts import BlockRef
from imprint.services.site.pages import ShownPost
from imprint.web.api import atom, json_feed
from imprint.web.api.feed_links import FeedLinks
from imprint.web.docs.examples import (
    BLOCK_HASH,
    CID,
    CONTENT,
    MOMENT,
    OWNER,
    POST_ID,
    TAGS,
    THUMBNAIL_CID,
    TX_HASH,
)
from imprint.web.site.machine_pages import MachinePages

FEED_ID = "3f0b4d1e-7a77-4c58-9d0a-5b1f2f6c8e90"
"""The id of a private feed."""

FEED_TOKEN = "MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI"
"""A text with the form of a token; there is no feed with it."""

TAG = TAGS.partition(",")[0]
"""One hashtag."""

_SERVICE = "https://imprint.example"
_CHAIN_ID = 8453

_POST = IndexedPost(
    20_000_000 << 20,
    int(POST_ID),
    OWNER,
    CID,
    THUMBNAIL_CID,
    "Ink",
    "On writing by hand.",
    0,
    0,
    tuple(TAGS.split(",")),
    True,
    MOMENT,
    BlockRef(20_000_000, BLOCK_HASH),
    TX_HASH,
    Sales(0, 0),
    0,
)
_FEED = Feed("posts", "Posts", "/feeds/posts", (FeedEntry(_POST, MOMENT, CONTENT),))
_LINKS = FeedLinks(_SERVICE, _CHAIN_ID, OWNER, has_site=True)
_ADDRESS = f"{_SERVICE}/feeds/private/{FEED_TOKEN}"

FEED_EXAMPLES: dict[str, Any] = {
    "AtomFeed": atom.write_atom(_FEED, _LINKS).decode(),
    "JsonFeed": msgspec.json.decode(json_feed.write_json_feed(_FEED, _LINKS)),
    "FeedAccess": {"id": FEED_ID, "atom": f"{_ADDRESS}.atom", "json": f"{_ADDRESS}.json"},
    "FeedList": {
        "feeds": [{"id": FEED_ID, "createdAt": "2026-01-15T09:30:00Z", "fetchedAt": None}]
    },
    "EmptyBody": {},
    "Markdown": MachinePages(_LINKS).post(ShownPost(_POST, None, 0), CONTENT),
}
"""Examples by the names of their components."""
