"""Markup: HTML that is escaped unless it was made here, from texts, values and CommonMark."""

import json
import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

_INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*")
_ITEM = re.compile(r"(-|[0-9]+\.) ")
_TOKEN = re.compile(r'(?P<key>"(?:[^"\\]|\\.)*"(?=:))|(?P<text>"(?:[^"\\]|\\.)*")')


class Markup(str):
    """HTML that is safe to send: whatever strangers wrote in it is escaped."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str) -> Markup:
    """An element; children that are no markup are escaped. `class_` stands for `class`."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{given}>{join(children)}</{name}>")


def join(pieces: Iterable[str]) -> Markup:
    """Pieces one after the other, each escaped unless it is markup."""
    return Markup("".join(p if isinstance(p, Markup) else escape(p, quote=False) for p in pieces))


def render_text(text: str) -> Markup:
    """The paragraphs, headings and lists of a text in CommonMark; nothing more is understood.

    Headings are found under their own words, after `guide-`.
    """
    return join(_render_block(block) for block in text.strip().split("\n\n") if block.strip())


def render_line(text: str) -> Markup:
    """A line of text with its code and its emphasis."""
    pieces: list[str] = []
    position = 0
    for match in _INLINE.finditer(text):
        pieces.append(text[position : match.start()])
        code, strong = match.groups()
        pieces.append(element("code", code) if code else element("strong", strong))
        position = match.end()
    return join([*pieces, text[position:]])


def render_json(value: Any) -> Markup:
    """A value as indented JSON, with its names and texts told apart."""
    return render_code(json.dumps(value, indent=2, ensure_ascii=False))


def render_code(source: str) -> Markup:
    """Source whose quoted names and texts are told apart."""
    return join(_color(source))


def anchor_of(heading: str) -> str:
    """The fragment under which a heading is found."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


def _render_block(block: str) -> Markup:
    lines = block.strip().split("\n")
    if lines[0].startswith("## "):
        title = lines[0].removeprefix("## ")
        return element("h2", title, id=f"guide-{anchor_of(title)}")
    if all(_ITEM.match(line) for line in lines):
        items = [element("li", render_line(_ITEM.sub("", line, count=1))) for line in lines]
        return element("ul" if lines[0].startswith("-") else "ol", *items)
    return element("p", render_line(" ".join(lines)))


def _color(source: str) -> Iterator[str]:
    position = 0
    for match in _TOKEN.finditer(source):
        yield source[position : match.start()]
        kind = "k" if match["key"] else "s"
        yield element("span", match[0], class_=kind)
        position = match.end()
    yield source[position:]
