"""Hexadecimal numbers, bytes and hashes with the prefix `0x`, as sent by nodes and providers."""

import re

_NUMBER = re.compile(r"0x[0-9a-fA-F]{1,64}\Z")
_HASH = re.compile(r"0x[0-9a-fA-F]{64}\Z")


class NotHexadecimal(ValueError):
    """The value is not a string of hexadecimal digits with the prefix `0x`."""


def parse_hex_bytes(value: object) -> bytes:
    """Parse bytes of two digits each. `0x` alone means no bytes. Raises `NotHexadecimal`."""
    if not isinstance(value, str) or not value.startswith("0x"):
        raise NotHexadecimal("Bytes must be a string that starts with 0x.")
    try:
        parsed = bytes.fromhex(value[2:])
    except ValueError as error:
        raise NotHexadecimal("Each byte must be two hexadecimal digits.") from error
    # `fromhex` ignores white space.
    if 2 + 2 * len(parsed) != len(value):
        raise NotHexadecimal("Bytes must not contain white space.")
    return parsed


def parse_hex_number(value: object) -> int:
    """Parse a number of up to 256 bits. Raises `NotHexadecimal`, including for `0x` alone."""
    if not isinstance(value, str) or not _NUMBER.match(value):
        raise NotHexadecimal("A number must be 0x followed by 1 to 64 hexadecimal digits.")
    return int(value, 16)


def parse_hash(value: object) -> str:
    """Parse a 32-byte hash and return it in lower case. Raises `NotHexadecimal`."""
    if not isinstance(value, str) or not _HASH.match(value):
        raise NotHexadecimal("A hash must be 0x followed by 64 hexadecimal digits.")
    return value.lower()
