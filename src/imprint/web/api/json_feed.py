"""Feeds as JSON Feed 1.1."""

from typing import Any

import msgspec

from imprint.domain.formats.coins import format_ether
from imprint.domain.posts.feeds import Feed, FeedEntry
from imprint.web.api.feed_links import FeedLinks, teaser

MEDIA_TYPE = "application/feed+json"

VERSION = "https://jsonfeed.org/version/1.1"


def write_json_feed(feed: Feed, links: FeedLinks) -> bytes:
    """The feed as a JSON Feed document."""
    document: dict[str, Any] = {
        "version": VERSION,
        "title": feed.title,
        "home_page_url": links.home,
        "feed_url": links.address(feed, "json"),
        "items": [_item(entry, links) for entry in feed.entries],
    }
    if (next_page := links.next_address(feed, "json")) is not None:
        document["next_url"] = next_page
    if (hub := links.hub_of(feed)) is not None:
        document["hubs"] = [{"type": "WebSub", "url": hub}]
    return msgspec.json.encode(document)


def _item(entry: FeedEntry, links: FeedLinks) -> dict[str, Any]:
    post = entry.post
    return {
        "id": links.post_id(post),
        "url": links.page(post.post_id),
        "title": post.title,
        "summary": post.description,
        # One of the contents is mandatory.
        "content_text": teaser(entry) if entry.text is None else entry.text,
        "date_published": post.created_at,
        "date_modified": entry.updated_at,
        "authors": [{"name": post.author, "url": links.author(post)}],
        "tags": list(post.hashtags),
        "_imprint": {
            "id": str(post.post_id),
            "cid": post.cid,
            "price": str(post.price),
            "priceText": format_ether(post.price),
            "free": post.free,
            "hosted": post.hosted,
            "hasText": entry.text is not None,
        },
    }
