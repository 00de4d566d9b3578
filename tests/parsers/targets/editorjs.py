"""EditorJS documents as HTML and as Markdown."""

from collections.abc import Iterator

from tests.parsers.judged_html import judge_markup, judge_text
from tests.parsers.targets import markdown

from imprint.domain.posts.post_text import markdown_text, readable_text
from imprint.domain.posts.text_work import TextWork
from imprint.web.site.texts.post_html import TextMarkup, text_markup

LIMITS = {"text_markup": markdown.LIMITS["text_markup"]}
"""Whatever is not a document of blocks is Markdown."""


def convert(data: bytes) -> Iterator[str]:
    """Make each conversion of a document. Their time is measured, unlike that of the judgement."""
    content = data.decode("utf-8", "replace")
    text = _page(content)
    yield "text_markup"
    text.with_pictures(content)
    yield "with_pictures"
    readable_text(content, _work())
    yield "readable_text"
    markdown_text(content, _work())
    yield "markdown_text"


def check(data: bytes) -> None:
    """The HTML of the blocks, or of their Markdown, has only what texts may have."""
    content = data.decode("utf-8", "replace")
    if len(data) % 3:
        text = _page(content)
        judge_markup(text.markup)
        judge_text(text.with_pictures(content))
    else:
        readable_text(content, _work())
        judge_markup(_page(markdown_text(content, _work())).markup)


def _page(content: str) -> TextMarkup:
    return text_markup(content, "A title", _work())


def _work() -> TextWork:
    # Limit the steps and not the time, so that a slow machine does the same work.
    return TextWork(seconds=3600.0)
