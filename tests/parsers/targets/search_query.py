"""Search queries, the snippets that they mark, and their full-text expressions."""

import sqlite3
from contextlib import suppress

from tests.parsers.judged_html import judge_snippet

from imprint.adapters.stores.posts.search_index import _fts_term
from imprint.domain.errors import Refusal
from imprint.domain.posts.search import (
    MAX_SEARCH,
    MAX_TEXT,
    PostTexts,
    fold,
    matches,
    score,
    snippet,
)
from imprint.services.posts.search import parse_search

INDEX = sqlite3.connect(":memory:")
INDEX.execute("CREATE VIRTUAL TABLE post_search USING fts5 (body, tokenize = 'ascii')")
MATCH = "SELECT count(*) FROM post_search WHERE post_search MATCH ?"


def check(data: bytes) -> None:
    """The first line is the query, and the rest is a text that it is looked for in."""
    text = data.decode("utf-8", "replace")
    query_text, _, body = text.partition("\n")
    folded = fold(text)
    assert len(folded) > MAX_TEXT or fold(folded) == folded
    with suppress(Refusal):
        query = parse_search(query_text[: MAX_SEARCH + 1])
        if query.terms:
            INDEX.execute(MATCH, (" AND ".join(map(_fts_term, query.terms)),)).fetchall()
        texts = PostTexts(query_text, (), body, text)
        if matches(query, texts):
            title, hashtags, description, _ = texts.folded()
            assert score(query, title, hashtags, description) > 0
        judge_snippet(snippet(query, [body, text]))
