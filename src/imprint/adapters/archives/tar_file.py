"""Reads untrusted tar files member by member.

Only regular files and folders with ustar, PAX or GNU headers are read. Any other member (a link, a
device, a sparse or multi-volume file) is refused, and so is a header longer than a backup needs.
docs/decisions/tar-reader.md explains why `tarfile` is not used.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

BLOCK = 512
"""Size of a header in bytes. Member contents are padded to a multiple of this size."""

MAX_EXTENDED = 64 * 1024
"""Size limit in bytes for an extended (PAX) header, which is read into memory."""

TAIL = 64 * 1024
"""Number of trailing bytes that `find_near_end` searches."""

_END = bytes(BLOCK)
_REGULAR, _FOLDER, _EXTENDED = b"0\0", b"5", b"x"
_OCTAL = re.compile(rb" *([0-7]{0,12}) *\Z")
_RECORD = re.compile(rb"([1-9][0-9]{0,5}) ([^=]{1,100})=")
_DECIMAL = re.compile(rb"[0-9]{1,18}\Z")


class NotATar(ValueError):
    """The file is not a tar file, is damaged, or has an unsupported member."""


@dataclass(frozen=True, slots=True)
class Member:
    """A regular file in a tar file: the offset of its header and the range of its bytes."""

    name: str
    header: int
    start: int
    size: int


def read_members(file: BinaryIO) -> Iterator[Member]:
    """Yield every regular file in order. Callers may seek between members. Raises `NotATar`."""
    end = file.seek(0, os.SEEK_END)
    at = 0
    while at < end:
        found = _read_member(file, at, end)
        if found is None:
            return
        member, is_folder = found
        if not is_folder:
            yield member
        at = member.start + _padded(member.size)


def find_near_end(file: BinaryIO, name: str) -> Member | None:
    """Return the last member if it has this name, or None if it does not or cannot be located.

    Bytes inside another member may look like a header, so only `read_members` is reliable.
    """
    end = file.seek(0, os.SEEK_END)
    wanted = name.encode() + b"\0"
    file.seek(max(0, end - TAIL) // BLOCK * BLOCK)
    tail = file.read(TAIL + BLOCK)
    first = end - len(tail)
    for at in reversed(range(0, len(tail) - BLOCK + 1, BLOCK)):
        if tail.startswith(wanted, at):
            try:
                found = _read_member(file, first + at, end)
            except NotATar:
                return None
            return None if found is None else found[0]
    return None


def _read_member(file: BinaryIO, at: int, end: int) -> tuple[Member, bool] | None:
    """Return the member at an offset and whether it is a folder, or None at the end of the tar."""
    file.seek(at)
    header, block = at, file.read(BLOCK)
    if block == _END:
        return None
    name, size, kind = _parse_header(block, at)
    at += BLOCK
    if kind == _EXTENDED:
        if size > MAX_EXTENDED:
            raise NotATar(f"an extended header has more than {MAX_EXTENDED} bytes")
        extended = _parse_extended(_take(file, size))
        at += _padded(size)
        file.seek(at)
        name, size, kind = _parse_header(file.read(BLOCK), at)
        name = extended.get("path", name)
        size = int(extended.get("size", size))
        at += BLOCK
    is_folder = kind == _FOLDER or (kind in _REGULAR and name.endswith("/"))
    if (kind not in _REGULAR and not is_folder) or (is_folder and size):
        raise NotATar("it has a link, a device, or another member that is not a plain file")
    if at + size > end:
        raise NotATar("it is truncated")
    return Member(name, header, at, size), is_folder


def _parse_header(block: bytes, at: int) -> tuple[str, int, bytes]:
    """The name, size and type of a member."""
    if len(block) != BLOCK:
        raise NotATar("it is truncated")
    if _octal(block[148:156]) != sum(block[:148]) + 8 * ord(" ") + sum(block[156:]):
        raise NotATar(f"the header at byte {at} has a wrong checksum")
    name = block[:100].partition(b"\0")[0]
    if block[257:263] == b"ustar\0" and (prefix := block[345:500].partition(b"\0")[0]):
        name = prefix + b"/" + name
    return name.decode("utf-8", "backslashreplace"), _size(block[124:136]), block[156:157]


def _size(field: bytes) -> int:
    if field[0] & 0x80:
        # GNU and PAX write sizes of 8 GiB and more in binary. A negative number begins with 0xff.
        if field[:4] != b"\x80\0\0\0":
            raise NotATar("a size is negative or too large")
        return int.from_bytes(field[4:], "big")
    return _octal(field)


def _octal(field: bytes) -> int:
    found = _OCTAL.match(field.partition(b"\0")[0])
    if found is None:
        raise NotATar("a number is malformed")
    return int(found[1] or b"0", 8)


def _parse_extended(data: bytes) -> dict[str, str]:
    """The path and size recorded in an extended header."""
    found, at = {}, 0
    while at < len(data):
        record = _RECORD.match(data, at)
        end = 0 if record is None else at + int(record[1])
        if record is None or end <= record.end() or data[end - 1 : end] != b"\n":
            raise NotATar("an extended header is malformed")
        key, value = record[2], data[record.end() : end - 1]
        if key.startswith(b"GNU.sparse"):
            raise NotATar("it has a sparse file")
        if key == b"size" and not _DECIMAL.match(value):
            raise NotATar("a size is malformed")
        if key in (b"path", b"size"):
            found[key.decode()] = value.decode("utf-8", "backslashreplace")
        at = end
    return found


def _take(file: BinaryIO, size: int) -> bytes:
    taken = file.read(size)
    if len(taken) != size:
        raise NotATar("it is truncated")
    return taken


def _padded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK
