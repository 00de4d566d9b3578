"""HTML markup with automatic escaping, rendered from elements, JSON and CommonMark."""

import json
import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

_INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*")
_ITEM = re.compile(r"(-|[0-9]+\.) ")
_TOKEN = re.compile(r'(?P<key>"(?:[^"\\]|\\.)*"(?=:))|(?P<text>"(?:[^"\\]|\\.)*")')


class Markup(str):
    """Escaped HTML."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str) -> Markup:
    """An element; children that are not markup are escaped. `class_` gives `class`."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{given}>{join(children)}</{name}>")


def join(pieces: Iterable[str]) -> Markup:
    """The concatenated pieces, each escaped unless it is markup."""
    return Markup("".join(p if isinstance(p, Markup) else escape(p, quote=False) for p in pieces))


def render_text(text: str) -> Markup:
    """A text in the subset of CommonMark with paragraphs, second-level headings and lists.

    The id of a heading is `guide-` and its anchor.
    """
    return join(_render_block(block) for block in text.strip().split("\n\n") if block.strip())


def render_line(text: str) -> Markup:
    """A line of text with inline code and strong emphasis."""
    pieces: list[str] = []
    position = 0
    for match in _INLINE.finditer(text):
        pieces.append(text[position : match.start()])
        code, strong = match.groups()
        pieces.append(element("code", code) if code else element("strong", strong))
        position = match.end()
    return join([*pieces, text[position:]])


def render_json(value: Any) -> Markup:
    """A value as indented JSON, highlighted."""
    return render_code(json.dumps(value, indent=2, ensure_ascii=False))


def render_code(source: str) -> Markup:
    """Source code in which member names and strings are highlighted."""
    return join(_highlight(source))


def anchor_of(heading: str) -> str:
    """The URL fragment of a heading."""
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


def _highlight(source: str) -> Iterator[str]:
    position = 0
    for match in _TOKEN.finditer(source):
        yield source[position : match.start()]
        kind = "k" if match["key"] else "s"
        yield element("span", match[0], class_=kind)
        position = match.end()
    yield source[position:]
