"""Finds commits that SQLite would drop from a write-ahead log.

SQLite reads a log up to the first frame with a wrong checksum and overwrites the rest. The format
is described at https://www.sqlite.org/fileformat2.html.
"""

import logging
import sqlite3
import struct
import time
from contextlib import suppress
from pathlib import Path

HEADER_BYTES = 32
"""Size in bytes of a log without frames."""

LONGEST_LOG = 256 * 1024 * 1024
"""Write-ahead logs with more bytes than this are not checked. SQLite keeps logs far smaller."""

_LOG_PAUSES = (0.05, 0.1)
"""Seconds after which a log that seems damaged is read again."""

_BOOT = Path("/proc/sys/kernel/random/boot_id")
"""The Linux file with the boot id."""

_log = logging.getLogger(__name__)

_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_MAGIC = 0x377F0682
"""Magic number of a log, whose last bit selects the byte order of checksums."""


class DamagedLog(Exception):
    """SQLite would drop acknowledged commits from the write-ahead log."""

    @classmethod
    def dropping(cls, log: Path, commits: int) -> "DamagedLog":
        """Commits follow a damaged frame in the log."""
        return cls(
            f"The write-ahead log {log} is damaged: {commits} commits in it would be lost. "
            "Restore a backup or run imprint repair. To continue with what comes before the "
            f"damage, copy the file to {accepted_log(log).name} beside it and start again."
        )

    @classmethod
    def alone(cls, log: Path, path: Path) -> "DamagedLog":
        """There is a log without a database. SQLite would delete such a log."""
        return cls(
            f"There is a write-ahead log {log}, but {path} is missing or empty. Put that file "
            "back, restore a backup or run imprint repair. To start with an empty file, move "
            "the log away."
        )

    @classmethod
    def interrupted(cls, path: Path) -> "DamagedLog":
        """The log may be missing, because a repair was interrupted while replacing database and
        log."""
        return cls(f"A repair of {path} was interrupted. Run imprint repair again to complete it.")


def log_file(path: Path) -> Path:
    """The path of a database's write-ahead log."""
    return path.with_name(f"{path.name}-wal")


def boot_file(path: Path) -> Path:
    """Path of the file that records during which boot a database was written."""
    return path.with_name(f"{path.name}-boot")


def replacement_of(path: Path) -> Path:
    """Path of the new file with which a repair replaces a database."""
    return path.with_name(f"{path.name}.repaired")


def accepted_log(log: Path) -> Path:
    """Path to which an operator copies a damaged log to accept the loss of its commits."""
    return log.with_name(f"{log.name}.damaged")


def check_log(path: Path, boot: str | None) -> bool:
    """Raise `DamagedLog` if SQLite would drop commits from a database's log.

    SQLite reads the log up to the first frame with a wrong checksum and overwrites the rest.
    Overwriting is right for a commit that a crash interrupted, because no commit can follow it. If
    commits do follow, the frame was damaged after it was written, unless there was a power failure,
    which may leave only some of the last frames on the disk. Damage to the very last commit cannot
    be distinguished from a crash.

    `boot` is the result of `read_boot`. Only the same boot of the same machine proves that no power
    was lost: clocks may be wrong, and a disk may have come from another machine.

    Returns whether `begin_log` must empty the log once the database is open.
    """
    if replacement_of(path).exists():
        raise DamagedLog.interrupted(path)
    log = log_file(path)
    is_same_start = boot is not None and boot == _noted_boot(path)
    # A concurrent write by another process can make one read inconsistent, but not all.
    for pause in (0.0, *_LOG_PAUSES):
        time.sleep(pause)
        content = _read_log(log)
        if len(content) <= HEADER_BYTES:
            break
        page_size = _page_size(path)
        if page_size is None:
            raise DamagedLog.alone(log, path)
        dropped = count_dropped_commits(content, page_size)
        if not dropped:
            break
        if not is_same_start:
            _log.warning("The write-ahead log ends with commits that a power loss interrupted.")
            return True
    else:
        if not _is_accepted(log, content):
            raise DamagedLog.dropping(log, dropped)
        return True
    return boot is not None and not is_same_start


def begin_log(connection: sqlite3.Connection, path: Path, boot: str | None) -> None:
    """Empty a database's log and record the boot that writes it from now on.

    Otherwise, remains of commits that SQLite has dropped would count as damage. If the log cannot
    be emptied, no boot is recorded, and `check_log` does not refuse the log.
    """
    with suppress(sqlite3.Error, OSError):
        # Open the log before the checkpoint. A checkpoint that opens the log itself keeps a read
        # lock. If another process has just written, the checkpoint then takes the writer's lock
        # and waits for its own read lock.
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if not busy and boot is not None:
            note = boot_file(path)
            note.touch(mode=0o600)
            note.write_text(boot, "ascii")


def read_boot() -> str | None:
    """An id of this machine's current boot, or None if it is unknown."""
    try:
        return _BOOT.read_text("ascii").strip() or None
    except OSError:
        return None


def _noted_boot(path: Path) -> str | None:
    try:
        return boot_file(path).read_text("ascii", "replace")
    except OSError:
        return None


def _read_log(log: Path) -> bytes:
    """The bytes of a log, empty if there is none or it is too long to check."""
    try:
        return log.read_bytes() if log.stat().st_size <= LONGEST_LOG else b""
    except FileNotFoundError:
        return b""


def _is_accepted(log: Path, content: bytes) -> bool:
    accepted = accepted_log(log)
    return accepted.exists() and accepted.read_bytes() == content


def _page_size(path: Path) -> int | None:
    """A database's page size, or None without a database."""
    try:
        with path.open("rb") as file:
            head = file.read(18)
    except FileNotFoundError:
        return None
    size = int.from_bytes(head[16:], "big")
    # The page size 65536 does not fit into two bytes.
    return None if not head else 65536 if size == 1 else size


def count_dropped_commits(log: bytes, page_size: int) -> int:
    """Number of complete commits that SQLite drops.

    A frame's checksum continues the previous frame's, so a commit was complete if a later frame
    continues it. A commit without a continuation may have been interrupted by a crash, or be the
    rest of a failed commit that was overwritten by a shorter one. Several such commits may follow.

    `page_size` is used if the log does not record one.
    """
    if len(log) < HEADER_BYTES:
        return 0
    magic, _, size, *_ = _HEADER.unpack_from(log)
    order = ">" if magic & 1 else "<"
    if magic & ~1 == _MAGIC and _sum(order, log[:24], (0, 0)) == _HEADER.unpack_from(log)[6:]:
        return _count_losses(log, order, size, has_header=True)
    # SQLite then ignores the whole log. A crash does not cause that: the header is synced before
    # anything follows it. Its first bytes define the byte order, so they cannot be trusted either.
    return max(_count_losses(log, order, page_size, has_header=False) for order in ("<", ">"))


def _count_losses(log: bytes, order: str, page_size: int, *, has_header: bool) -> int:
    """Number of frames that prove a dropped commit. The header may be damaged."""
    length, losses = _FRAME.size + page_size, 0
    salts, stored = _HEADER.unpack_from(log)[4:6], _HEADER.unpack_from(log)[6:]
    computed = _sum(order, log[:24], (0, 0))
    valid, after_commit = has_header, False
    for start in range(HEADER_BYTES, len(log) - length + 1, length):
        _, pages, *found = _FRAME.unpack_from(log, start)
        if start == HEADER_BYTES and not has_header:
            salts = tuple(found[:2])
        before, stored = {stored, computed}, tuple(found[2:])
        is_of_this_use = tuple(found[:2]) == salts
        if not is_of_this_use and not valid:
            # The frame is from an earlier use of the log, whose commits are all in the database.
            computed, after_commit = stored, pages != 0
            continue
        framed = log[start : start + 8] + log[start + _FRAME.size : start + length]
        # Either the checksum or the content of the previous frame may be damaged.
        sums = {_sum(order, framed, each) for each in before}
        sound = stored in sums
        continues = is_of_this_use and sound
        losses += continues and (after_commit and not valid if has_header else pages != 0)
        valid = valid and continues
        computed, after_commit = stored if sound else min(sums), pages != 0
    return losses


def _sum(order: str, data: bytes, sums: tuple[int, ...]) -> tuple[int, ...]:
    """Continue a log's checksum over more of its bytes."""
    first, second = sums
    for one, other in struct.iter_unpack(f"{order}2I", data):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second
