"""Readable text of a document: Markdown, or the JSON blocks of the earlier front end.

Content is untrusted, so no text raises an error, processing time is linear in its length, and parts
that would take too much work are left out. Functions with a `TextWork` parameter raise `Abandoned`.
"""

import html
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

from imprint.domain.posts.text_work import TextWork, TooIntricate

MAX_JSON = 2 * 1024 * 1024
"""Maximum number of characters of JSON to parse, not counting images.

Parsing takes 30 times as much memory as the JSON.
"""

MAX_DEPTH = 8
"""Maximum depth of nested lists. Deeper items are shown at this level."""

LOOKED_AT = 8
"""Number of characters scanned per requested character, because most of them may be markup."""

INLINE_STEPS = 20
"""Number of steps charged for converting one inline text."""

TOO_INTRICATE = "*The rest of this document is too complex to convert to Markdown.*"

_SLICE = 32 * 1024
"""Number of characters converted at a time, because a regular expression holds the GIL."""

WORDS_A_MINUTE = 230
"""Number of words that a reader reads in a minute."""

HAN_A_WORD = 2
"""Number of Chinese or Japanese characters that count as one word."""

PICTURE_URL = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}")
"""Matches bitmap images. SVG is excluded because it is a document that can contain scripts."""

_HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff]+")
_DATA_URL = re.compile(r"data:[A-Za-z0-9.+-]{1,40}/[^\s\"'()<>\\]*")
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]{0,15})([^<>]*)>|<[!/?][^<>]*>")
_HREF = re.compile(r"""\bhref\s{0,4}=\s{0,4}["']?((?:https?://|mailto:)[^\s"'<>()\\]{1,2000})""")
_LONG_REFERENCE = re.compile(r"&#[0-9]{8,};?")
"""Matches character references with too many digits for a code point, or even for `int`."""

_BREAKS = frozenset({"br", "p", "div", "li", "tr", "td", "th", "ul", "ol", "h1", "h2", "h3"})
_MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*"}
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_SPACES = re.compile(r"[ \t\u00a0]+")
_BLANK_LINES = re.compile(r"\n[\n ]*")
_SPECIAL = re.compile(r"[\\`*_\[\]<>#|~&]")
_LIST_MARK = re.compile(r"^( *)([-+=]|[0-9]{1,9}[.)])", re.MULTILINE)

_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:[ \t]\"[^\"\n]*\")?\)")
_LINE_MARK = re.compile(r"^[ \t]{0,3}(?:#{1,6}|>|[-*+]|```[a-z]*|---+)(?:[ \t]+|$)", re.MULTILINE)
_EMPHASIS = re.compile(r"\*\*|__|~~|`|(?<!\w)\*|\*(?!\w)|\[\^[^\s\[\]]{1,60}\]:?")

Block = dict[str, Any]


def readable_text(content: str, work: TextWork | None = None, longest: int | None = None) -> str:
    """Return the words of a document for search and snippets, one paragraph per line.

    With `longest`, return at most this many characters from the beginning.
    """
    work = work or TextWork()
    document = parse_blocks(content)
    parts: Iterable[str]
    if document is None:
        parts = _plain_markdown(_DATA_URL.sub("", content), work, longest)
    else:
        title, blocks = document
        parts = chain([title], _converted(blocks, _PLAIN, work))
    text = _SPACES.sub(" ", _CONTROLS.sub(" ", "\n".join(_first(parts, longest))))
    text = _BLANK_LINES.sub("\n", text).strip()
    return text if longest is None else text[:longest]


def markdown_text(content: str, work: TextWork | None = None) -> str:
    """Return the document as Markdown, without the title of JSON blocks, which the post has."""
    document = parse_blocks(content)
    if document is None:
        return content
    parts = []
    try:
        for part in _converted(document[1], _MARKDOWN, work or TextWork()):
            parts += [part] if part else []
    except TooIntricate:
        parts.append(TOO_INTRICATE)
    return _CONTROLS.sub(" ", "\n\n".join(parts))


def count_words(text: str) -> int:
    """Return the number of words in a text."""
    spaced = _HAN.sub(" ", text)
    han = len(text) - len(spaced) + len(_HAN.findall(text))
    return len(spaced.split()) + -(-han // HAN_A_WORD)


def reading_minutes(words: int) -> int:
    """Return the rounded number of minutes that it takes to read this many words, at least 1."""
    return max(1, round(words / WORDS_A_MINUTE))


def is_markdown(content: str) -> bool:
    """Whether the content cannot be JSON blocks and therefore is Markdown."""
    return not content.lstrip().startswith("{")


def _plain_markdown(content: str, work: TextWork, longest: int | None) -> Iterator[str]:
    """Yield the words of Markdown text, in slices that end at line breaks."""
    size = len(content) if longest is None else min(len(content), LOOKED_AT * longest)
    start = 0
    while start < size:
        end = content.find("\n", start + _SLICE, start + 2 * _SLICE)
        end = start + 2 * _SLICE if end < 0 else end
        work.spend(_SLICE // INLINE_STEPS)
        text = _LINK.sub(r"\1", content[start : min(end, size)])
        yield _EMPHASIS.sub("", _LINE_MARK.sub("", text))
        start = end


def parse_blocks(content: str) -> tuple[str, list[Block]] | None:
    """Return the title and blocks of an earlier front end's document, or None for other text."""
    if is_markdown(content):
        return None
    found = _decode(content)
    if not isinstance(found, dict):
        return None
    if isinstance(found.get("blocks"), list):
        return "", _blocks_of(found["blocks"])
    inner = found.get("content")
    if isinstance(inner, str):
        inner = _decode(inner) if inner.lstrip()[:1] in ("{", "[") else inner
        if not isinstance(inner, (dict, list)):
            inner = [{"type": "paragraph", "data": {"text": found["content"]}}]
    if isinstance(inner, dict):
        inner = inner.get("blocks")
    if not isinstance(inner, list) or not isinstance(found.get("title", ""), str):
        return None
    return _inline_text(found.get("title", "")), _blocks_of(inner)


def _decode(content: str) -> Any:
    """Decode JSON after removing its images. Returns None if the JSON is invalid or too long."""
    small = _DATA_URL.sub("", content)
    if len(small) > MAX_JSON:
        return None
    try:
        found = json.loads(small)
        if "\\ud" in small.lower():
            # JSON can escape half of a surrogate pair, which is not valid text.
            halves = json.dumps(found, ensure_ascii=False).encode("utf-16", "surrogatepass")
            found = json.loads(halves.decode("utf-16", "replace"))
        return found
    except (ValueError, RecursionError):
        return None


def _blocks_of(items: list[Any]) -> list[Block]:
    return [item for item in items if isinstance(item, dict)]


def _first(parts: Iterable[str], longest: int | None) -> Iterator[str]:
    """Yield parts until they have `longest` characters in total or take too much work."""
    size = 0
    with suppress(TooIntricate):
        for part in parts:
            yield part
            size += len(part)
            if longest is not None and size >= longest:
                return


def _converted(
    blocks: list[Block], converters: dict[str, Callable[[Block], str]], work: TextWork
) -> Iterator[str]:
    """Convert each block of a document. Raises the same errors as `TextWork.spend`."""
    for block in blocks:
        kind, data = block.get("type"), block.get("data")
        if not isinstance(data, dict):
            data = {}
        convert = converters.get(kind, converters["paragraph"]) if isinstance(kind, str) else None
        if convert is not None:
            work.spend(INLINE_STEPS * _count_values(data))
            yield convert(data)


def _count_values(data: Block) -> int:
    """Return the number of values in a block, at all depths."""
    count, left = 0, [data]
    while left:
        each: Any = left.pop()
        count += 1
        if isinstance(each, dict):
            left.extend(each.values())
        elif isinstance(each, list):
            left.extend(each)
    return count


def _text(data: Any, member: str) -> str:
    """Return a member of a block if it is a string, or else an empty string."""
    value = data.get(member) if isinstance(data, dict) else data
    return value if isinstance(value, str) else ""


def _unescape(text: str) -> str:
    return html.unescape(_LONG_REFERENCE.sub("\N{REPLACEMENT CHARACTER}", text))


def _inline_text(text: str) -> str:
    """Return the text of inline HTML without its tags."""

    def replaced(tag: "re.Match[str]") -> str:
        return " " if (tag[2] or "").lower() in _BREAKS else ""

    return _unescape(_TAG.sub(replaced, text))


def _inline_markdown(text: str) -> str:
    """Convert inline HTML to Markdown. Emphasis and links stay, and other elements become text."""
    parts: list[str] = []
    link: str | None = None
    end = 0
    for tag in _TAG.finditer(text):
        parts.append(_escape(_unescape(text[end : tag.start()])))
        end = tag.end()
        name = (tag[2] or "").lower()
        if name == "a":
            if link is not None:
                parts.append(f"]({link})")
            found = None if tag[1] else _HREF.search(tag[3])
            link = None if found is None else _unescape(found[1])
            parts.append("" if link is None else "[")
        else:
            parts.append(_MARKS.get(name, " " if name in _BREAKS else ""))
    parts.append(_escape(_unescape(text[end:])))
    if link is not None:
        parts.append(f"]({link})")
    return "".join(parts)


def _escape(text: str) -> str:
    """Escape text so that Markdown shows it literally."""
    return _LIST_MARK.sub(r"\1\\\2", _SPECIAL.sub(r"\\\g<0>", text))


def _line(text: str) -> str:
    return " ".join(text.split())


def walk_items(items: Any) -> Iterator[tuple[int, int, Any]]:
    """Yield list items with their depth and number, in order. A nested list follows its item."""
    if not isinstance(items, list):
        return
    stack: list[tuple[int, Iterator[tuple[int, Any]]]] = [(0, enumerate(items, 1))]
    while stack:
        depth, rest = stack[-1]
        for number, item in rest:
            yield min(depth, MAX_DEPTH), number, item
            nested = item.get("items") if isinstance(item, dict) else None
            if isinstance(nested, list):
                stack.append((depth + 1, enumerate(nested, 1)))
                break
        else:
            stack.pop()


def item_text(item: Any) -> str:
    """Return the text of a list item."""
    if isinstance(item, dict):
        return _text(item, "content") or _text(item, "text")
    return _text(item, "")


def is_checked(item: Any) -> bool:
    """Whether a checklist item is done."""
    if not isinstance(item, dict):
        return False
    meta = item.get("meta")
    return item.get("checked") is True or (isinstance(meta, dict) and meta.get("checked") is True)


def table_rows(data: Block) -> list[list[str]]:
    """Return the cells of a table, row by row."""
    rows = data.get("content")
    if not isinstance(rows, list):
        return []
    return [[_text(cell, "text") for cell in row] for row in rows if isinstance(row, list)]


def _plain_list(data: Block) -> str:
    return "\n".join(_inline_text(item_text(item)) for _, _, item in walk_items(data.get("items")))


def _plain_table(data: Block) -> str:
    return "\n".join(" ".join(map(_inline_text, row)) for row in table_rows(data))


def _plain_members(*members: str) -> Callable[[Block], str]:
    def convert(data: Block) -> str:
        return "\n".join(_inline_text(_text(data, member)) for member in members)

    return convert


def _markdown_header(data: Block) -> str:
    level = data.get("level")
    marks = "#" * (level if isinstance(level, int) and 1 <= level <= 6 else 2)
    return f"{marks} {_line(_inline_markdown(_text(data, 'text')))}"


def _markdown_list(data: Block) -> str:
    ordered, checks = data.get("style") == "ordered", data.get("style") == "checklist"
    lines = []
    for depth, number, item in walk_items(data.get("items")):
        mark = f"{number}." if ordered else "-"
        if checks:
            mark = "- [x]" if is_checked(item) else "- [ ]"
        lines.append(f"{'   ' * depth}{mark} {_line(_inline_markdown(item_text(item)))}")
    return "\n".join(lines)


def _markdown_checklist(data: Block) -> str:
    return _markdown_list({**data, "style": "checklist"})


def _markdown_quote(data: Block) -> str:
    lines = _inline_markdown(_text(data, "text")).split("\n")
    if caption := _line(_inline_markdown(_text(data, "caption"))):
        lines += ["", caption]
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _markdown_code(data: Block) -> str:
    code = _text(data, "code")
    # A fence longer than any in the code, so that the code cannot end it.
    longest = max(map(len, re.findall("`{3,}", code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{code}\n{fence}"


def _markdown_table(data: Block) -> str:
    rows = [[_line(_inline_markdown(cell)) for cell in row] for row in table_rows(data)]
    if not rows:
        return ""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|" + " --- |" * max(1, len(rows[0])))
    return "\n".join(lines)


def _markdown_embed(data: Block) -> str:
    caption = _line(_inline_markdown(_text(data, "caption")))
    source = _HREF.match(f"href={_text(data, 'source')}")
    return caption if source is None else f"[{caption or _escape(source[1])}]({source[1]})"


_PLAIN: dict[str, Callable[[Block], str]] = {
    "paragraph": _plain_members("text"),
    "quote": _plain_members("text", "caption"),
    "image": _plain_members("caption"),
    "embed": _plain_members("caption"),
    "warning": _plain_members("title", "message"),
    "raw": _plain_members("html"),
    "code": lambda data: _text(data, "code"),
    "list": _plain_list,
    "checklist": _plain_list,
    "table": _plain_table,
    "delimiter": lambda data: "",
}
"""Plain-text converters by type of block. An unknown type is treated as a paragraph."""

_MARKDOWN: dict[str, Callable[[Block], str]] = {
    "paragraph": lambda data: _inline_markdown(_text(data, "text")),
    "header": _markdown_header,
    "quote": _markdown_quote,
    "image": lambda data: _line(_inline_markdown(_text(data, "caption"))),
    "embed": _markdown_embed,
    "warning": lambda data: "\n\n".join(
        _inline_markdown(_text(data, member)) for member in ("title", "message")
    ),
    "raw": lambda data: _escape(_inline_text(_text(data, "html"))),
    "code": _markdown_code,
    "list": _markdown_list,
    "checklist": _markdown_checklist,
    "table": _markdown_table,
    "delimiter": lambda data: "---",
}
"""Markdown converters by type of block. An unknown type is treated as a paragraph."""
