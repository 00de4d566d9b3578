"""`RevisionStore` in the database: corrected versions of posts, with their checksums."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from imprint.adapters.database.database import Database
from imprint.adapters.database.transaction import (
    Row,
    Transaction,
    Value,
    micros,
    moment_of,
    revision_checksum,
    write_locks,
)
from imprint.adapters.stores.files import detach, find_by_post_id
from imprint.adapters.stores.posts.index_writer import INDEX_LOCK
from imprint.adapters.stores.posts.post_words import WANT_TEXT_OF_POST
from imprint.adapters.stores.signed_writes import end_intent, refuse_spent, spend_nonce
from imprint.domain.drafts.files import Intent, Network, Version
from imprint.domain.errors import Damaged
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.revisions import (
    MAX_REVISIONS,
    Revision,
    SignedRevision,
    too_many_revisions,
)

_REVISION = """
SELECT id, document, number, owner, name, cid, size, note, created_at, salt, signature, wrapped_key,
       checksum, (SELECT t.words FROM text_facts t WHERE t.cid = revisions.cid) AS words
FROM revisions"""
NEWEST_REVISION = _REVISION + " WHERE document = :document ORDER BY number DESC LIMIT 1"
REVISION_WITH_NUMBER = _REVISION + " WHERE document = :document AND number = :number"
REVISIONS_OF = _REVISION + " WHERE document = :document ORDER BY number DESC"
WALK_REVISIONS = _REVISION + " WHERE id > :after ORDER BY id LIMIT :limit"
WALK_REVISIONS_OF_OWNER = (
    _REVISION + " WHERE owner = :owner AND id > :after ORDER BY id LIMIT :limit"
)
REVISION_WITH_CID = _REVISION + " WHERE cid = :cid"
ADD_REVISION = """
INSERT INTO revisions (id, document, number, owner, name, cid, size, note, created_at, salt,
       signature, wrapped_key, checksum)
VALUES (:id, :document, :number, :owner, :name, :cid, :size, :note, :created_at, :salt, :signature,
       :wrapped_key, :checksum)"""

NEXT_NUMBER = """
SELECT coalesce(max(number), 0) + 1 AS number FROM (
    SELECT number FROM revisions WHERE document = :document
    UNION ALL SELECT value FROM counters WHERE name = 'revisions:' || :document
) AS given"""
"""Selects the number of a document's next revision, above the numbers of erased revisions."""
KEEP_NUMBER = """
INSERT INTO counters (name, value) VALUES ('revisions:' || :document, :number)
ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE counters.value < excluded.value"""
FORGET_REVISION = """
DELETE FROM revisions WHERE cid = :cid RETURNING document, number, cid, owner, size"""
FORGET_REVISIONS = """
DELETE FROM revisions WHERE document = :document RETURNING document, number, cid, owner, size"""


@dataclass(frozen=True, slots=True)
class SqlRevisionStore:
    """The revisions of all posts. Reads are cached until the next commit."""

    database: Database

    async def newest_revision(self, document: Cid) -> Revision | None:
        return await self.database.cached(
            ("revision", document),
            lambda: self.database.read(_find, NEWEST_REVISION, {"document": document}),
        )

    async def find_revision(self, document: Cid, number: int) -> Revision | None:
        values: dict[str, Value] = {"document": document, "number": number}
        return await self.database.read(_find, REVISION_WITH_NUMBER, values)

    async def revision_with_cid(self, cid: Cid) -> Revision | None:
        return await self.database.read(_find, REVISION_WITH_CID, {"cid": cid})

    async def revisions_of(self, document: Cid) -> list[Revision]:
        return await self.database.cached(
            ("revisions", document),
            lambda: self.database.fetch(
                revision_of, REVISIONS_OF, {"document": document}, reach=MAX_REVISIONS
            ),
        )

    async def add_revision(
        self, signed: SignedRevision, intent: Intent, version: Version
    ) -> Revision | None:
        # The index is locked, so that the previous version's text does not become searchable.
        locks = write_locks(signed.write, intent, signed.document) | INDEX_LOCK
        return await self.database.transact(locks, _add_revision, signed, intent, version)


async def _find(tx: Transaction, statement: str, values: Mapping[str, Value]) -> Revision | None:
    row = await tx.fetchone(statement, **values)
    return None if row is None else revision_of(row)


async def _add_revision(
    tx: Transaction, signed: SignedRevision, intent: Intent, version: Version
) -> Revision | None:
    """Add the newest revision, or return None if the post no longer has this document.

    Refuses with `too_many_revisions`.
    """
    write = signed.write
    await refuse_spent(tx, write.signer, write.nonce)
    post = await find_by_post_id(tx, signed.post_id)
    if post is None or (post.owner, post.cid) != (write.signer, signed.document):
        return None
    (following,) = await tx.fetchall(NEXT_NUMBER, document=signed.document)
    number = int(following["number"])
    if number > MAX_REVISIONS:
        raise too_many_revisions()
    await end_intent(tx, intent)
    revision = Revision(
        version.id,
        signed.document,
        number,
        version.owner,
        version.name,
        version.cid,
        version.size,
        signed.note,
        version.created_at,
        json.dumps(signed.envelope, ensure_ascii=False, separators=(",", ":")),
        signed.signature,
        version.wrapped_key,
    )
    await store_revision(tx, revision)
    await tx.execute(WANT_TEXT_OF_POST, post_id=str(signed.post_id))
    action = write.action.value
    await spend_nonce(tx, write.signer, write.nonce, write.at, action=action, file_id=None)
    return revision


async def forget_revision(tx: Transaction, cid: Cid, at: int) -> Cid | None:
    """Delete the revision with this document, and return the document that it corrected."""
    row = await tx.fetchone(FORGET_REVISION, cid=cid)
    if row is None:
        return None
    await _release(tx, row, at)
    return Cid(row["document"])


async def forget_revisions(tx: Transaction, document: Cid, at: int) -> None:
    """Delete all revisions of a document."""
    for row in await tx.fetchall(FORGET_REVISIONS, document=document):
        await _release(tx, row, at)


async def _release(tx: Transaction, row: Row, at: int) -> None:
    """Detach the document of a deleted revision, whose number is not reused."""
    await tx.execute(KEEP_NUMBER, document=row["document"], number=row["number"])
    await detach(tx, row["cid"], Network.PRIVATE, row["owner"], row["size"], at)


async def store_revision(tx: Transaction, revision: Revision) -> None:
    """Add a revision whose document is stored."""
    await tx.execute(
        ADD_REVISION,
        id=revision.id,
        document=revision.document,
        number=revision.number,
        owner=revision.owner,
        name=revision.name,
        cid=revision.cid,
        size=revision.size,
        note=revision.note,
        created_at=micros(revision.created_at),
        salt=revision.salt,
        signature=revision.signature,
        wrapped_key=revision.wrapped_key,
        checksum=revision_checksum(*_checked(revision)),
    )


def _checked(revision: Revision) -> Iterable[Any]:
    return (
        revision.id,
        revision.document,
        revision.number,
        revision.owner,
        revision.name,
        revision.cid,
        revision.size,
        revision.note,
        micros(revision.created_at),
        revision.salt,
        revision.signature,
    )


async def walk_revisions(
    tx: Transaction, owner: Address | None, after: str, limit: int
) -> list[Row]:
    """The rows of all revisions, or of one owner's revisions, with an id above `after`."""
    if owner is None:
        return await tx.fetchall(WALK_REVISIONS, after=after, limit=limit)
    return await tx.fetchall(WALK_REVISIONS_OF_OWNER, owner=owner, after=after, limit=limit)


def revision_of(row: Row) -> Revision:
    """The revision of a row. Raises `Damaged` if its checksum does not match."""
    if is_damaged_revision(row):
        raise Damaged.record(f"revision {row['number']!a} of {row['document']!a}")
    return Revision(
        row["id"],
        row["document"],
        row["number"],
        Address(row["owner"]),
        row["name"],
        row["cid"],
        row["size"],
        row["note"],
        moment_of(row["created_at"]),
        row["salt"],
        row["signature"],
        row["wrapped_key"],
        row["words"],
    )


def is_damaged_revision(row: Row) -> bool:
    """Whether the checksum of a row does not match."""
    return row["checksum"] not in (revision_checksum(*row[:11]), None)
