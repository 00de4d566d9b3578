"""The encoding of transactions and headers, compared with another implementation of it."""

import pytest
import rlp as reference
from hypothesis import given
from hypothesis import strategies as st

from imprint.devchain.rlp import BadEncoding, Decoded, decode, encode

nested = st.recursive(st.binary(max_size=80), lambda inner: st.lists(inner, max_size=6))


@given(nested)
def test_encoding_agrees_with_another_implementation(item: Decoded) -> None:
    assert encode(item) == reference.encode(item)


@given(nested)
def test_decoding_undoes_encoding(item: Decoded) -> None:
    assert decode(encode(item)) == item


@given(st.integers(min_value=0, max_value=2**256 - 1))
def test_a_number_is_encoded_in_its_shortest_form(number: int) -> None:
    assert encode(number) == reference.encode(number)


@given(st.binary(max_size=60))
def test_whatever_decodes_is_the_only_spelling_of_its_value(data: bytes) -> None:
    try:
        item = decode(data)
    except BadEncoding:
        return
    assert encode(item) == data


@pytest.mark.parametrize(
    "data", ["", "81", "8105", "b800", "b90001", "c101c0", "c2", "c183", "0000"]
)
def test_other_spellings_are_refused(data: str) -> None:
    with pytest.raises(BadEncoding):
        decode(bytes.fromhex(data))


def test_deep_nesting_is_refused() -> None:
    deep: Decoded = []
    for _ in range(30):
        deep = [deep]
    with pytest.raises(BadEncoding, match="deep"):
        decode(encode(deep))
