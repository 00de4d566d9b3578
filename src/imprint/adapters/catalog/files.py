"""Rules for files: building them from rows, queries, lists, positions, hashtags, usage, keys.

Every record has a checksum over the values that clients see. It is verified when the file of a row
is built, so that a damaged record is `Damaged` and never shown: docs/decisions/record-checksums.md.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from inspect import signature
from typing import Any
from zlib import crc32

import msgspec

from imprint.adapters.catalog import sql
from imprint.adapters.catalog.ended_sessions import for_session, refuse_ended, session_values
from imprint.adapters.catalog.transaction import Row, Transaction, Value, micros, moment_of
from imprint.domain.drafts.files import File, Network, Publication, State
from imprint.domain.errors import Damaged
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.lists import ListFilter, OwnDrafts, PublicList
from imprint.domain.sessions import Session, session_ended
from imprint.ports.catalog import KeyRecord

UNPLACED = 0
"""The position of a file that has none yet, below every other one."""

END = 2**63 - 1
"""Above every position, for a list from its beginning."""

_STATES = {state.value: state for state in State}

_encode = msgspec.msgpack.Encoder().encode
"""Writes values so that different ones never look the same, on every database and release."""

UNREADABLE = (TypeError, ValueError, KeyError, AttributeError, OverflowError)
"""What a value of the wrong type or form raises when it is read."""


def file_checksum(*columns: Value) -> int:
    """The checksum of a row of `files`: of id to tx_hash, as `build_file` takes them.

    The wrapped key is not part of it: it proves itself when it is unwrapped.
    """
    return crc32(_encode(columns))


def group_checksum_of(id: str, hashtags: str, thumbnail_cid: str | None) -> int:  # noqa: A002
    """The checksum of a row of `file_groups`."""
    return crc32(_encode((id, hashtags, thumbnail_cid)))


def checksum_of(file: File) -> int:
    """The checksum of the row of a file."""
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
    """The file of a row with `sql.FILE_COLUMNS`. Raises `Damaged` for one that was not stored so.

    Successive lists show mostly the same rows, and finding one in the cache takes a twentieth of
    the time of building its file: see docs/decisions/query-cache.md.
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
"""The columns of a file, in order."""

WIDTH = len(COLUMNS)
"""How many columns a file has; what else a statement reads comes after them."""


def file_of(row: Row) -> File:
    """The file of a row with the columns of a file and no others."""
    return build_file(*row)


def file_among(row: Row) -> File:
    """The file of a row that has other columns as well."""
    return build_file(*(row[column] for column in COLUMNS))


def hashtags_text(hashtags: tuple[str, ...]) -> str:
    """Hashtags as they are stored, in their order."""
    return json.dumps(hashtags, ensure_ascii=False)


async def find_version(tx: Transaction, statement: str, **values: Value) -> File | None:
    """The first file that a statement finds, in any state."""
    row = await tx.fetchone(statement, **values)
    return None if row is None else file_of(row)


async def find_live(
    tx: Transaction, statement: str, session: Session | None = None, **values: Value
) -> File | None:
    """The first file that a statement finds, if it is live. Refuses an ended session."""
    if session is None:
        return live_file_of(await tx.fetchone(statement, **values))
    row = await tx.fetchone(for_session(statement), **session_values(session), **values)
    if row is None:
        await refuse_ended(tx, session)
        return None
    if row["ended"]:
        raise session_ended()
    return live_file_of(row[:WIDTH])


def live_file_of(row: Iterable[Any] | None) -> File | None:
    """The file of a row, if there is one and it is live."""
    file = None if row is None else build_file(*row)
    return file if file is not None and file.state.live else None


async def find_draft(tx: Transaction, cid: Cid, owner: Address) -> File | None:
    """The draft of this owner with this cid."""
    file = await find_version(tx, sql.VERSION_BY_CID, cid=cid)
    if file is None or file.owner != owner or file.state is not State.PENDING:
        return None
    return file


async def find_by_cid(tx: Transaction, cid: Cid, session: Session | None = None) -> File | None:
    """The live file with this cid. Refuses an ended session."""
    return await find_live(tx, sql.VERSION_BY_CID, session, cid=cid)


async def find_by_post_id(
    tx: Transaction, post_id: int, session: Session | None = None
) -> File | None:
    """The file that is bound to this post id. Refuses an ended session."""
    return await find_live(tx, sql.VERSION_BY_POST, session, post_id=str(post_id))


async def public_size(tx: Transaction, cid: Cid) -> int | None:
    """The bytes of this thumbnail, if a live file has it. Raises `Damaged` if one must have it."""
    row = await tx.fetchone(sql.THUMBNAIL_OF_LIVE, cid=cid)
    if row is not None:
        return int(row["thumbnail_size"])
    lost = await tx.fetchone(sql.LOST_THUMBNAIL, cid=cid)
    if lost is not None:
        raise Damaged.record(f"the live file of group {lost['id']!a}")
    return None


@dataclass(frozen=True, slots=True)
class ListPlan:
    """How to read a list; `reach` is the highest number of rows that this may visit."""

    statement: str
    values: dict[str, Value]
    reach: int


async def plan_list(
    tx: Transaction, which: ListFilter, before: int | None, limit: int
) -> ListPlan | None:
    """How to read a list, by the rarest of its tags; None if the list is empty."""
    end = END if before is None else before
    values: dict[str, Value] = {"before": end, "limit": limit}
    if isinstance(which, OwnDrafts):
        return ListPlan(sql.LIST_DRAFTS, values | {"owner": which.owner}, limit)
    if not which.tags:
        return ListPlan(sql.LIST_LIVE if which.drafts_too else sql.LIST_POSTS, values, limit)
    counted = []
    for tag in dict.fromkeys(which.tags):
        count = await _count(tx, tag, which)
        if not count:
            return None
        counted.append((count, tag))
    counted.sort()
    tags: dict[str, Value] = {f"tag{n}": tag for n, (_, tag) in enumerate(counted)}
    statement = sql.list_tagged(len(counted), which.drafts_too)
    return ListPlan(statement, values | tags, limit if len(counted) == 1 else counted[0][0])


async def read_list(tx: Transaction, plan: ListPlan, session: Session | None) -> list[File]:
    """The files of a planned list. Refuses an ended session."""
    if session is None:
        return [build_file(*row) for row in await tx.fetchall(plan.statement, **plan.values)]
    values = plan.values | session_values(session)
    rows = await tx.fetchall(for_session(plan.statement), **values)
    if not rows:
        await refuse_ended(tx, session)
    elif rows[0]["ended"]:
        raise session_ended()
    return [build_file(*row[:WIDTH]) for row in rows]


async def _count(tx: Transaction, tag: str, which: PublicList) -> int:
    row = await tx.fetchone(sql.COUNT_TAG, tag=tag)
    if row is None:
        return 0
    posts: int = row["posts"]
    return posts + int(row["drafts"]) if which.drafts_too else posts


async def next_position(tx: Transaction) -> int:
    """A position above every one that was taken before."""
    (row,) = await tx.fetchall(sql.NEXT_POSITION)
    return int(row["value"])


async def retag(tx: Transaction, before: File | None, after: File | None) -> None:
    """Update the index of tags when a file is added (`before` is None), changed or removed."""
    if before is not None and before.state.live:
        for tag in before.hashtags:
            await tx.execute(sql.DROP_TAG, tag=tag, position=before.position)
            await _recount(tx, tag, before.state, -1)
    if after is not None and after.state.live:
        for tag in after.hashtags:
            state = after.state.value
            await tx.execute(sql.ADD_TAG, tag=tag, position=after.position, state=state)
            await _recount(tx, tag, after.state, 1)


async def _recount(tx: Transaction, tag: str, state: State, by: int) -> None:
    posts, drafts = (by, 0) if state is State.ONCHAIN else (0, by)
    await tx.execute(sql.RECOUNT_TAG, tag=tag, posts=posts, drafts=drafts)


async def count_usage(tx: Transaction, owner: str, size: int, *, drafts: int = 0) -> None:
    """Change what counts for an owner by this many bytes and drafts."""
    await tx.execute(sql.COUNT_USAGE, owner=owner, bytes=size, drafts=drafts)


async def draft_size(tx: Transaction, file: File) -> int:
    """How many bytes count for a file as a draft: its document and the thumbnail of its group."""
    return file.size + await thumbnail_size(tx, file)


async def thumbnail_size(tx: Transaction, file: File) -> int:
    """How many bytes count for the thumbnail of a file."""
    if file.thumbnail_cid is None:
        return 0
    (row,) = await tx.fetchall(sql.THUMBNAIL_SIZE, id=file.group_id)
    return int(row["thumbnail_size"])


async def reattach(tx: Transaction, cid: Cid, network: Network) -> None:
    """Forget that a document is detached, unless it is condemned; it counts as such no more."""
    await release(tx, await tx.fetchone(sql.REATTACH, cid=cid, network=network.value))


async def release(tx: Transaction, detached: Row | None) -> None:
    """Count a detached document no more, if there was a record of one."""
    if detached is not None and detached["owner"] is not None:
        await count_usage(tx, detached["owner"], -detached["size"], drafts=-detached["drafts"])


async def list_keys(tx: Transaction, after: str, limit: int) -> list[KeyRecord]:
    """Up to `limit` wrapped keys by rising file id, those above `after`."""
    rows = await tx.fetchall(sql.WRAPPED_KEYS, after=after, limit=limit)
    return [KeyRecord(row["id"], row["name"], bytes(row["wrapped_key"])) for row in rows]


async def replace_keys(tx: Transaction, changes: Sequence[tuple[KeyRecord, bytes]]) -> int:
    """Replace the wrapped keys that are still as given; returns how many were."""
    replaced = 0
    for record, new in changes:
        row = await tx.fetchone(sql.REWRAP_KEY, id=record.file_id, old=record.wrapped_key, new=new)
        replaced += row is not None
    return replaced
