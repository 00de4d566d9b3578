"""Folded words, queries, matches in memory, scores and snippets."""

import html
import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from imprint.domain.posts.search import (
    MAX_FOLDED,
    MAX_WORD,
    NotAQuery,
    PostTexts,
    SearchQuery,
    SearchTerm,
    fold,
    matches,
    parse_query,
    score,
    snippet,
    words_of,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("Crème BRÛLÉE", ["creme", "brulee"]),
        ("e\u0301te\u0301", ["ete"]),
        ("don't stop", ["don", "t", "stop"]),
        ("Straße ŁÓDŹ Ærø", ["strasse", "lodz", "aero"]),
        ("ΣΊΣΥΦΟΣ σίσυφος", ["σισυφοσ", "σισυφοσ"]),
        ("東京tower", ["東", "京", "tower"]),
        ("ｶﾞﾗｽ", ["カ", "ラ", "ス"]),
        ("co\u00adop\u200ferate", ["cooperate"]),
        ("مَرْحَبًا", ["مرحبا"]),
        ("one\x00two\u200bthree_four", ["one", "two", "three", "four"]),
        ("٣ ² Ⅷ", ["٣", "2", "viii"]),
        ("\ud800a", ["a"]),
        ("x" * 100, ["x" * MAX_WORD]),
    ],
)
def test_words_are_folded(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_the_length_of_folded_text_is_bounded() -> None:
    folded = fold("\ufdfa" * 100_000)
    assert len(folded) <= MAX_FOLDED
    assert folded[0] == folded[-1] == " "


def term(*words: str, prefix: bool = False) -> SearchTerm:
    return SearchTerm(words, prefix)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        ("!!! ()", []),
        ("Ethereum a", [term("ethereum", prefix=True), term("a")]),
        ('"Quick brown" fox', [term("quick", "brown"), term("fox", prefix=True)]),
        ('say "hello world', [term(w, prefix=True) for w in ("say", "hello", "world")]),
        ('""', []),
        ("東京 tower", [term("東", "京"), term("tower", prefix=True)]),
        (
            "title:ink* NEAR/2",
            [term(w, prefix=True) for w in ("title", "ink", "near")] + [term("2")],
        ),
        ("ink Ink", [term("ink", prefix=True)]),
    ],
)
def test_a_query_consists_of_words_and_phrases(text: str, terms: list[SearchTerm]) -> None:
    assert list(parse_query(text).terms) == terms


@pytest.mark.parametrize("text", ["x" * 201, "a " * 17, '"' + "a " * 17 + '"', "東" * 17])
def test_a_query_that_is_too_long_is_refused(text: str) -> None:
    with pytest.raises(NotAQuery):
        parse_query(text)


def test_a_query_of_the_maximum_length_is_accepted() -> None:
    assert len(parse_query("ab " * 16).terms) == 1
    assert parse_query("x" * 200).terms == (term("x" * MAX_WORD, prefix=True),)


def test_every_term_must_match_at_least_one_field() -> None:
    texts = PostTexts("Wet ink", ("poetry",), "On writing", "by hand")
    assert matches(parse_query("ink poet writ hand"), texts)
    assert not matches(parse_query("ink paper"), texts)
    assert not matches(parse_query('"ink poetry"'), texts)
    assert not matches(SearchQuery(()), texts)


def test_the_title_scores_higher_than_hashtags_description_and_body() -> None:
    query = parse_query("ink")
    scores = [
        score(query, " ink ", "", ""),
        score(query, " inkwell ", "", ""),
        score(query, "", " ink ", ""),
        score(query, "", "", " ink "),
        score(query, "", "", ""),
    ]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores)


def test_a_snippet_surrounds_the_first_match() -> None:
    text = "word " * 100 + "needle here " + "word " * 100
    made = snippet(parse_query("needle"), ["nothing", text])
    assert "<mark>needle</mark> here" in made
    assert made.startswith("…")
    assert made.endswith("…")
    assert len(made) < 200


def test_a_snippet_finds_a_match_late_in_a_text() -> None:
    made = snippet(parse_query("needle"), ["word " * 12_000 + "needle"])
    assert made.endswith("<mark>needle</mark>")


@pytest.mark.parametrize("shift", range(0, 450, 7))
def test_a_long_text_is_not_truncated_within_a_word(shift: int) -> None:
    text = "y" * shift + " marble" * 200
    made = [snippet(parse_query(query), [text]) for query in ("m", "mar", "ble", "e", "marble")]
    assert ["<mark>" in each for each in made] == [False, True, False, False, True]
    assert "<mark>marble</mark>" in made[1]


def test_a_snippet_without_a_match_is_the_start_of_the_text() -> None:
    assert snippet(parse_query("tag"), ["", "Some text", "title"]) == "Some text"
    assert snippet(parse_query("tag"), []) == ""


def test_a_snippet_highlights_letters_with_their_combining_marks() -> None:
    made = snippet(parse_query("cafe"), ["un cafe\u0301 noir"])
    assert made == "un <mark>cafe\u0301</mark> noir"


def test_a_snippet_has_no_control_or_bidi_characters() -> None:
    made = snippet(parse_query("ink"), ["a\u202eink\x00\x1b[0m\u2066 <b>&amp;"])
    assert made == "aink[0m &lt;b&gt;&amp;amp;"
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x1f]", made)


@given(st.text(max_size=20), st.lists(st.text(max_size=300), max_size=3))
def test_a_snippet_is_escaped_html(query: str, texts: list[str]) -> None:
    try:
        parsed = parse_query(query)
    except NotAQuery:
        return
    made = snippet(parsed, texts)
    plain = made.replace("<mark>", "").replace("</mark>", "")
    assert "<" not in plain
    assert ">" not in plain
    assert html.escape(html.unescape(plain), quote=False) == plain
    assert made.count("<mark>") == made.count("</mark>")
    made.encode()


@given(st.text(max_size=30))
@example("\N{ARABIC TATWEEL}")
@example("\N{ARABIC TATWEEL WITH FATHATAN ABOVE}")
def test_a_text_matches_its_own_words(text: str) -> None:
    words = words_of(text)[:16]
    phrase = parse_query(f'"{" ".join(words)}"') if len(" ".join(words)) < 190 else None
    if words and phrase is not None:
        assert matches(phrase, PostTexts(text, (), ""))
        assert matches(parse_query(" ".join(words)), PostTexts("", (), "", text))


@pytest.mark.parametrize(
    "part", ["\u0301", "a\u0301", "\ufdfa", "東", "x", " ", "\U0001f468\u200d"]
)
def test_search_time_is_linear_in_the_length(part: str) -> None:
    """Each case takes a few hundredths of a second. Quadratic time would take many minutes."""
    text = part * 65_536
    began = time.process_time()
    fold(text)
    snippet(parse_query("needle"), [text])
    assert time.process_time() - began < 30
