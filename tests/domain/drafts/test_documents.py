"""Content is written as a single canonical byte string and read back unchanged."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.domain.drafts.documents import (
    ContentTooLarge,
    Document,
    NotADocument,
    NotContent,
    check_content,
    check_document,
    read_document,
    write_document,
)

SALT = bytes(range(16))
NAME = "0x" + "ab" * 20 + "_7"

contents = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
salts = st.binary(min_size=16, max_size=16)


def test_a_document_is_json_without_spaces_and_with_a_fixed_member_order() -> None:
    assert write_document("Hi", "n_1", SALT) == (
        b'{"content":"Hi","name":"n_1","salt":"000102030405060708090a0b0c0d0e0f"}'
    )


def test_only_characters_that_json_requires_to_be_escaped_are_escaped() -> None:
    content = '"\\/\b\f\n\r\t\x01\x1f\x7fé\u2028😀</script>'
    written = r'"\"\\/\b\f\n\r\t\u0001\u001f' + "\x7fé\u2028😀</script>" + '"'
    assert write_document(content, "n", SALT).startswith(b'{"content":' + written.encode())


@given(contents, salts)
def test_content_is_read_back_unchanged(content: str, salt: bytes) -> None:
    data = write_document(content, NAME, salt)
    assert read_document(data) == Document(content, NAME, salt)


@given(contents)
def test_a_document_is_canonical_json(content: str) -> None:
    members = {"salt": SALT.hex(), "name": NAME, "content": content}
    canonical = json.dumps(members, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert write_document(content, NAME, SALT) == canonical.encode()


def test_the_same_content_with_another_salt_is_a_different_document() -> None:
    assert write_document("x", NAME, SALT) != write_document("x", NAME, bytes(16))


@pytest.mark.parametrize("content", ["\0", "a\0b", "\ud800", "a\udfff", "\udc00\ud800"])
def test_content_with_nul_or_lone_surrogates_is_refused(content: str) -> None:
    with pytest.raises(NotContent):
        check_content(content, 100)
    with pytest.raises(NotContent):
        write_document(content, NAME, SALT)


@pytest.mark.parametrize("content", ["", "a" * 12, "é" * 6, "€" * 4, "😀" * 3])
def test_content_of_exactly_the_maximum_size_is_accepted(content: str) -> None:
    check_content(content, 12)


@pytest.mark.parametrize("content", ["a" * 13, "é" * 7, "€" * 4 + "a", "😀" * 4])
def test_content_above_the_limit_is_too_large(content: str) -> None:
    with pytest.raises(ContentTooLarge):
        check_content(content, 12)


@pytest.mark.parametrize("length", [0, 15, 17])
def test_a_salt_of_the_wrong_length_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match="salt"):
        write_document("x", NAME, bytes(length))


GOOD = write_document("x", NAME, SALT)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\x89PNG\r\n",
        b"\xff\xfe",
        GOOD.decode().encode("utf-16"),
        GOOD[:-1],
        GOOD + b"{}",
        GOOD.replace(b'"content":"x"', b'"content":null'),
        GOOD.replace(b'"content":"x"', b'"content":["x"]'),
        GOOD.replace(b'"content":"x"', b'"content":"\\ud800"'),
        GOOD.replace(b'"content":"x"', b'"content":"\\u0000"'),
        GOOD.replace(b'"content":"x"', b'"content":"x","content":"y"'),
        GOOD.replace(b'"content"', b'"Content"'),
        GOOD.replace(b'"name"', b'"nome"'),
        GOOD.replace(SALT.hex().encode(), b"00"),
        GOOD.replace(SALT.hex().encode(), b"g" * 32),
        b'{"name":"n","content":"x","salt":"' + b"0" * 32 + b'"}',
        b'[["content","x"],["name","n"],["salt","' + b"0" * 32 + b'"]]',
        b"[" * 200_000,
    ],
)
def test_a_malformed_document_is_refused(data: bytes) -> None:
    with pytest.raises(NotADocument):
        read_document(data)


@given(st.binary(max_size=100))
def test_arbitrary_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(NotADocument):
        read_document(data)


@pytest.mark.parametrize("content", ["", "text", 'a "quote" and \\', "ü\n\t 漢字 \U0001f58b"])
def test_a_document_with_a_different_name_fails_the_check(content):
    data = write_document(content, NAME, bytes(16))
    check_document(data, NAME)
    with pytest.raises(NotADocument):
        check_document(data, NAME + "1")


@pytest.mark.parametrize(
    "content",
    [b"[]", b"1", b"null", b'"', b'"a","more":"b"', b'"\\u0000"', b'"\\ud800"', b'"\xff"'],
)
def test_a_document_whose_content_is_not_text_fails_the_check(content):
    tail = write_document("", NAME, bytes(16)).removeprefix(b'{"content":""')
    with pytest.raises(NotADocument):
        check_document(b'{"content":' + content + tail, NAME)


@pytest.mark.parametrize("salt", [b"", b"A" * 32, b"0" * 31, b"0" * 33])
def test_a_document_with_an_invalid_salt_fails_the_check(salt):
    data = write_document("", NAME, bytes(16)).replace(b"0" * 32, salt)
    with pytest.raises(NotADocument):
        check_document(data, NAME)


@pytest.mark.parametrize("cut", range(0, 60, 7))
def test_a_truncated_document_fails_the_check(cut):
    data = write_document("text", NAME, bytes(16))
    with pytest.raises(NotADocument):
        check_document(data[:cut], NAME)
    with pytest.raises(NotADocument):
        check_document(data[cut + 1 :], NAME)


def test_the_content_of_a_legacy_document_is_read() -> None:
    data = b'{"content":"Hi","lang":"ts"}'
    assert read_document(data) == Document("Hi", "", b"")
    check_document(data, NAME)


@pytest.mark.parametrize(
    "data",
    [
        b'{"lang":"ts","content":"Hi"}',
        b'{"content":"Hi"}',
        b'{"content":"Hi","lang":1}',
        b'{"content":"Hi","lang":"ts","lang":"ts"}',
        b'{"content":"\\u0000","lang":"ts"}',
        b'{"content":"\\ud800","lang":"ts"}',
    ],
)
def test_a_document_with_other_members_is_not_a_legacy_document(data: bytes) -> None:
    with pytest.raises(NotADocument):
        read_document(data)
    with pytest.raises(NotADocument):
        check_document(data, NAME)
