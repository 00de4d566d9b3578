"""Feed readers' parsers find in our feeds what was written, except for known differences."""

import calendar
from collections.abc import Callable
from datetime import UTC, datetime
from io import BytesIO
from random import Random
from typing import Any

import atoma
import feedparser
from tests.differences.comparison import Known, Subject, compare
from tests.differences.random_values import random_address, random_number, random_text

from imprint.domain.drafts.tags import NotTags, parse_hashtags
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.feeds import FEED_SIZE, Feed, FeedEntry
from imprint.domain.posts.indexed_posts import IndexedPost, Sales
from imprint.domain.posts.posts import BlockRef
from imprint.domain.posts.text_work import TextWork
from imprint.domain.profiles import Byline
from imprint.web.api.atom import write_atom
from imprint.web.api.feed_links import FeedLinks, teaser
from imprint.web.api.json_feed import write_json_feed
from imprint.web.http.escapes import xml_characters
from imprint.web.site.texts.feed_texts import feed_html
from imprint.web.site.texts.post_html import text_markup

LINKS = FeedLinks("https://imprint.example", "Imprint", 1, Address("0x" + "11" * 20))
MARKDOWN = ("# ", "\n\n", "*", "**", "`", "```\n", "> ", "- ", "1. ", "[a](/t/ink)", "| a | b |\n")

Entry = tuple[FeedEntry, str | None]
"""An entry and its HTML."""


def random_entry(rng: Random) -> Entry:
    """Return an entry of a feed, with HTML if the subscriber may read its text."""
    created = datetime.fromtimestamp(rng.randrange(2**32) + rng.random(), UTC)
    title, price = random_text(rng, 20), rng.choice([0, 1, 10**16, random_number(rng)])
    post = IndexedPost(
        place=1,
        # No two posts in a feed have the same ID.
        post_id=rng.getrandbits(256),
        author=random_address(rng),
        cid=random_text(rng),
        thumbnail_cid=random_text(rng),
        title=title,
        description=rng.choice(["", random_text(rng, 40)]),
        price=price,
        first_price=price,
        hashtags=_random_tags(rng),
        hosted=rng.random() < 0.8,
        created_at=created,
        block=BlockRef(1, "0x" + "22" * 32),
        tx_hash="0x" + "33" * 32,
        sales=Sales(0, 0),
        holders=0,
        byline=Byline(random_text(rng) + "x", None) if rng.random() < 0.3 else None,
    )
    entry = FeedEntry(post, datetime.fromtimestamp(rng.randrange(2**32), UTC))
    return entry, _random_html(rng, LINKS.page(post)) if rng.random() < 0.7 else None


def _random_tags(rng: Random) -> tuple[str, ...]:
    try:
        return parse_hashtags(",".join(random_text(rng, 3) for _ in range(rng.randrange(4))))
    except NotTags:
        return ()


def _random_html(rng: Random, page: str) -> str:
    parts = [rng.choice([rng.choice(MARKDOWN), random_text(rng)]) for _ in range(rng.randrange(20))]
    content = "".join(parts)
    return feed_html(text_markup(content, "", TextWork()), content, LINKS.service, page)


def expect_atom(case: Entry) -> dict[str, Any]:
    """Return what a reader of the Atom feed is expected to find."""
    entry, html = case
    post = entry.post
    author = post.author if post.byline is None else post.byline.name
    return {
        "id": LINKS.post_id(post),
        "title": xml_characters(post.title),
        "link": LINKS.page(post),
        "published": int(post.created_at.timestamp()),
        "updated": int(entry.updated_at.timestamp()),
        "author": xml_characters(author),
        "author_uri": LINKS.author(post),
        "tags": list(post.hashtags),
        "summary": xml_characters(teaser(entry, LINKS) if html is None else post.description),
        "content": html,
    }


def read_atom(cases: list[Entry]) -> list[dict[str, Any]]:
    """Return what feedparser finds in Atom feeds with these entries."""

    def read(document: bytes) -> list[dict[str, Any]]:
        parsed = feedparser.parse(
            BytesIO(document), sanitize_html=False, resolve_relative_uris=False
        )
        assert (parsed.bozo, parsed.version) == (0, "atom10"), parsed.get("bozo_exception")
        return [_read_entry(entry) for entry in parsed.entries]

    return _read_feeds(cases, write_atom, read)


def _read_entry(entry: Any) -> dict[str, Any]:
    texts = [each["value"] for each in entry.get("content", [])]
    return {
        "id": entry.id,
        "title": entry.get("title", ""),
        "link": entry.link,
        "published": calendar.timegm(entry.published_parsed),
        "updated": calendar.timegm(entry.updated_parsed),
        "author": entry.author_detail.get("name", ""),
        "author_uri": entry.author_detail.get("href", ""),
        "tags": [tag["term"] for tag in entry.get("tags", [])],
        "summary": entry.get("summary", ""),
        "content": texts[0] if texts else None,
    }


def _read_feeds(
    cases: list[Entry],
    write: Callable[[Feed, dict[int, str], FeedLinks], bytes],
    read: Callable[[bytes], list[dict[str, Any]]],
) -> list[dict[str, Any]]:
    """Write the entries into feeds of the usual size, and read them."""
    found: list[dict[str, Any]] = []
    for start in range(0, len(cases), FEED_SIZE):
        chosen = cases[start : start + FEED_SIZE]
        feed = Feed("posts", "New posts", "/feeds/posts", "/", tuple(each for each, _ in chosen))
        texts = {entry.post.post_id: html for entry, html in chosen if html is not None}
        found += read(write(feed, texts, LINKS))
    return found


def expect_json(case: Entry) -> dict[str, Any]:
    """Return what a reader of the JSON Feed is expected to find."""
    entry, html = case
    post = entry.post
    return {
        "id": LINKS.post_id(post),
        "title": post.title,
        "link": LINKS.page(post),
        "published": int(post.created_at.timestamp()),
        "updated": int(entry.updated_at.timestamp()),
        "tags": list(post.hashtags),
        "summary": post.description,
        "content": html,
        "text": teaser(entry, LINKS) if html is None else None,
    }


def read_json(cases: list[Entry]) -> list[dict[str, Any]]:
    """Return what atoma finds in JSON feeds with these entries, as feedparser reads no JSON."""

    def read(document: bytes) -> list[dict[str, Any]]:
        return [
            {
                "id": item.id_,
                "title": item.title,
                "link": item.url,
                "published": int(item.date_published.timestamp()),
                "updated": int(item.date_modified.timestamp()),
                "tags": item.tags,
                "summary": item.summary,
                "content": item.content_html,
                "text": item.content_text,
            }
            for item in atoma.parse_json_feed_bytes(document).items
        ]

    return _read_feeds(cases, write_json_feed, read)


TEXTS = ("title", "author", "summary", "content")


def strip_texts(found: dict[str, Any]) -> dict[str, Any]:
    return found | {name: found[name] and found[name].strip() for name in TEXTS}


def repeat_content(found: dict[str, Any]) -> dict[str, Any]:
    return found | ({"summary": found["content"] or ""} if not found["summary"] else {})


def map_controls(found: dict[str, Any]) -> dict[str, Any]:
    """Replace C1 control characters with the Windows-1252 characters of the same codes."""
    names = [name for name in TEXTS if name != "author"]
    return found | {
        name: found[name] and found[name].translate(WINDOWS_CHARACTERS) for name in names
    }


WINDOWS_CHARACTERS = {
    code: bytes([code]).decode("cp1252")
    for code in range(0x80, 0xA0)
    if code not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)
}

CHANGES = {
    "no summary": (
        repeat_content,
        "feedparser shows the content as the summary of an entry without one.",
    ),
    "white space at the ends": (
        strip_texts,
        "feedparser removes white space from both ends of every text.",
    ),
    "C1 control characters": (
        map_controls,
        "feedparser reads the characters from U+0080 to U+009F as those of Windows.",
    ),
}
"""The changes that feedparser makes, in this order: each function and the reason, by name."""


def read_as_feedparser(found: dict[str, Any]) -> dict[str, Any]:
    """Apply all changes, because one entry can have several."""
    for change, _ in CHANGES.values():
        found = change(found)
    return found


ATOM = tuple(
    Known(
        name,
        why,
        lambda case, ours, theirs, change=change: (
            change(ours) != ours and read_as_feedparser(ours) == theirs
        ),
    )
    for name, (change, why) in CHANGES.items()
)


def test_feedparser_reads_back_what_was_written_to_our_feeds():
    compare(
        "feedparser",
        "A random entry of a feed with hostile characters in all texts, written by Imprint as Atom "
        "and read by feedparser, or written as JSON Feed and read by atoma.",
        [
            Subject("Atom", 100, random_entry, expect_atom, read_atom, ATOM),
            Subject("JSON Feed", 30, random_entry, expect_json, read_json),
        ],
    )
