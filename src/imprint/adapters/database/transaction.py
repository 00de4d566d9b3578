"""Transactions: the interface that the stores' rules use, the same for every database.

A rule is a coroutine function over a `Transaction`. The rule reads and writes through the
transaction, and its return value is the transaction's result. An exception rolls the transaction
back. Lock names, the values that databases store, and record checksums are defined here as well.
"""

import sqlite3
from collections.abc import (
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypeVar, TypeVarTuple
from zlib import crc32

import msgspec

from imprint.domain.drafts.files import File, Intent, Network, Write
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.posts import PostCreated

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

Value = str | int | bytes | None
"""Types of statement parameters and columns."""

Rows = Sequence[Mapping[str, Value]]
"""Parameter sets of a statement that is run once per set."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Row(Protocol):
    """A row whose values are read by column name. Rows can be unpacked and sliced."""

    def __getitem__(self, column: str | slice, /) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...


class Sql(str):
    """A statement with another text for PostgreSQL. With an empty text, it is skipped there."""

    __slots__ = ("postgresql",)

    postgresql: str

    def __new__(cls, text: str, *, postgresql: str) -> "Sql":
        """Combine the texts for SQLite and PostgreSQL."""
        statement = super().__new__(cls, text)
        statement.postgresql = postgresql
        return statement


_SERVER_NOW = """
COALESCE(CAST(:now AS BIGINT), CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT))"""


def by_server_time(text: str) -> Sql:
    """A statement that uses the PostgreSQL server's time if `:now` is None."""
    return Sql(text, postgresql=text.replace(":now", _SERVER_NOW))


class Unstorable(Exception):
    """The database refused a statement's values: a constraint failed, or it cannot store a
    value."""


class Transaction(Protocol):
    """One database transaction.

    Statements have named parameters. A statement refused for its values raises `Unstorable`; after
    that, a rule can continue only from a savepoint. Any other database error ends the transaction,
    and rules do not catch it.

    A rule may be called again after a rollback, so it must change nothing but the database. A rule
    must await only its transaction: on SQLite, a transaction never suspends, and a rule that
    suspends is refused.
    """

    async def fetchone(self, sql: str, /, **values: Value) -> Row | None:
        """The first row of a statement, or None."""

    async def fetchall(self, sql: str, /, **values: Value) -> list[Row]:
        """All rows of a statement."""

    async def execute(self, sql: str, /, **values: Value) -> None:
        """Run a statement and ignore its rows."""

    async def executemany(self, sql: str, /, rows: Rows) -> None:
        """Run a statement once for each set of values."""

    async def lock(self, names: Collection[str]) -> None:
        """Take additional locks, held until the transaction ends.

        Data read under a lock stays valid until the commit. SQLite ignores locks, because it runs
        one writing transaction at a time.
        """


Rule = Callable[[Transaction, *Ts], Coroutine[Any, Any, T]]
"""A rule: its parameters after the transaction, and its result."""


# Locks. Files, groups, names and nonces belong to an owner, and an event publishes only files of
# its author: a transaction that touches any of these locks the owner. A document can be detached
# and used again by several owners, so a transaction that does either also locks the document.

CONDEMN_LOCK = frozenset({"sweep"})
"""Name of the lock that lets only one transaction at a time mark documents for deletion. Two
concurrent transactions could together leave a group empty without either noticing."""


def owner_lock(owner: str) -> frozenset[str]:
    """The lock for everything an owner has."""
    return frozenset({f"owner {owner}"})


def document_lock(cid: Cid | str, network: Network | str) -> frozenset[str]:
    """The lock for one document."""
    return frozenset({f"document {network} {cid}"})


def write_locks(write: Write, intent: Intent | None, *drafts: Cid) -> frozenset[str]:
    """Locks of a signed write: the locks of its signer, of the document it stores, and of the
    documents of its drafts."""
    locks = owner_lock(write.signer).union(*(document_lock(cid, Network.PRIVATE) for cid in drafts))
    return locks if intent is None else locks | document_lock(intent.cid, intent.network)


def event_locks(events: Iterable[PostCreated]) -> frozenset[str]:
    """Locks of events: the locks of their authors, and of the documents and thumbnails they may
    publish."""
    locks: set[str] = set()
    for event in events:
        locks |= owner_lock(event.author)
        if event.cid is not None:
            locks |= document_lock(event.cid, Network.PRIVATE)
        if event.thumbnail is not None:
            locks |= document_lock(event.thumbnail, Network.PUBLIC)
    return frozenset(locks)


def file_locks(file: File) -> frozenset[str]:
    """Locks of a file: the locks of its owner, document and thumbnail."""
    locks = owner_lock(file.owner) | document_lock(file.cid, Network.PRIVATE)
    if file.thumbnail_cid is None:
        return locks
    return locks | document_lock(file.thumbnail_cid, Network.PUBLIC)


# Values


def micros(moment: datetime) -> int:
    """A time as whole microseconds since 1970, UTC."""
    return (moment - _EPOCH) // _MICROSECOND


def moment_of(value: int) -> datetime:
    """The UTC time for a number of microseconds since 1970."""
    return _EPOCH + timedelta(0, 0, value)


def key_text(text: str) -> str:
    """Escape untrusted text for use in a key if it has characters that no database accepts.

    Different texts stay different: NUL and lone surrogates are escaped, and so is the backslash.
    """
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    return text.encode("unicode_escape").decode("ascii")


def kept_text(text: str) -> str:
    """Prepare untrusted text for storage by replacing characters that no database accepts."""
    clean = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return clean.encode("utf-8", "replace").decode("utf-8")


CHECKED_TABLES = ("file_groups", "files", "profiles", "revisions", "measure_log")
"""Tables whose rows have a checksum."""

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
"""Columns of a file that the checksum covers, in order."""


_encode = msgspec.msgpack.Encoder().encode
"""Encodes values unambiguously, and identically on every database and release."""


def file_checksum(*columns: Value) -> int:
    """The checksum of a `files` row over its columns from id to tx_hash.

    The wrapped key is not included, because unwrapping verifies it.
    """
    return crc32(_encode(columns))


def group_checksum_of(id: str, hashtags: str, thumbnail_cid: str | None) -> int:  # noqa: A002
    """The checksum of a row of `file_groups`."""
    return crc32(_encode((id, hashtags, thumbnail_cid)))


_PROFILE = ("address", "name", "bio", "links", "avatar_cid", "updated_at")
"""Columns of a profile that the checksum covers, in order."""


def profile_checksum(*columns: Value) -> int:
    """The checksum of a `profiles` row over its columns from address to updated_at."""
    return crc32(_encode(columns))


_REVISION = (
    "id",
    "document",
    "number",
    "owner",
    "name",
    "cid",
    "size",
    "note",
    "created_at",
    "salt",
    "signature",
)
"""Columns of a revision that the checksum covers, in order."""


def revision_checksum(*columns: Value) -> int:
    """The checksum of a `revisions` row over its columns from id to signature."""
    return crc32(_encode(columns))


_DECISION = ("id", "at", "measure", "kind", "target", "ground", "statement")
"""Columns of a logged decision that the checksum covers, in order."""


def decision_checksum(*columns: Value) -> int:
    """The checksum of a `measure_log` row over its columns from id to statement."""
    return crc32(_encode(columns))


def record_checksum(table: str, row: Mapping[str, Any]) -> int:
    """The expected checksum of a row of this table."""
    if table == "files":
        return file_checksum(*(row[column] for column in _FILE))
    if table == "profiles":
        return profile_checksum(*(row[column] for column in _PROFILE))
    if table == "revisions":
        return revision_checksum(*(row[column] for column in _REVISION))
    if table == "measure_log":
        return decision_checksum(*(row[column] for column in _DECISION))
    return group_checksum_of(row["id"], row["hashtags"], row["thumbnail_cid"])


def is_damaged(table: str, row: Mapping[str, Any]) -> bool:
    """Whether a row has a checksum that does not match its values."""
    return row["checksum"] is not None and row["checksum"] != record_checksum(table, row)


def damaged_records(connection: sqlite3.Connection, table: str) -> Iterator[str]:
    """The ids or addresses of the rows whose checksum does not match their values.

    A catalog of an earlier release has no checksums, or lacks the table.
    """
    if connection.execute(f"PRAGMA table_info({table})").fetchone() is None:
        return
    cursor = connection.execute(f"SELECT * FROM {table}")  # noqa: S608  one of ours
    columns = [each[0] for each in cursor.description]
    if "checksum" not in columns:
        return
    for values in cursor:
        row = dict(zip(columns, values, strict=True))
        if is_damaged(table, row):
            yield str(row["address" if table == "profiles" else "id"])[:64]
