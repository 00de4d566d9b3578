"""Reads a SQLite file page by page, so that a damaged page costs no more than its own rows.

SQLite itself stops at the first page that it cannot read, and everything behind it is lost. The
format is described at https://www.sqlite.org/fileformat2.html.
"""

import mmap
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Self

from imprint.adapters.sqlite_log import read_commits

Scalar = int | float | str | bytes | None
"""A value of a column."""

_HEADER = 100
_MAGIC = b"SQLite format 3\0"
_LARGEST_RECORD = 64 * 1024 * 1024
"""The bytes of the longest record that is believed: a damaged length may claim anything."""


class Damaged(Exception):
    """The bytes of a page, a cell or a record are not those of a database."""


class PageKind(IntEnum):
    """The first byte of a page of a table or an index."""

    INDEX_BRANCH = 2
    TABLE_BRANCH = 5
    INDEX_LEAF = 10
    TABLE_LEAF = 13


@dataclass(frozen=True, slots=True)
class Cell:
    """A row of a table, an entry of an index, or a link to the page with those before it."""

    child: int | None
    rowid: int | None
    values: tuple[Scalar, ...] | None


@dataclass(frozen=True, slots=True)
class Page:
    """The cells of a page that can be read; `whole` says whether those are all it had."""

    kind: PageKind
    cells: list[Cell]
    last_child: int | None
    whole: bool

    @property
    def children(self) -> Iterator[int]:
        for cell in self.cells:
            if cell.child is not None:
                yield cell.child
        if self.last_child is not None:
            yield self.last_child


class PageFile:
    """The pages of a database as of the last commit in its write-ahead log.

    `log_whole` says whether SQLite would read all of these commits. If not, a frame in the log is
    damaged; a page that is damaged there, and was not written again later, is not whole.
    """

    def __init__(self, path: Path, page_size: int, log: Path | None = None) -> None:
        """Open a file; `page_size` is believed if the file does not say its own."""
        self._handle = os.open(path, os.O_RDONLY)
        size = os.fstat(self._handle).st_size
        self._map = mmap.mmap(self._handle, 0, access=mmap.ACCESS_READ) if size else b""
        found = int.from_bytes(self._map[16:18], "big")
        found = 65536 if found == 1 else found
        if self._map[:16] == _MAGIC and found >= 512 and found & (found - 1) == 0:
            page_size = found
        self.page_size = page_size
        self.log_whole = True
        self._newer: dict[int, bytes] = {}
        self._doubtful: set[int] = set()
        pages = -(-size // page_size)
        if log is not None and log.exists():
            pages = self._read_log(log) or pages
        self.pages = pages
        first = self.page(1)
        self.header_whole = first[:16] == _MAGIC
        self._usable = page_size - (first[20] if self.header_whole and first[20] <= 64 else 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(self._map, mmap.mmap):
            self._map.close()
        os.close(self._handle)

    def page(self, number: int) -> bytes:
        """The bytes of a page; zeros where the file does not have it any more."""
        newer = self._newer.get(number)
        if newer is not None:
            return newer
        start = (number - 1) * self.page_size
        return bytes(self._map[start : start + self.page_size]).ljust(self.page_size, b"\0")

    def read(self, number: int) -> Page:
        """The cells of a page of a table or an index. Raises `Damaged` if it is none."""
        if not 1 <= number <= self.pages:
            raise Damaged(f"page {number} is not in the file")
        data = self.page(number)
        at = _HEADER if number == 1 else 0
        try:
            kind = PageKind(data[at])
        except ValueError:
            raise Damaged(f"page {number} is neither of a table nor of an index") from None
        count, branch = _u16(data, at + 3), kind in (PageKind.INDEX_BRANCH, PageKind.TABLE_BRANCH)
        pointers = at + (12 if branch else 8)
        if pointers + 2 * count > self._usable:
            raise Damaged(f"page {number} has more cells than room")
        cells, used, whole = [], 0, True
        for each in range(count):
            try:
                cell, size = self._cell(kind, data, _u16(data, pointers + 2 * each))
            except (Damaged, IndexError, struct.error, UnicodeError):
                whole = False
                continue
            cells.append(cell)
            used += size
        whole = whole and self._is_accounted(data, at, pointers + 2 * count, used)
        whole = whole and number not in self._doubtful
        last = int.from_bytes(data[at + 8 : at + 12], "big") if branch else None
        return Page(kind, cells, last, whole)

    def free_pages(self) -> set[int]:
        """The pages that belong to nothing, as far as their list can be read."""
        first = self.page(1)
        trunk = int.from_bytes(first[32:36], "big") if self.header_whole else 0
        free: set[int] = set()
        while 1 < trunk <= self.pages and trunk not in free:
            free.add(trunk)
            data = self.page(trunk)
            count = min(int.from_bytes(data[4:8], "big"), self.page_size // 4 - 2)
            free.update(struct.unpack(f">{count}I", data[8 : 8 + 4 * count]))
            trunk = int.from_bytes(data[:4], "big")
        return free

    def _is_accounted(self, data: bytes, at: int, pointers_end: int, used: int) -> bool:
        """Whether cells, free blocks and fragments fill the page: a wrong count leaves a gap."""
        start = _u16(data, at + 5) or 65536
        free, block = data[at + 7], _u16(data, at + 1)
        while block:
            if block + 4 > self._usable:
                return False
            following = _u16(data, block)
            free += _u16(data, block + 2)
            if following and following <= block:
                return False
            block = following
        return pointers_end <= start and used + free == self._usable - start

    def _cell(self, kind: PageKind, data: bytes, at: int) -> tuple[Cell, int]:
        """The cell at a place, and how many bytes of the page it takes."""
        begin, child, rowid = at, None, None
        if kind in (PageKind.TABLE_BRANCH, PageKind.INDEX_BRANCH):
            child, at = int.from_bytes(data[at : at + 4], "big"), at + 4
        if kind is PageKind.TABLE_BRANCH:
            _, at = _varint(data, at)
            return Cell(child, None, None), at - begin
        size, at = _varint(data, at)
        if kind is PageKind.TABLE_LEAF:
            rowid, at = _varint(data, at)
            rowid = rowid - (1 << 64) if rowid >= 1 << 63 else rowid
        if size > _LARGEST_RECORD:
            raise Damaged("a record is too long")
        local = self._local_size(size, kind)
        if at + local > self._usable:
            raise Damaged("a cell reaches beyond its page")
        payload, end = data[at : at + local], at + local
        if local < size:
            payload += self._overflow(int.from_bytes(data[end : end + 4], "big"), size - local)
            end += 4
        return Cell(child, rowid, _record(payload)), max(4, end - begin)

    def _local_size(self, size: int, kind: PageKind) -> int:
        usable = self._usable
        least = (usable - 12) * 32 // 255 - 23
        most = usable - 35 if kind is PageKind.TABLE_LEAF else (usable - 12) * 64 // 255 - 23
        if size <= most:
            return size
        fitting = least + (size - least) % (usable - 4)
        return fitting if fitting <= most else least

    def _overflow(self, number: int, size: int) -> bytes:
        parts, left = [], size
        while left > 0:
            if not 1 < number <= self.pages:
                raise Damaged("the rest of a record is missing")
            data = self.page(number)
            part = data[4 : min(self._usable, 4 + left)]
            parts.append(part)
            left -= len(part)
            number = int.from_bytes(data[:4], "big")
        return b"".join(parts)

    def _read_log(self, path: Path) -> int:
        """Read the complete commits of a write-ahead log; returns how many pages there are."""
        pages = 0
        for frame in read_commits(path.read_bytes(), self.page_size):
            if len(frame.content) != self.page_size:
                continue
            self.log_whole = self.log_whole and frame.valid
            self._newer[frame.number] = frame.content
            if frame.sound:
                self._doubtful.discard(frame.number)
            else:
                self._doubtful.add(frame.number)
            pages = frame.pages or pages
        return pages


def _u16(data: bytes, at: int) -> int:
    return data[at] << 8 | data[at + 1]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for each in range(8):
        byte = data[at + each]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + each + 1
    return value << 8 | data[at + 8], at + 9


def _record(payload: bytes) -> tuple[Scalar, ...]:
    """The values of a record. Raises `Damaged`."""
    header, at = _varint(payload, 0)
    values: list[Scalar] = []
    body = header
    while at < header:
        kind, at = _varint(payload, at)
        value, size = _value(payload, body, kind)
        values.append(value)
        body += size
    if at != header or body != len(payload):
        raise Damaged("a record has another length than its values")
    return tuple(values)


_INTEGER_SIZES = (0, 1, 2, 3, 4, 6, 8)


def _value(payload: bytes, at: int, kind: int) -> tuple[Scalar, int]:
    """The value of a kind at a place, and its size. Raises `Damaged`."""
    if kind == 0:
        return None, 0
    if kind in (8, 9):
        return kind - 8, 0
    if kind in (10, 11):
        raise Damaged("a value has a kind that does not exist")
    size = 8 if kind == 7 else _INTEGER_SIZES[kind] if kind < 7 else (kind - 12) // 2
    data = payload[at : at + size]
    if len(data) < size:
        raise Damaged("a value is longer than its record")
    if kind < 7:
        return int.from_bytes(data, "big", signed=True), size
    if kind == 7:
        (number,) = struct.unpack(">d", data)
        return float(number), size
    return (data.decode() if kind & 1 else data), size
