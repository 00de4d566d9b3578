"""`ArchiveStore` in the database: walks all files, and imports exported ones."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from imprint.adapters.database.database import Database
from imprint.adapters.database.transaction import (
    Row,
    Transaction,
    Value,
    document_lock,
    event_locks,
    file_locks,
    micros,
    owner_lock,
)
from imprint.adapters.stores.drafts.drafts import add_file
from imprint.adapters.stores.drafts.garbage import read_fence
from imprint.adapters.stores.files import (
    ADD_GROUP,
    FILE_COLUMNS,
    LIVE_IN_GROUP,
    VERSION_BY_CID,
    count_usage,
    file_among,
    find_by_post_id,
    find_version,
    reattach,
    store_group,
    take_back,
)
from imprint.adapters.stores.moderation import is_withheld
from imprint.adapters.stores.posts.index_writer import INDEX_LOCK
from imprint.adapters.stores.posts.post_words import WANT_TEXT_OF_POST
from imprint.adapters.stores.profiles import (
    FIND_PROFILE,
    find_profile,
    profile_of,
    store_profile,
    walk_profiles,
)
from imprint.adapters.stores.publication import apply_events, event_of
from imprint.adapters.stores.revisions import revision_of, store_revision, walk_revisions
from imprint.domain.drafts.files import File, Network, State
from imprint.domain.errors import Damaged
from imprint.domain.exports import ExportedFile, number_of
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.revisions import Revision
from imprint.domain.profiles import Profile
from imprint.ports.archives import ImportConflict, ImportOutcome, StoredDocument
from imprint.ports.drafts import FenceRaised

_WALK = (
    FILE_COLUMNS
    + """, e.chain_id AS event_chain_id, e.block_hash AS event_block_hash,
       e.block_number AS event_block_number, e.log_index AS event_log_index,
       e.tx_hash AS event_tx_hash, e.post_id AS event_post_id, e.author AS event_author,
       e.spelled_cid AS event_spelled_cid, e.cid AS event_cid, g.hashtags_of_chain
FROM files f LEFT JOIN file_groups g ON g.id = f.group_id LEFT JOIN events e ON e.file_id = f.id
WHERE f.state IN ('pending', 'onchain') AND f.position > :after"""
)
WALK_FILES = _WALK + " ORDER BY f.position LIMIT :limit"
WALK_FILES_OF_OWNER = _WALK + " AND f.owner = :owner ORDER BY f.position LIMIT :limit"
PRIVATE_DOCUMENTS = """
SELECT cid, size, wrapped_key IS NULL AS readable FROM files
WHERE cid > :after ORDER BY cid LIMIT :limit"""
REVISION_DOCUMENTS = """
SELECT cid, size, wrapped_key IS NULL AS readable FROM revisions
WHERE cid > :after ORDER BY cid LIMIT :limit"""
CONFLICTING_REVISIONS = """
SELECT id FROM revisions WHERE id = :id UNION ALL SELECT id FROM revisions WHERE cid = :cid
UNION ALL SELECT id FROM revisions WHERE document = :document AND number = :number"""
THUMBNAILS = """
SELECT DISTINCT thumbnail_cid AS cid FROM file_groups
WHERE thumbnail_cid > :after ORDER BY thumbnail_cid LIMIT :limit"""
AVATARS = """
SELECT DISTINCT avatar_cid AS cid FROM profiles
WHERE avatar_cid > :after ORDER BY avatar_cid LIMIT :limit"""
CONFLICTING_FILES = """
SELECT id FROM files WHERE id = :id UNION ALL SELECT id FROM files WHERE name = :name"""
OWNER_OF_GROUP = "SELECT owner FROM file_groups WHERE id = :id"
LAST_NUMBER = "SELECT last_number FROM owners WHERE owner = :owner"
RESERVE_NUMBER = """
INSERT INTO owners (owner, last_number) VALUES (:owner, :number)
ON CONFLICT (owner) DO UPDATE SET last_number = excluded.last_number
WHERE excluded.last_number > owners.last_number"""


@dataclass(frozen=True, slots=True)
class SqlArchiveStore:
    """Records of all files and documents."""

    database: Database

    async def walk_files(
        self, owner: Address | None, size: int
    ) -> AsyncIterator[list[ExportedFile]]:
        async with self.database.snapshot() as snapshot:
            page = await snapshot.read(_walk_files, owner, -1, size)
            while page:
                yield page
                last = page[-1].file.position
                page = await snapshot.read(_walk_files, owner, last, size)

    async def walk_profiles(self, owner: Address | None, size: int) -> AsyncIterator[list[Profile]]:
        async with self.database.snapshot() as snapshot:
            if owner is not None:
                found = await snapshot.read(find_profile, owner)
                if found is not None:
                    yield [found]
                return
            page = await snapshot.read(walk_profiles, "", size)
            while page:
                yield [profile_of(row) for row in page]
                page = await snapshot.read(walk_profiles, page[-1]["address"], size)

    async def walk_revisions(
        self, owner: Address | None, newest: int, size: int
    ) -> AsyncIterator[list[Revision]]:
        async with self.database.snapshot() as snapshot:
            page = await snapshot.read(walk_revisions, owner, "", size)
            while page:
                found = [revision_of(row) for row in page]
                live = [
                    each for each in found if await snapshot.read(_has_live, each.document, newest)
                ]
                if live:
                    yield live
                page = await snapshot.read(walk_revisions, owner, found[-1].id, size)

    async def documents_after(
        self, network: Network, after: str, limit: int
    ) -> list[StoredDocument]:
        if network is Network.PUBLIC:
            return await self.database.read(_public_documents, after, limit, reach=2 * limit)
        values: dict[str, Value] = {"after": after, "limit": limit}
        found = await self.database.fetch(_document_of, PRIVATE_DOCUMENTS, values, reach=limit)
        found += await self.database.fetch(_document_of, REVISION_DOCUMENTS, values, reach=limit)
        return sorted(found, key=lambda each: each.cid)[:limit]

    async def knows(self, cid: Cid) -> bool:
        return await self.database.read(_knows, cid)

    async def is_withheld(self, author: Address, cid: Cid | None) -> bool:
        return await self.database.read(is_withheld, author, cid)

    async def last_number(self, owner: Address) -> int:
        return await self.database.read(_last_number, owner)

    async def compare_file(self, exported: ExportedFile) -> ImportOutcome:
        return await self.database.read(_compare_file, exported)

    async def import_file(
        self, exported: ExportedFile, thumbnail_size: int = 0, fence: int | None = None
    ) -> ImportOutcome:
        locks = file_locks(exported.file)
        if exported.event is not None:
            locks |= event_locks([exported.event])
        return await self.database.transact(locks, _import_file, exported, thumbnail_size, fence)

    async def import_profile(self, profile: Profile, avatar_size: int, fence: int) -> None:
        locks = owner_lock(profile.address)
        if profile.avatar_cid is not None:
            locks |= document_lock(profile.avatar_cid, Network.PUBLIC)
        await self.database.transact(locks, _import_profile, profile, avatar_size, fence)

    async def compare_revision(self, revision: Revision) -> ImportOutcome:
        return await self.database.read(_compare_revision, revision)

    async def import_revision(self, revision: Revision, fence: int) -> None:
        locks = owner_lock(revision.owner) | INDEX_LOCK
        for cid in (revision.document, revision.cid):
            locks |= document_lock(cid, Network.PRIVATE)
        await self.database.transact(locks, _import_revision, revision, fence)


async def _has_live(tx: Transaction, document: Cid, newest: int) -> bool:
    file = await find_version(tx, VERSION_BY_CID, cid=document)
    return file is not None and file.state.live and file.position <= newest


async def _compare_revision(tx: Transaction, revision: Revision) -> ImportOutcome:
    rows = await tx.fetchall(
        CONFLICTING_REVISIONS,
        id=revision.id,
        cid=revision.cid,
        document=revision.document,
        number=revision.number,
    )
    if any(row["id"] != revision.id for row in rows):
        raise ImportConflict(
            f"Revision {revision.number} of {revision.document} is another one here."
        )
    if rows:
        return ImportOutcome.PRESENT
    file = await find_version(tx, VERSION_BY_CID, cid=revision.document)
    if file is None or file.owner != revision.owner:
        return ImportOutcome.RETIRED
    if await is_withheld(tx, revision.owner, revision.cid):
        return ImportOutcome.RETIRED
    return ImportOutcome.ADDED


async def _import_revision(tx: Transaction, revision: Revision, fence: int) -> None:
    if fence != await read_fence(tx):
        raise FenceRaised
    await take_back(tx, revision.cid, Network.PRIVATE)
    if await _compare_revision(tx, revision) is not ImportOutcome.ADDED:
        return
    await tx.execute(RESERVE_NUMBER, owner=revision.owner, number=number_of(revision))
    await reattach(tx, revision.cid, Network.PRIVATE)
    await count_usage(tx, revision.owner, revision.size)
    await store_revision(tx, revision)
    file = await find_version(tx, VERSION_BY_CID, cid=revision.document)
    if file is not None and file.publication is not None:
        post_id = str(file.publication.post_id)
        await tx.execute(WANT_TEXT_OF_POST, post_id=post_id)


async def _import_profile(tx: Transaction, profile: Profile, size: int, fence: int) -> None:
    if fence != await read_fence(tx):
        raise FenceRaised
    avatar = profile.avatar_cid
    if avatar is not None:
        await take_back(tx, avatar, Network.PUBLIC)
    if await tx.fetchone(FIND_PROFILE, address=profile.address) is not None:
        return
    if avatar is not None:
        await tx.execute(RESERVE_NUMBER, owner=profile.address, number=0)
        await reattach(tx, avatar, Network.PUBLIC)
        await count_usage(tx, profile.address, size)
    await store_profile(tx, profile, size)


async def _public_documents(tx: Transaction, after: str, limit: int) -> list[StoredDocument]:
    """The thumbnails and profile pictures, each listed once."""
    found: set[Cid] = set()
    for statement in (THUMBNAILS, AVATARS):
        found |= {row["cid"] for row in await tx.fetchall(statement, after=after, limit=limit)}
    return [StoredDocument(cid, readable=True) for cid in sorted(found)[:limit]]


async def _knows(tx: Transaction, cid: Cid) -> bool:
    return await find_version(tx, VERSION_BY_CID, cid=cid) is not None


async def _last_number(tx: Transaction, owner: Address) -> int:
    row = await tx.fetchone(LAST_NUMBER, owner=owner)
    return 0 if row is None else int(row["last_number"])


async def _walk_files(
    tx: Transaction, owner: Address | None, after: int, limit: int
) -> list[ExportedFile]:
    if owner is None:
        rows = await tx.fetchall(WALK_FILES, after=after, limit=limit)
    else:
        rows = await tx.fetchall(WALK_FILES_OF_OWNER, owner=owner, after=after, limit=limit)
    return [_exported(row) for row in rows]


async def _compare_file(tx: Transaction, exported: ExportedFile) -> ImportOutcome:
    file = exported.file
    here = await find_version(tx, VERSION_BY_CID, cid=file.cid)
    if here is not None:
        if (here.id, here.name, here.owner) != (file.id, file.name, file.owner):
            raise ImportConflict(f"The document {file.cid} belongs to the file {here.id} here.")
        return ImportOutcome.PRESENT if here.state.live else ImportOutcome.RETIRED
    if await is_withheld(tx, file.owner, file.cid):
        return ImportOutcome.RETIRED
    if await tx.fetchall(CONFLICTING_FILES, id=file.id, name=file.name):
        raise ImportConflict(
            f"The id {file.id} or the name {file.name} belongs to another document here."
        )
    group = await tx.fetchone(OWNER_OF_GROUP, id=file.group_id)
    if group is not None and group["owner"] != file.owner:
        raise ImportConflict(f"The group {file.group_id} belongs to {group['owner']} here.")
    other = await find_version(tx, LIVE_IN_GROUP, group_id=file.group_id)
    if other is not None:
        raise ImportConflict(f"The group {file.group_id} has another version here, {other.cid}.")
    if exported.event is not None:
        other = await find_by_post_id(tx, exported.event.post_id)
        if other is not None:
            raise ImportConflict(
                f"The post {exported.event.post_id} belongs to the document {other.cid} here."
            )
    return ImportOutcome.ADDED


async def _import_file(
    tx: Transaction, exported: ExportedFile, thumbnail_size: int, fence: int | None
) -> ImportOutcome:
    # Read under the documents' locks, so that earlier deletion marks have been committed.
    if fence is not None and fence != await read_fence(tx):
        raise FenceRaised
    file = exported.file
    outcome = await _compare_file(tx, exported)
    await take_back(tx, file.cid, Network.PRIVATE)
    if file.thumbnail_cid is not None:
        await take_back(tx, file.thumbnail_cid, Network.PUBLIC)
    if outcome is ImportOutcome.ADDED:
        await _add(tx, file, thumbnail_size)
    if outcome is not ImportOutcome.RETIRED and exported.event and file.publication:
        await apply_events(tx, None, [exported.event], (), file.publication.published_at)
    return outcome


async def _add(tx: Transaction, file: File, thumbnail_size: int) -> None:
    if await tx.fetchone(OWNER_OF_GROUP, id=file.group_id) is None:
        await tx.execute(
            ADD_GROUP,
            id=file.group_id,
            owner=file.owner,
            created_at=micros(file.created_at),
            checksum=None,
        )
    await store_group(tx, file, thumbnail_size)
    await tx.execute(RESERVE_NUMBER, owner=file.owner, number=number_of(file))
    await reattach(tx, file.cid, Network.PRIVATE)
    if file.thumbnail_cid is not None:
        await reattach(tx, file.thumbnail_cid, Network.PUBLIC)
    await count_usage(tx, file.owner, file.size + thumbnail_size, drafts=1)
    await add_file(tx, replace(file, state=State.PENDING, publication=None))


def _document_of(row: Row) -> StoredDocument:
    return StoredDocument(Cid(row["cid"]), bool(row["readable"]), row["size"])


def _exported(row: Row) -> ExportedFile:
    file = file_among(row)
    if row["hashtags_of_chain"]:
        # The importing service reads these hashtags from the chain, where a reorg may change them.
        file = replace(file, hashtags=())
    if file.publication is None:
        return ExportedFile(file, None)
    event = event_of(row, "event_")
    if (event.post_id, event.author, event.cid) != (
        file.publication.post_id,
        file.owner,
        file.cid,
    ):
        raise Damaged.record(f"the event of file {file.id!a}")
    return ExportedFile(file, event)
