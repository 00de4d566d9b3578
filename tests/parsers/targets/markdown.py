"""Markdown as the HTML of pages and feeds."""

from collections.abc import Iterator
from contextlib import suppress

from tests.parsers.judged_html import judge_feed, judge_markup, judge_snippet, judge_text

from imprint.domain.posts.openings import read_opening, text_facts
from imprint.domain.posts.search import parse_query, snippet
from imprint.domain.posts.text_work import TextWork, TooIntricate
from imprint.web.site.texts.feed_texts import feed_html
from imprint.web.site.texts.markdown import first_heading
from imprint.web.site.texts.post_html import TextMarkup, text_markup

SERVICE = "https://imprint.example"
PAGE = f"{SERVICE}/p/7"
LONGEST_ENTRY = 500
LIMITS = {"text_markup": 40.0, "first_heading": 40.0}
"""A text may have nothing but brackets, each of which is tried as a link up to 20 levels deep, or
nothing but list items or table cells of a single letter.

Its time is linear in its length, and `TextWork` limits the time of a whole conversion.
"""
QUERY = parse_query("ink a the")


def convert(data: bytes) -> Iterator[str]:
    """Make each conversion of a text. Their time is measured, unlike that of the judgement."""
    content = data.decode("utf-8", "replace")
    text = _page(content)
    yield "text_markup"
    text.with_pictures(content)
    yield "with_pictures"
    for longest in (LONGEST_ENTRY, len(text) // 2, len(text)):
        feed_html(text, content, SERVICE, PAGE, longest)
        yield f"feed_html of {longest} bytes"
    read_opening(content, _work())
    yield "read_opening"
    with suppress(TooIntricate):
        first_heading(content, _work())
    yield "first_heading"
    facts = text_facts(content, _work())
    yield "text_facts"
    snippet(QUERY, [facts.searched])
    yield "snippet"


def check(data: bytes) -> None:
    """The HTML of a page and a feed has only allowed elements, attributes and URLs.

    The length of the input selects which conversions are checked, because each is slow.
    """
    content = data.decode("utf-8", "replace")
    if len(data) % 4 == 0:
        opening = read_opening(content, _work()).content
        judge_markup(_page(opening).markup)
    elif len(data) % 4 == 1:
        first_heading(content, _work())
        judge_snippet(snippet(QUERY, [text_facts(content, _work()).searched]))
    else:
        text = _page(content)
        judge_markup(text.markup)
        judge_text(text.with_pictures(content))
        judge_feed(feed_html(text, content, SERVICE, PAGE, LONGEST_ENTRY), SERVICE)


def _page(content: str) -> TextMarkup:
    return text_markup(content, content.partition("\n")[0].strip("# ")[:100], _work())


def _work() -> TextWork:
    # Limit the steps and not the time, so that a slow machine does the same work.
    return TextWork(seconds=3600.0)
