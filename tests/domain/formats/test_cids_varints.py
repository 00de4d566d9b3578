"""Varints, in memory and from a stream."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.domain.formats.cids import NotAVarint, read_varint, take_varint, write_varint


@given(st.integers(0, 2**63 - 1))
def test_a_number_is_read_back_from_its_varint(number):
    data = write_varint(number)
    assert read_varint(b"x" + data + b"rest", 1) == (number, 1 + len(data))
    assert take_varint(io.BytesIO(data).read) == number


@pytest.mark.parametrize("data", [b"\x80", b"\x80\x00", b"\xff" * 9, b"\xff" * 10 + b"\x01"])
def test_an_unterminated_or_overlong_varint_is_refused(data):
    with pytest.raises(NotAVarint):
        read_varint(data)
    with pytest.raises(NotAVarint):
        take_varint(io.BytesIO(data).read)


def test_the_end_of_a_stream_reads_as_none():
    assert take_varint(io.BytesIO(b"").read) is None
