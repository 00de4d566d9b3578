"""Texts of posts as HTML that runs nothing: rendered within bounds, then sanitised.

The sanitiser is the last step, whatever the text was: what it does not know is not in a page.
"""

import re
import secrets

import nh3
from markupsafe import Markup

from imprint.domain.posts.post_text import parse_blocks
from imprint.web.http.escapes import html_paragraphs
from imprint.web.site.texts.blocks import blocks_html
from imprint.web.site.texts.markdown import markdown_html
from imprint.web.site.texts.pictures import SCHEME, Pictures
from imprint.web.site.texts.text_links import link_address, picture_address

MAX_TEXT = 200_000
"""Characters of a text, without its pictures, that is rendered; each takes up to ten microseconds.
It is a book of 35 000 words."""

MAX_BRACKETS = 10_000
"""Opening brackets of a text that is rendered: each begins a link, which is looked for."""

MAX_LINES = 5_000
"""Lines without a blank one among them: time grows with the square of those of a paragraph."""

TAGS = {
    *("a", "b", "blockquote", "br", "cite", "code", "del", "div", "em", "figcaption", "figure"),
    *("h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "li", "mark", "ol", "p", "pre", "s"),
    *("strong", "table", "tbody", "td", "th", "thead", "tr", "u", "ul"),
}
"""The elements of a text."""

ATTRIBUTES = {
    "a": {"href"},
    "div": {"aria-label", "role", "tabindex"},
    **{f"h{level}": {"id"} for level in range(2, 7)},
    "img": {"alt", "height", "loading", "src", "width"},
    "ol": {"start"},
    "pre": {"tabindex"},
}
"""The attributes of each element, besides the classes below."""

CLASSES = {"div": {"scroll", "notice"}, "img": {"unsized"}}

MAX_CELLS = 20_000
"""Cells of the tables of a text that is rendered; a short row is filled up to the longest one."""

_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")

NOTICE = (
    '<div class="notice"><p>This text is too long or too intricate to be formatted, so it is '
    "shown as it was written.</p></div>"
)


def post_html(content: str, title: str = "") -> Markup:
    """The HTML of a post's content; a first heading that repeats the title is left out."""
    pictures = Pictures(secrets.token_hex(8))
    text = pictures.take_out(content)
    document = parse_blocks(text)
    if document is not None:
        markup = blocks_html(document[1], pictures) if len(text) <= MAX_TEXT else None
        plain = "\n".join(_block_texts(document[1]))
    else:
        markup = markdown_html(text, pictures, title) if is_bounded(text) else None
        plain = text
    if markup is None:
        markup = NOTICE + html_paragraphs(plain)
    return Markup(pictures.put_back(sanitised(markup)))  # noqa: S704 - sanitised


def is_bounded(text: str) -> bool:
    """Whether the time to render this text is bounded by its length."""
    if len(text) > MAX_TEXT or text.count("[") > MAX_BRACKETS:
        return False
    parts = [part.split("\n") for part in _BLANK_LINE.split(text)]
    if any(len(lines) > MAX_LINES for lines in parts):
        return False
    return sum(_cells(lines) for lines in parts) <= MAX_CELLS


def _cells(lines: list[str]) -> int:
    """At most so many cells has a table of these lines."""
    widest = max(line.count("|") for line in lines)
    return (widest + 1) * len(lines) if widest else 0


def sanitised(markup: str) -> str:
    """The HTML with nothing in it but the elements, attributes and addresses of texts."""
    return nh3.clean(
        markup,
        tags=TAGS,
        attributes=ATTRIBUTES,
        allowed_classes=CLASSES,
        attribute_filter=_attribute,
        url_schemes={"http", "https", "mailto", SCHEME},
        link_rel="nofollow noopener ugc",
    )


def _attribute(tag: str, name: str, value: str) -> str | None:
    if name == "href":
        return link_address(value)
    if name == "src":
        return picture_address(value)
    if name == "id":
        return value if value.startswith("s-") else None
    return value


def _block_texts(blocks: list[dict[str, object]]) -> list[str]:
    datas = [block.get("data") for block in blocks]
    texts = [data.get("text") for data in datas if isinstance(data, dict)]
    return [re.sub(r"<[^<>]*>", "", text) for text in texts if isinstance(text, str)]
