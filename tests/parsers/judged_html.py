"""Judges HTML with parsers that the service does not use."""

import re
from collections.abc import Mapping
from html.parser import HTMLParser

from lxml import etree, html

from imprint.web.site.texts.post_html import sanitised

# These are not the lists of the sanitiser, which are judged by these.
TAGS = {
    *("a", "b", "blockquote", "br", "cite", "code", "del", "div", "em", "figcaption", "figure"),
    *("h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "li", "mark", "ol", "p", "pre", "s"),
    *("span", "strong", "sup", "table", "tbody", "td", "th", "thead", "tr", "u", "ul"),
}
ATTRIBUTES = {
    "a": {"aria-label", "href", "id", "role"},
    "div": {"aria-label", "class", "role", "tabindex"},
    **{tag: {"id"} for tag in ("h2", "h3", "h4", "h5", "h6", "li")},
    "img": {"alt", "class", "height", "loading", "src", "width"},
    "ol": {"start"},
    "pre": {"class", "tabindex"},
    **{tag: {"class"} for tag in ("span", "td", "th")},
}
FEED_TAGS = TAGS - {"div"}
FEED_ATTRIBUTES = {
    "a": {"href"},
    "img": {"alt", "height", "src", "width"},
    "ol": {"start"},
}
LINK = re.compile(r"(?:https?://[^\s/?#]|mailto:[^\s@]+@|#|/(?![/\\]))", re.IGNORECASE)
PICTURE = re.compile(
    r"/ipfs/b[a-z2-7]{58}\Z|data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}\Z"
    r"|data:,\Z|imprint-picture:[^\s<>\"]*\Z"
)
REL = {"nofollow", "noopener", "ugc"}
END = "end-of-the-markup"


class Dangerous(AssertionError):
    """The HTML has an element, an attribute or a URL that texts may not have."""


def judge_text(markup: str) -> None:
    """Raise `Dangerous` for anything that the text of a page may not have."""
    for element in _elements(markup):
        _judge_element(element, TAGS, ATTRIBUTES)


def judge_markup(markup: str) -> None:
    """Like `judge_text`, for HTML without its pictures. Sanitising it again must not change it."""
    judge_text(markup)
    if (again := sanitised(markup)) != markup:
        raise Dangerous(f"Sanitised again, {markup!r} becomes {again!r}.")


def judge_feed(markup: str, service: str) -> None:
    """Like `judge_text`, for a feed, in which every URL must be absolute."""
    for element in _elements(markup):
        _judge_element(element, FEED_TAGS, FEED_ATTRIBUTES, service)
        link = element.get("href", service)
        if not re.match(r"https?:|mailto:", link, re.IGNORECASE):
            raise Dangerous(f"The link {link!r} of a feed is relative.")


def judge_snippet(markup: str) -> None:
    """Like `judge_text`, for a snippet, whose only elements may be marks."""
    for element in _elements(markup):
        _judge_element(element, {"mark"}, {})


def _elements(markup: str) -> list["etree._Element"]:
    # Characters that XML forbids end a text for this parser.
    visible = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]", " ", markup)
    parser = html.HTMLParser(encoding="utf-8", huge_tree=True)
    around = f'<div>{visible}<br id="{END}"></div>'
    # The page, its body and the element around the markup come first.
    _, _, wrapper, *inside = html.document_fromstring(around.encode(), parser=parser).iter()
    end = inside.pop() if inside else wrapper
    if end.getparent() is not wrapper or (end.tag, end.items()) != ("br", [("id", END)]):
        raise Dangerous("The markup closes the element around it, or does not close its own.")
    started = _StartTags()
    started.feed(visible)
    started.close()
    if started.names != [each.tag for each in inside]:
        raise Dangerous(f"Not every tag is that of an element: {started.names}.")
    return inside


class _StartTags(HTMLParser):
    """Lists the start tags, with those that the other parser leaves out, such as `<body>`."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.names.append(tag)

    def handle_decl(self, decl: str) -> None:
        self.names.append(f"!{decl}")


def _judge_element(
    element: "etree._Element",
    tags: set[str],
    attributes: Mapping[str, set[str]],
    service: str = "",
) -> None:
    if element.tag not in tags:
        raise Dangerous(f"The element {element.tag!r} is not allowed.")
    for name, value in element.items():
        if name == "rel" and element.tag == "a" and set(value.split()) <= REL:
            continue
        if name not in attributes.get(str(element.tag), ()):
            raise Dangerous(f"The attribute {name!r} of {element.tag!r} is not allowed.")
        if name == "href" and not LINK.match(value):
            raise Dangerous(f"The link {value!r} is not allowed.")
        if name == "src" and not PICTURE.match(value.removeprefix(service)):
            raise Dangerous(f"The picture {value!r} is not allowed.")
