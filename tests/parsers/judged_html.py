"""Judges HTML with a parser that the service does not use."""

import re

from lxml import etree, html

from imprint.web.site.texts.post_html import ATTRIBUTES, TAGS, sanitised

ANYWHERE = {"class"}
LINK = re.compile(r"(?:https?://[^\s/?#]|mailto:[^\s@]+@|#|/(?![/\\]))", re.IGNORECASE)
PICTURE = re.compile(
    r"/ipfs/b[a-z2-7]{58}\Z|data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}\Z"
    r"|data:,\Z|imprint-picture:[^\s<>\"]*\Z"
)
FEED_ATTRIBUTES = {"href", "alt", "height", "src", "width", "start"}
REL = {"nofollow", "noopener", "ugc"}


class Dangerous(AssertionError):
    """The HTML has an element, an attribute or a URL that texts may not have."""


def judge_text(markup: str) -> None:
    """Raise `Dangerous` for anything that the text of a page may not have."""
    for element in _elements(markup):
        _judge_element(element, TAGS, ATTRIBUTES.get(str(element.tag), set()) | ANYWHERE)


def judge_markup(markup: str) -> None:
    """Like `judge_text`, for HTML without its pictures. Sanitising it again must not change it."""
    judge_text(markup)
    if (again := sanitised(markup)) != markup:
        raise Dangerous(f"Sanitised again, {markup!r} becomes {again!r}.")


def judge_feed(markup: str, service: str) -> None:
    """Like `judge_text`, for a feed, in which every URL must be absolute."""
    for element in _elements(markup):
        _judge_element(element, TAGS, FEED_ATTRIBUTES, service)
        link = element.get("href", service)
        if not re.match(r"https?:|mailto:", link, re.IGNORECASE):
            raise Dangerous(f"The link {link!r} of a feed is relative.")


def judge_snippet(markup: str) -> None:
    """Like `judge_text`, for a snippet, whose only elements may be marks."""
    for element in _elements(markup):
        _judge_element(element, {"mark"}, set())


def _elements(markup: str) -> list["etree._Element"]:
    # Characters that XML forbids end a text for this parser.
    visible = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]", " ", markup)
    parser = html.HTMLParser(encoding="utf-8", huge_tree=True)
    root = html.document_fromstring(f"<div>{visible}</div>".encode(), parser=parser)
    whole = [each for each in root.iter() if each is not root]
    # The body and the element around the markup are not part of it.
    return [each for each in whole if each.tag != "body" and each.getparent().tag != "body"]


def _judge_element(
    element: "etree._Element", tags: set[str], attributes: set[str], service: str = ""
) -> None:
    if element.tag not in tags:
        raise Dangerous(f"The element {element.tag!r} is not allowed.")
    for name, value in element.items():
        if name == "rel" and element.tag == "a" and set(value.split()) <= REL:
            continue
        if name not in attributes:
            raise Dangerous(f"The attribute {name!r} of {element.tag!r} is not allowed.")
        if name == "href" and not LINK.match(value):
            raise Dangerous(f"The link {value!r} is not allowed.")
        if name == "src" and not PICTURE.match(value.removeprefix(service)):
            raise Dangerous(f"The picture {value!r} is not allowed.")
