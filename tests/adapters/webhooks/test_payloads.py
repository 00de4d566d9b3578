"""Reading JSON from bodies, valid or malformed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.adapters.webhooks.payloads import (
    MAX_DEPTH,
    MAX_DOCUMENTS,
    MAX_TOKENS,
    TOO_DEEP,
    Payload,
    read_payload,
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
)


@given(json_values)
def test_valid_json_is_read_as_one_document_without_a_problem(value: object) -> None:
    assert read_payload(json.dumps(value).encode(), 10) == Payload((value,))


@given(st.binary(max_size=60))
def test_arbitrary_bytes_never_raise(body: bytes) -> None:
    payload = read_payload(body, 10)
    assert len(payload.excerpt) <= 10


def test_documents_before_a_malformed_one_are_read() -> None:
    payload = read_payload(b'{"a": 1}\n[2] {"b"', 10)
    assert payload.documents == ({"a": 1}, [2])
    assert payload.problem
    assert payload.excerpt == '{"a": 1}\n['


def test_the_number_of_documents_is_limited() -> None:
    assert len(read_payload(b"[]" * 1_000, 10).documents) == MAX_DOCUMENTS


@pytest.mark.parametrize(
    ("malformed", "read"),
    [
        (b"1e999", float("inf")),
        (b"-1e999", float("-inf")),
        (b"1" * 5_000, "1" * 5_000),
        (b"NaN", "NaN"),
        (b"Infinity", "Infinity"),
        (b'"\xff"', "\ufffd"),
        (b'"\\ud800"', "\ud800"),
        (b'"\t"', "\t"),
    ],
)
def test_a_malformed_value_does_not_affect_other_values(malformed: bytes, read: object) -> None:
    payload = read_payload(b'{"good": [1, "x"], "bad": ' + malformed + b"} ", 0)
    assert payload.documents == ({"good": [1, "x"], "bad": read},)
    assert payload.problem


def test_too_deeply_nested_values_are_replaced() -> None:
    body = b'{"good": "]][", "bad": ' + b"[" * 5_000 + b"]" * 5_000 + b', "also": {}}'
    (document,) = read_payload(body, 0).documents
    assert (document["good"], document["also"]) == ("]][", {})
    inner, depth = document["bad"], 0
    while isinstance(inner, list):
        (inner,), depth = inner, depth + 1
    assert (inner, depth) == (TOO_DEEP, MAX_DEPTH - 2)


@pytest.mark.parametrize(
    "body",
    [b"[" * 2_000_000, b'["' + b'\\"' * 1_000_000, b'[""' + b',""' * MAX_TOKENS + b"[" * 5_000],
)
def test_a_large_malformed_body_contains_no_documents(body: bytes) -> None:
    payload = read_payload(body, 5)
    assert payload.documents == ()
    assert payload.problem


@pytest.mark.parametrize("body", [b"", b"\n", b"PING", b"\xfe", b"nul", b'"open'])
def test_a_body_that_is_not_json_is_accepted_as_empty(body: bytes) -> None:
    assert read_payload(body, 10) == Payload(())
