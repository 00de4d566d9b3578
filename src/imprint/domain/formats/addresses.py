"""Ethereum addresses, and the Keccak-256 hash that their checksums use."""

import re
from functools import lru_cache
from typing import NewType

import tiny_keccak


def keccak256(data: bytes) -> bytes:
    """Return the Keccak-256 digest of `data` (not SHA3-256)."""
    return tiny_keccak.keccak256(data)


Address = NewType("Address", str)
"""A validated address: `0x` and 40 lower-case hex digits."""

ZERO_ADDRESS = Address("0x" + "0" * 40)
"""The author that the contract returns for a nonexistent post."""

_SHAPE = re.compile(r"0x[0-9a-fA-F]{40}\Z")


class NotAnAddress(ValueError):
    """The text is not an address, or its mixed case is not a valid checksum."""


@lru_cache(maxsize=4096)
def parse_address(text: str) -> Address:
    """Parse an address. An address in mixed case must have a valid EIP-55 checksum.

    Raises `NotAnAddress`.
    """
    if not _SHAPE.match(text):
        raise NotAnAddress("An address must be 0x followed by 40 hexadecimal digits.")
    digits = text[2:]
    lower = Address("0x" + digits.lower())
    if digits not in (digits.lower(), digits.upper()) and text != checksum_address(lower):
        raise NotAnAddress("The mixed case of this address does not match its checksum.")
    return lower


def checksum_address(address: Address) -> str:
    """Return the address with its mixed-case EIP-55 checksum."""
    digest = keccak256(address[2:].encode()).hex()
    pairs = zip(address[2:], digest, strict=False)
    return "0x" + "".join(c.upper() if int(nibble, 16) >= 8 else c for c, nibble in pairs)
