"""A SQLite catalog with many files, to measure how its size affects reads."""

import json
import sqlite3
import uuid
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from imprint.domain.cids import Codec, cid_of

OWNERS = 1_000
"""Owners of the drafts."""

FILES_OF_A_RARE_TAG = 10
"""Files with the same rare hashtag: a million files have 100 000 rare hashtags."""

TOPICS = 100
"""Hashtags that one file in a hundred has."""

EPOCH = 1_700_000_000_000_000
"""Creation time of the first file, in microseconds."""

Row = tuple[str | int | None, ...]


def fill_sqlite(path: Path, count: int) -> None:
    """Add `count` files, nine posts for each draft, to an existing catalog that is not in use."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("BEGIN")
    connection.executemany(
        "INSERT INTO file_groups (id, owner, hashtags, thumbnail_cid, created_at)"
        " VALUES (?, ?, ?, NULL, ?)",
        _groups(count),
    )
    connection.executemany(
        "INSERT INTO files (id, group_id, owner, name, cid, size, created_at, state, position,"
        " post_id, published_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        _files(count),
    )
    connection.executemany(
        "INSERT INTO file_tags (tag, position, state) VALUES (?, ?, ?)", _file_tags(count)
    )
    connection.execute(
        "INSERT INTO tags (tag, posts, drafts) SELECT tag, sum(state = 'onchain'),"
        " sum(state = 'pending') FROM file_tags GROUP BY tag"
    )
    connection.execute("UPDATE counters SET value = ? WHERE name = 'position'", (count,))
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def is_draft(number: int) -> bool:
    """Whether the file with this number is a draft."""
    return number % 10 == 0


def owner_of(number: int) -> str:
    """The owner of the file with this number."""
    return f"0x{number // 10 % OWNERS:040x}"


def tags_of(number: int, count: int) -> list[str]:
    """The hashtags of this file among `count`: a common one, one in a hundred, and a rare one."""
    return ["all", f"topic{number % TOPICS}", f"rare{number % rare_tags(count)}"]


def rare_tags(count: int) -> int:
    """Number of rare hashtags among `count` files; the files of one are far from each other."""
    return count // FILES_OF_A_RARE_TAG


def _groups(count: int) -> Iterator[Row]:
    for number in range(1, count + 1):
        yield (
            _id("group", number),
            owner_of(number),
            json.dumps(tags_of(number, count)),
            EPOCH + number,
        )


def _files(count: int) -> Iterator[Row]:
    for number in range(1, count + 1):
        draft = is_draft(number)
        yield (
            _id("file", number),
            _id("group", number),
            owner_of(number),
            f"{owner_of(number)}_{number}",
            cid_of(Codec.RAW, sha256(str(number).encode()).digest()),
            4096,
            EPOCH + number,
            "pending" if draft else "onchain",
            number,
            None if draft else str(number),
            None if draft else EPOCH + number,
        )


def _file_tags(count: int) -> Iterator[Row]:
    for number in range(1, count + 1):
        state = "pending" if is_draft(number) else "onchain"
        for tag in tags_of(number, count):
            yield tag, number, state


def _id(kind: str, number: int) -> str:
    return str(uuid.UUID(bytes=sha256(f"{kind} {number}".encode()).digest()[:16]))
