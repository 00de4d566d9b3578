"""Hexadecimal texts, as nodes and providers write bytes and numbers: `0x` and digits."""

import re

_NUMBER = re.compile(r"0x[0-9a-fA-F]{1,64}\Z")
_HASH = re.compile(r"0x[0-9a-fA-F]{64}\Z")


class NotHexadecimal(ValueError):
    """The value is no text of `0x` and hexadecimal digits."""


def parse_hex_bytes(value: object) -> bytes:
    """The bytes written as two digits each; `0x` alone is no bytes at all, which is allowed."""
    if not isinstance(value, str) or not value.startswith("0x"):
        raise NotHexadecimal("Bytes are a text that begins with 0x.")
    try:
        parsed = bytes.fromhex(value[2:])
    except ValueError as error:
        raise NotHexadecimal("Bytes are two hexadecimal digits each.") from error
    # fromhex passes over white space.
    if 2 + 2 * len(parsed) != len(value):
        raise NotHexadecimal("Bytes are written without white space.")
    return parsed


def parse_hex_number(value: object) -> int:
    """The number of up to 256 bits written in hexadecimal digits; `0x` alone is none."""
    if not isinstance(value, str) or not _NUMBER.match(value):
        raise NotHexadecimal("A number is 0x and 1 to 64 hexadecimal digits.")
    return int(value, 16)


def parse_hash(value: object) -> str:
    """The lower-case text of a hash of 32 bytes."""
    if not isinstance(value, str) or not _HASH.match(value):
        raise NotHexadecimal("A hash is 0x and 64 hexadecimal digits.")
    return value.lower()
