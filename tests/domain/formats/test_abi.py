"""The ABI codec, compared with eth_abi."""

import tracemalloc

import pytest
from eth_abi.abi import decode, encode
from eth_abi.exceptions import DecodingError
from hypothesis import given
from hypothesis import strategies as st

from imprint.domain.formats.abi import NotAbi, Tuple, decode_address, decode_uint256, encode_call
from imprint.domain.formats.addresses import Address

TYPES = ["address", "bytes", "uint256", "bytes"]

addresses = st.binary(min_size=20, max_size=20).map(lambda raw: Address("0x" + raw.hex()))
numbers = st.integers(0, 2**256 - 1)
strings = st.binary(max_size=200)


def read_all(data: bytes) -> tuple[object, ...]:
    read = Tuple(data, 4)
    return read.address(0), read.string(1), read.uint256(2), read.string(3)


def word(number: int) -> bytes:
    return number.to_bytes(32)


@given(addresses, strings, numbers, strings)
def test_values_encoded_by_eth_abi_are_decoded(
    address: Address, first: bytes, number: int, second: bytes
) -> None:
    data = encode(TYPES, [address, first, number, second])
    assert read_all(data) == (address, first, number, second)


@given(addresses, numbers, strings)
def test_an_encoded_call_matches_eth_abi(address: Address, number: int, string: bytes) -> None:
    expected = b"\1\2\3\4" + encode(["address", "bytes", "uint256"], [address, string, number])
    assert encode_call(b"\1\2\3\4", address, string, number) == expected


@given(
    addresses,
    strings,
    st.lists(st.tuples(st.integers(0, 600), st.integers(0, 255)), max_size=6),
    st.integers(0, 700),
)
def test_damaged_bytes_are_refused_or_decoded_as_eth_abi_decodes_them(
    address: Address, string: bytes, damage: list[tuple[int, int]], length: int
) -> None:
    data = bytearray(encode(TYPES, [address, string, 7, string]))
    for place, value in damage:
        if place < len(data):
            data[place] = value
    damaged = bytes(data[:length])
    try:
        values = read_all(damaged)
    except NotAbi:
        return
    try:
        assert values == decode(TYPES, damaged)
    except DecodingError as error:
        pytest.fail(f"accepted what eth_abi refuses: {error}")


@given(st.binary(max_size=400))
def test_random_bytes_raise_no_error_other_than_not_abi(data: bytes) -> None:
    try:
        read_all(data)
    except NotAbi:
        return


@pytest.mark.parametrize(
    ("start", "rest"),
    [
        pytest.param(2**256 - 1, b"", id="offset at the end of the number space"),
        pytest.param(2**255, b"", id="offset that no machine can index"),
        pytest.param(0, b"", id="offset into the head"),
        pytest.param(31, b"", id="offset just inside the head"),
        pytest.param(64, b"", id="offset at the end of the bytes"),
        pytest.param(32, word(2**256 - 1), id="length at the end of the number space"),
        pytest.param(32, word(33) + bytes(32), id="length beyond the bytes"),
        pytest.param(32, word(5) + b"hello", id="string without its padding"),
        pytest.param(32, word(5) + b"hello" + bytes(26) + b"!", id="padding that is not zero"),
        pytest.param(32, word(5)[:31], id="length cut off"),
    ],
)
def test_a_string_outside_the_data_is_refused(start: int, rest: bytes) -> None:
    with pytest.raises(NotAbi):
        Tuple(word(start) + rest, 1).string(0)


def test_an_offset_bomb_allocates_no_memory() -> None:
    bomb = Tuple(word(32) + word(2**40), 1)
    tracemalloc.start()
    with pytest.raises(NotAbi):
        bomb.string(0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_a_number_must_be_exactly_one_word(length: int) -> None:
    with pytest.raises(NotAbi):
        decode_uint256(bytes(length))


@pytest.mark.parametrize(
    "data", [b"", bytes(31), bytes(33), b"\1" + bytes(31), bytes(11) + b"\1" + bytes(20)]
)
def test_an_address_must_be_one_word_with_twenty_bytes(data: bytes) -> None:
    with pytest.raises(NotAbi):
        decode_address(data)


@pytest.mark.parametrize("number", [-1, 2**256])
def test_a_number_that_does_not_fit_in_256_bits_is_not_encoded(number: int) -> None:
    with pytest.raises(ValueError, match="256 bits"):
        encode_call(b"\0\0\0\0", number)
