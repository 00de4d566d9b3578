"""Post texts in feeds: the HTML of their pages with absolute URLs, limited in size."""

import re
from dataclasses import dataclass

import nh3

from imprint.domain.posts.feeds import MAX_ENTRY_BYTES, FeedEntry
from imprint.domain.posts.text_work import TextWork
from imprint.services.access.reads import Reads
from imprint.web.api.feed_links import FeedLinks
from imprint.web.http.escapes import xml_characters
from imprint.web.site.cards import post_title
from imprint.web.site.texts.pictures import SCHEME, Pictures
from imprint.web.site.texts.post_html import LINK_REL, TAGS, TextMarkup, read_markup
from imprint.web.site.words import page_words

ATTRIBUTES = {
    "*": set(),
    "a": {"href"},
    "img": {"alt", "height", "src", "width"},
    "ol": {"start"},
}
"""The attributes of a page's text that make sense outside of the page."""

_TAG = re.compile(r"<(/?)([a-z0-9]+)[^>]*>")
_IMAGE = re.compile(r"<img [^>]*>")
_SOURCE = re.compile(r' src="([^"]*)"')
_ALT = re.compile(r' alt="([^"]*)"')
_UNFINISHED = re.compile(r"(?:<[^>]*|&[#a-zA-Z0-9]*)\Z")
_EMPTY = frozenset({"br", "hr", "img"})
"""Elements without an end tag."""


@dataclass(frozen=True, slots=True)
class FeedText:
    """Converts texts for feeds, once for each post and document."""

    reads: Reads
    links: FeedLinks

    async def show(self, client: str, entry: FeedEntry) -> str | None:
        """Return the HTML that an entry shows of its post, or None to show the description.

        Raises `Damaged`, and `Unavailable` after a long wait.
        """
        if (file := entry.file) is None:
            return None
        title, reads = post_title(entry.post), self.reads
        is_opening = entry.is_opening
        key = (file.cid, ("feed", entry.post.post_id, title, is_opening))
        known: str | None = reads.texts.find(key)
        if known is not None:
            return known
        text = await read_markup(reads, client, file, title, is_opening=is_opening)
        page = self.links.page(entry.post)

        async def load() -> str:
            return "" if text.secret is None else await reads.content_of(file)

        def convert(content: str, work: TextWork) -> str:
            return feed_html(text, content, self.links.service, page, is_whole=not is_opening)

        return await reads.texts.of(client, key, load, convert)


def feed_html(
    text: TextMarkup,
    content: str,
    service: str,
    page: str,
    longest: int = MAX_ENTRY_BYTES,
    *,
    is_whole: bool = True,
) -> str:
    """Convert the HTML of a page for feed readers, which show it outside of the page.

    The text is cut at `longest` bytes, and pictures that do not fit are replaced with their
    descriptions. A link to the page follows if anything is missing, or if the text is not
    `is_whole`.
    """
    markup = nh3.clean(
        xml_characters(text.markup),
        tags=TAGS - {"div"},
        attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto", SCHEME},
        url_relative=lambda url: (page if url.startswith("#") else service) + url,
        link_rel=LINK_REL,
    ).strip()
    shown = cut_html(markup, longest)
    is_whole = is_whole and shown == markup
    if text.secret is not None:
        room = longest - len(shown.encode())
        shown, has_all = _put_pictures(shown, text.secret, content, room)
        is_whole = is_whole and has_all
    return shown if is_whole else f"{shown}\n{page_words().html('feeds.cut', page=page)}"


def _put_pictures(markup: str, secret: str, content: str, room: int) -> tuple[str, bool]:
    """Put back the pictures that fit, and return whether all of them did."""
    pictures, has_all = Pictures(secret), True
    pictures.take_out(content)

    def put(found: re.Match[str]) -> str:
        nonlocal room, has_all
        image = found[0]
        source, alt = _SOURCE.search(image), _ALT.search(image)
        url = None if source is None else pictures.url(source[1])
        if source is None or url is None:
            return image
        if len(url) <= room:
            room -= len(url)
            return image.replace(source[1], url)
        has_all = False
        return (alt[1] if alt else "") or page_words().html("feeds.picture")

    return _IMAGE.sub(put, markup), has_all


def cut_html(markup: str, longest: int) -> str:
    """Return the first `longest` bytes of sanitised HTML or fewer, with all elements closed.

    The result ends after a block, or inside a block that takes most of the space.
    """
    whole = markup.encode()
    if len(whole) <= longest:
        return markup
    start = _UNFINISHED.sub("", whole[:longest].decode(errors="ignore"))
    opened: list[str] = []
    block_end = 0
    for tag in _TAG.finditer(start):
        if tag[1]:
            opened.pop()
        elif tag[2] not in _EMPTY:
            opened.append(tag[2])
        if not opened:
            block_end = tag.end()
    if block_end >= len(start) // 2:
        return start[:block_end]
    return start + "".join(f"</{name}>" for name in reversed(opened))
