"""The corpus of the fuzzed parsers, without the fuzzer."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.parsers.fuzz import (
    CORPUS,
    LEAST_SECONDS,
    MILLISECONDS,
    TARGETS,
    Target,
    corpus_of,
    find_slow,
    load,
)
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


def test_only_a_conversion_that_takes_too_much_processor_time_is_slow():
    def convert(data: bytes) -> Iterator[str]:
        yield "read"
        _work(LEAST_SECONDS if data == b"slow" else 0)
        yield "write"

    ((data, finding),) = find_slow(Target(print, convert), [b"fast", b"slow"])
    assert data == b"slow"
    assert finding.startswith("write takes ")


def test_the_time_of_a_conversion_is_measured_without_that_of_others():
    def convert(data: bytes) -> Iterator[str]:
        _work(0.6 * LEAST_SECONDS)
        yield "read"
        _work(0.6 * LEAST_SECONDS)
        yield "write"

    assert not [*find_slow(Target(print, convert), [b"a"])]


def test_a_conversion_may_have_a_limit_of_its_own():
    target = Target(print, lambda data: [], {"read": 4 * MILLISECONDS})
    seconds = 100 * 2 * MILLISECONDS / 1000
    assert target.allows(bytes(100 * 1024), seconds, "read")
    assert not target.allows(bytes(100 * 1024), seconds, "write")


def test_a_repeated_input_that_fails_is_a_finding():
    def convert(data: bytes) -> Iterator[str]:
        assert data != b"aa"
        yield "read"

    ((_, finding),) = find_slow(Target(print, convert), [b"a", b"aa"])
    assert finding.startswith("AssertionError(")


@pytest.mark.parametrize("target", ["editorjs", "markdown"])
def test_every_limit_is_that_of_a_conversion(target: str):
    loaded = load(target)
    assert {*loaded.limits} <= {*loaded.convert(b"a")}


def _work(seconds: float) -> None:
    """Take this much processor time in this thread, whatever other threads do."""
    began = time.thread_time()
    while time.thread_time() <= began + seconds:
        pass
