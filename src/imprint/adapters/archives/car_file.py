"""A CAR file, indexed: blocks are found by their cids, in whatever order they stand.

The index is a temporary database that moves to the disk when it grows, so that a file of any size
can be read with little memory.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from imprint.domain.car import NotACar, read_header, read_sections
from imprint.domain.cids import Cid, digest_of
from imprint.domain.exports import NotAnExport

_TABLES = (
    """CREATE TABLE blocks (
        cid TEXT PRIMARY KEY, start INTEGER NOT NULL, size INTEGER NOT NULL,
        reached INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID""",
    "CREATE TABLE notes (kind TEXT, value TEXT, PRIMARY KEY (kind, value)) WITHOUT ROWID",
    # One transaction that never ends: nothing of this is meant to stay.
    "BEGIN",
)


@dataclass(frozen=True, slots=True)
class CarFile:
    """`Archive` over a CAR file."""

    roots: tuple[Cid, ...]
    file: BinaryIO
    index: sqlite3.Connection

    def read(self, cid: Cid) -> bytes:
        row = self.index.execute(
            "UPDATE blocks SET reached = 1 WHERE cid = ? RETURNING start, size", (cid,)
        ).fetchone()
        if row is None:
            raise NotAnExport(f"The block {cid} is missing.")
        self.file.seek(row[0])
        block = self.file.read(row[1])
        if sha256(block).digest() != digest_of(cid):
            raise NotAnExport(f"The block {cid} has changed while the file was read.")
        return block

    def note(self, kind: str, value: str) -> bool:
        text = "INSERT INTO notes VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING 1"
        return bool(self.index.execute(text, (kind, value)).fetchall())

    def unreached(self) -> int:
        text = "SELECT count(*) FROM blocks WHERE reached = 0"
        count: int = self.index.execute(text).fetchone()[0]
        return count


@contextmanager
def open_car(path: Path, tell: Callable[[int, int], None]) -> Iterator[CarFile]:
    """Open a CAR file, verifying every block; `tell` hears how many bytes of how many are read.

    Refuses, with `NotAnExport`, a file that is no CAR, is damaged, or is cut off.
    """
    with path.open("rb") as file, closing(sqlite3.connect("", isolation_level=None)) as index:
        for text in _TABLES:
            index.execute(text)
        size = path.stat().st_size
        try:
            roots = read_header(file.read)
            for cid, block in read_sections(file.read):
                end = file.tell()
                place = (cid, end - len(block), len(block))
                index.execute(
                    "INSERT INTO blocks (cid, start, size) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                    place,
                )
                tell(end, size)
        except NotACar as error:
            raise NotAnExport(str(error)) from error
        yield CarFile(roots, file, index)
