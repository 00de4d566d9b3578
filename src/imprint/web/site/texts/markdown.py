"""Markdown to HTML: CommonMark with tables, strikethrough and footnotes.

Embedded HTML is shown as text, code is coloured, and a picture that is alone in its paragraph can
have a caption.

The parser is markdown-it. Every rule that the parser tries and every token that it creates counts
as work, so that time and memory stay proportional to the length of the text.
"""

import re
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Any, Literal

from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline, RuleFuncInlineType
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from imprint.domain.posts.openings import TOKEN_STEPS, BlockParser, count_attempts
from imprint.domain.posts.text_work import TextWork
from imprint.web.site.texts.code_colours import coloured_code
from imprint.web.site.texts.footnotes import footnote, footnote_reference, place_footnotes
from imprint.web.site.texts.pictures import Pictures
from imprint.web.site.texts.text_links import link_address, picture_markup
from imprint.web.site.words import page_words

MAX_ANCHOR = 60
"""Maximum number of characters in a heading's anchor."""

_NOT_WORD = re.compile(r"[^\w]+")


_STARTS = {
    "newline": "\n",
    "escape": "\\",
    "backticks": "`",
    "strikethrough": "~",
    "emphasis": "*_",
    "footnote_reference": "[",
    "link": "[",
    "image": "!",
    "autolink": "<",
    "entity": "&",
}
"""The characters at which each inline rule can apply. At all others, only `text` can."""

_SPECIAL_STEPS = 12
"""Work charged for trying the rules of one of these characters, because a rule may look far
ahead."""


class _InlineState(StateInline):
    """Charges work for inline tokens."""

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        self.env["work"].spend(TOKEN_STEPS)
        return super().push(ttype, tag, nesting)


class _InlineParser(ParserInline):
    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        state = _InlineState(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens

    def skipToken(self, state: StateInline) -> None:  # noqa: N802 - as in the class above
        # The superclass also checks the cache, but only after it has looked up the rules. Brackets
        # cause most of these calls.
        if (end := state.cache.get(state.pos)) is None:
            super().skipToken(state)
        else:
            state.pos = end

    def try_by_character(self) -> None:
        """Try only the rules that can apply at a character, and count the attempts as work.

        If all rules were tried at every character, brackets would take three times as long.
        """
        rules = {rule.name: rule.fn for rule in self.ruler.__rules__ if rule.enabled}
        starting: dict[str, list[RuleFuncInlineType]] = {}
        for name, characters in _STARTS.items():
            for character in characters:
                starting.setdefault(character, []).append(rules[name])
        text = rules["text"]

        def try_rules(state: StateInline, silent: bool) -> bool:
            special = starting.get(state.src[state.pos])
            state.env["work"].spend(_SPECIAL_STEPS if special else 1)
            return any(rule(state, silent) for rule in special or (text,))

        self.ruler.at("text", try_rules)
        self.ruler.enableOnly(["text"])


class _Renderer(RendererHTML):
    """Renders links, images, code, tables and footnotes in the forms that pages use."""

    def link_open(
        self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
    ) -> str:
        target = link_address(str(tokens[index].attrGet("href") or ""))
        return "<a>" if target is None else f'<a href="{escape(target)}">'

    def image(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[index]
        alt = self.renderInlineAsText(token.children or [], options, env)
        return picture_markup(str(token.attrGet("src") or ""), alt, env["pictures"])

    def caption(
        self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
    ) -> str:
        return f"<figcaption>{escape(tokens[index].content)}</figcaption>"

    def fence(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        language, *_ = [*tokens[index].info.split(maxsplit=1), ""]
        code = coloured_code(tokens[index].content, language, env["work"])
        return f'<pre tabindex="0"><code>{code}</code></pre>\n'

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

    def td_open(
        self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
    ) -> str:
        side = str(tokens[index].attrGet("style") or "").removeprefix("text-align:")
        return f'<{tokens[index].tag} class="{side}">' if side else f"<{tokens[index].tag}>"

    th_open = td_open

    def footnote_ref(
        self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
    ) -> str:
        number, anchor = tokens[index].meta["number"], tokens[index].meta["anchor"]
        link = f'<a href="#fn-{number}" id="{anchor}" role="doc-noteref">{number}</a>'
        return f"<sup>{link}</sup>"

    def footnotes_open(
        self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
    ) -> str:
        label = escape(page_words().text("text.footnotes"))
        return f'<div class="footnotes" role="doc-endnotes" aria-label="{label}">\n<ol>\n'

    def footnotes_close(
        self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
    ) -> str:
        return "</ol>\n</div>\n"

    def footnote_item_open(
        self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
    ) -> str:
        return f'<li id="fn-{tokens[index].meta["number"]}">'

    def footnote_item_close(
        self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
    ) -> str:
        return "</li>\n"

    def footnote_back(
        self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
    ) -> str:
        label = escape(page_words().text("text.footnote_back"))
        return "".join(
            f' <a href="#{anchor}" role="doc-backlink" aria-label="{label}">↩</a>'
            for anchor in tokens[index].meta["anchors"]
        )


def code_markup(code: str) -> str:
    """Render code in a box that can be scrolled with the keyboard."""
    return f'<pre tabindex="0"><code>{escape(code)}</code></pre>\n'


def _build_parser() -> MarkdownIt:
    parser = MarkdownIt("zero", renderer_cls=_Renderer)
    parser.block, parser.inline = BlockParser(), (inline := _InlineParser())
    parser.configure("commonmark", {"html": False})
    parser.enable(["table", "strikethrough"])
    parser.block.ruler.before(
        "reference", "footnote", footnote, {"alt": ["paragraph", "reference"]}
    )
    parser.inline.ruler.before("link", "footnote_reference", footnote_reference)
    parser.validateLink = lambda url: True  # type: ignore[method-assign] # `link_address` decides
    count_attempts(parser.block.ruler)
    inline.try_by_character()
    return parser


_markdown = _build_parser()


def markdown_html(text: str, pictures: Pictures, title: str, work: TextWork) -> str:
    """Render a text as HTML, without a first heading that repeats the title.

    Raises the same errors as `TextWork.spend`.
    """
    environment: dict[str, Any] = {"pictures": pictures, "work": work}
    tokens = place_footnotes(_markdown.parse(text, environment), environment)
    if len(tokens) > 2 and tokens[0].type == "heading_open":
        written = tokens[1].content
        plain = _Renderer().renderInlineAsText(
            tokens[1].children or [], _markdown.options, environment
        )
        if is_title(written, title) or is_title(plain, title):
            del tokens[:3]
    _number_headings(tokens)
    _place_captions(tokens)
    rendered: str = _markdown.renderer.render(tokens, _markdown.options, environment)
    return rendered


def first_heading(text: str, work: TextWork) -> tuple[str, str] | None:
    """Return the first heading of a text, as written and as plain text, or None if there is none.

    Raises the same errors as `TextWork.spend`.
    """
    environment: dict[str, Any] = {"work": work}
    tokens = _markdown.parse(text, environment)
    for token, inside in pairwise(tokens):
        if token.type == "heading_open" and inside.content:
            children = inside.children or []
            plain = _Renderer().renderInlineAsText(children, _markdown.options, environment)
            return inside.content, " ".join(plain.split()) or inside.content
    return None


def is_title(heading: str, title: str) -> bool:
    """Whether a heading repeats the title of its post."""
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


def _place_captions(tokens: list[Token]) -> None:
    """Turn each picture that is alone in its paragraph and has a title into a figure."""
    for at, token in enumerate(tokens):
        if token.type != "inline" or token.children is None or len(token.children) != 1:
            continue
        (picture,) = token.children
        title = str(picture.attrGet("title") or "") if picture.type == "image" else ""
        opening = tokens[at - 1]
        if title and opening.type == "paragraph_open" and not opening.hidden:
            opening.tag = tokens[at + 1].tag = "figure"
            token.children.append(Token("caption", "", 0, content=title))


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
