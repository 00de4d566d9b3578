"""`InstallationStore` in the database: the identity of the installation, and how much it stores."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from imprint.adapters.database.database import Database
from imprint.adapters.database.transaction import Transaction
from imprint.domain.formats.cids import Cid
from imprint.domain.installation import Identity
from imprint.ports.installation import Usage

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


@dataclass(frozen=True, slots=True)
class SqlInstallationStore:
    """The installation that the database belongs to."""

    database: Database

    @property
    def identity(self) -> Identity:
        return self.database.identity

    async def note_claim(self) -> None:
        await self.database.transact((), _note_claim)
        self.database.identity = replace(self.identity, claimed=True)

    async def rename_installation(self, new_id: str) -> None:
        await self.database.transact((), _rename_installation, new_id)
        self.database.identity = Identity(new_id)

    async def count_known(self, cids: Sequence[Cid]) -> int:
        return await self.database.read(_count_known, cids)

    async def measure_usage(self) -> Usage:
        async with self.database.snapshot() as snapshot:
            return await snapshot.read(_measure_usage)


async def _note_claim(tx: Transaction) -> None:
    await tx.execute(NOTE_CLAIM)


async def _rename_installation(tx: Transaction, new_id: str) -> None:
    await tx.execute(RENAME_INSTALLATION, id=new_id)


async def _count_known(tx: Transaction, cids: Sequence[Cid]) -> int:
    known = 0
    for cid in cids:
        known += await tx.fetchone(KNOWN_DOCUMENT, cid=cid) is not None
    return known


async def _measure_usage(tx: Transaction) -> Usage:
    row = await tx.fetchone(MEASURE)
    if row is None:
        return Usage(0, 0, 0, 0)
    return Usage(row["drafts"], row["posts"], row["stored_bytes"], row["detached_bytes"])
