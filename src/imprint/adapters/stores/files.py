"""`FileStore` in the database, and the code that all file stores share: rows, tags, usage.

Every record has a checksum over the values that clients see. The checksum is verified when a row is
turned into a file, so that a damaged record is `Damaged` and never shown
(docs/decisions/record-checksums.md). Only files in the live states, 'pending' and 'onchain', are
ever shown. Statements spell the states out so that the partial indexes on them apply.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from inspect import signature
from typing import Any

from imprint.adapters.database.database import Database
from imprint.adapters.database.transaction import (
    Row,
    Sql,
    Transaction,
    Value,
    document_lock,
    file_checksum,
    group_checksum_of,
    micros,
    moment_of,
)
from imprint.adapters.stores.ended_sessions import for_session, refuse_ended, session_values
from imprint.domain.drafts.files import File, Network, Publication, State
from imprint.domain.errors import Damaged, Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.indexed_posts import ListFilter, OwnDrafts, PublicList
from imprint.domain.sessions import Session, session_ended
from imprint.ports.files import FileList

FILE_COLUMNS = """
SELECT f.id, f.group_id, f.owner, f.name, f.cid, f.size, f.created_at, f.state, f.position,
       f.post_id, f.published_at, f.tx_hash, g.hashtags, g.thumbnail_cid, f.wrapped_key,
       f.checksum, g.checksum AS group_checksum"""
"""Columns of a file, in the order of the parameters of `build_file`."""

FILE = FILE_COLUMNS + " FROM files f LEFT JOIN file_groups g ON g.id = f.group_id"
"""Joins a file with its group. A file without a group is damaged, and must not be skipped
silently."""

# The rules check the state of a single file. If the statements did, a file with a damaged state
# would seem absent.

VERSION_BY_CID = FILE + " WHERE f.cid = :cid"
VERSION_BY_POST = FILE + " WHERE f.post_id = :post_id"
VERSION_BY_ID = FILE + " WHERE f.id = :id"
LIVE_IN_GROUP = FILE + " WHERE f.group_id = :group_id AND f.state IN ('pending', 'onchain')"
PICTURE_IN_USE = """
SELECT g.thumbnail_size AS size FROM file_groups g JOIN files f ON f.group_id = g.id
WHERE g.thumbnail_cid = :cid AND f.state IN ('pending', 'onchain')
UNION ALL SELECT avatar_size FROM profiles WHERE avatar_cid = :cid LIMIT 1"""
"""Selects the size of a picture that a live file or a profile has."""

REPLACED_THUMBNAIL = """
SELECT d.size FROM detached d
WHERE d.cid = :cid AND d.network = 'public' AND d.condemned = 0 AND d.detached_at > 0
  AND d.owner IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM file_groups g WHERE g.thumbnail_cid = :cid)"""
"""Selects a thumbnail in its grace period. A deleted draft's group still names its thumbnail."""

NEXT_POSITION = Sql(
    "UPDATE counters SET value = value + 1 WHERE name = 'position' RETURNING value",
    postgresql="SELECT nextval('positions') AS value",
)
ADD_GROUP = """
INSERT INTO file_groups (id, owner, hashtags, thumbnail_cid, created_at, checksum)
VALUES (:id, :owner, '[]', NULL, :created_at, :checksum)"""
PREPARE_GROUP = """
UPDATE file_groups SET hashtags = :hashtags, thumbnail_cid = :thumbnail_cid,
       thumbnail_size = :thumbnail_size, checksum = :checksum,
       hashtags_of_chain = :hashtags_of_chain
WHERE id = :id"""
HAS_HASHTAGS_OF_CHAIN = "SELECT hashtags_of_chain FROM file_groups WHERE id = :id"
THUMBNAIL_SIZE = "SELECT thumbnail_size FROM file_groups WHERE id = :id"
SET_CHECKSUM = "UPDATE files SET checksum = :checksum WHERE id = :id"
ADD_TAG = "INSERT INTO file_tags (tag, position, state) VALUES (:tag, :position, :state)"
DROP_TAG = "DELETE FROM file_tags WHERE tag = :tag AND position = :position"
RECOUNT_TAG = Sql(
    """
INSERT INTO tags (tag, posts, drafts) VALUES (:tag, :posts, :drafts)
ON CONFLICT (tag) DO UPDATE
SET posts = tags.posts + excluded.posts, drafts = tags.drafts + excluded.drafts""",
    postgresql="",
)
"""Counts the files of a tag. Skipped on PostgreSQL, where all writers of a tag would have to wait
for the row with its count."""
COUNT_USAGE = """
UPDATE owners SET used_bytes = used_bytes + :bytes, drafts = drafts + :drafts
WHERE owner = :owner"""
DETACH = """
INSERT INTO detached (cid, network, detached_at, owner, size)
VALUES (:cid, :network, :detached_at, :owner, :size)
ON CONFLICT (cid, network) DO UPDATE
SET detached_at = excluded.detached_at, owner = excluded.owner, size = excluded.size"""
REATTACH = """
DELETE FROM detached WHERE cid = :cid AND network = :network AND condemned = 0
RETURNING owner, size, drafts"""
TAKE_BACK = """
DELETE FROM detached WHERE cid = :cid AND network = :network AND condemned = 1
RETURNING owner, size, drafts, fence"""


# Lists

LIST_POSTS = (
    FILE
    + " WHERE f.state = 'onchain' AND f.position < :before ORDER BY f.position DESC LIMIT :limit"
)
LIST_LIVE = FILE + (
    " WHERE f.state IN ('pending', 'onchain') AND f.position < :before"
    " ORDER BY f.position DESC LIMIT :limit"
)
LIST_DRAFTS = FILE + (
    " WHERE f.owner = :owner AND f.state = 'pending' AND f.position < :before"
    " ORDER BY f.position DESC LIMIT :limit"
)
COUNT_TAG = "SELECT posts, drafts FROM tags WHERE tag = :tag"
LOST_THUMBNAIL = """
SELECT g.id FROM file_groups g
WHERE g.thumbnail_cid = :cid
  AND NOT EXISTS (SELECT 1 FROM file_groups o JOIN files f ON f.group_id = o.id
                  WHERE o.thumbnail_cid = :cid AND f.state IN ('pending', 'onchain'))
  AND NOT EXISTS (SELECT 1 FROM detached WHERE cid = :cid AND network = 'public')
  AND NOT EXISTS (SELECT 1 FROM intents WHERE cid = :cid)
LIMIT 1"""
"""Selects a group that still names its thumbnail although it has no live file."""

_ALSO_TAGGED = """
AND EXISTS (SELECT 1 FROM file_tags o WHERE o.tag = :tag AND o.position = t.position)"""


@lru_cache(maxsize=32)
def list_tagged(tags: int, drafts_too: bool) -> str:
    """Build the statement that lists files with this many tags by walking the index of :tag0.

    SQLite keeps the order of left joins: it walks the tag index, then finds each file.
    """
    wanted = "" if drafts_too else " AND t.state = 'onchain'"
    others = "".join(_ALSO_TAGGED.replace(":tag", f":tag{n}") for n in range(1, tags))
    return (
        FILE_COLUMNS
        + " FROM file_tags t LEFT JOIN files f ON f.position = t.position"
        + " LEFT JOIN file_groups g ON g.id = f.group_id"
        + " WHERE t.tag = :tag0 AND t.position < :before"
        + wanted
        + others
        + " ORDER BY t.position DESC LIMIT :limit"
    )


# The store


@dataclass(frozen=True, slots=True)
class SqlFileStore:
    """Files of all owners. Reads are cached until the next commit."""

    database: Database

    async def file_by_cid(self, cid: Cid, session: Session | None = None) -> File | None:
        file = await self.database.cached_for(
            session,
            cid,
            lambda unchecked: self.database.read(_find, VERSION_BY_CID, "cid", cid, unchecked),
            refuse_ended,
        )
        if file is None:
            self._refuse_miss()
        return file

    async def file_by_post_id(self, post_id: int, session: Session | None = None) -> File | None:
        value = str(post_id)
        file = await self.database.cached_for(
            session,
            post_id,
            lambda unchecked: self.database.read(
                _find, VERSION_BY_POST, "post_id", value, unchecked
            ),
            refuse_ended,
        )
        if file is None:
            self._refuse_miss()
        return file

    async def list_files(
        self, which: ListFilter, before: int | None, limit: int, session: Session | None = None
    ) -> FileList:
        self._refuse_miss()

        async def read(unchecked: Session | None) -> FileList:
            plan = await self.database.read(plan_list, which, before, limit)
            if plan is None:
                return FileList()
            return await self.database.read(read_list, plan, unchecked, reach=plan.reach)

        return await self.database.cached_for(session, (which, before, limit), read, refuse_ended)

    async def public_size(self, cid: Cid) -> int | None:
        size = await self.database.read(_public_size, cid)
        if size is None:
            self._refuse_miss()
        return size

    def _refuse_miss(self) -> None:
        """Raise `Unavailable` if a record was not found because an index may be damaged."""
        if self.database.damage.structure is not None:
            raise Unavailable.database()


async def _find(
    tx: Transaction, statement: str, column: str, value: str, session: Session | None
) -> File | None:
    """The live file that a statement finds. Refuses an ended session."""
    if session is None:
        return live_file_of(await tx.fetchone(statement, **{column: value}))
    values = session_values(session)
    row = await tx.fetchone(for_session(statement), **values, **{column: value})
    if row is None:
        await refuse_ended(tx, session)
        return None
    if row["ended"]:
        raise session_ended()
    return live_file_of(row[:WIDTH])


async def _public_size(tx: Transaction, cid: Cid) -> int | None:
    """The size in bytes of this picture, if a live file or a profile has or recently had it.

    Raises `Damaged` if a group has this picture but its live file is missing.
    """
    row = await tx.fetchone(PICTURE_IN_USE, cid=cid)
    if row is not None:
        return int(row["size"])
    row = await tx.fetchone(REPLACED_THUMBNAIL, cid=cid)
    if row is not None:
        return int(row["size"])
    lost = await tx.fetchone(LOST_THUMBNAIL, cid=cid)
    if lost is not None:
        raise Damaged.record(f"the live file of group {lost['id']!a}")
    return None


@dataclass(frozen=True, slots=True)
class ListPlan:
    """How to read a list. `reach` is the maximum number of rows that the read may visit."""

    statement: str
    values: dict[str, Value]
    reach: int


async def plan_list(
    tx: Transaction, which: ListFilter, before: int | None, limit: int
) -> ListPlan | None:
    """Choose the statement that lists files, by the rarest of several tags.

    Returns None if one of the tags has no files.
    """
    end = END if before is None else before
    values: dict[str, Value] = {"before": end, "limit": limit}
    if isinstance(which, OwnDrafts):
        return ListPlan(LIST_DRAFTS, values | {"owner": which.owner}, limit)
    if not which.tags:
        return ListPlan(LIST_LIVE if which.drafts_too else LIST_POSTS, values, limit)
    counted = []
    for tag in dict.fromkeys(which.tags):
        count = await _count(tx, tag, which)
        if not count:
            return None
        counted.append((count, tag))
    counted.sort()
    tags: dict[str, Value] = {f"tag{n}": tag for n, (_, tag) in enumerate(counted)}
    statement = list_tagged(len(counted), which.drafts_too)
    return ListPlan(statement, values | tags, limit if len(counted) == 1 else counted[0][0])


async def read_list(tx: Transaction, plan: ListPlan, session: Session | None) -> FileList:
    """The files of a planned list. Refuses an ended session."""
    if session is None:
        rows = await tx.fetchall(plan.statement, **plan.values)
        return FileList(build_file(*row) for row in rows)
    values = plan.values | session_values(session)
    rows = await tx.fetchall(for_session(plan.statement), **values)
    if not rows:
        await refuse_ended(tx, session)
    elif rows[0]["ended"]:
        raise session_ended()
    return FileList(build_file(*row[:WIDTH]) for row in rows)


async def _count(tx: Transaction, tag: str, which: PublicList) -> int:
    row = await tx.fetchone(COUNT_TAG, tag=tag)
    if row is None:
        return 0
    posts: int = row["posts"]
    return posts + int(row["drafts"]) if which.drafts_too else posts


# Records

UNPLACED = 0
"""Placeholder for the position of a new file, below every real position."""

END = 2**63 - 1
"""Value above every position, used to read a list from its beginning."""

_STATES = {state.value: state for state in State}

UNREADABLE = (TypeError, ValueError, KeyError, AttributeError, OverflowError)
"""Errors raised by a value of the wrong type or form."""


def checksum_of(file: File) -> int:
    """The checksum of a file's row."""
    post = file.publication
    return file_checksum(
        file.id,
        file.group_id,
        file.owner,
        file.name,
        file.cid,
        file.size,
        micros(file.created_at),
        file.state.value,
        file.position,
        None if post is None else str(post.post_id),
        None if post is None else micros(post.published_at),
        None if post is None else post.tx_hash,
    )


@lru_cache(maxsize=512)
def build_file(  # noqa: PLR0917  one parameter for each column
    id: str,  # noqa: A002  named after its column
    group_id: str,
    owner: Address,
    name: str,
    cid: Cid,
    size: int,
    created_at: int,
    state: str,
    position: int,
    post_id: str | None,
    published_at: int,
    tx_hash: str | None,
    hashtags: str,
    thumbnail_cid: Cid | None,
    wrapped_key: bytes | None,
    checksum: int | None,
    group_checksum: int | None,
) -> File:
    """Build the file of a row with `FILE_COLUMNS`. Raises `Damaged` if its checksum does not match.

    Successive lists have mostly the same rows, and a cache hit takes a twentieth of the time of
    building the file (docs/decisions/query-cache.md).
    """
    found = file_checksum(
        id, group_id, owner, name, cid, size, created_at, state, position,
        post_id, published_at, tx_hash,
    )  # fmt: skip
    if checksum not in (found, None):
        raise _damaged(id, position)
    if group_checksum not in (group_checksum_of(group_id, hashtags, thumbnail_cid), None):
        raise _damaged(id, position)
    try:
        publication = None
        if post_id is not None:
            publication = Publication(int(post_id), moment_of(published_at), tx_hash)
        return File(
            id,
            group_id,
            owner,
            name,
            cid,
            size,
            moment_of(created_at),
            _STATES[state],
            position,
            tuple(json.loads(hashtags)),
            thumbnail_cid,
            publication,
            wrapped_key,
        )
    except UNREADABLE as error:
        raise _damaged(id, position) from error


def _damaged(id: object, position: object) -> Damaged:  # noqa: A002
    return Damaged.record(f"file {id!a} at position {position!a}")


COLUMNS = tuple(signature(build_file).parameters)
"""Columns of a file, in order."""

WIDTH = len(COLUMNS)
"""Number of a file's columns. Other columns of a statement come after these columns."""


def file_of(row: Row) -> File:
    """The file of a row that has only a file's columns."""
    return build_file(*row)


def file_among(row: Row) -> File:
    """The file of a row that has other columns as well."""
    return build_file(*(row[column] for column in COLUMNS))


def hashtags_text(hashtags: tuple[str, ...]) -> str:
    """Hashtags in their stored form, in order."""
    return json.dumps(hashtags, ensure_ascii=False)


async def find_version(tx: Transaction, statement: str, **values: Value) -> File | None:
    """The first file a statement finds, in any state."""
    row = await tx.fetchone(statement, **values)
    return None if row is None else file_of(row)


def live_file_of(row: Iterable[Any] | None) -> File | None:
    """The file of a row, if there is one and it is live."""
    file = None if row is None else build_file(*row)
    return file if file is not None and file.state.live else None


async def find_draft(tx: Transaction, cid: Cid, owner: Address) -> File | None:
    """The draft of this owner with this cid."""
    file = await find_version(tx, VERSION_BY_CID, cid=cid)
    if file is None or file.owner != owner or file.state is not State.PENDING:
        return None
    return file


async def find_by_post_id(tx: Transaction, post_id: int) -> File | None:
    """The file bound to this post id."""
    return live_file_of(await tx.fetchone(VERSION_BY_POST, post_id=str(post_id)))


async def next_position(tx: Transaction) -> int:
    """A position above all earlier ones."""
    (row,) = await tx.fetchall(NEXT_POSITION)
    return int(row["value"])


async def retag(tx: Transaction, before: File | None, after: File | None) -> None:
    """Update the tag index when a file is added (`before` is None), changed or removed."""
    if before is not None and before.state.live:
        for tag in before.hashtags:
            await tx.execute(DROP_TAG, tag=tag, position=before.position)
            await _recount(tx, tag, before.state, -1)
    if after is not None and after.state.live:
        for tag in after.hashtags:
            state = after.state.value
            await tx.execute(ADD_TAG, tag=tag, position=after.position, state=state)
            await _recount(tx, tag, after.state, 1)


async def _recount(tx: Transaction, tag: str, state: State, by: int) -> None:
    posts, drafts = (by, 0) if state is State.ONCHAIN else (0, by)
    await tx.execute(RECOUNT_TAG, tag=tag, posts=posts, drafts=drafts)


async def count_usage(tx: Transaction, owner: str, size: int, *, drafts: int = 0) -> None:
    """Change an owner's usage by this many bytes and drafts."""
    await tx.execute(COUNT_USAGE, owner=owner, bytes=size, drafts=drafts)


async def draft_size(tx: Transaction, file: File) -> int:
    """Bytes that a draft adds to its owner's usage: its document and the thumbnail of its group."""
    return file.size + await thumbnail_size(tx, file)


async def thumbnail_size(tx: Transaction, file: File) -> int:
    """Bytes that the thumbnail of a file adds to its owner's usage."""
    if file.thumbnail_cid is None:
        return 0
    (row,) = await tx.fetchall(THUMBNAIL_SIZE, id=file.group_id)
    return int(row["thumbnail_size"])


async def store_group(
    tx: Transaction, file: File, thumbnail_bytes: int, *, of_chain: bool = False
) -> None:
    """Store the hashtags and the thumbnail of a file in its group.

    `of_chain` marks hashtags that the publish request did not name.
    """
    hashtags = hashtags_text(file.hashtags)
    await tx.execute(
        PREPARE_GROUP,
        id=file.group_id,
        hashtags=hashtags,
        thumbnail_cid=file.thumbnail_cid,
        thumbnail_size=thumbnail_bytes,
        checksum=group_checksum_of(file.group_id, hashtags, file.thumbnail_cid),
        hashtags_of_chain=int(of_chain),
    )


async def own_hashtags(tx: Transaction, file: File) -> tuple[str, ...]:
    """The hashtags that a file's publish request named."""
    if not file.hashtags:
        return ()
    (row,) = await tx.fetchall(HAS_HASHTAGS_OF_CHAIN, id=file.group_id)
    return () if row["hashtags_of_chain"] else file.hashtags


async def set_hashtags_of_chain(tx: Transaction, post: File, hashtags: tuple[str, ...]) -> None:
    """Give a post the hashtags of its event, unless its publish request named some."""
    if hashtags == post.hashtags or await own_hashtags(tx, post):
        return
    tagged = replace(post, hashtags=hashtags)
    await store_group(tx, tagged, await thumbnail_size(tx, post), of_chain=bool(hashtags))
    await retag(tx, post, tagged)


async def reattach(tx: Transaction, cid: Cid, network: Network) -> None:
    """Delete a document's detached mark, unless the document is marked for deletion.

    The document no longer counts toward its owner's usage as a detached document.
    """
    await release(tx, await tx.fetchone(REATTACH, cid=cid, network=network.value))


async def detach(  # noqa: PLR0917  a rule takes its values in order
    tx: Transaction, cid: Cid, network: Network, owner: str, size: int, at: int
) -> None:
    """Record that a document is no longer used.

    Until the document is destroyed, it counts toward its owner's usage. If several owners had the
    same picture, it counts toward the last owner's.
    """
    await tx.lock(document_lock(cid, network))
    await reattach(tx, cid, network)
    await tx.execute(DETACH, cid=cid, network=network.value, detached_at=at, owner=owner, size=size)


async def release(tx: Transaction, detached: Row | None) -> None:
    """Subtract a detached document, if one was recorded, from its owner's usage."""
    if detached is not None and detached["owner"] is not None:
        await count_usage(tx, detached["owner"], -detached["size"], drafts=-detached["drafts"])


async def take_back(tx: Transaction, cid: Cid, network: Network) -> None:
    """Delete a document's deletion mark, because the caller is about to reference it.

    Raises `Unavailable` if a process running an earlier release marked the document, because
    it would delete the document without a fence.
    """
    condemned = await tx.fetchone(TAKE_BACK, cid=cid, network=network.value)
    if condemned is None:
        return
    if not condemned["fence"]:
        raise Unavailable.storage()
    await release(tx, condemned)
