"""Post texts as inert HTML: rendered within limits, then sanitised.

The sanitiser is always the last step, so disallowed HTML never reaches a page.
"""

import re
import secrets
from dataclasses import dataclass
from html import escape

import nh3
from markupsafe import Markup

from imprint.domain.drafts.files import File
from imprint.domain.posts.openings import MAX_TEXT, normalize_lines, read_opening, without_marks
from imprint.domain.posts.post_text import is_markdown, parse_blocks, readable_text
from imprint.domain.posts.text_work import TextWork, TooIntricate
from imprint.services.access.reads import Reads
from imprint.web.site.texts.blocks import blocks_html
from imprint.web.site.texts.code_colours import CODE_CLASSES
from imprint.web.site.texts.markdown import markdown_html
from imprint.web.site.texts.pictures import SCHEME, Pictures
from imprint.web.site.texts.text_links import link_address, picture_address
from imprint.web.site.words import page_words

TAGS = {
    *("a", "b", "blockquote", "br", "cite", "code", "del", "div", "em", "figcaption", "figure"),
    *("h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "li", "mark", "ol", "p", "pre", "s"),
    *("span", "strong", "sup", "table", "tbody", "td", "th", "thead", "tr", "u", "ul"),
}
"""The HTML elements allowed in a text."""

ATTRIBUTES = {
    # Otherwise the sanitiser allows a few attributes on every element.
    "*": set(),
    "a": {"aria-label", "href", "id", "role"},
    "div": {"aria-label", "role", "tabindex"},
    **{f"h{level}": {"id"} for level in range(2, 7)},
    "img": {"alt", "height", "loading", "src", "width"},
    "li": {"id"},
    "ol": {"start"},
    "pre": {"tabindex"},
}
"""The attributes allowed on each element, in addition to the classes in `CLASSES`."""

LINK_REL = "nofollow noopener ugc"

_SIDES = {"left", "center", "right"}

CLASSES = {
    "div": {"scroll", "notice", "footnotes"},
    "img": {"unsized"},
    "pre": {"written"},
    "span": set(CODE_CLASSES),
    "td": _SIDES,
    "th": _SIDES,
}

_ROLES = {"region", "doc-noteref", "doc-endnotes", "doc-backlink"}
_ANCHOR = re.compile(r"s-|fn-[0-9]+\Z|fnref-[0-9]+-[0-9]+\Z")


@dataclass(frozen=True, slots=True)
class TextMarkup:
    """The HTML of a text with names instead of its pictures, which can be megabytes.

    `secret` is the common part of the names, or None if the text has no pictures.
    """

    markup: Markup
    secret: str | None

    def __len__(self) -> int:
        return len(self.markup)

    def with_pictures(self, content: str) -> Markup:
        """Return the HTML with the images of its text put back."""
        if self.secret is None:
            return self.markup
        pictures = Pictures(self.secret)
        pictures.take_out(content)
        return Markup(pictures.put_back(self.markup))  # noqa: S704 - sanitised


async def read_markup(
    reads: Reads, client: str, file: File, title: str, *, is_opening: bool = False
) -> TextMarkup:
    """Return the HTML of a document or of its opening, converted once for its page and feeds."""

    def render(content: str, work: TextWork) -> TextMarkup:
        text = read_opening(content, work).content if is_opening else content
        return text_markup(text, title, work)

    into = "opening html" if is_opening else "html"
    return await reads.converted(client, file, (into, title), render)


def text_markup(content: str, title: str, work: TextWork) -> TextMarkup:
    """Render a post's content as HTML, without a first heading that repeats the title.

    A text that takes too much work is shown as plain text. Raises `Abandoned`.
    """
    pictures = Pictures(secrets.token_hex(8))
    text = normalize_lines(pictures.take_out(content))
    secret = pictures.secret if pictures.urls else None
    try:
        markup = _render(text, pictures, title, work)
    except TooIntricate:
        markup, secret = _as_written(pictures.left_out(text)), None
    return TextMarkup(Markup(sanitised(markup)), secret)  # noqa: S704 - sanitised


def _render(text: str, pictures: Pictures, title: str, work: TextWork) -> str:
    if len(text) > MAX_TEXT:
        raise TooIntricate("The text is too long.")
    document = parse_blocks(text)
    if document is None:
        return markdown_html(without_marks(text, work), pictures, title, work)
    return blocks_html(document[1], pictures, title, work)


def _as_written(text: str) -> str:
    """Render the beginning of a text as preformatted plain text. For blocks, render their words."""
    if not is_markdown(text):
        text = readable_text(text) or text
    notice = page_words().html("text.cut" if len(text) > MAX_TEXT else "text.plain")
    written = escape(text[:MAX_TEXT], quote=False)
    return f'<div class="notice"><p>{notice}</p></div><pre class="written">{written}</pre>'


def sanitised(markup: str) -> str:
    """Reduce HTML to the elements, attributes and URLs that texts may have."""
    return nh3.clean(
        markup,
        tags=TAGS,
        attributes=ATTRIBUTES,
        allowed_classes=CLASSES,
        attribute_filter=_attribute,
        url_schemes={"http", "https", "mailto", SCHEME},
        link_rel=LINK_REL,
    )


def _attribute(tag: str, name: str, value: str) -> str | None:
    if name == "href":
        return link_address(value)
    if name == "src":
        return picture_address(value)
    if name == "id":
        return value if _ANCHOR.match(value) else None
    if name == "role":
        return value if value in _ROLES else None
    return value
