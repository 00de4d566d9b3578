"""Feeds as JSON Feed 1.1."""

from collections.abc import Mapping

from imprint.domain.posts.feeds import Feed, FeedEntry
from imprint.domain.posts.indexed_posts import IndexedPost
from imprint.interface.codec import encode_json
from imprint.interface.posts import JSON_FEED, FeedAuthor, FeedHub, FeedItem, FeedPost, JsonFeed
from imprint.interface.values import Wei
from imprint.web.api.feed_links import FeedLinks, teaser

MEDIA_TYPE = "application/feed+json"


def write_json_feed(feed: Feed, texts: Mapping[int, str], links: FeedLinks) -> bytes:
    """Render the feed, with these texts by post ID, as the bytes of a JSON Feed document."""
    return encode_json(make_json_feed(feed, texts, links))


def make_json_feed(feed: Feed, texts: Mapping[int, str], links: FeedLinks) -> JsonFeed:
    """Convert the feed into a JSON Feed document."""
    hub = links.hub_of(feed)
    return JsonFeed(
        JSON_FEED,
        links.title(feed),
        links.home(feed),
        links.address(feed, "json"),
        tuple(_item(each, texts.get(each.post.post_id), links) for each in feed.entries),
        links.next_address(feed, "json"),
        () if hub is None else (FeedHub("WebSub", hub),),
    )


def _item(entry: FeedEntry, text: str | None, links: FeedLinks) -> FeedItem:
    post = entry.post
    return FeedItem(
        links.post_id(post),
        links.page(post),
        post.title,
        post.description,
        post.created_at,
        entry.updated_at,
        (_author(post, links),),
        post.hashtags,
        FeedPost(
            str(post.post_id),
            post.cid,
            Wei(post.price),
            links.amount(post.price),
            post.free,
            post.hosted,
            text is not None and not entry.is_opening,
        ),
        # JSON Feed requires either the HTML or the text.
        text,
        teaser(entry, links) if text is None else None,
        links.picture(post),
    )


def _author(post: IndexedPost, links: FeedLinks) -> FeedAuthor:
    if post.byline is None:
        return FeedAuthor(post.author, links.author(post))
    avatar = post.byline.avatar_cid
    picture = None if avatar is None else f"{links.service}/ipfs/{avatar}"
    return FeedAuthor(post.byline.name, links.author(post), picture)
