"""Posts of the earlier front end: renders EditorJS blocks as HTML with a few inline elements."""

import re
from collections.abc import Callable, Sequence
from html import escape, unescape

import nh3

from imprint.domain.posts.post_text import (
    INLINE_STEPS,
    Block,
    is_checked,
    item_text,
    table_rows,
    walk_items,
)
from imprint.domain.posts.text_work import TextWork
from imprint.web.site.texts.markdown import code_markup, heading_anchor, heading_levels, is_title
from imprint.web.site.texts.pictures import Pictures
from imprint.web.site.texts.text_links import link_address, picture_markup

INLINE_TAGS = {"a", "b", "br", "code", "em", "i", "mark", "s", "strong", "u"}
"""Elements allowed in the text of a block. Any other element is reduced to its text."""


_TAG = re.compile(r"<[^<>]*>")

MAX_TAGS = 1_000
"""Maximum number of tags in one text. Sanitising takes time quadratic in the open tags."""


def inline_html(text: str) -> str:
    """Sanitise a text with inline HTML. If it has too many tags, all of them are removed."""
    if "<" not in text and "&" not in text:
        return escape(text)
    if text.count("<") > MAX_TAGS:
        return escape(_TAG.sub("", text))
    return nh3.clean(
        text,
        tags=INLINE_TAGS,
        attributes={"*": set(), "a": {"href"}},
        attribute_filter=lambda tag, name, value: link_address(value),
        url_schemes={"http", "https", "mailto", "ipfs"},
        link_rel=None,
    )


def blocks_html(blocks: Sequence[Block], pictures: Pictures, title: str, work: TextWork) -> str:
    """Render blocks as HTML, without a first heading that repeats the title.

    A block of unknown kind is shown as a paragraph with its text. Raises the same errors as
    `TextWork.spend`.
    """
    return "\n".join(_Writer(blocks, pictures, title, work).write())


class _Writer:
    """Renders the blocks of one post."""

    def __init__(
        self, blocks: Sequence[Block], pictures: Pictures, title: str, work: TextWork
    ) -> None:
        self._work = work
        self._blocks = [
            (str(block.get("type")), data if isinstance(data := block.get("data"), dict) else {})
            for block in blocks
        ]
        if self._blocks and self._blocks[0][0] == "header":
            heading = unescape(_TAG.sub("", _member(self._blocks[0][1], "text")))
            if is_title(heading, title):
                del self._blocks[0]
        self._pictures = pictures
        self._anchors: dict[str, int] = {}
        headers = [data for kind, data in self._blocks if kind == "header"]
        self._levels = iter(heading_levels([_level(data) for data in headers]))
        self._kinds: dict[str, Callable[[Block], str]] = {
            "header": self._header,
            "list": self._list,
            "checklist": lambda data: self._list({**data, "style": "checklist"}),
            "quote": self._quote,
            "code": lambda data: code_markup(_member(data, "code")),
            "raw": lambda data: code_markup(_member(data, "html")),
            "image": self._image,
            "simpleImage": self._image,
            "delimiter": lambda data: "<hr>",
            "table": self._table,
            "embed": self._embed,
            "linkTool": self._embed,
            "warning": lambda data: self._paragraphs(data, "title", "message"),
        }

    def write(self) -> list[str]:
        """Yield the HTML of each block that is not empty."""
        made = [self._kinds.get(kind, self._paragraph)(data) for kind, data in self._blocks]
        return [each for each in made if each]

    def _header(self, data: Block) -> str:
        text, level = _member(data, "text"), next(self._levels)
        anchor = heading_anchor(_TAG.sub("", text), self._anchors)
        return f'<h{level} id="{escape(anchor)}">{self._inline(text)}</h{level}>'

    def _image(self, data: Block) -> str:
        file = data.get("file")
        url = _member(file, "url") if isinstance(file, dict) else _member(data, "url")
        caption = self._inline(_member(data, "caption"))
        plain = _TAG.sub("", _member(data, "caption"))
        picture = picture_markup(url, plain, self._pictures)
        if not picture:
            return ""
        below = f"<figcaption>{caption}</figcaption>" if caption else ""
        return f"<figure>{picture}{below}</figure>"

    def _inline(self, text: str) -> str:
        self._work.spend(INLINE_STEPS)
        return inline_html(text)

    def _paragraphs(self, data: Block, *names: str) -> str:
        texts = (self._inline(_member(data, name)) for name in names)
        return "".join(f"<p>{text}</p>" for text in texts if text.strip())

    def _paragraph(self, data: Block) -> str:
        return self._paragraphs(data, "text", "caption")

    def _quote(self, data: Block) -> str:
        caption = self._inline(_member(data, "caption"))
        source = f"<p><cite>{caption}</cite></p>" if caption else ""
        return f"<blockquote><p>{self._inline(_member(data, 'text'))}</p>{source}</blockquote>"

    def _list(self, data: Block) -> str:
        tag = "ol" if data.get("style") == "ordered" else "ul"
        checks = data.get("style") == "checklist"
        parts: list[str] = []
        open_lists = 0
        for depth, _, item in walk_items(data.get("items")):
            while open_lists > depth + 1:
                parts.append(f"</li></{tag}>")
                open_lists -= 1
            if open_lists == depth + 1:
                parts.append("</li>")
            else:
                parts.append(f"<{tag}>")
                open_lists += 1
            mark = ("☑ " if is_checked(item) else "☐ ") if checks else ""
            parts.append(f"<li>{mark}{self._inline(item_text(item))}")
        parts.append(f"</li></{tag}>" * open_lists)
        return "".join(parts)

    def _table(self, data: Block) -> str:
        rows = table_rows(data)
        if not rows:
            return ""
        has_head = data.get("withHeadings") is True
        lines = []
        for number, row in enumerate(rows):
            cell = "th" if has_head and number == 0 else "td"
            cells = "".join(f"<{cell}>{self._inline(each)}</{cell}>" for each in row)
            lines.append(f"<tr>{cells}</tr>")
        return (
            '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>'
            f"{''.join(lines)}</table></div>"
        )

    def _embed(self, data: Block) -> str:
        target = link_address(_member(data, "source") or _member(data, "link"))
        caption = self._inline(_member(data, "caption"))
        if target is None:
            return f"<p>{caption}</p>" if caption else ""
        below = f"<br>{caption}" if caption else ""
        return f'<p><a href="{escape(target)}">{escape(target)}</a>{below}</p>'


def _member(data: Block, name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _level(data: Block) -> int:
    level = data.get("level")
    return level if isinstance(level, int) and 1 <= level <= 6 else 2
