"""The mutable tables of the index: how each is loaded, stored and restored."""

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from imprint.adapters.database.transaction import Sql, Transaction, Value, micros, moment_of
from imprint.adapters.stores.files import FILE_COLUMNS
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.market_ledger import (
    AccountRow,
    DayRow,
    HoldingKey,
    HoldingRow,
    K,
    PostRow,
    R,
    ReaderKey,
    Table,
    TotalsRow,
)

_KEYS = "json_each(:keys) AS k"
"""Keys of a statement as a JSON list of lists of strings."""

_PARTS = tuple(f"json_extract(k.value, '$[{number}]')" for number in range(2))
"""The parts of one key."""


def _in_both(statement: str) -> Sql:
    """A statement and its PostgreSQL form, which uses different JSON functions."""
    own = statement.replace(_KEYS, "jsonb_array_elements(CAST(:keys AS jsonb)) AS k (value)")
    for number, part in enumerate(_PARTS):
        own = own.replace(part, f"(k.value ->> {number})")
    return Sql(statement, postgresql=own)


_LOAD_POSTS = f"""
SELECT t.post_id, t.place, t.author, t.price, t.sales, t.volume, t.holders
FROM {_KEYS} JOIN posts t ON t.post_id = {_PARTS[0]}"""  # noqa: S608

_STORE_POST = """
UPDATE posts SET price = :price, sales = :sales, volume = :volume, holders = :holders
WHERE post_id = :post_id"""

_REMOVE_POST = "DELETE FROM posts WHERE post_id = :post_id"

_LOAD_HOLDINGS = f"""
SELECT t.holder, t.post_id, t.balance, t.arrived, t.arrived_at, t.paid
FROM {_KEYS} JOIN holdings t ON t.holder = {_PARTS[0]} AND t.post_id = {_PARTS[1]}"""  # noqa: S608

_STORE_HOLDING = """
INSERT INTO holdings (holder, post_id, balance, held, arrived, arrived_at, paid)
VALUES (:holder, :post_id, :balance, :held, :arrived, :arrived_at, :paid)
ON CONFLICT (holder, post_id) DO UPDATE SET
    balance = excluded.balance, held = excluded.held, arrived = excluded.arrived,
    arrived_at = excluded.arrived_at, paid = excluded.paid"""

_REMOVE_HOLDING = "DELETE FROM holdings WHERE holder = :holder AND post_id = :post_id"

_LOAD_ACCOUNTS = f"""
SELECT t.* FROM {_KEYS} JOIN accounts t ON t.address = {_PARTS[0]}"""  # noqa: S608

_STORE_ACCOUNT = """
INSERT INTO accounts (address, posts, first_post_at, last_post_at, sales, volume, worth, readers,
                      purchases, spent, held)
VALUES (:address, :posts, :first_post_at, :last_post_at, :sales, :volume, :worth, :readers,
        :purchases, :spent, :held)
ON CONFLICT (address) DO UPDATE SET
    posts = excluded.posts, first_post_at = excluded.first_post_at,
    last_post_at = excluded.last_post_at, sales = excluded.sales, volume = excluded.volume,
    worth = excluded.worth, readers = excluded.readers, purchases = excluded.purchases,
    spent = excluded.spent, held = excluded.held"""

_REMOVE_ACCOUNT = "DELETE FROM accounts WHERE address = :address"

_LOAD_READERS = f"""
SELECT t.author, t.reader, t.held
FROM {_KEYS} JOIN author_readers t ON t.author = {_PARTS[0]} AND t.reader = {_PARTS[1]}"""  # noqa: S608

_STORE_READER = """
INSERT INTO author_readers (author, reader, held) VALUES (:author, :reader, :held)
ON CONFLICT (author, reader) DO UPDATE SET held = excluded.held"""

_REMOVE_READER = "DELETE FROM author_readers WHERE author = :author AND reader = :reader"

_LOAD_DAYS = f"""
SELECT t.* FROM {_KEYS} JOIN market_days t ON t.day = CAST({_PARTS[0]} AS BIGINT)"""  # noqa: S608

_STORE_DAY = """
INSERT INTO market_days (day, posts, sales, volume) VALUES (:day, :posts, :sales, :volume)
ON CONFLICT (day) DO UPDATE SET
    posts = excluded.posts, sales = excluded.sales, volume = excluded.volume"""

_REMOVE_DAY = "DELETE FROM market_days WHERE day = :day"

_LOAD_TOTALS = f"""
SELECT t.* FROM {_KEYS} JOIN market_totals t ON t.only_row = CAST({_PARTS[0]} AS BIGINT)"""  # noqa: S608

_STORE_TOTALS = """
INSERT INTO market_totals (only_row, posts, authors, readers, users, sales, volume, worth)
VALUES (:only_row, :posts, :authors, :readers, :users, :sales, :volume, :worth)
ON CONFLICT (only_row) DO UPDATE SET
    posts = excluded.posts, authors = excluded.authors, readers = excluded.readers,
    users = excluded.users, sales = excluded.sales, volume = excluded.volume,
    worth = excluded.worth"""

_REMOVE_TOTALS = "DELETE FROM market_totals WHERE only_row = :only_row"


OWN_FILES = _in_both(f"""
SELECT f.cid, f.owner, g.hashtags FROM {_KEYS} JOIN files f ON f.cid = {_PARTS[0]}
JOIN file_groups g ON g.id = f.group_id WHERE g.hashtags_of_chain = 0""")  # noqa: S608
"""For the files with these cids, selects the owners and the hashtags of the publish requests.
Includes replaced versions, because an event can restore one."""

BOUND_FILES = _in_both(f"""
{FILE_COLUMNS} FROM {_KEYS} JOIN files f ON f.post_id = {_PARTS[0]}
JOIN events e ON e.file_id = f.id AND e.block_hash = {_PARTS[1]}
JOIN file_groups g ON g.id = f.group_id""")
"""Selects the files that are bound to the events with these post ids and blocks."""


def price_bytes(price: int) -> bytes:
    """A price as bytes that sort in the same order as the number."""
    return price.to_bytes(32)


@dataclass(frozen=True, slots=True)
class IndexTable(Generic[K, R]):
    """A mutable table, whose keys consist of one or two of its `columns`.

    `values` returns a row's columns and its key, and `row_of` converts them back. An earlier row is
    stored as JSON of its columns, with bytes as hexadecimal digits.
    """

    name: str
    load: str
    store: str
    remove: str
    columns: tuple[str, ...]
    key_parts: Callable[[K], tuple[str | int, ...]]
    key_of: Callable[[Sequence[str]], K]
    values: Callable[[R], dict[str, Value]]
    row_of: Callable[[Any], R]

    async def load_rows(self, tx: Transaction, keys: Collection[K]) -> Table[K, R]:
        """The rows with these keys."""
        if not keys:
            return Table()
        parts = json.dumps([self.key_parts(key) for key in keys])
        rows = await tx.fetchall(self.load, keys=parts)
        return Table(
            (self.key_of([row[c] for c in self.columns]), self.row_of(row)) for row in rows
        )

    async def store_rows(self, tx: Transaction, rows: Iterable[tuple[K, R | None]]) -> None:
        """Store rows, and delete the stored row of each key whose new row is None."""
        stored, removed = [], []
        for key, row in rows:
            if row is None:
                removed.append(self._key_values(key))
            else:
                stored.append(self._key_values(key) | self.values(row))
        if stored:
            await tx.executemany(self.store, stored)
        if removed:
            await tx.executemany(self.remove, removed)

    def _key_values(self, key: K) -> dict[str, Value]:
        return dict(zip(self.columns, self.key_parts(key), strict=True))

    def encode_key(self, key: K) -> str:
        """Encode a key as one string."""
        return " ".join(map(str, self.key_parts(key)))

    def decode_key(self, text: str) -> K:
        """Decode a key from one string."""
        return self.key_of(text.split(" "))

    def encode_row(self, row: R | None) -> str | None:
        """Encode a row, so that it can be restored later."""
        if row is None:
            return None
        values = self.values(row)
        plain = {k: v.hex() if isinstance(v, bytes) else v for k, v in values.items()}
        return json.dumps(plain, separators=(",", ":"))

    def decode_row(self, text: str | None) -> R | None:
        """Decode a row that `encode_row` encoded."""
        return None if text is None else self.row_of(json.loads(text))


def _price_of(value: bytes | str) -> int:
    return int.from_bytes(value) if isinstance(value, bytes) else int(value, 16)


POSTS: IndexTable[int, PostRow] = IndexTable(
    "posts",
    _in_both(_LOAD_POSTS),
    _STORE_POST,
    _REMOVE_POST,
    columns=("post_id",),
    key_parts=lambda key: (str(key),),
    key_of=lambda parts: int(parts[0]),
    values=lambda row: {
        "place": row.place,
        "author": row.author,
        "price": price_bytes(row.price),
        "sales": row.sales,
        "volume": str(row.volume),
        "holders": row.holders,
    },
    row_of=lambda row: PostRow(
        row["place"],
        Address(row["author"]),
        _price_of(row["price"]),
        row["sales"],
        int(row["volume"]),
        row["holders"],
    ),
)

HOLDINGS: IndexTable[HoldingKey, HoldingRow] = IndexTable(
    "holdings",
    _in_both(_LOAD_HOLDINGS),
    _STORE_HOLDING,
    _REMOVE_HOLDING,
    columns=("holder", "post_id"),
    key_parts=lambda key: (key[0], str(key[1])),
    key_of=lambda parts: (Address(parts[0]), int(parts[1])),
    values=lambda row: {
        "balance": str(row.balance),
        "held": int(row.balance > 0),
        "arrived": row.arrived,
        "arrived_at": micros(row.arrived_at),
        "paid": None if row.paid is None else str(row.paid),
    },
    row_of=lambda row: HoldingRow(
        int(row["balance"]),
        row["arrived"],
        moment_of(row["arrived_at"]),
        None if row["paid"] is None else int(row["paid"]),
    ),
)

ACCOUNTS: IndexTable[Address, AccountRow] = IndexTable(
    "accounts",
    _in_both(_LOAD_ACCOUNTS),
    _STORE_ACCOUNT,
    _REMOVE_ACCOUNT,
    columns=("address",),
    key_parts=lambda key: (key,),
    key_of=lambda parts: Address(parts[0]),
    values=lambda row: {
        "posts": row.posts,
        "first_post_at": None if row.first_post_at is None else micros(row.first_post_at),
        "last_post_at": None if row.last_post_at is None else micros(row.last_post_at),
        "sales": row.sales,
        "volume": str(row.volume),
        "worth": str(row.worth),
        "readers": row.readers,
        "purchases": row.purchases,
        "spent": str(row.spent),
        "held": row.held,
    },
    row_of=lambda row: AccountRow(
        row["posts"],
        None if row["first_post_at"] is None else moment_of(row["first_post_at"]),
        None if row["last_post_at"] is None else moment_of(row["last_post_at"]),
        row["sales"],
        int(row["volume"]),
        int(row["worth"]),
        row["readers"],
        row["purchases"],
        int(row["spent"]),
        row["held"],
    ),
)

AUTHOR_READERS: IndexTable[ReaderKey, int] = IndexTable(
    "author_readers",
    _in_both(_LOAD_READERS),
    _STORE_READER,
    _REMOVE_READER,
    columns=("author", "reader"),
    key_parts=lambda key: key,
    key_of=lambda parts: (Address(parts[0]), Address(parts[1])),
    values=lambda held: {"held": held},
    row_of=lambda row: int(row["held"]),
)

DAYS: IndexTable[int, DayRow] = IndexTable(
    "market_days",
    _in_both(_LOAD_DAYS),
    _STORE_DAY,
    _REMOVE_DAY,
    columns=("day",),
    key_parts=lambda key: (key,),
    key_of=lambda parts: int(parts[0]),
    values=lambda row: {"posts": row.posts, "sales": row.sales, "volume": str(row.volume)},
    row_of=lambda row: DayRow(row["posts"], row["sales"], int(row["volume"])),
)

TOTALS: IndexTable[int, TotalsRow] = IndexTable(
    "market_totals",
    _in_both(_LOAD_TOTALS),
    _STORE_TOTALS,
    _REMOVE_TOTALS,
    columns=("only_row",),
    key_parts=lambda key: (key,),
    key_of=lambda parts: int(parts[0]),
    values=lambda row: {
        "posts": row.posts,
        "authors": row.authors,
        "readers": row.readers,
        "users": row.users,
        "sales": row.sales,
        "volume": str(row.volume),
        "worth": str(row.worth),
    },
    row_of=lambda row: TotalsRow(
        row["posts"],
        row["authors"],
        row["readers"],
        row["users"],
        row["sales"],
        int(row["volume"]),
        int(row["worth"]),
    ),
)
