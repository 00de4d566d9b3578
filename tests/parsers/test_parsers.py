"""The corpus of the fuzzed parsers, without the fuzzer."""

import time
from pathlib import Path

import pytest
from tests.parsers.fuzz import CORPUS, LEAST_SECONDS, TARGETS, Target, corpus_of, find_slow, load
from tests.parsers.judged_html import (
    ATTRIBUTES,
    TAGS,
    Dangerous,
    judge_feed,
    judge_markup,
    judge_snippet,
    judge_text,
)

from imprint.web.site.texts import post_html

INPUTS = [
    pytest.param(target, path, id=f"{target}-{path.name}")
    for target in TARGETS
    for path in corpus_of(target)
]


@pytest.mark.parametrize(("target", "path"), INPUTS)
def test_every_committed_input_is_parsed_or_refused(target: str, path: Path):
    load(target).check(path.read_bytes())


def test_every_folder_of_the_corpus_belongs_to_a_target():
    assert {path.stem for path in CORPUS.iterdir()} == {*TARGETS}


@pytest.mark.parametrize(
    "markup",
    [
        "<p>a<script>x</script></p>",
        "<img src='/ipfs/x' onerror='x'>",
        '<p onclick="x">a</p>',
        '<a href="javascript:x">a</a>',
        '<a href="//elsewhere.example">a</a>',
        '<a href="/\\elsewhere.example">a</a>',
        '<img src="https://elsewhere.example/a.png">',
        '<img src="data:image/svg+xml;base64,AAAA">',
        '<p style="color: red">a</p>',
        "<svg><p>a</p></svg>",
        "<iframe></iframe>",
        '<a href="/a" rel="opener">a</a>',
        '<a href="/a" target="_blank">a</a>',
        '<li onclick="x">a</li>',
        "<form></form>",
        "<style>p { color: red }</style>",
        "<!-- a -->",
        "<!doctype html>",
        "</div><script>alert(1)</script>",
        '</div><img src="x" onerror="x">',
        "</div>a",
        "</div><div>",
        "</body><script>x</script>",
        '<body onload="x">',
        '<html onload="x">',
        "<b>a",
        "<!-- a",
        "<script",
        "<br class=a",
        '<img alt="',
    ],
)
def test_dangerous_html_is_recognised(markup: str):
    for judge in (judge_text, judge_snippet, _judge_feed):
        with pytest.raises(Dangerous):
            judge(markup)


def _judge_feed(markup: str) -> None:
    judge_feed(markup, "https://imprint.example")


def test_the_judge_allows_what_the_sanitiser_does():
    given = post_html.ATTRIBUTES
    allowed = {tag: given["*"] | given.get(tag, set()) for tag in TAGS}
    for tag in post_html.CLASSES:
        allowed[tag].add("class")
    assert post_html.TAGS == TAGS
    assert {tag: names for tag, names in allowed.items() if names} == ATTRIBUTES


def test_an_element_that_a_page_may_have_is_refused_in_a_feed():
    judge_text('<div class="notice">a</div>')
    with pytest.raises(Dangerous):
        _judge_feed("<div>a</div>")


def test_html_that_sanitising_changes_is_recognised():
    with pytest.raises(Dangerous):
        judge_markup("<p>a & b</p>")


def test_html_rendered_from_a_text_is_accepted():
    link = '<a href="https://a.example" rel="nofollow noopener ugc">b</a>'
    judge_text(f'<h2 id="s-a">a</h2><p>{link}<br>c &lt;script&gt;</p><img src="data:,">')


def test_links_of_a_feed_must_be_absolute():
    judge_feed('<a href="https://imprint.example/a">a</a>', "https://imprint.example")
    with pytest.raises(Dangerous):
        judge_feed('<a href="/a">a</a>', "https://imprint.example")


def test_mark_is_the_only_element_allowed_in_a_snippet():
    judge_snippet("a <mark>b</mark> &lt;b&gt;")
    with pytest.raises(Dangerous):
        judge_snippet("a <b>b</b>")


def test_only_inputs_that_take_too_much_processor_time_are_slow():
    def parse(data: bytes) -> None:
        began = time.process_time()
        while data == b"slow" and time.process_time() <= began + LEAST_SECONDS:
            pass

    (slow,) = find_slow(Target(parse, parse, 10.0), [b"fast", b"slow"])
    assert slow.endswith("4 bytes: b'slow'")


def test_a_repeated_input_that_fails_is_a_finding():
    def parse(data: bytes) -> None:
        assert data != b"aa"

    (failed,) = find_slow(Target(parse, parse, 10.0), [b"a", b"aa"])
    assert failed.startswith("AssertionError(")
