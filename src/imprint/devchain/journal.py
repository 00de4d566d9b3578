"""The journal: a file with the transaction of every block, used to replay the chain."""

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self


class JournalDamaged(Exception):
    """The journal cannot be read, or replaying it does not reproduce its chain."""


class JournalInUse(Exception):
    """Another process has the journal open."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The input and hash of a block. An empty block has no transaction."""

    timestamp: int
    raw: bytes | None
    hash: bytes


class Journal:
    """Entries in block order, held in memory and, if a path is given, in a file."""

    def __init__(self, file: BinaryIO | None, entries: list[Entry]) -> None:
        self._file = file
        self._entries = entries

    @classmethod
    def open(cls, path: Path | None) -> Self:
        """Open or create a journal that only its owner can read. Without a path, it stays in
        memory.

        If a crash has truncated the last line, that line is dropped. Raises `JournalInUse` if
        another process has the file open, and `JournalDamaged` for any other damage.
        """
        if path is None:
            return cls(None, [])
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600, exist_ok=True)
        file = path.open("a+b", buffering=0)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _sync_folder(path.parent)
            return cls(file, _load(file))
        except BlockingIOError as error:
            file.close()
            raise JournalInUse("the chain's journal is in use by another process") from error
        except JournalDamaged:
            file.close()
            raise

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries of all blocks, oldest first."""
        return tuple(self._entries)

    def append(self, entry: Entry) -> None:
        """Append an entry and flush it to disk."""
        raw = None if entry.raw is None else entry.raw.hex()
        self._write({"timestamp": entry.timestamp, "raw": raw, "hash": entry.hash.hex()})
        self._entries.append(entry)

    def rewind(self, height: int) -> None:
        """Drop the entries of all blocks above this number."""
        self._write({"rewind": height})
        del self._entries[height + 1 :]

    def close(self) -> None:
        """Close the file and release its lock."""
        if self._file is not None:
            self._file.close()

    def _write(self, line: dict[str, object]) -> None:
        if self._file is None:
            return
        end = self._file.seek(0, os.SEEK_END)
        try:
            self._file.write(json.dumps(line).encode() + b"\n")
            os.fsync(self._file.fileno())
        except OSError:
            # Remove a partial line, or the next one would be appended to it.
            self._file.truncate(end)
            raise


def _sync_folder(folder: Path) -> None:
    # A new file survives a crash only once its directory entry is synced.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _load(file: BinaryIO) -> list[Entry]:
    file.seek(0)
    content = file.read()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        file.truncate(whole)
    entries: list[Entry] = []
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        try:
            fields = json.loads(line)
            if "rewind" in fields:
                del entries[fields["rewind"] + 1 :]
                continue
            raw = None if fields["raw"] is None else bytes.fromhex(fields["raw"])
            entries.append(Entry(int(fields["timestamp"]), raw, bytes.fromhex(fields["hash"])))
        except (ValueError, TypeError, KeyError) as error:
            raise JournalDamaged(f"the chain's journal is damaged in line {number}") from error
    return entries
