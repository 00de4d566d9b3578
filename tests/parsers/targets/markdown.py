"""Markdown as the HTML of pages and feeds."""

from tests.parsers.judged_html import judge_feed, judge_markup, judge_snippet, judge_text

from imprint.domain.posts.openings import read_opening, text_facts
from imprint.domain.posts.search import parse_query, snippet
from imprint.domain.posts.text_work import TextWork
from imprint.web.site.texts.feed_texts import feed_html
from imprint.web.site.texts.markdown import first_heading
from imprint.web.site.texts.post_html import TextMarkup, text_markup

SERVICE = "https://imprint.example"
PAGE = f"{SERVICE}/p/7"
LONGEST_ENTRY = 500
MILLISECONDS = 40.0
"""A text may have nothing but brackets, each of which is tried as a link up to 20 levels deep.

Its time is linear in its length, and `TextWork` limits the time of a whole conversion.
"""
QUERY = parse_query("ink a the")


def parse(data: bytes) -> TextMarkup:
    """Convert a text for a page. Its time is measured, unlike that of the judgement."""
    content = data.decode("utf-8", "replace")
    return text_markup(content, content.partition("\n")[0].strip("# ")[:100], _work())


def check(data: bytes) -> None:
    """The HTML of a page and a feed has only allowed elements, attributes and URLs.

    The length of the input selects which conversions are checked, because each is slow.
    """
    content = data.decode("utf-8", "replace")
    if len(data) % 4 == 0:
        opening = read_opening(content, _work()).content
        judge_markup(parse(opening.encode()).markup)
    elif len(data) % 4 == 1:
        first_heading(content, _work())
        judge_snippet(snippet(QUERY, [text_facts(content, _work()).searched]))
    else:
        text = parse(data)
        judge_markup(text.markup)
        judge_text(text.with_pictures(content))
        judge_feed(feed_html(text, content, SERVICE, PAGE, LONGEST_ENTRY), SERVICE)


def _work() -> TextWork:
    # Limit the steps and not the time, so that a slow machine does the same work.
    return TextWork(seconds=3600.0)
