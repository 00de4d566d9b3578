"""Markdown to HTML: CommonMark with tables and strikethrough. Embedded HTML is shown as text.

The parser is markdown-it. Every rule that it tries and every token that it creates counts
as work, so that time and memory stay proportional to the length of the text.
"""

import re
from collections.abc import Callable, Sequence
from html import escape
from itertools import pairwise
from typing import Any, Literal

from markdown_it import MarkdownIt
from markdown_it.parser_block import ParserBlock
from markdown_it.parser_inline import ParserInline
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from imprint.domain.posts.text_work import TextWork
from imprint.web.site.texts.pictures import Pictures
from imprint.web.site.texts.text_links import link_address, picture_markup

MAX_ANCHOR = 60
"""Maximum number of characters in a heading's anchor."""

TOKEN_STEPS = 10
"""Work charged per token, for the time to create and render it and about 350 bytes."""

_NOT_WORD = re.compile(r"[^\w]+")


class _BlockState(StateBlock):
    """Charges work for block-level tokens."""

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        self.env["work"].spend(TOKEN_STEPS)
        return super().push(ttype, tag, nesting)


class _InlineState(StateInline):
    """Charges work for inline tokens."""

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        self.env["work"].spend(TOKEN_STEPS)
        return super().push(ttype, tag, nesting)


class _BlockParser(ParserBlock):
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


class _InlineParser(ParserInline):
    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        state = _InlineState(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


class _Renderer(RendererHTML):
    """Renders links, images and tables in the forms that pages use."""

    def link_open(
        self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
    ) -> str:
        target = link_address(str(tokens[index].attrGet("href") or ""))
        return "<a>" if target is None else f'<a href="{escape(target)}">'

    def image(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[index]
        alt = self.renderInlineAsText(token.children or [], options, env)
        return picture_markup(str(token.attrGet("src") or ""), alt, env["pictures"])

    def fence(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        return code_markup(tokens[index].content)

    def code_block(
        self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
    ) -> str:
        return code_markup(tokens[index].content)

    def table_open(
        self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
    ) -> str:
        return '<div class="scroll" tabindex="0" role="region" aria-label="Table">\n<table>\n'

    def table_close(
        self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
    ) -> str:
        return "</table>\n</div>\n"


def code_markup(code: str) -> str:
    """Render code in a box that can be scrolled with the keyboard."""
    return f'<pre tabindex="0"><code>{escape(code)}</code></pre>\n'


def _counted(rule: Callable[..., bool]) -> Callable[..., bool]:
    """Wrap a parser rule so that each attempt counts as work."""

    def run(state: Any, *given: Any) -> bool:
        state.env["work"].spend()
        return rule(state, *given)

    return run


def _build_parser() -> MarkdownIt:
    parser = MarkdownIt("zero", renderer_cls=_Renderer)
    parser.block, parser.inline = _BlockParser(), _InlineParser()
    parser.configure("commonmark", {"html": False})
    parser.enable(["table", "strikethrough"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign] # `link_address` decides
    for ruler in (parser.block.ruler, parser.inline.ruler):
        for rule in ruler.__rules__:
            rule.fn = _counted(rule.fn)
        ruler.__cache__ = None
    return parser


_markdown = _build_parser()


def markdown_html(text: str, pictures: Pictures, title: str, work: TextWork) -> str:
    """Render a text as HTML, without a first heading that repeats the title.

    Raises the errors of `TextWork.spend`.
    """
    environment: dict[str, Any] = {"pictures": pictures, "work": work}
    tokens = _markdown.parse(text, environment)
    if len(tokens) > 2 and tokens[0].type == "heading_open" and _same(tokens[1].content, title):
        del tokens[:3]
    _number_headings(tokens)
    rendered: str = _markdown.renderer.render(tokens, _markdown.options, environment)
    return rendered


def first_heading(text: str, work: TextWork) -> tuple[str, str] | None:
    """Return the first heading of a text, as written and as plain text, or None if there is none.

    Raises the errors of `TextWork.spend`.
    """
    environment: dict[str, Any] = {"work": work}
    tokens = _markdown.parse(text, environment)
    for token, inside in pairwise(tokens):
        if token.type == "heading_open" and inside.content:
            children = inside.children or []
            plain = _Renderer().renderInlineAsText(children, _markdown.options, environment)
            return inside.content, " ".join(plain.split()) or inside.content
    return None


def _same(heading: str, title: str) -> bool:
    return (
        bool(title) and " ".join(heading.split()).casefold() == " ".join(title.split()).casefold()
    )


def _number_headings(tokens: list[Token]) -> None:
    """Demote headings below the page's own, without skipping levels, and give them anchors."""
    opening = [at for at, token in enumerate(tokens) if token.type == "heading_open"]
    levels = heading_levels([int(tokens[at].tag[1]) for at in opening])
    anchors: dict[str, int] = {}
    for at, level in zip(opening, levels, strict=True):
        tokens[at].tag = tokens[at + 2].tag = f"h{level}"
        tokens[at].attrSet("id", heading_anchor(tokens[at + 1].content, anchors))


def heading_levels(given: Sequence[int]) -> list[int]:
    """Return new heading levels from 2 on, each at most one deeper than the previous one."""
    shift, last, levels = 2 - min(given, default=2), 1, []
    for level in given:
        last = min(level + shift, last + 1, 6)
        levels.append(last)
    return levels


def heading_anchor(text: str, anchors: dict[str, int]) -> str:
    """Return an anchor that is unique among the text's headings and the page's elements."""
    name = _NOT_WORD.sub("-", text.lower()).strip("-")[:MAX_ANCHOR]
    count = anchors[name] = anchors.get(name, 0) + 1
    return f"s-{name}" if count == 1 else f"s-{name}-{count}"
