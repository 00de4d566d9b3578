"""Recursive length prefix: the encoding of transactions, receipts and headers."""

from collections.abc import Sequence
from typing import TypeAlias

__all__ = ["BadEncoding", "Item", "Decoded", "decode", "encode"]

Item: TypeAlias = "bytes | int | Sequence[Item]"
"""What can be encoded; an integer stands for its shortest big-endian bytes."""

Decoded: TypeAlias = "bytes | list[Decoded]"
"""What decoding gives: integers cannot be told from bytes."""

_MAX_DEPTH = 16
"""How deep lists may nest; a transaction needs four levels."""

_SHORT = 55
"""The longest payload whose length fits into the first byte."""


class BadEncoding(Exception):
    """The bytes are no canonical encoding of anything."""


def encode(item: Item) -> bytes:
    """Encode bytes, a natural number, or a nested sequence of these."""
    if isinstance(item, int):
        return encode(item.to_bytes((item.bit_length() + 7) // 8, "big"))
    if isinstance(item, bytes):
        if len(item) == 1 and item[0] < 0x80:
            return item
        return _prefix(0x80, len(item)) + item
    payload = b"".join(encode(one) for one in item)
    return _prefix(0xC0, len(payload)) + payload


def decode(data: bytes) -> Decoded:
    """Decode exactly one item; refuses trailing bytes, longer spellings and deep nesting."""
    item, end = _decode_at(data, 0, 0)
    if end != len(data):
        raise BadEncoding("trailing bytes")
    return item


def _prefix(offset: int, length: int) -> bytes:
    if length <= _SHORT:
        return bytes([offset + length])
    size = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([offset + _SHORT + len(size)]) + size


def _decode_at(data: bytes, start: int, depth: int) -> tuple[Decoded, int]:
    if start >= len(data):
        raise BadEncoding("too short")
    first = data[start]
    if first < 0x80:
        return data[start : start + 1], start + 1
    is_list = first >= 0xC0
    body, end = _measure(data, start, first - (0xC0 if is_list else 0x80))
    if not is_list:
        text = data[body:end]
        if len(text) == 1 and text[0] < 0x80:
            raise BadEncoding("a small byte stands for itself")
        return text, end
    if depth >= _MAX_DEPTH:
        raise BadEncoding("nested too deep")
    items: list[Decoded] = []
    while body < end:
        item, body = _decode_at(data, body, depth + 1)
        items.append(item)
    if body != end:
        raise BadEncoding("an item leaves its list")
    return items, end


def _measure(data: bytes, start: int, kind: int) -> tuple[int, int]:
    """Find where the payload begins and ends."""
    body, length = start + 1, kind
    if kind > _SHORT:
        body = start + 1 + kind - _SHORT
        size = data[start + 1 : body]
        length = int.from_bytes(size, "big")
        if not size or size[0] == 0 or length <= _SHORT:
            raise BadEncoding("a length is not in its shortest form")
    if body + length > len(data):
        raise BadEncoding("too short")
    return body, body + length
