"""`ErasureStore` in the database: deletes records, and leaves their documents to the collector.

Every method is one transaction and can be repeated. A document that nobody else has is detached
with an old time, so that the garbage collector destroys it immediately.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from imprint.adapters.database.database import UNKNOWN_REACH, Database
from imprint.adapters.database.transaction import (
    Row,
    Transaction,
    document_lock,
    file_locks,
    owner_lock,
)
from imprint.adapters.stores.accounts import COUNT_FEEDS, COUNT_SESSIONS, REVOKE_SESSIONS
from imprint.adapters.stores.drafts.garbage import (
    DETACH_UNLESS_KNOWN,
    FORGET_EMPTY_GROUP,
    FORGET_THUMBNAIL,
    FORGET_VERSION,
)
from imprint.adapters.stores.files import (
    VERSION_BY_CID,
    count_usage,
    detach,
    find_version,
    retag,
    thumbnail_size,
)
from imprint.adapters.stores.posts.index_writer import INDEX_LOCK
from imprint.adapters.stores.posts.post_words import DROP_FACTS, drop_texts, want_texts
from imprint.adapters.stores.profiles import FIND_PROFILE, profile_of, store_profile
from imprint.adapters.stores.revisions import (
    REVISION_WITH_CID,
    REVISIONS_OF,
    forget_revision,
    forget_revisions,
)
from imprint.domain.drafts.files import File, Network, State
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.ports.moderation import PersonalRecords

FILES_OF_OWNER = """
SELECT f.cid, f.state, g.thumbnail_cid FROM files f LEFT JOIN file_groups g ON g.id = f.group_id
WHERE f.owner = :owner"""
FILES_OF_GROUP = """
SELECT f.cid, f.state, g.thumbnail_cid FROM files f LEFT JOIN file_groups g ON g.id = f.group_id
WHERE f.group_id = (SELECT group_id FROM files WHERE cid = :cid)"""
NAMES_PICTURE = """
SELECT 1 FROM file_groups WHERE thumbnail_cid = :cid
UNION ALL SELECT 1 FROM profiles WHERE avatar_cid = :cid
UNION ALL SELECT 1 FROM detached WHERE cid = :cid AND network = 'public' LIMIT 1"""
OTHER_USER = """
SELECT 1 FROM file_groups g JOIN files f ON f.group_id = g.id
WHERE g.thumbnail_cid = :cid AND f.state IN ('pending', 'onchain') AND f.owner <> :owner
UNION ALL SELECT 1 FROM profiles WHERE avatar_cid = :cid AND address <> :owner LIMIT 1"""
OTHER_GROUP = """
SELECT 1 FROM file_groups g JOIN files f ON f.group_id = g.id
WHERE g.thumbnail_cid = :picture AND f.state IN ('pending', 'onchain')
  AND g.id <> (SELECT group_id FROM files WHERE cid = :cid)
UNION ALL SELECT 1 FROM profiles WHERE avatar_cid = :picture LIMIT 1"""
"""Whether a picture is used outside the group of a file."""

HASTEN = """
UPDATE detached SET detached_at = 0 WHERE cid = :cid AND network = :network AND condemned = 0"""
HASTEN_OWNED = "UPDATE detached SET detached_at = 0 WHERE owner = :owner AND condemned = 0"
RELEASE_BINDING = """
UPDATE events SET status = 'unknown_file', file_id = NULL WHERE file_id = :file_id"""
PLACES_OF_POST = "SELECT place FROM posts WHERE post_id = :post_id"
FORGET_PROFILE = "DELETE FROM profiles WHERE address = :address"
FORGET_FEEDS_OF = "DELETE FROM private_feeds WHERE owner = :owner"
DRAFTS_WITH_THUMBNAIL = """
SELECT g.owner, g.thumbnail_size AS size FROM file_groups g JOIN files f ON f.group_id = g.id
WHERE g.thumbnail_cid = :cid AND f.state = 'pending'"""
REVISIONS_OF_OWNER = "SELECT cid FROM revisions WHERE owner = :owner ORDER BY id"
PLACES_OF_DOCUMENT = "SELECT place FROM posts WHERE cid = :cid"
PROFILES_WITH_AVATAR = """
SELECT address, name, bio, links, avatar_cid, updated_at, avatar_size, checksum FROM profiles
WHERE avatar_cid = :cid"""


@dataclass(frozen=True, slots=True)
class SqlErasureStore:
    """Erases records of any author."""

    database: Database

    async def records_of(self, address: Address) -> PersonalRecords:
        return await self.database.read(_records_of, address, reach=UNKNOWN_REACH)

    async def records_with(self, cid: Cid) -> PersonalRecords:
        return await self.database.read(_records_with, cid, reach=UNKNOWN_REACH)

    async def erase_file(self, cid: Cid) -> None:
        file = await self.database.read(_find_file, cid)
        if file is not None:
            locks = file_locks(file) | INDEX_LOCK
            await self.database.transact(locks, _erase_file, cid)

    async def erase_revision(self, cid: Cid) -> None:
        locks = document_lock(cid, Network.PRIVATE) | INDEX_LOCK
        await self.database.transact(locks, _erase_revision, cid)

    async def erase_account(self, address: Address) -> None:
        await self.database.transact(owner_lock(address), _erase_account, address)

    async def erase_picture(self, cid: Cid) -> None:
        await self.database.transact(document_lock(cid, Network.PUBLIC), _erase_picture, cid)


async def _records_of(tx: Transaction, address: Address) -> PersonalRecords:
    found = _files_in(await tx.fetchall(FILES_OF_OWNER, owner=address))
    profile = await tx.fetchone(FIND_PROFILE, address=address)
    pictures = dict.fromkeys(found.pictures)
    if profile is not None and profile["avatar_cid"] is not None:
        pictures[Cid(profile["avatar_cid"])] = None
    own = [cid for cid in pictures if await tx.fetchone(OTHER_USER, cid=cid, owner=address) is None]
    revisions = await tx.fetchall(REVISIONS_OF_OWNER, owner=address)
    (sessions,) = await tx.fetchall(COUNT_SESSIONS, wallet=address)
    (feeds,) = await tx.fetchall(COUNT_FEEDS, owner=address)
    return replace(
        found,
        pictures=tuple(own),
        revisions=tuple(Cid(row["cid"]) for row in revisions),
        profile=profile is not None,
        writing_sessions=sessions["sessions"],
        private_feeds=feeds["feeds"],
    )


async def _records_with(tx: Transaction, cid: Cid) -> PersonalRecords:
    if await tx.fetchone(REVISION_WITH_CID, cid=cid) is not None:
        return PersonalRecords(revisions=(cid,))
    found = _files_in(await tx.fetchall(FILES_OF_GROUP, cid=cid))
    if cid in found.versions:
        # A newer version has replaced this one, and is kept.
        return PersonalRecords(versions=(cid,))
    own = [
        each
        for each in found.pictures
        if await tx.fetchone(OTHER_GROUP, cid=cid, picture=each) is None
    ]
    if await tx.fetchone(NAMES_PICTURE, cid=cid) is not None:
        own.append(cid)
    revisions = await tx.fetchall(REVISIONS_OF, document=cid)
    cids = tuple(Cid(row["cid"]) for row in revisions)
    return replace(found, pictures=tuple(own), revisions=cids)


def _files_in(rows: Iterable[Row]) -> PersonalRecords:
    cids: dict[str, list[Cid]] = {state.value: [] for state in State}
    pictures: dict[Cid, None] = {}
    for row in rows:
        cids[row["state"]].append(Cid(row["cid"]))
        if row["thumbnail_cid"] is not None:
            pictures[Cid(row["thumbnail_cid"])] = None
    replaced = cids[State.SUPERSEDED.value] + cids[State.DELETED.value]
    return PersonalRecords(
        drafts=tuple(cids[State.PENDING.value]),
        posts=tuple(cids[State.ONCHAIN.value]),
        versions=tuple(replaced),
        pictures=tuple(pictures),
    )


async def _find_file(tx: Transaction, cid: Cid) -> File | None:
    return await find_version(tx, VERSION_BY_CID, cid=cid)


async def _erase_file(tx: Transaction, cid: Cid) -> None:
    """Delete a version with its key. A post that is bound to it on the chain then has no file."""
    file = await find_version(tx, VERSION_BY_CID, cid=cid)
    if file is None:
        return
    await retag(tx, file, None)
    is_draft = file.state is State.PENDING
    owner = file.owner if is_draft else None
    if file.publication is not None:
        await tx.execute(RELEASE_BINDING, file_id=file.id)
        rows = await tx.fetchall(PLACES_OF_POST, post_id=str(file.publication.post_id))
        await drop_texts(tx, [row["place"] for row in rows])
    await tx.execute(DROP_FACTS, cid=cid)
    if is_draft:
        await count_usage(tx, file.owner, 0, drafts=-1)
    thumbnail_bytes = await thumbnail_size(tx, file)
    await forget_revisions(tx, cid, 0)
    await tx.fetchall(FORGET_VERSION, cid=cid)
    await tx.execute(FORGET_EMPTY_GROUP, id=file.group_id)
    await _detach(tx, cid, Network.PRIVATE, owner, file.size)
    if file.thumbnail_cid is not None:
        await tx.lock(document_lock(file.thumbnail_cid, Network.PUBLIC))
        await _detach(tx, file.thumbnail_cid, Network.PUBLIC, owner, thumbnail_bytes)


async def _erase_revision(tx: Transaction, cid: Cid) -> None:
    """Delete a revision with its key. The previous version is shown from now on."""
    document = await forget_revision(tx, cid, 0)
    if document is None:
        return
    places = [row["place"] for row in await tx.fetchall(PLACES_OF_DOCUMENT, cid=document)]
    await drop_texts(tx, places)
    await want_texts(tx, places)
    await tx.execute(DROP_FACTS, cid=cid)


async def _detach(
    tx: Transaction, cid: Cid, network: Network, owner: str | None, size: int
) -> None:
    """Detach a document for immediate destruction. Until then, a draft's document counts toward its
    owner's usage."""
    if owner is not None:
        await detach(tx, cid, network, owner, size, 0)
        return
    values = {"cid": cid, "network": network.value, "owner": None, "detached_at": 0, "size": 0}
    await tx.fetchall(DETACH_UNLESS_KNOWN, **values)
    await tx.execute(HASTEN, cid=cid, network=network.value)


async def _erase_account(tx: Transaction, address: Address) -> None:
    profile = await tx.fetchone(FIND_PROFILE, address=address)
    if profile is not None:
        await tx.execute(FORGET_PROFILE, address=address)
        if (avatar := profile["avatar_cid"]) is not None:
            await detach(tx, avatar, Network.PUBLIC, address, profile["avatar_size"], 0)
    await tx.execute(REVOKE_SESSIONS, wallet=address)
    await tx.execute(FORGET_FEEDS_OF, owner=address)
    await tx.execute(HASTEN_OWNED, owner=address)


async def _erase_picture(tx: Transaction, cid: Cid) -> None:
    """Remove a picture from every post, draft and profile that has it."""
    for row in await tx.fetchall(DRAFTS_WITH_THUMBNAIL, cid=cid):
        await count_usage(tx, row["owner"], -row["size"])
    await tx.execute(FORGET_THUMBNAIL, cid=cid)
    for row in await tx.fetchall(PROFILES_WITH_AVATAR, cid=cid):
        await count_usage(tx, row["address"], -row["avatar_size"])
        await store_profile(tx, replace(profile_of(row), avatar_cid=None), 0)
    await _detach(tx, cid, Network.PUBLIC, None, 0)
