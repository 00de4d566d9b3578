"""The integrity of a SQLite catalog: its pages, its indexes and its write-ahead log."""

import logging
import sqlite3
import struct
import time
from collections.abc import Iterator
from contextlib import closing
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

_LOG_PAUSES = (0.05, 0.1)
"""Seconds after which a log that seems to be damaged is read again."""

_BOOT = Path("/proc/sys/kernel/random/boot_id")
"""Where Linux says which start of the machine this is."""

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

    @classmethod
    def dropping(cls, log: Path, commits: int) -> "DamagedLog":
        """A log in which commits follow a damaged frame."""
        return cls(
            f"The write-ahead log {log} is damaged: {commits} commits in it would be lost. Restore"
            " a backup or run imprint repair. To go on with what comes before the damage, copy the"
            f" file to {accepted_log(log).name} beside it and start again."
        )

    @classmethod
    def alone(cls, log: Path, path: Path) -> "DamagedLog":
        """A log whose catalog is not there, and which SQLite would delete."""
        return cls(
            f"There is a write-ahead log {log}, but {path} is missing or empty. Put the catalog"
            " back, restore a backup or run imprint repair. To begin with an empty catalog, move"
            " the log away."
        )


def accepted_log(log: Path) -> Path:
    """The copy of a damaged write-ahead log by which an operator accepts the loss."""
    return log.with_name(f"{log.name}.damaged")


def check_log(path: Path, boot: str | None) -> None:
    """Raise `DamagedLog` if SQLite would drop commits from the write-ahead log of a catalog.

    SQLite reads the log up to the first frame with a wrong checksum and writes over the rest. That
    is right for a commit that a crash interrupted, which is the last one. If more commits follow,
    the frame was written well and damaged later, unless the machine lost power: then it may have
    written some of them only. Damage of the very last commit cannot be told from a crash.

    `boot` is what `read_boot` returns. Only the same start of the same machine is proof that no
    power was lost: clocks may be wrong, and a disk may have come from another machine.
    """
    log = path.with_name(f"{path.name}-wal")
    had_power = boot is not None and boot == _noted_boot(path)
    # Another process that writes meanwhile can make one reading inconsistent, but not all.
    for pause in (0.0, *_LOG_PAUSES):
        time.sleep(pause)
        content = _read_log(log)
        if len(content) <= _HEADER.size:
            return
        page_size = _page_size(path)
        if page_size is None:
            raise DamagedLog.alone(log, path)
        dropped = count_dropped_commits(content, page_size)
        if not dropped:
            return
        if not had_power:
            _log.warning("The write-ahead log ends with commits that a loss of power broke off.")
            return
    if not _is_accepted(log, content):
        raise DamagedLog.dropping(log, dropped)


def read_boot() -> str | None:
    """What tells this start of this machine from every other; None where that is not known."""
    try:
        return _BOOT.read_text("ascii").strip() or None
    except OSError:
        return None


def note_boot(path: Path, boot: str | None) -> None:
    """Note beside a catalog on which start of which machine it was opened, before it is written."""
    if boot is not None and boot != _noted_boot(path):
        _boot_file(path).write_text(boot, "ascii")


def _boot_file(path: Path) -> Path:
    return path.with_name(f"{path.name}-boot")


def _noted_boot(path: Path) -> str | None:
    try:
        return _boot_file(path).read_text("ascii", "replace")
    except OSError:
        return None


def _read_log(log: Path) -> bytes:
    """The bytes of a log; none if there is no log, or one that is too long to be examined."""
    try:
        return log.read_bytes() if log.stat().st_size <= LONGEST_LOG else b""
    except FileNotFoundError:
        return b""


def _is_accepted(log: Path, content: bytes) -> bool:
    accepted = accepted_log(log)
    return accepted.exists() and accepted.read_bytes() == content


def count_dropped_commits(log: bytes, page_size: int) -> int:
    """How many commits of a write-ahead log SQLite drops although they were complete.

    The checksum of a frame continues that of the frame before. So a commit was complete if a later
    frame continues it. One that nothing continues may be what a crash interrupted, or the rest of a
    commit that failed and was then written over by a shorter one; several of those may follow.
    """
    if len(log) < _HEADER.size:
        return 0
    magic, _, size, *_ = _HEADER.unpack_from(log)
    order = ">" if magic & 1 else "<"
    if magic & ~1 == _MAGIC and _sum(order, log[:24], (0, 0)) == _HEADER.unpack_from(log)[6:]:
        return sum(_find_dropped(log, order, size, has_header=True))
    # SQLite ignores the whole log then. A crash does not cause that: the header is synced before
    # anything follows it. Its first bytes say the order, so they cannot be believed either.
    return max(sum(_find_dropped(log, order, page_size, has_header=False)) for order in ("<", ">"))


def _find_dropped(log: bytes, order: str, page_size: int, *, has_header: bool) -> Iterator[bool]:
    """Whether each frame shows that a commit is dropped, of a log with or without its header."""
    frame = _FRAME.size + page_size
    salts, stored = _HEADER.unpack_from(log)[4:6], _HEADER.unpack_from(log)[6:]
    computed = _sum(order, log[:24], (0, 0))
    valid, after_commit = has_header, False
    for start in range(_HEADER.size, len(log) - frame + 1, frame):
        _, commit, *found = _FRAME.unpack_from(log, start)
        if start == _HEADER.size and not has_header:
            salts = tuple(found[:2])
        before, stored, is_commit = {stored, computed}, tuple(found[2:]), commit != 0
        is_of_this_use = tuple(found[:2]) == salts
        computed, continues = stored, False
        if is_of_this_use or valid:
            content = log[start : start + 8] + log[start + _FRAME.size : start + frame]
            # Of the frame before, either its checksum or its content may be damaged.
            sums = {_sum(order, content, each) for each in before}
            continues = is_of_this_use and stored in sums
            computed = stored if continues else min(sums)
        if has_header:
            yield continues and after_commit and not valid
        else:
            yield continues and is_commit
        valid, after_commit = valid and continues, is_commit


def _sum(order: str, data: bytes, sums: tuple[int, ...]) -> tuple[int, ...]:
    """The checksum of a write-ahead log, continued over some more of it."""
    first, second = sums
    for one, other in struct.iter_unpack(f"{order}2I", data):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second


def _page_size(path: Path) -> int | None:
    """The page size of a database; None if there is none."""
    try:
        with path.open("rb") as file:
            head = file.read(18)
    except FileNotFoundError:
        return None
    size = int.from_bytes(head[16:], "big")
    # 65536 does not fit into two bytes.
    return None if not head else 65536 if size == 1 else size
