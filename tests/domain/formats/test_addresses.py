"""Addresses and their checksums."""

import pytest
from eth_utils.address import to_checksum_address
from hypothesis import given
from hypothesis import strategies as st

from imprint.domain.formats.addresses import (
    Address,
    NotAnAddress,
    checksum_address,
    keccak256,
    parse_address,
)

MIXED = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
addresses = st.binary(min_size=20, max_size=20).map(lambda raw: Address("0x" + raw.hex()))


def test_keccak_is_not_sha3() -> None:
    assert keccak256(b"").hex().startswith("c5d2460186f7233c927e7db2dcc703c0")


@pytest.mark.parametrize("text", [MIXED, MIXED.lower(), "0x" + MIXED[2:].upper()])
def test_an_address_is_converted_to_lower_case(text: str) -> None:
    assert parse_address(text) == MIXED.lower()


@given(addresses)
def test_the_checksum_matches_other_implementations(address: Address) -> None:
    assert checksum_address(address) == to_checksum_address(address)
    assert parse_address(checksum_address(address)) == address


@pytest.mark.parametrize("place", [p for p in range(2, 42) if MIXED[p].isalpha()])
def test_a_letter_in_the_wrong_case_is_refused(place: int) -> None:
    wrong = MIXED[:place] + MIXED[place].swapcase() + MIXED[place + 1 :]
    with pytest.raises(NotAnAddress, match="checksum"):
        parse_address(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0x",
        MIXED[2:],
        "0X" + MIXED[2:].lower(),
        MIXED.lower()[:-1],
        MIXED.lower() + "0",
        MIXED.lower() + "\n",
        " " + MIXED.lower(),
        "0x" + "g" * 40,
        "0x" + "\u0661" * 40,
        "0x" + "\uff11" * 40,
    ],
)
def test_an_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(NotAnAddress):
        parse_address(text)
