"""Hexadecimal strings, as written by nodes and providers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.domain.formats.hexadecimal import (
    NotHexadecimal,
    parse_hash,
    parse_hex_bytes,
    parse_hex_number,
)


@given(st.binary(max_size=100))
def test_hex_bytes_are_parsed(raw: bytes) -> None:
    assert parse_hex_bytes("0x" + raw.hex()) == raw


@given(st.integers(0, 2**256 - 1))
def test_hex_numbers_are_parsed(number: int) -> None:
    assert parse_hex_number(hex(number)) == number


def test_a_hash_is_converted_to_lower_case() -> None:
    assert parse_hash("0x" + "AB" * 32) == "0x" + "ab" * 32


@pytest.mark.parametrize(
    "value", ["", "00", "0X00", "0x0", "0x0g", "0x 00", "0x00 ", "0x0 0", None, 1]
)
def test_invalid_hex_bytes_are_refused(value: object) -> None:
    with pytest.raises(NotHexadecimal):
        parse_hex_bytes(value)


@pytest.mark.parametrize(
    "value", ["", "0x", "1", "0x1_0", "0x-1", "0x1\n", "0x" + "0" * 65, None, 1]
)
def test_an_invalid_hex_number_is_refused(value: object) -> None:
    with pytest.raises(NotHexadecimal):
        parse_hex_number(value)


@pytest.mark.parametrize(
    "value", ["0x", "0x" + "00" * 31, "00" * 33, "0x" + "00" * 32 + "\n", None]
)
def test_an_invalid_hash_is_refused(value: object) -> None:
    with pytest.raises(NotHexadecimal):
        parse_hash(value)
