"""Varints: numbers as IPFS writes them, seven bits a byte, the lowest first."""

from collections.abc import Callable

MAX_BYTES = 9
"""More bytes than this no varint has: its number is below 2^63."""


class NotAVarint(ValueError):
    """The bytes do not end, or could be written with fewer."""


def write_varint(number: int) -> bytes:
    """The number in as few bytes as possible."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def read_varint(data: bytes, at: int = 0) -> tuple[int, int]:
    """The number at a place, and the place after it. Refuses with `NotAVarint`."""
    number = 0
    for index in range(MAX_BYTES):
        byte = data[at + index : at + index + 1]
        if not byte:
            break
        number |= (byte[0] & 0x7F) << 7 * index
        if byte[0] < 0x80:
            if byte[0] == 0 and index:
                raise NotAVarint("A number is written with more bytes than it needs.")
            return number, at + index + 1
    raise NotAVarint("A number does not end.")


def take_varint(read: Callable[[int], bytes]) -> int | None:
    """The next number of a stream; None at its end. Refuses with `NotAVarint`."""
    taken = b""
    while len(taken) < MAX_BYTES:
        byte = read(1)
        if not byte and not taken:
            return None
        taken += byte
        if not byte or byte[0] < 0x80:
            break
    return read_varint(taken)[0]
