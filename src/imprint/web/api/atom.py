"""Feeds as Atom (RFC 4287), paged as in RFC 5005."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from imprint.domain.formats.instants import format_instant
from imprint.domain.posts.feeds import Feed, FeedEntry
from imprint.web.api.feed_links import FeedLinks, teaser
from imprint.web.http.escapes import xml_text

MEDIA_TYPE = "application/atom+xml"

EXTENSION = "urn:imprint:feed"
"""The namespace of Imprint's extension elements."""

MEDIA = "http://search.yahoo.com/mrss/"
"""The namespace of Media RSS, in which feed readers look for the picture of an entry."""

EMPTY_SINCE = datetime(1970, 1, 1, tzinfo=UTC)
"""The `updated` date of an empty feed.

Atom requires this date, and the current time would keep changing.
"""


def write_atom(feed: Feed, texts: Mapping[int, str], links: FeedLinks) -> bytes:
    """Render the feed, with these texts by post ID, as an Atom document."""
    return "".join(_document(feed, texts, links)).encode()


def _document(feed: Feed, texts: Mapping[int, str], links: FeedLinks) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="utf-8"?>\n'
    yield '<feed xmlns="http://www.w3.org/2005/Atom"'
    yield f' xmlns:imprint="{EXTENSION}" xmlns:media="{MEDIA}">\n'
    yield f"<id>{xml_text(links.feed_id(feed))}</id>\n"
    yield f"<title>{xml_text(links.title(feed))}</title>\n"
    yield f"<updated>{format_instant(feed.updated_at or EMPTY_SINCE)}</updated>\n"
    self_link = xml_text(links.address(feed, "atom"))
    yield f'<link rel="self" type="{MEDIA_TYPE}" href="{self_link}"/>\n'
    if (next_page := links.next_address(feed, "atom")) is not None:
        yield f'<link rel="next" type="{MEDIA_TYPE}" href="{xml_text(next_page)}"/>\n'
    home = xml_text(links.home(feed))
    yield f'<link rel="alternate" type="{links.home_type}" href="{home}"/>\n'
    if (hub := links.hub_of(feed)) is not None:
        yield f'<link rel="hub" href="{xml_text(hub)}"/>\n'
    yield "<generator>Imprint</generator>\n"
    for entry in feed.entries:
        yield from _entry(entry, texts.get(entry.post.post_id), links)
    yield "</feed>\n"


def _entry(entry: FeedEntry, text: str | None, links: FeedLinks) -> Iterator[str]:
    post = entry.post
    yield "<entry>\n"
    yield f"<id>{xml_text(links.post_id(post))}</id>\n"
    yield f"<title>{xml_text(post.title)}</title>\n"
    yield f"<published>{format_instant(post.created_at)}</published>\n"
    yield f"<updated>{format_instant(entry.updated_at)}</updated>\n"
    name = post.author if post.byline is None else post.byline.name
    author = xml_text(links.author(post))
    yield f"<author><name>{xml_text(name)}</name><uri>{author}</uri></author>\n"
    yield f'<link rel="alternate" href="{xml_text(links.page(post))}"/>\n'
    for tag in post.hashtags:
        yield f'<category term="{xml_text(tag)}"/>\n'
    yield f'<imprint:price wei="{post.price}">{links.amount(post.price)}</imprint:price>\n'
    if (picture := links.picture(post)) is not None:
        yield f'<media:thumbnail url="{xml_text(picture)}"/>\n'
    if text is None:
        yield f"<summary>{xml_text(teaser(entry, links))}</summary>\n"
    else:
        if post.description:
            yield f"<summary>{xml_text(post.description)}</summary>\n"
        yield f'<content type="html">{xml_text(text)}</content>\n'
    yield "</entry>\n"
