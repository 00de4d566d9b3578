"""`KeyStore` in the database: wrapped keys, and the ids of the master keys that wrap them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from imprint.adapters.database.database import UNKNOWN_REACH, Database
from imprint.adapters.database.transaction import Transaction
from imprint.ports.installation import KeyRecord

WRAPPED_KEYS = """
SELECT id, name, wrapped_key FROM files
WHERE wrapped_key IS NOT NULL AND id > :after ORDER BY id LIMIT :limit"""
REWRAP_KEY = """
UPDATE files SET wrapped_key = :new WHERE id = :id AND wrapped_key = :old RETURNING 1"""
HAS_WRAPPED_KEY = """
SELECT 1 FROM files WHERE wrapped_key IS NOT NULL AND substr(wrapped_key, 1, :length) = :prefix
LIMIT 1"""
MASTER_KEYS = "SELECT master_keys FROM installation WHERE only_row = 1"
SET_MASTER_KEYS = "UPDATE installation SET master_keys = :ids WHERE only_row = 1"

MASTER_KEYS_LOCK = "master keys"
"""The lock under which the ids of master keys are changed."""


@dataclass(frozen=True, slots=True)
class SqlKeyStore:
    """The keys of all documents."""

    database: Database

    async def wrapped_keys(self, after: str, limit: int) -> list[KeyRecord]:
        return await self.database.read(_wrapped_keys, after, limit)

    async def replace_keys(self, changes: Sequence[tuple[KeyRecord, bytes]]) -> int:
        return await self.database.transact((), _replace_keys, changes)

    async def has_wrapped_key(self, prefix: bytes) -> bool:
        return await self.database.read(_has_wrapped_key, prefix, reach=UNKNOWN_REACH)

    async def master_keys(self) -> frozenset[bytes] | None:
        return await self.database.read(_master_keys)

    async def note_master_keys(self, added: Collection[bytes], dropped: Collection[bytes]) -> None:
        await self.database.transact((MASTER_KEYS_LOCK,), _note_master_keys, added, dropped)


async def _wrapped_keys(tx: Transaction, after: str, limit: int) -> list[KeyRecord]:
    rows = await tx.fetchall(WRAPPED_KEYS, after=after, limit=limit)
    return [KeyRecord(row["id"], row["name"], bytes(row["wrapped_key"])) for row in rows]


async def _replace_keys(tx: Transaction, changes: Sequence[tuple[KeyRecord, bytes]]) -> int:
    replaced = 0
    for record, new in changes:
        row = await tx.fetchone(REWRAP_KEY, id=record.file_id, old=record.wrapped_key, new=new)
        replaced += row is not None
    return replaced


async def _has_wrapped_key(tx: Transaction, prefix: bytes) -> bool:
    row = await tx.fetchone(HAS_WRAPPED_KEY, prefix=prefix, length=len(prefix))
    return row is not None


async def _master_keys(tx: Transaction) -> frozenset[bytes] | None:
    row = await tx.fetchone(MASTER_KEYS)
    if row is None or row["master_keys"] is None:
        return None
    return frozenset(bytes.fromhex(each) for each in row["master_keys"].split())


async def _note_master_keys(
    tx: Transaction, added: Collection[bytes], dropped: Collection[bytes]
) -> None:
    known = await _master_keys(tx) or frozenset()
    ids = " ".join(sorted(each.hex() for each in (known - {*dropped}) | {*added}))
    await tx.execute(SET_MASTER_KEYS, ids=ids)
