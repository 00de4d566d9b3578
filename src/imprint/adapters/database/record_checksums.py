"""Checksums of records, and their verification: the rows of files and of groups."""

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any
from zlib import crc32

import msgspec

from imprint.adapters.database.transaction import Value

CHECKED_TABLES = ("file_groups", "files")
"""The tables whose rows have a checksum."""

_FILE = (
    "id",
    "group_id",
    "owner",
    "name",
    "cid",
    "size",
    "created_at",
    "state",
    "position",
    "post_id",
    "published_at",
    "tx_hash",
)
"""The columns of a file that have a checksum, in its order."""


_encode = msgspec.msgpack.Encoder().encode
"""Encodes values unambiguously, the same on every database and release."""


def file_checksum(*columns: Value) -> int:
    """The checksum of a row of `files`, of its columns from id to tx_hash.

    The wrapped key is not included: unwrapping verifies it.
    """
    return crc32(_encode(columns))


def group_checksum_of(id: str, hashtags: str, thumbnail_cid: str | None) -> int:  # noqa: A002
    """The checksum of a row of `file_groups`."""
    return crc32(_encode((id, hashtags, thumbnail_cid)))


def record_checksum(table: str, row: Mapping[str, Any]) -> int:
    """The checksum that a row of this table must have."""
    if table == "files":
        return file_checksum(*(row[column] for column in _FILE))
    return group_checksum_of(row["id"], row["hashtags"], row["thumbnail_cid"])


def is_damaged(table: str, row: Mapping[str, Any]) -> bool:
    """Whether a row has a checksum that does not match its values."""
    return row["checksum"] is not None and row["checksum"] != record_checksum(table, row)


def damaged_records(connection: sqlite3.Connection, table: str) -> Iterator[str]:
    """The ids of the rows whose checksum does not match their values.

    A catalog of an earlier release has no checksums.
    """
    cursor = connection.execute(f"SELECT * FROM {table}")  # noqa: S608  one of ours
    columns = [each[0] for each in cursor.description]
    if "checksum" not in columns:
        return
    for values in cursor:
        row = dict(zip(columns, values, strict=True))
        if is_damaged(table, row):
            yield str(row["id"])[:64]
