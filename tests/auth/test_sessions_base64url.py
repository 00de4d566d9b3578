"""Base64url has no padding, and a single encoding for every byte string."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.auth.sessions import NotBase64Url, decode_base64url, encode_base64url

TEXTS = {
    b"": "",
    b"f": "Zg",
    b"fo": "Zm8",
    b"foo": "Zm9v",
    b"foob": "Zm9vYg",
    b"fo1": "Zm8x",
    b"\xfb\xff": "-_8",
}


@pytest.mark.parametrize(("data", "text"), TEXTS.items())
def test_bytes_are_encoded_without_padding(data: bytes, text: str):
    assert encode_base64url(data) == text


@given(st.binary(max_size=50))
def test_decoding_inverts_encoding(data: bytes):
    assert decode_base64url(encode_base64url(data)) == data


@pytest.mark.parametrize(
    "text",
    ["Zg==", "Zg=", "Zm8=", "Zm9v====", "=", "+_8", "-/8", "Zm9v\n", " Zm9v", "Zm.9v", "Zm9v!"],
)
def test_padding_and_invalid_characters_are_refused(text: str):
    with pytest.raises(NotBase64Url):
        decode_base64url(text)


@pytest.mark.parametrize("text", ["Zh", "Zv", "Zm9", "-_9"])
def test_stray_bits_in_the_last_character_are_refused(text: str):
    with pytest.raises(NotBase64Url):
        decode_base64url(text)


@pytest.mark.parametrize("text", ["Z", "Zm9vY"])
def test_an_impossible_length_is_refused(text: str):
    with pytest.raises(NotBase64Url):
        decode_base64url(text)


@pytest.mark.parametrize("text", ["Zgé", "\uff3ag", "\ud800", "Zg\0"])
def test_non_ascii_and_null_characters_are_refused(text: str):
    with pytest.raises(NotBase64Url):
        decode_base64url(text)


@given(st.text("AQgwZm9v-_+/= ", max_size=8))
def test_no_two_texts_decode_to_the_same_bytes(text: str):
    try:
        data = decode_base64url(text)
    except NotBase64Url:
        return
    assert encode_base64url(data) == text
