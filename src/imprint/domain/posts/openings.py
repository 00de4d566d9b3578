"""Openings: the public beginning of a post, up to the line `<!--more-->`.

The line counts only if it is a top-level HTML block of the Markdown with nothing but this comment.
An opening is a separate text: link definitions and notes below the line are not part of it.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from markdown_it import MarkdownIt
from markdown_it.parser_block import ParserBlock
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from markdown_it.utils import EnvType

from imprint.domain.posts.post_text import (
    PICTURE_URL,
    count_words,
    parse_blocks,
    readable_text,
)
from imprint.domain.posts.search import MAX_TEXT as SEARCHED
from imprint.domain.posts.text_work import TextWork, TooIntricate

MARK = "<!--more-->"
"""The block that ends an opening."""

MAX_TEXT = 1_000_000
"""Maximum number of characters in a text to be formatted, not counting images."""

TOKEN_STEPS = 10
"""Work charged per token: creating it, rendering it, and about 350 bytes of memory."""

_LINE_END = re.compile(r"\r\n?")


class _BlockState(StateBlock):
    """Block-level parsing that charges the work of each token it creates."""

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        self.env["work"].spend(TOKEN_STEPS)
        return super().push(ttype, tag, nesting)


class BlockParser(ParserBlock):
    """A block parser that counts its tokens as work."""

    def parse(
        self,
        src: str,
        md: MarkdownIt,
        env: EnvType,
        outTokens: list[Token],  # noqa: N803 - as in the class above
    ) -> list[Token] | None:
        state = _BlockState(src, md, env, outTokens)
        self.tokenize(state, state.line, state.lineMax)
        return state.tokens


def count_attempts(ruler: Any) -> None:
    """Count each attempt to apply one of a parser's rules as work."""

    def counted(rule: Callable[..., bool]) -> Callable[..., bool]:
        def run(state: Any, *given: Any) -> bool:
            state.env["work"].spend()
            return rule(state, *given)

        return run

    for rule in ruler.__rules__:
        rule.fn = counted(rule.fn)
    ruler.__cache__ = None


def _build_parser() -> MarkdownIt:
    """Return a parser like the one for pages, but with HTML blocks and without inline parsing."""
    parser = MarkdownIt("zero")
    parser.block = BlockParser()
    parser.configure("commonmark", {"html": True})
    parser.enable("table")
    parser.disable(["inline", "text_join"])
    count_attempts(parser.block.ruler)
    return parser


_blocks = _build_parser()


def normalize_lines(content: str) -> str:
    """Convert every line ending in a text to a line feed."""
    return _LINE_END.sub("\n", content)


def _marked_lines(text: str, work: TextWork) -> list[int]:
    """Return the line numbers of all `<!--more-->` marks in a text with line-feed endings.

    Raises the same errors as `TextWork.spend`.
    """
    last = text.rfind(MARK)
    if last < 0 or parse_blocks(text) is not None:
        return []
    end = text.find("\n", last)
    small = PICTURE_URL.sub("data:", text if end < 0 else text[:end])
    if len(small) > MAX_TEXT:
        raise TooIntricate("The text is too long.")
    return [
        token.map[0]
        for token in _blocks.parse(small, {"work": work})
        if token.map is not None and token.level == 0 and token.content.strip() == MARK
        if token.type == "html_block"
    ]


def _above(text: str, marked: list[int]) -> str | None:
    """Return the text above the first of the `marked` lines, or None if there is no such text."""
    if not marked:
        return None
    above = "\n".join(text.split("\n", marked[0])[: marked[0]])
    return above.strip("\n") if above.strip() else None


def _unmarked(text: str, marked: list[int]) -> str:
    if not marked:
        return text
    lines = text.split("\n")
    for number in marked:
        lines[number] = ""
    return "\n".join(lines)


def opening_of(content: str, work: TextWork) -> str | None:
    """Return the Markdown above the first `<!--more-->` mark, or None if there is no such text.

    A text that would take too much work to parse has no opening. Raises `Abandoned`.
    """
    text = normalize_lines(content)
    with suppress(TooIntricate):
        return _above(text, _marked_lines(text, work))
    return None


@dataclass(frozen=True, slots=True)
class Opening:
    """An opening as Markdown, and its number of words."""

    content: str
    words: int

    def __len__(self) -> int:
        return len(self.content)


def read_opening(content: str, work: TextWork) -> Opening:
    """Return the opening of a text, which is empty if the text has none. Raises `Abandoned`."""
    opening = opening_of(content, work) or ""
    return Opening(opening, count_words(readable_text(opening)))


def without_marks(content: str, work: TextWork) -> str:
    """Return a text with a blank line in place of every `<!--more-->` mark.

    Raises the same errors as `TextWork.spend`.
    """
    text = normalize_lines(content)
    return _unmarked(text, _marked_lines(text, work))


@dataclass(frozen=True, slots=True)
class TextFacts:
    """A text's number of words, searchable text and opening, for lists and search.

    `searched` is the beginning of the readable text. `opening` is the beginning of the opening's
    readable text, or None if the text has no opening.
    """

    words: int
    searched: str
    opening: str | None

    def __len__(self) -> int:
        return len(self.searched) + len(self.opening or "")


def text_facts(content: str, work: TextWork) -> TextFacts:
    """Return a text's number of words, searchable text and opening. Raises `Abandoned`.

    Words are counted even in a text that takes too much work to parse.
    """
    text = normalize_lines(content)
    marked: list[int] = []
    with suppress(TooIntricate):
        marked = _marked_lines(text, work)
    above = _above(text, marked)
    opening = None if above is None else readable_text(above, longest=SEARCHED)
    readable = readable_text(_unmarked(text, marked))
    return TextFacts(count_words(readable), readable[:SEARCHED], opening)
