"""The content splitter and the strict parser agree on every body, no matter how it is split."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from imprint.domain.errors import Code, Refusal
from imprint.web.http.content_splitter import MAX_DEPTH, MAX_TOKENS, ContentSplitter
from imprint.web.http.requests import parse_json

LARGE = 1_000_000

TEXTS = st.text(st.sampled_from('ab"\\/:,{}[] \n\x00é漢😀\ud800\udc00')) | st.text()
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
NESTED = st.lists(LEAVES, max_size=3) | st.dictionaries(
    TEXTS | st.just("content"), LEAVES | st.lists(LEAVES, max_size=2), max_size=3
)
VALUES = TEXTS | LEAVES | NESTED
MEMBERS = st.lists(
    st.tuples(st.sampled_from(["content", "salt", "contents", "Content", "c"]) | TEXTS, VALUES),
    max_size=4,
)
SPACES = st.sampled_from(["", " ", "\n\t ", "\r\n", "\x0b"])


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """JSON objects in many spellings, some of them invalid."""
    parts = []
    for key, value in draw(MEMBERS):
        escapes = draw(st.booleans())
        name = json.dumps(key, ensure_ascii=escapes)
        if escapes and name.isascii() and draw(st.booleans()):
            name = name.replace("o", "\\u006f").replace("t", "\\u0074")
        said = json.dumps(value, ensure_ascii=draw(st.booleans()))
        space = draw(SPACES)
        parts.append(f"{space}{name}{space}:{space}{said}{space}")
    text = "{" + ",".join(parts) + "}"
    if draw(st.booleans()):
        position = draw(st.integers(0, len(text)))
        insert = draw(st.sampled_from(['"', "\\", ":", ",", "{", "}", "[", "]", "u", "\x01", ""]))
        text = text[:position] + insert + text[position + draw(st.integers(0, 2)) :]
    body = text.encode("utf-8", "surrogatepass")
    return body + draw(st.sampled_from([b"", b"", b"\xff", b" "]))


def split(body: bytes, cuts: list[int], max_content: int = LARGE) -> ContentSplitter:
    splitter = ContentSplitter(LARGE, max_content)
    places = [0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    for start, end in pairwise(places):
        splitter.take(body[start:end])
    return splitter


def parse_split(body: bytes, cuts: list[int]) -> Any:
    """Parse a body by splitting off its content and putting it back."""
    splitter = split(body, cuts)
    value = parse_json(splitter.envelope)
    if bytes(splitter.envelope) != body or (isinstance(value, dict) and value.get("content") == ""):
        assert value["content"] == ""
        value["content"] = splitter.decode_content()
    return value


@given(bodies(), st.lists(st.integers(0, 1000), max_size=5))
@example(b'{"content": 5, "salt": "x"}', [])
@example(b'{"content": "a", "content": "b"}', [])
@example(b'{"content": ["content", "b"], "a": {"content": "c"}}', [])
@example(b'{"\\u0063ontent": "a\\\\"}', list(range(30)))
@example(b'{"a": "content", "b": "c"}', [])
@example(b'["content": "a"]', [])
@example(b'{"content" "a"}', [])
@example(b'{"content": "a', [])
def test_a_split_body_parses_to_the_same_value_as_the_whole(body: bytes, cuts: list[int]) -> None:
    try:
        value = parse_json(body)
    except Refusal:
        with pytest.raises(Refusal) as refused:
            parse_split(body, cuts)
        assert refused.value.code is Code.INVALID_JSON
    else:
        # Compared as JSON text, because 1, 1.0 and True are equal in Python.
        assert json.dumps(parse_split(body, cuts)) == json.dumps(value)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.booleans(), st.lists(st.integers(0)))
def test_the_content_limit_applies_to_the_decoded_text(
    text: str, escapes: bool, cuts: list[int]
) -> None:
    body = json.dumps({"content": text}, ensure_ascii=escapes).encode()
    assert split(body, cuts, len(text.encode())).decode_content() == text


@pytest.mark.parametrize("unit", ["a", "\\n", "\\u0001", '\\"'])
def test_oversized_content_is_refused_while_it_arrives(unit: str) -> None:
    splitter = ContentSplitter(100, 1000)
    splitter.take(b'{"content": "')
    for _ in range(10):
        splitter.take(unit.encode() * 100)
    with pytest.raises(Refusal) as refused:
        splitter.take(unit.encode())
    assert refused.value.code is Code.TOO_LARGE


@pytest.mark.parametrize("inside", ["0, ", '"x", ', "    "])
def test_an_oversized_remainder_of_the_body_is_refused_while_it_arrives(inside: str) -> None:
    splitter = ContentSplitter(1000, LARGE)
    splitter.take(b'{"content": "' + b"a" * 10_000 + b'", "salt": [')
    with pytest.raises(Refusal) as refused:
        splitter.take(inside.encode() * 500)
    assert refused.value.code is Code.TOO_LARGE


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"[]" * MAX_TOKENS, Code.INVALID_REQUEST),
        (b'{"a": [' + b'"", ' * MAX_TOKENS, Code.INVALID_REQUEST),
        (b"[" * (MAX_DEPTH + 1), Code.INVALID_JSON),
        (b'{"a":' * (MAX_DEPTH + 1), Code.INVALID_JSON),
    ],
)
def test_too_many_or_too_deeply_nested_elements_are_refused(body: bytes, code: Code) -> None:
    with pytest.raises(Refusal) as refused:
        ContentSplitter(LARGE, LARGE).take(body)
    assert refused.value.code is code
