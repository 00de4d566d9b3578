"""The integrity of a SQLite catalog: its pages, its indexes and its write-ahead log."""

import logging
import sqlite3
import struct
from contextlib import closing, suppress
from pathlib import Path

from imprint.adapters.sqlite_connections import connect_reader

SMALL_CATALOG = 16 * 1024 * 1024
"""Bytes of a catalog up to which it is examined before it is used: a quarter of a second."""

_CACHE_KILOBYTES = 64_000
"""The page cache of an examination, which looks up every row in every index."""

MOST_FINDINGS = 20
"""How many findings are reported at most; one is enough for an alarm."""

LONGEST_LOG = 256 * 1024 * 1024
"""Bytes of a write-ahead log beyond which it is not examined; SQLite truncates it far below."""

_log = logging.getLogger(__name__)

_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_MAGIC = 0x377F0682


def examine_catalog(path: Path, most: int = MOST_FINDINGS) -> list[str]:
    """What is damaged in the catalog in this file; empty if nothing is.

    Looks up every row in every index, 70 MB in a second if the file fits into the cache. Others may
    write meanwhile; the log grows until the examination ends.
    """
    try:
        with closing(connect_reader(path, _CACHE_KILOBYTES)) as connection:
            connection.execute("PRAGMA cell_size_check = ON")
            rows = connection.execute(f"PRAGMA integrity_check({most})").fetchall()
            dangling = connection.execute("PRAGMA foreign_key_check").fetchone()
    except sqlite3.Error as error:
        return [str(error)]
    # The list can contain texts of damaged rows.
    found = [ascii(text)[1:201] for (text,) in rows if text != "ok"]
    return [*found, *(["A file has no group."] if dangling is not None else [])]


class DamagedLog(Exception):
    """SQLite would drop commits from the write-ahead log that were acknowledged."""

    def __init__(self, log: Path, dropped: int) -> None:
        super().__init__(
            f"The write-ahead log {log} is damaged: {dropped} commits in it would be lost. Restore"
            " a backup or run imprint repair. To go on with what comes before the damage, copy the"
            f" file to {accepted_log(log).name} beside it and start again."
        )


def accepted_log(log: Path) -> Path:
    """The copy of a damaged write-ahead log by which an operator accepts the loss."""
    return log.with_name(f"{log.name}.damaged")


def check_log(path: Path, booted_at: float) -> None:
    """Raise `DamagedLog` if SQLite would drop commits from the write-ahead log of a catalog.

    SQLite reads the log up to the first frame with a wrong checksum and writes over the rest. That
    is right for a commit that a crash interrupted, which is the last one. If more commits follow,
    the frame was written well and damaged later, unless the machine lost power: then it may have
    written some of them only. Damage of the very last commit cannot be told from a crash.

    `booted_at` is when the machine was started, in seconds since 1970.
    """
    log = path.with_name(f"{path.name}-wal")
    with suppress(FileNotFoundError):
        written = log.stat()
        if not 0 < written.st_size <= LONGEST_LOG:
            return
        content = log.read_bytes()
        # Another process may have begun the log anew meanwhile.
        with log.open("rb") as file:
            unchanged = content.startswith(file.read(_HEADER.size))
        dropped = count_dropped_commits(content, _page_size(path)) if unchanged else 0
        if dropped and written.st_mtime < booted_at:
            _log.warning("The write-ahead log ends with commits that a loss of power broke off.")
        elif dropped and not _is_accepted(log, content):
            raise DamagedLog(log, dropped)


def _is_accepted(log: Path, content: bytes) -> bool:
    accepted = accepted_log(log)
    return accepted.exists() and accepted.read_bytes() == content


def count_dropped_commits(log: bytes, page_size: int) -> int:
    """How many commits of a write-ahead log SQLite drops although they were complete."""
    frame = _FRAME.size + page_size
    starts = range(_HEADER.size, len(log) - frame + 1, frame)
    if not starts:
        return 0
    magic, _, _, _, *salts = _HEADER.unpack_from(log)[:6]
    order = ">" if magic & 1 else "<"
    sums = _sum(order, log[: _HEADER.size - 8], (0, 0))
    valid = sums == _HEADER.unpack_from(log)[6:] and magic & ~1 == _MAGIC
    interrupted = 1 if valid else 0
    if not valid:
        # SQLite ignores the whole log then. A crash does not cause that: the header is synced
        # before anything follows it.
        salts = list(_FRAME.unpack_from(log, starts[0])[2:4])
    commits = 0
    for start in starts:
        _, size, *found = _FRAME.unpack_from(log, start)
        if valid:
            body = start + _FRAME.size
            sums = _sum(order, log[start : start + 8], sums)
            sums = _sum(order, log[body : start + frame], sums)
            valid = found[:2] == salts and tuple(found[2:]) == sums
        if not valid and found[:2] == salts:
            commits += size != 0
    return max(0, commits - interrupted)


def _sum(order: str, data: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    """The checksum of a write-ahead log, continued over some more of it."""
    first, second = sums
    for one, other in struct.iter_unpack(f"{order}2I", data):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second


def _page_size(path: Path) -> int:
    with path.open("rb") as file:
        size = int.from_bytes(file.read(18)[16:], "big")
    # 65536 does not fit into two bytes.
    return 65536 if size == 1 else size
