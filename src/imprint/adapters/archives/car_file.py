"""Indexed CAR files, whose blocks can be read by cid in any order.

The index is a temporary SQLite database that spills to disk when it grows, so files of any size
need little memory.
"""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from imprint.domain.exports import NotAnExport
from imprint.domain.formats.car import NotACar, read_header, read_sections
from imprint.domain.formats.cids import Cid, digest_of
from imprint.ports import Progress

_TABLES = (
    """CREATE TABLE blocks (
        cid TEXT PRIMARY KEY, start INTEGER NOT NULL, size INTEGER NOT NULL,
        reached INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID""",
    "CREATE TABLE notes (kind TEXT, value TEXT, PRIMARY KEY (kind, value)) WITHOUT ROWID",
    # One transaction that is never committed: the index is temporary.
    "BEGIN",
)
_ADD_BLOCK = "INSERT INTO blocks (cid, start, size) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_REACH = "UPDATE blocks SET reached = 1 WHERE cid = ? RETURNING start, size"
_NOTE = "INSERT INTO notes VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING 1"
_COUNT_UNREACHED = "SELECT count(*) AS unreached FROM blocks WHERE reached = 0"


@dataclass(frozen=True, slots=True)
class CarFile:
    """`Archive` over a CAR file."""

    roots: tuple[Cid, ...]
    size: int
    file: BinaryIO
    index: sqlite3.Connection

    def read(self, cid: Cid) -> bytes:
        row = self.index.execute(_REACH, (cid,)).fetchone()
        if row is None:
            raise NotAnExport(f"The block {cid} is missing.")
        self.file.seek(row["start"])
        block = self.file.read(row["size"])
        if sha256(block).digest() != digest_of(cid):
            raise NotAnExport(f"The block {cid} changed while the file was being read.")
        return block

    def note(self, kind: str, value: str) -> bool:
        return bool(self.index.execute(_NOTE, (kind, value)).fetchall())

    def unreached(self) -> int:
        count: int = self.index.execute(_COUNT_UNREACHED).fetchone()["unreached"]
        return count


@contextmanager
def open_car(path: Path, progress: Progress) -> Iterator[CarFile]:
    """Open a CAR file and verify every block, reporting progress in bytes.

    Raises `NotAnExport` for a file that is not a CAR, is damaged, or is truncated, and `OSError`
    if the file or the index cannot be used.
    """
    try:
        with _open_car(path, progress) as car:
            yield car
    except sqlite3.Error as error:
        raise OSError(errno.EIO, f"its index failed ({error})") from error


@contextmanager
def _open_car(path: Path, progress: Progress) -> Iterator[CarFile]:
    with path.open("rb") as file, closing(sqlite3.connect("", isolation_level=None)) as index:
        index.row_factory = sqlite3.Row
        for statement in _TABLES:
            index.execute(statement)
        size = path.stat().st_size
        try:
            roots = read_header(file.read)
            for cid, block in read_sections(file.read):
                end = file.tell()
                index.execute(_ADD_BLOCK, (cid, end - len(block), len(block)))
                progress(end, size)
        except NotACar as error:
            raise NotAnExport(str(error)) from error
        yield CarFile(roots, size, file, index)
