"""`InstallationStore` and `KeyStore` in the database: identity, usage, and keys of documents."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from imprint.adapters.database.database import UNKNOWN_REACH, Database
from imprint.adapters.database.transaction import Row, Transaction, Value
from imprint.domain.formats.cids import Cid
from imprint.domain.installation import Identity
from imprint.ports.installation import KeyRecord, Usage

NOTE_CLAIM = "UPDATE installation SET claimed = 1 WHERE only_row = 1"
RENAME_INSTALLATION = """
UPDATE installation SET id = :id, claimed = 0, owns_unnamed = 0, backed_up_at = NULL
WHERE only_row = 1"""
KNOWN_DOCUMENT = """
SELECT 1 WHERE EXISTS (SELECT 1 FROM files WHERE cid = :cid)
  OR EXISTS (SELECT 1 FROM file_groups WHERE thumbnail_cid = :cid)
  OR EXISTS (SELECT 1 FROM intents WHERE cid = :cid)
  OR EXISTS (SELECT 1 FROM detached WHERE cid = :cid)"""
MEASURE = """
SELECT (SELECT count(*) FROM files WHERE state = 'pending') AS drafts,
       (SELECT count(*) FROM files WHERE state = 'onchain') AS posts,
       (SELECT CAST(coalesce(sum(size), 0) AS BIGINT) FROM files
        WHERE state IN ('pending', 'onchain'))
       + (SELECT CAST(coalesce(sum(thumbnail_size), 0) AS BIGINT) FROM file_groups
          WHERE thumbnail_cid IS NOT NULL) AS stored_bytes,
       (SELECT CAST(coalesce(sum(size), 0) AS BIGINT) FROM detached) AS detached_bytes"""
"""Counts walk the indexes of drafts and of posts; the sums read every live file once."""


# Keys

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
class SqlInstallationStore:
    """The installation that the database belongs to."""

    database: Database

    @property
    def identity(self) -> Identity:
        return self.database.identity

    async def note_claim(self) -> None:
        await self.database.change(NOTE_CLAIM)
        self.database.identity = replace(self.identity, claimed=True)

    async def rename_installation(self, new_id: str) -> None:
        await self.database.change(RENAME_INSTALLATION, {"id": new_id})
        self.database.identity = Identity(new_id)

    async def count_known(self, cids: Sequence[Cid]) -> int:
        async def count(tx: Transaction) -> int:
            found = [await tx.fetchone(KNOWN_DOCUMENT, cid=cid) for cid in cids]
            return len(found) - found.count(None)

        return await self.database.read(count)

    async def measure_usage(self) -> Usage:
        async def measure(tx: Transaction) -> Usage:
            (row,) = await tx.fetchall(MEASURE)
            return Usage(row["drafts"], row["posts"], row["stored_bytes"], row["detached_bytes"])

        async with self.database.snapshot() as snapshot:
            return await snapshot.read(measure)


@dataclass(frozen=True, slots=True)
class SqlKeyStore:
    """The keys of all documents."""

    database: Database

    async def wrapped_keys(self, after: str, limit: int) -> list[KeyRecord]:
        values: dict[str, Value] = {"after": after, "limit": limit}
        return await self.database.fetch(_key_of, WRAPPED_KEYS, values)

    async def replace_keys(self, changes: Sequence[tuple[KeyRecord, bytes]]) -> int:
        return await self.database.transact((), _replace_keys, changes)

    async def has_wrapped_key(self, prefix: bytes) -> bool:
        values: dict[str, Value] = {"prefix": prefix, "length": len(prefix)}
        return bool(await self.database.fetch(tuple, HAS_WRAPPED_KEY, values, reach=UNKNOWN_REACH))

    async def master_keys(self) -> frozenset[bytes] | None:
        return await self.database.read(_master_keys)

    async def note_master_keys(self, added: Collection[bytes], dropped: Collection[bytes]) -> None:
        await self.database.transact((MASTER_KEYS_LOCK,), _note_master_keys, added, dropped)


def _key_of(row: Row) -> KeyRecord:
    return KeyRecord(row["id"], row["name"], bytes(row["wrapped_key"]))


async def _replace_keys(tx: Transaction, changes: Sequence[tuple[KeyRecord, bytes]]) -> int:
    replaced = 0
    for record, new in changes:
        row = await tx.fetchone(REWRAP_KEY, id=record.file_id, old=record.wrapped_key, new=new)
        replaced += row is not None
    return replaced


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
