"""EditorJS documents as HTML and as Markdown."""

from tests.parsers.judged_html import judge_markup, judge_text
from tests.parsers.targets import markdown

from imprint.domain.posts.post_text import markdown_text, readable_text
from imprint.domain.posts.text_work import TextWork
from imprint.web.site.texts.post_html import TextMarkup, text_markup

MILLISECONDS = markdown.MILLISECONDS
"""Whatever is not a document of blocks is Markdown."""


def parse(data: bytes) -> TextMarkup:
    """Convert a document for a page. Its time is measured, unlike that of the judgement."""
    return text_markup(data.decode("utf-8", "replace"), "A title", _work())


def check(data: bytes) -> None:
    """The HTML of the blocks, or of their Markdown, has only what texts may have."""
    content = data.decode("utf-8", "replace")
    if len(data) % 3:
        text = parse(data)
        judge_markup(text.markup)
        judge_text(text.with_pictures(content))
    else:
        readable_text(content, _work())
        judge_markup(parse(markdown_text(content, _work()).encode()).markup)


def _work() -> TextWork:
    # Limit the steps and not the time, so that a slow machine does the same work.
    return TextWork(seconds=3600.0)
