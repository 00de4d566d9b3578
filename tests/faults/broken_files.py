"""Damage to SQLite files: zeroed, flipped, swapped or truncated pages."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tests.faults.scene import LONG

PAGE = 4096


def settle(path: Path) -> None:
    """Checkpoint the write-ahead log into the database file."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def pages_of(path: Path, tree: str) -> list[int]:
    """Return the page numbers of a table or an index, root first."""
    with closing(sqlite3.connect(path)) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = ?", (tree,)
        ).fetchone()
    content, found, waiting = path.read_bytes(), [], [root]
    while waiting:
        number = waiting.pop()
        found.append(number)
        waiting += _children(content[(number - 1) * PAGE : number * PAGE])
    return found


def _children(page: bytes) -> list[int]:
    """Return the child pages. The first byte distinguishes interior pages from leaves."""
    if page[0] not in (2, 5):
        return []
    cells = int.from_bytes(page[3:5], "big")
    starts = [int.from_bytes(page[at : at + 2], "big") for at in range(12, 12 + 2 * cells, 2)]
    numbers = [*(page[start : start + 4] for start in starts), page[8:12]]
    return [int.from_bytes(number, "big") for number in numbers]


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def zero_page(path: Path, number: int) -> None:
    overwrite(path, (number - 1) * PAGE, bytes(PAGE))


def flip(path: Path, at: int) -> None:
    """Flip two bits of one byte."""
    with path.open("r+b") as file:
        file.seek(at)
        (byte,) = file.read(1)
    overwrite(path, at, bytes([byte ^ 0x11]))


def swap_pages(path: Path, one: int, other: int) -> None:
    data = path.read_bytes()
    first, second = data[(one - 1) * PAGE : one * PAGE], data[(other - 1) * PAGE : other * PAGE]
    overwrite(path, (one - 1) * PAGE, second)
    overwrite(path, (other - 1) * PAGE, first)


def flip_text(path: Path, text: str) -> None:
    """Change one letter in the first occurrence of a text in the file."""
    at = path.read_bytes().index(text.encode())
    flip(path, at + len(text) // 2)


def cut(path: Path, share: float) -> None:
    """Truncate the file to a fraction of its pages."""
    pages = path.stat().st_size // PAGE
    with path.open("r+b") as file:
        file.truncate(int(pages * share) * PAGE)


def _page(tree: str, which: int) -> Callable[[Path], None]:
    return lambda path: zero_page(path, pages_of(path, tree)[which])


def _cell_count(tree: str) -> Callable[[Path], None]:
    """Make a page claim to have a single cell, which hides its other cells."""
    return lambda path: overwrite(path, (pages_of(path, tree)[-1] - 1) * PAGE + 3, b"\0\1")


def _swap(one: str, other: str) -> Callable[[Path], None]:
    return lambda path: swap_pages(path, pages_of(path, one)[-1], pages_of(path, other)[-1])


TREES = ("files", "file_groups", "nonces", "events", "files_by_cid", "files_by_id", "owners")

_ALL: dict[str, Callable[[Path], None]] = {
    **{f"root of {tree} zeroed": _page(tree, 0) for tree in TREES},
    **{f"last page of {tree} zeroed": _page(tree, -1) for tree in TREES[:6]},
    **{f"cells of {tree} forgotten": _cell_count(tree) for tree in TREES[:4]},
    "first page zeroed": lambda path: zero_page(path, 1),
    "header flipped": lambda path: flip(path, 5),
    "schema flipped": lambda path: flip_text(path, "INDEX files_by_name ON files"),
    "page of files swapped with one of an index": _swap("files", "files_by_cid"),
    "page of files swapped with one of nonces": _swap("files", "nonces"),
    "cut in half": lambda path: cut(path, 0.5),
    "last tenth cut off": lambda path: cut(path, 0.9),
}

DAMAGES = _ALL if LONG else dict(list(_ALL.items())[::3])
"""Types of damage to a catalog file, by name."""
