"""Readable text of documents: Markdown, and the blocks of the legacy front end."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imprint.domain.posts.post_text import (
    count_words,
    markdown_text,
    readable_text,
    reading_minutes,
)


def blocks(*items: tuple[str, Any]) -> str:
    """Build a document in the format of the legacy front end."""
    made = [{"type": kind, "data": data} for kind, data in items]
    return json.dumps({"title": "My title", "content": {"time": 1, "blocks": made}})


EVERY_KIND = blocks(
    ("header", {"text": "A <b>header</b>", "level": 3}),
    ("paragraph", {"text": 'Fish &amp; chips, <a href="https://example.org/x">a link</a><br>next'}),
    ("list", {"style": "ordered", "items": ["one", {"content": "two", "items": ["nested"]}]}),
    ("quote", {"text": "quoted", "caption": "somebody"}),
    ("code", {"code": "if a < b: pass"}),
    ("image", {"file": {"url": "data:image/png;base64,AAAA"}, "caption": "a picture"}),
    ("delimiter", {}),
    ("table", {"content": [["h1", "h2"], ["c1", "c2"]]}),
    ("checklist", {"items": [{"text": "done", "checked": True}, {"text": "open"}]}),
    ("embed", {"source": "https://example.org/video", "caption": "a film"}),
)


def test_blocks_are_converted_to_text() -> None:
    assert readable_text(EVERY_KIND) == "\n".join(
        [
            "My title",
            "A header",
            "Fish & chips, a link next",
            *("one", "two", "nested", "quoted", "somebody", "if a < b: pass", "a picture"),
            *("h1 h2", "c1 c2", "done", "open", "a film"),
        ]
    )


def test_blocks_are_converted_to_markdown() -> None:
    assert markdown_text(EVERY_KIND).split("\n\n") == [
        "### A **header**",
        "Fish \\& chips, [a link](https://example.org/x) next",
        "1. one\n2. two\n   1. nested",
        "> quoted\n>\n> somebody",
        "```\nif a < b: pass\n```",
        "a picture",
        "---",
        "| h1 | h2 |\n| --- | --- |\n| c1 | c2 |",
        "- [x] done\n- [ ] open",
        "[a film](https://example.org/video)",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        '<a href="javascript:alert(1)">x</a>',
        "<img src=x onerror=alert(1)>",
        "a < b",
    ],
)
def test_block_text_never_becomes_html_in_markdown(text: str) -> None:
    made = markdown_text(blocks(("paragraph", {"text": text})))
    assert "<" not in made.replace("\\<", "")
    assert "](javascript:" not in made


def test_code_in_a_block_cannot_close_its_fence() -> None:
    made = markdown_text(blocks(("code", {"code": "```\n# out"})))
    assert made == "````\n```\n# out\n````"


def test_content_encoded_as_a_string_is_also_read() -> None:
    inner = json.dumps({"blocks": [{"type": "paragraph", "data": {"text": "inside"}}]})
    assert readable_text(json.dumps({"title": "t", "content": inner})) == "t\ninside"


def test_plain_string_content_becomes_a_paragraph() -> None:
    assert readable_text('{"title": "t", "content": "words"}') == "t\nwords"


def test_markdown_keeps_its_syntax_but_readable_text_has_none() -> None:
    content = "# Head\n\nSome *fine* **bold** `code` [link](https://example.org), 2*3 snake_case"
    assert markdown_text(content) == content
    assert readable_text(content) == "Head\nSome fine bold code link, 2*3 snake_case"


def test_data_urls_are_not_indexed_as_words() -> None:
    picture = "data:image/png;base64," + "QUJD" * 1000
    assert readable_text(f"before ![alt]({picture}) after") == "before alt after"
    assert "QUJD" not in readable_text(f"{{ {picture}")


def test_pictures_do_not_count_towards_the_json_limit() -> None:
    picture = "data:image/png;base64," + "A" * 3_000_000
    content = blocks(("image", {"url": picture, "caption": "c"}), ("paragraph", {"text": "end"}))
    assert readable_text(content) == "My title\nc\nend"


@pytest.mark.parametrize(
    "content",
    [
        "{" * 100_000,
        '{"a":' * 100_000,
        '{"content":' + "[" * 50_000 + "]" * 50_000 + "}",
        json.dumps({"title": 3, "content": []}),
        json.dumps({"title": "t", "content": [1, None, {"type": [], "data": 3}]}),
        blocks(("list", {"items": 3}), ("table", {"content": [3, [None]]}), ("header", [])),
        blocks(("paragraph", {"text": "&#" + "1" * 9000 + ";"})),
        '{"title": "\\ud800", "content": {"blocks": []}}',
        '{"title": ' + "1" * 10_000 + ', "content": []}',
        "\x00\x1b",
    ],
)
def test_malformed_content_is_read_as_text(content: str) -> None:
    text = readable_text(content)
    text.encode()
    assert "\x00" not in text
    markdown_text(content)


def test_lists_may_be_deeply_nested() -> None:
    item: Any = {"content": "deepest", "items": []}
    for _ in range(300):
        item = {"content": "x", "items": [item]}
    assert "deepest" in readable_text(blocks(("list", {"items": [item]})))


@given(st.text())
def test_arbitrary_content_has_readable_text(content: str) -> None:
    readable_text(content)
    markdown_text(content)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["text", "items", "content", "level", "caption", "code", "checked"]),
            inner,
        )
    ),
)
KINDS = ["paragraph", "header", "list", "quote", "code", "image", "table", "checklist", "embed"]


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(KINDS), JSON)))
def test_arbitrary_blocks_have_readable_text(items: list[tuple[str, Any]]) -> None:
    content = blocks(*items)
    readable_text(content).encode()
    markdown_text(content)


@pytest.mark.parametrize(
    "part",
    ["<", "<a", "[", "[x](", "[](", "*", "`", "&#", "&", "data:", "data:a/", " ", "\n ", "#"],
)
def test_parsing_time_is_linear_in_the_length(part: str) -> None:
    """Each case takes a few hundredths of a second. Quadratic time would take many minutes."""
    content = part * (300_000 // len(part))
    began = time.process_time()
    readable_text(content)
    readable_text(blocks(("paragraph", {"text": content})))
    markdown_text(blocks(("paragraph", {"text": content}), ("code", {"code": content})))
    assert time.process_time() - began < 30


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("", 1), ("word " * 100, 1), ("word " * 1_150, 5), ("字" * 1_840, 4), ("слово " * 460, 2)],
)
def test_reading_time_is_a_minute_per_230_words_or_460_chinese_characters(
    text: str, minutes: int
) -> None:
    assert reading_minutes(count_words(text)) == minutes


@pytest.mark.parametrize(
    ("text", "words"),
    [("", 0), ("one, two\nthree", 3), ("字", 1), ("字字字", 2), ("a字字b", 3), ("字 one 字", 2)],
)
def test_two_chinese_characters_count_as_one_word(text: str, words: int) -> None:
    assert count_words(text) == words
