"""`RecordStore` in the database: verifies records against their checksums and tags."""

from dataclasses import dataclass

from imprint.adapters.database.database import Database
from imprint.adapters.database.transaction import (
    Row,
    Sql,
    Transaction,
    group_checksum_of,
    owner_lock,
)
from imprint.adapters.stores.files import (
    FILE,
    SET_CHECKSUM,
    VERSION_BY_CID,
    VERSION_BY_ID,
    checksum_of,
    file_of,
    hashtags_text,
)
from imprint.adapters.stores.moderation import DECISIONS_AFTER, decision_of
from imprint.adapters.stores.profiles import is_damaged_profile, profile_of, walk_profiles
from imprint.adapters.stores.revisions import (
    is_damaged_revision,
    revision_of,
    walk_revisions,
)
from imprint.domain.drafts.files import File
from imprint.domain.errors import Damaged
from imprint.domain.posts.revisions import Revision
from imprint.domain.profiles import Profile
from imprint.ports.installation import VerifiedRecord

ALL_VERSIONS = FILE + " WHERE f.position > :after ORDER BY f.position LIMIT :limit"
HAS_TAG = "SELECT state FROM file_tags WHERE tag = :tag AND position = :position"
WRONG_TAGS = """
SELECT count(*) AS count FROM file_tags t LEFT JOIN files f ON f.position = t.position
WHERE f.position IS NULL OR f.state <> t.state"""
MISCOUNTED_TAGS = Sql(
    """
SELECT count(*) AS count FROM tags LEFT JOIN (
    SELECT tag, sum(CASE state WHEN 'onchain' THEN 1 ELSE 0 END) AS posts, count(*) AS live
    FROM file_tags GROUP BY tag
) AS found ON found.tag = tags.tag
WHERE coalesce(found.posts, 0) <> tags.posts OR coalesce(found.live, 0) <> tags.posts + tags.drafts
   OR tags.posts < 0 OR tags.drafts < 0""",
    postgresql="SELECT 0 AS count",
)
SET_GROUP_CHECKSUM = """
UPDATE file_groups SET checksum = :checksum
WHERE id = :id AND hashtags = :hashtags AND coalesce(thumbnail_cid, '') = :thumbnail_cid"""


@dataclass(frozen=True, slots=True)
class SqlRecordStore:
    """The records of all files."""

    database: Database

    async def verify_records(self, after: int, limit: int) -> list[VerifiedRecord]:
        async with self.database.snapshot() as snapshot:
            return await snapshot.read(_verify_records, after, limit)

    async def fill_checksums(self, file: File) -> None:
        locks = owner_lock(file.owner)
        await self.database.transact(locks, _fill_checksums, file.id, durable=False)

    async def verify_profiles(self, after: str, limit: int) -> list[tuple[str, Profile | None]]:
        async with self.database.snapshot() as snapshot:
            rows = await snapshot.read(walk_profiles, after, limit)
        return [
            (row["address"], None if is_damaged_profile(row) else profile_of(row)) for row in rows
        ]

    async def verify_revisions(self, after: str, limit: int) -> list[tuple[str, Revision | None]]:
        async with self.database.snapshot() as snapshot:
            rows = await snapshot.read(walk_revisions, None, after, limit)
        return [(row["id"], None if is_damaged_revision(row) else revision_of(row)) for row in rows]

    async def verify_decisions(self, after: int, limit: int) -> list[tuple[int, str | None]]:
        async with self.database.snapshot() as snapshot:
            return await snapshot.read(_verify_decisions, after, limit)

    async def compare_tags(self) -> list[str]:
        async with self.database.snapshot() as snapshot:
            return await snapshot.read(_compare_tags)


async def _verify_records(tx: Transaction, after: int, limit: int) -> list[VerifiedRecord]:
    rows = await tx.fetchall(ALL_VERSIONS, after=after, limit=limit)
    return [await _verify(tx, row) for row in rows]


async def _verify(tx: Transaction, row: Row) -> VerifiedRecord:
    position: int = row["position"]
    try:
        file = file_of(row)
        await _verify_indexes(tx, file)
    except Damaged as damaged:
        return VerifiedRecord(position, None, damaged.what)
    checked = row["checksum"] is not None and row["group_checksum"] is not None
    return VerifiedRecord(position, file, unchecked=not checked)


async def _verify_indexes(tx: Transaction, file: File) -> None:
    """Raise `Damaged` if a file cannot be found by its cid, or a live file by its tags."""
    row = await tx.fetchone(VERSION_BY_CID, cid=file.cid)
    if row is None or row["id"] != file.id:
        raise Damaged.record(f"the index of cids at file {file.id!a}")
    for tag in file.hashtags if file.state.live else ():
        row = await tx.fetchone(HAS_TAG, tag=tag, position=file.position)
        if row is None or row["state"] != file.state.value:
            raise Damaged.record(f"the tags of file {file.id!a}")


async def _verify_decisions(
    tx: Transaction, after: int, limit: int
) -> list[tuple[int, str | None]]:
    found: list[tuple[int, str | None]] = []
    for row in await tx.fetchall(DECISIONS_AFTER, after=after, limit=limit):
        damage = None
        try:
            decision_of(row)
        except Damaged as damaged:
            damage = damaged.what
        found.append((row["id"], damage))
    return found


async def _fill_checksums(tx: Transaction, file_id: str) -> None:
    """Set the missing checksums of a file and its group. The caller has locked the owner."""
    row = await tx.fetchone(VERSION_BY_ID, id=file_id)
    if row is None:
        return
    file = file_of(row)
    if row["checksum"] is None:
        await tx.execute(SET_CHECKSUM, id=file.id, checksum=checksum_of(file))
    if row["group_checksum"] is None:
        hashtags = hashtags_text(file.hashtags)
        await tx.execute(
            SET_GROUP_CHECKSUM,
            id=file.group_id,
            hashtags=hashtags,
            thumbnail_cid=file.thumbnail_cid or "",
            checksum=group_checksum_of(file.group_id, hashtags, file.thumbnail_cid),
        )


async def _compare_tags(tx: Transaction) -> list[str]:
    findings = []
    (row,) = await tx.fetchall(WRONG_TAGS)
    if row["count"]:
        findings.append(f"{row['count']} entries of the index of tags have no such file.")
    (row,) = await tx.fetchall(MISCOUNTED_TAGS)
    if row["count"]:
        findings.append(f"The file counts of {row['count']} tags are wrong.")
    return findings
