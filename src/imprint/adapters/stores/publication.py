"""`EventStore` in the database: each event is stored, and applied to files once.

An event binds a file with the event's cid to the event's post id, if the event's author owns the
file. Two events can claim one post id only if one of them is in a block that has left the chain or
will leave it. Until the follower knows which block that is, the event in the higher block holds the
post id, or at equal height the later event. The other file becomes a draft again, and its event is
no longer canonical. However, an event that the follower has read gives way only to another event
that the follower reads, because a delivery may be wrong, and final blocks are not read again.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from uuid import NAMESPACE_OID, uuid5

from imprint.adapters.database.database import UNKNOWN_REACH, Database
from imprint.adapters.database.transaction import (
    Row,
    Transaction,
    Unstorable,
    Value,
    event_locks,
    group_checksum_of,
    kept_text,
    key_text,
    micros,
    moment_of,
    owner_lock,
)
from imprint.adapters.stores.files import (
    LIVE_IN_GROUP,
    SET_CHECKSUM,
    UNREADABLE,
    VERSION_BY_CID,
    VERSION_BY_ID,
    checksum_of,
    count_usage,
    detach,
    draft_size,
    file_of,
    find_by_post_id,
    find_version,
    hashtags_text,
    next_position,
    own_hashtags,
    reattach,
    retag,
    set_hashtags_of_chain,
    store_group,
    thumbnail_size,
)
from imprint.adapters.stores.posts.post_words import WANT_TEXT
from imprint.domain.drafts.files import File, Network, Publication, State
from imprint.domain.errors import Damaged
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.posts import (
    Advance,
    ApplyResult,
    BlockRef,
    DeadLetter,
    DeliveryKey,
    EventReport,
    EventStatus,
    KeptLetter,
    KnownEvent,
    LogPosition,
    PostCreated,
)

# Events and deliveries

_EVENT = """
SELECT chain_id, block_hash, block_number, log_index, tx_hash, post_id, author, spelled_cid, cid,
       seen_at, file_id, confirmed
FROM events"""

SAVEPOINT = "SAVEPOINT one_event"
RELEASE_SAVEPOINT = "RELEASE SAVEPOINT one_event"
ROLL_BACK_TO_SAVEPOINT = "ROLLBACK TO SAVEPOINT one_event"
ADD_DELIVERY = """
INSERT INTO deliveries (provider, digest, nonce, received_at)
VALUES (:provider, :digest, :nonce, :received_at)
ON CONFLICT DO NOTHING RETURNING 1"""
KNOWN_EVENT = """
SELECT canonical, file_id, post_id, author, spelled_cid FROM events
WHERE chain_id = :chain_id AND block_hash = :block_hash AND log_index = :log_index"""
ADD_EVENT = """
INSERT INTO events (chain_id, block_hash, log_index, block_number, tx_hash, post_id, author,
       spelled_cid, cid, status, file_id, confirmed, source, seen_at)
VALUES (:chain_id, :block_hash, :log_index, :block_number, :tx_hash, :post_id, :author,
       :spelled_cid, :cid, :status, :file_id, :confirmed, :source, :seen_at)"""
SET_EVENT_STATUS = """
UPDATE events SET status = :status, file_id = :file_id, canonical = 1
WHERE chain_id = :chain_id AND block_hash = :block_hash AND log_index = :log_index"""
RELEASE_EVENT = """
UPDATE events SET status = 'unknown_file', file_id = NULL, canonical = 0, confirmed = 0
WHERE file_id = :file_id"""
BINDING_OF_FILE = "SELECT block_number, confirmed FROM events WHERE file_id = :file_id"
KEPT_FOR_CID = _EVENT + (
    " WHERE cid = :cid AND author = :author AND canonical = 1"
    " ORDER BY block_number NULLS FIRST, log_index LIMIT :limit"
)
KEPT_FOR_POST = _EVENT + (
    " WHERE post_id = :post_id AND canonical = 1 ORDER BY block_number NULLS FIRST LIMIT :limit"
)
CANONICAL_EVENT = _EVENT + (
    " WHERE chain_id = :chain_id AND block_hash = :block_hash AND log_index = :log_index"
    " AND canonical = 1"
)
LOSE_EVENT = """
UPDATE events SET status = 'unknown_file', file_id = NULL, canonical = 0, confirmed = 0
WHERE chain_id = :chain_id AND block_hash = :block_hash AND log_index = :log_index"""
CORRECT_EVENT = """
UPDATE events SET confirmed = 1, block_number = :block_number, tx_hash = :tx_hash,
       post_id = :post_id, author = :author, spelled_cid = :spelled_cid, cid = :cid
WHERE chain_id = :chain_id AND block_hash = :block_hash AND log_index = :log_index"""
KNOWN_EVENTS = _EVENT + (
    " WHERE chain_id = :chain_id AND block_number BETWEEN :first AND :last AND canonical = 1"
    " ORDER BY block_number, block_hash"
)
NEWEST_EVENT_BLOCK = (
    "SELECT block_number, block_hash FROM events WHERE chain_id = :chain_id"
    " AND block_number <= :last AND canonical = 1 AND confirmed = 1"
    " ORDER BY block_number DESC LIMIT 1"
)
OLDEST_EVENT_BLOCK = (
    "SELECT block_number, block_hash FROM events WHERE chain_id = :chain_id"
    " AND block_number >= 0 AND canonical = 1 AND confirmed = 1"
    " ORDER BY block_number LIMIT 1"
)
UNCONFIRMED_EVENTS = _EVENT + (
    " WHERE chain_id = :chain_id AND canonical = 1 AND confirmed = 0 ORDER BY seen_at LIMIT :limit"
)
ADD_DEAD_LETTER = """
INSERT INTO dead_letters (identity, reason, payload, source, seen_at)
VALUES (:identity, :reason, :payload, :source, :seen_at)
ON CONFLICT DO NOTHING RETURNING 1"""
COUNT_EVENTS = "SELECT count(*) AS count FROM events WHERE status = :status AND canonical = 1"
EVENTS_OF_STATUS = _EVENT + (
    " WHERE status = :status AND canonical = 1 ORDER BY seen_at DESC LIMIT :limit"
)
COUNT_DEAD_LETTERS = "SELECT count(*) AS count FROM dead_letters WHERE seen_at >= 0"
DEAD_LETTERS = """
SELECT identity, reason, payload, source, seen_at FROM dead_letters WHERE seen_at >= 0
ORDER BY seen_at DESC LIMIT :limit"""
SET_CHAIN_MARK = """
INSERT INTO chain_marks (chain_id, kind, block_number, block_hash)
VALUES (:chain_id, :kind, :block_number, :block_hash)
ON CONFLICT (chain_id, kind) DO UPDATE
SET block_number = excluded.block_number, block_hash = excluded.block_hash"""
CHAIN_MARK = (
    "SELECT block_number, block_hash FROM chain_marks WHERE chain_id = :chain_id AND kind = :kind"
)

DISPUTED_BLOCKS = (
    "SELECT block_number, block_hash FROM disputed_blocks WHERE chain_id = :chain_id"
    " ORDER BY block_number, block_hash"
)
SETTLE_BLOCKS = "DELETE FROM disputed_blocks WHERE chain_id = :chain_id"
DISPUTE_BLOCK = """
INSERT INTO disputed_blocks (chain_id, block_number, block_hash)
VALUES (:chain_id, :block_number, :block_hash)"""

# Files that events publish

COPY_GROUP = """
INSERT INTO file_groups (id, owner, hashtags, thumbnail_cid, created_at, thumbnail_size, checksum)
SELECT :id, owner, CAST(:hashtags AS TEXT), thumbnail_cid, created_at, thumbnail_size,
       CAST(:checksum AS BIGINT)
FROM file_groups WHERE id = :group_id"""
MOVE_FILE = "UPDATE files SET group_id = :group_id, checksum = :checksum WHERE id = :id"
PUBLISH_FILE = """
UPDATE files SET state = 'onchain', position = :position, draft_position = position,
       post_id = :post_id, published_at = :published_at, tx_hash = :tx_hash, checksum = :checksum
WHERE id = :id"""
UNPUBLISH_FILE = """
UPDATE files SET state = 'pending', position = coalesce(draft_position, position),
       draft_position = NULL, post_id = NULL, published_at = NULL, tx_hash = NULL, checksum = NULL
WHERE id = :id RETURNING position"""
INDEXED_POST = """
SELECT place, hashtags, block_hash, cid, author FROM posts WHERE post_id = :post_id"""
OWN_THUMBNAIL = """
SELECT d.size FROM detached d
WHERE d.cid = :cid AND d.network = 'public' AND d.condemned = 0 AND d.detached_at > 0
  AND d.owner = :owner
UNION ALL
SELECT g.thumbnail_size FROM file_groups g JOIN files f ON f.group_id = g.id
WHERE g.thumbnail_cid = :cid AND g.owner = :owner AND f.state IN ('pending', 'onchain')
LIMIT 1"""
"""Selects a picture that an owner's drafts have, or had recently."""
CORRECT_FILE = "UPDATE files SET tx_hash = :tx_hash, checksum = :checksum WHERE id = :id"

CURSOR, FINAL = "stand", "final"
"""Names of the two blocks stored per chain: the follower's cursor, and the last final block."""

_KEPT_AT_ONCE = 10
"""Maximum number of stored events to try per cid or post id. At most one of them is genuine."""


@dataclass(frozen=True, slots=True)
class SqlEventStore:
    """The events of all chains."""

    database: Database

    async def apply_events(
        self,
        key: DeliveryKey | None,
        events: Sequence[PostCreated],
        dead_letters: Sequence[DeadLetter],
        at: datetime,
    ) -> ApplyResult:
        locks = event_locks(events)
        return await self.database.transact(locks, apply_events, key, events, dead_letters, at)

    async def advance(self, chain_id: int, step: Advance, at: datetime) -> ApplyResult:
        # The authors of lost events are read first, so that the rule can take all locks at once.
        locks = () if step.lost else event_locks(step.events)
        return await self.database.transact(locks, _advance, chain_id, step, at)

    async def cursor(self, chain_id: int) -> BlockRef | None:
        return await self._find_block(CHAIN_MARK, {"chain_id": chain_id, "kind": CURSOR})

    async def final_block(self, chain_id: int) -> BlockRef | None:
        return await self._find_block(CHAIN_MARK, {"chain_id": chain_id, "kind": FINAL})

    async def newest_event_block(self, chain_id: int, last: int) -> BlockRef | None:
        return await self._find_block(NEWEST_EVENT_BLOCK, {"chain_id": chain_id, "last": last})

    async def oldest_event_block(self, chain_id: int) -> BlockRef | None:
        return await self._find_block(OLDEST_EVENT_BLOCK, {"chain_id": chain_id})

    async def _find_block(self, statement: str, values: Mapping[str, Value]) -> BlockRef | None:
        found = await self.database.fetch(_block_of, statement, values)
        return found[0] if found else None

    async def disputed_blocks(self, chain_id: int) -> list[BlockRef]:
        return await self.database.fetch(_block_of, DISPUTED_BLOCKS, {"chain_id": chain_id})

    async def set_disputed(self, chain_id: int, blocks: Collection[BlockRef]) -> None:
        await self.database.transact((), _set_disputed, chain_id, blocks)

    async def known_events(self, chain_id: int, first: int, last: int) -> list[KnownEvent]:
        values: dict[str, Value] = {"chain_id": chain_id, "first": first, "last": last}
        return await self.database.fetch(known_event_of, KNOWN_EVENTS, values, reach=UNKNOWN_REACH)

    async def unconfirmed_events(self, chain_id: int, limit: int) -> list[KnownEvent]:
        values: dict[str, Value] = {"chain_id": chain_id, "limit": limit}
        return await self.database.fetch(known_event_of, UNCONFIRMED_EVENTS, values)

    async def report_events(self, limit: int) -> EventReport:
        return await self.database.read(_report_events, limit, reach=UNKNOWN_REACH)


async def apply_events(
    tx: Transaction,
    key: DeliveryKey | None,
    events: Sequence[PostCreated],
    dead_letters: Sequence[DeadLetter],
    at: datetime,
    *,
    canonical: bool = False,
) -> ApplyResult:
    """Store and apply events, each in its own savepoint. The caller has locked the events.

    With `canonical`, the events were read from the chain, so that an event whose block had left the
    chain is restored, too. A delivery restores no event, so repeating an old delivery has no
    effect.
    """
    if key is not None and not await _add_delivery(tx, key, at):
        return ApplyResult(duplicate=True)
    source = None if key is None else key.provider
    statuses = [await _apply_in_savepoint(tx, event, source, at, canonical) for event in events]
    new_letters = 0
    for letter in dead_letters:
        new_letters += await _add_dead_letter(tx, letter, source, at)
    return ApplyResult(False, tuple(statuses), new_letters)


async def _advance(tx: Transaction, chain_id: int, step: Advance, at: datetime) -> ApplyResult:
    lost = []
    for place in step.lost:
        rows = await tx.fetchall(CANONICAL_EVENT, **_identity(place))
        lost += [event_of(row) for row in rows]
    await tx.lock(event_locks([*step.events, *lost]))
    await _lose(tx, step.lost)
    applied = await apply_events(tx, None, step.events, step.dead_letters, at, canonical=True)
    if step.cursor is not None:
        await _set_mark(tx, chain_id, CURSOR, step.cursor)
    if step.final is not None:
        await _set_mark(tx, chain_id, FINAL, step.final)
    return applied


async def apply_kept(tx: Transaction, draft: File) -> File:
    """Apply the stored events that name a draft's cid, and return the resulting file."""
    rows = await tx.fetchall(KEPT_FOR_CID, cid=draft.cid, author=draft.owner, limit=_KEPT_AT_ONCE)
    for row in rows:
        at = max(_seen_at(row), draft.created_at)
        await _apply_again(tx, event_of(row), at)
    if not rows:
        return draft
    (row,) = await tx.fetchall(VERSION_BY_CID, cid=draft.cid)
    return file_of(row)


async def _report_events(tx: Transaction, limit: int) -> EventReport:
    counts = {}
    for status in EventStatus:
        (row,) = await tx.fetchall(COUNT_EVENTS, status=status.value)
        counts[status] = row["count"]
    (row,) = await tx.fetchall(COUNT_DEAD_LETTERS)
    counts[EventStatus.DEAD_LETTER] = row["count"]
    found = {}
    for status in (EventStatus.AUTHOR_MISMATCH, EventStatus.UNKNOWN_FILE):
        rows = await tx.fetchall(EVENTS_OF_STATUS, status=status.value, limit=limit)
        found[status] = tuple(map(known_event_of, rows))
    letters = await tx.fetchall(DEAD_LETTERS, limit=limit)
    return EventReport(
        counts,
        found[EventStatus.AUTHOR_MISMATCH],
        found[EventStatus.UNKNOWN_FILE],
        tuple(map(letter_of, letters)),
    )


def event_of(row: Row, prefix: str = "") -> PostCreated:
    """The event of a row whose columns have this prefix. Raises `Damaged`."""
    place = LogPosition(
        chain_id=row[f"{prefix}chain_id"],
        block_hash=row[f"{prefix}block_hash"],
        block_number=row[f"{prefix}block_number"],
        log_index=row[f"{prefix}log_index"],
        tx_hash=row[f"{prefix}tx_hash"],
    )
    cid = row[f"{prefix}cid"]
    try:
        post_id = int(row[f"{prefix}post_id"])
    except UNREADABLE as error:
        raise _damaged(place.block_hash, place.log_index) from error
    return PostCreated(
        place=place,
        post_id=post_id,
        author=Address(row[f"{prefix}author"]),
        spelled_cid=row[f"{prefix}spelled_cid"],
        cid=None if cid is None else Cid(cid),
    )


async def _add_delivery(tx: Transaction, key: DeliveryKey, at: datetime) -> bool:
    return await tx.fetchone(ADD_DELIVERY, **delivery_values(key, at)) is not None


async def _apply_in_savepoint(
    tx: Transaction, event: PostCreated, source: str | None, at: datetime, canonical: bool
) -> EventStatus:
    await tx.execute(SAVEPOINT)
    try:
        status = await _keep_and_apply(tx, event, source, at, canonical)
    except Unstorable:
        await tx.execute(ROLL_BACK_TO_SAVEPOINT)
        letter = DeadLetter(event.place, "unstorable", repr(event))
        await _add_dead_letter(tx, letter, source, at)
        status = EventStatus.DEAD_LETTER
    await tx.execute(RELEASE_SAVEPOINT)
    return status


async def _keep_and_apply(
    tx: Transaction, event: PostCreated, source: str | None, at: datetime, canonical: bool
) -> EventStatus:
    values = event_values(event)
    known = await _lock_known(tx, event)
    if known is None:
        new = values | {"confirmed": int(canonical), "source": source, "seen_at": micros(at)}
        return await _apply(tx, event, at, canonical, new)
    agrees = all(known[column] == values[column] for column in ("post_id", "author", "spelled_cid"))
    if not canonical and not (known["canonical"] and agrees):
        # A delivery may neither revive an undone event nor contradict a known one.
        return EventStatus.UNKNOWN_FILE
    bound: str | None = known["file_id"]
    unbound = None
    if bound is not None and not agrees:
        unbound, bound = await _unbind(tx, bound), None
    if canonical:
        # A delivery is not checked against the chain, so it may be incomplete or wrong.
        await tx.execute(CORRECT_EVENT, **values)
    if bound is None:
        status = await _apply(tx, event, at, canonical)
        if unbound is not None:
            await apply_kept(tx, unbound)
        return status
    if canonical:
        await _correct(tx, bound, event.place.tx_hash)
    return EventStatus.ALREADY_ONCHAIN


async def _correct(tx: Transaction, file_id: str, tx_hash: str | None) -> None:
    """Correct a post's transaction, because a delivery may have named another transaction."""
    file = await find_version(tx, VERSION_BY_ID, id=file_id)
    if file is None or file.publication is None or file.publication.tx_hash == tx_hash:
        return
    checksum = checksum_of(replace(file, publication=replace(file.publication, tx_hash=tx_hash)))
    await tx.execute(CORRECT_FILE, id=file_id, tx_hash=tx_hash, checksum=checksum)


async def _lock_known(tx: Transaction, event: PostCreated) -> Row | None:
    """The stored event with this identity. An author other than `event.author` is locked, too."""
    identity = _identity(event.place)
    known = await tx.fetchone(KNOWN_EVENT, **identity)
    if known is not None and known["author"] != event.author:
        await tx.lock(owner_lock(known["author"]))
        known = await tx.fetchone(KNOWN_EVENT, **identity)
    return known


async def _apply_again(tx: Transaction, event: PostCreated, at: datetime) -> None:
    """Apply a stored event, unless an earlier event in this step has just bound its file."""
    (known,) = await tx.fetchall(KNOWN_EVENT, **_identity(event.place))
    if known["file_id"] is None:
        await _apply(tx, event, at, canonical=False)


async def _apply(
    tx: Transaction,
    event: PostCreated,
    at: datetime,
    canonical: bool,
    new: Mapping[str, Value] | None = None,
) -> EventStatus:
    """Apply an event that is not bound to a file, and store its status.

    `new` is the row of an event that is not stored yet, without its status.
    """
    file = None
    if event.cid is not None:
        file = await find_version(tx, VERSION_BY_CID, cid=event.cid)
    status, displaced = await _judge(tx, event, file, canonical)
    bound = None
    if status is EventStatus.ONCHAIN and file is not None:
        await _bind(tx, event, file, at)
        bound = file.id
    if new is None:
        identity = _identity(event.place)
        await tx.execute(SET_EVENT_STATUS, **identity, status=status.value, file_id=bound)
    else:
        await tx.execute(ADD_EVENT, **new, status=status.value, file_id=bound)
    if displaced is not None:
        # Events that found this file already published were only stored. One may apply now.
        await apply_kept(tx, displaced)
    return status


async def _judge(
    tx: Transaction, event: PostCreated, file: File | None, canonical: bool
) -> tuple[EventStatus, File | None]:
    """An event's status, and the file that loses its post id to the event and becomes a draft."""
    if file is None:
        return EventStatus.UNKNOWN_FILE, None
    if file.owner != event.author:
        return EventStatus.AUTHOR_MISMATCH, None
    if file.state is State.ONCHAIN:
        return EventStatus.ALREADY_ONCHAIN, None
    holder = await _lock_holder(tx, event)
    if holder is None:
        return EventStatus.ONCHAIN, None
    (binding,) = await tx.fetchall(BINDING_OF_FILE, file_id=holder.id)
    held, claimed = binding["block_number"], event.place.block_number
    higher = held is None or claimed is None or claimed >= held
    if not canonical and (binding["confirmed"] or not higher):
        return EventStatus.ALREADY_ONCHAIN, None
    return EventStatus.ONCHAIN, await _unbind(tx, holder.id)


async def _lock_holder(tx: Transaction, claim: PostCreated) -> File | None:
    """Return the file bound to the post id of a claim, and lock its owner."""
    locked = {claim.author}
    while True:
        holder = await find_by_post_id(tx, claim.post_id)
        if holder is None or holder.owner in locked:
            return holder
        await tx.lock(owner_lock(holder.owner))
        locked.add(holder.owner)


async def _bind(tx: Transaction, event: PostCreated, file: File, at: datetime) -> None:
    if file.state is State.PENDING:
        # A post does not count towards usage, because its author paid for it on the chain.
        await count_usage(tx, file.owner, -await draft_size(tx, file), drafts=-1)
    else:
        file = await _make_room(tx, file)
        await _reattach(tx, file)
    file = await _restore_thumbnail(tx, file, event.thumbnail, at)
    position = await next_position(tx)
    publication = Publication(event.post_id, at, event.place.tx_hash)
    post = replace(file, state=State.ONCHAIN, position=position, publication=publication)
    await tx.execute(
        PUBLISH_FILE,
        id=file.id,
        position=position,
        post_id=str(event.post_id),
        published_at=micros(at),
        tx_hash=event.place.tx_hash,
        checksum=checksum_of(post),
    )
    await retag(tx, file, post)
    indexed = await tx.fetchone(INDEXED_POST, post_id=str(event.post_id))
    if indexed is not None:
        # The index has read this post before its document was stored here.
        await tx.execute(WANT_TEXT, place=indexed["place"])
    await set_hashtags_of_chain(tx, post, _hashtags_of(indexed, event))


def _hashtags_of(indexed: Row | None, event: PostCreated) -> tuple[str, ...]:
    """The hashtags of an indexed post, if the index has read it from this event."""
    made_by = (event.place.block_hash.lower(), event.cid, event.author)
    if indexed is None or made_by != (indexed["block_hash"], indexed["cid"], indexed["author"]):
        return ()
    return tuple(json.loads(indexed["hashtags"]))


async def _unbind(tx: Transaction, file_id: str) -> File:
    """Turn a post back into a draft at its earlier position. The event is no longer canonical."""
    (row,) = await tx.fetchall(VERSION_BY_ID, id=file_id)
    post = file_of(row)
    await tx.execute(RELEASE_EVENT, file_id=file_id)
    (row,) = await tx.fetchall(UNPUBLISH_FILE, id=file_id)
    own = await own_hashtags(tx, post)
    draft = replace(
        post, state=State.PENDING, position=row["position"], publication=None, hashtags=own
    )
    if own != post.hashtags:
        await store_group(tx, draft, await thumbnail_size(tx, draft))
    await tx.execute(SET_CHECKSUM, id=file_id, checksum=checksum_of(draft))
    await retag(tx, post, draft)
    await count_usage(tx, draft.owner, await draft_size(tx, draft), drafts=1)
    return draft


async def _make_room(tx: Transaction, restored: File) -> File:
    """Move a newer draft to a new group. A newer post stays, and the restored file moves instead.

    Returns the restored file in its current group.
    """
    newer = await find_version(tx, LIVE_IN_GROUP, group_id=restored.group_id)
    if newer is None:
        return restored
    mover = newer if newer.state is State.PENDING else restored
    # A file never returns to a group and never keeps a position there, so this id is new.
    label = f"{mover.group_id} {mover.id} {mover.position}"
    group_id = str(uuid5(NAMESPACE_OID, label))
    moved = replace(mover, group_id=group_id, hashtags=await own_hashtags(tx, mover))
    hashtags = hashtags_text(moved.hashtags)
    checksum = group_checksum_of(group_id, hashtags, moved.thumbnail_cid)
    await tx.execute(
        COPY_GROUP, id=group_id, group_id=mover.group_id, hashtags=hashtags, checksum=checksum
    )
    await tx.execute(MOVE_FILE, id=mover.id, group_id=group_id, checksum=checksum_of(moved))
    return moved if mover is restored else restored


async def _reattach(tx: Transaction, restored: File) -> None:
    """Delete the detached marks of a restored file's document and thumbnail."""
    await reattach(tx, restored.cid, Network.PRIVATE)
    if restored.thumbnail_cid is not None:
        await reattach(tx, restored.thumbnail_cid, Network.PUBLIC)


async def _restore_thumbnail(tx: Transaction, file: File, named: Cid | None, at: datetime) -> File:
    """Restore the thumbnail that a new post's event names, if a newer thumbnail replaced it.

    Returns the file with its current thumbnail.
    """
    if named is None or named == file.thumbnail_cid:
        return file
    found = await tx.fetchone(OWN_THUMBNAIL, cid=named, owner=file.owner)
    if found is None:
        return file
    if file.thumbnail_cid is not None:
        size = await thumbnail_size(tx, file)
        await detach(tx, file.thumbnail_cid, Network.PUBLIC, file.owner, size, micros(at))
        await count_usage(tx, file.owner, size)
    await reattach(tx, named, Network.PUBLIC)
    restored = replace(file, thumbnail_cid=named)
    await store_group(tx, restored, found["size"])
    return restored


async def _lose(tx: Transaction, places: Iterable[LogPosition]) -> None:
    """Undo events that are not on the chain.

    Their files become drafts again, and their post ids become free, unless other canonical events
    claim them.
    """
    drafts: list[File] = []
    post_ids: set[str] = set()
    for place in places:
        for row in await tx.fetchall(CANONICAL_EVENT, **_identity(place)):
            post_ids.add(row["post_id"])
            if row["file_id"] is not None:
                drafts.append(await _unbind(tx, row["file_id"]))
            await tx.execute(LOSE_EVENT, **_identity(place))
    for draft in drafts:
        await apply_kept(tx, draft)
    for post_id in sorted(post_ids):
        await _apply_claims(tx, post_id)


async def _apply_claims(tx: Transaction, post_id: str) -> None:
    """Apply the events that claimed a post id while another file held it."""
    rows = await tx.fetchall(KEPT_FOR_POST, post_id=post_id, limit=_KEPT_AT_ONCE)
    await tx.lock(event_locks(map(event_of, rows)))
    for row in await tx.fetchall(KEPT_FOR_POST, post_id=post_id, limit=_KEPT_AT_ONCE):
        if row["file_id"] is None:
            await _apply_again(tx, event_of(row), _seen_at(row))


async def _set_mark(tx: Transaction, chain_id: int, kind: str, block: BlockRef) -> None:
    await tx.execute(
        SET_CHAIN_MARK,
        chain_id=chain_id,
        kind=kind,
        block_number=block.number,
        block_hash=block.block_hash.lower(),
    )


async def _set_disputed(tx: Transaction, chain_id: int, blocks: Collection[BlockRef]) -> None:
    await tx.execute(SETTLE_BLOCKS, chain_id=chain_id)
    for block in blocks:
        number, block_hash = block.number, block.block_hash
        await tx.execute(
            DISPUTE_BLOCK, chain_id=chain_id, block_number=number, block_hash=block_hash
        )


async def _add_dead_letter(
    tx: Transaction, letter: DeadLetter, source: str | None, at: datetime
) -> bool:
    """Store a dead letter. Returns False if it was already stored."""
    place = letter.place
    if place is None:
        content = f"{letter.reason}\n{letter.payload}".encode("utf-8", "surrogatepass")
        identity = sha256(content).hexdigest()
    else:
        identity = key_text(f"{place.chain_id} {place.block_hash.lower()} {place.log_index}")
    row = await tx.fetchone(
        ADD_DEAD_LETTER,
        identity=identity,
        reason=kept_text(letter.reason),
        payload=kept_text(letter.payload),
        source=source,
        seen_at=micros(at),
    )
    return row is not None


def _identity(place: LogPosition) -> dict[str, Value]:
    """Values that identify a log."""
    return {
        "chain_id": place.chain_id,
        "block_hash": place.block_hash.lower(),
        "log_index": place.log_index,
    }


def delivery_values(key: DeliveryKey | None, at: datetime) -> dict[str, Value]:
    """Values of a delivery's row. A delivery without a key has no row."""
    return {
        "provider": None if key is None else key.provider,
        "digest": None if key is None else key_text(key.digest),
        "nonce": None if key is None else key_text(key.nonce),
        "received_at": micros(at),
    }


def event_values(event: PostCreated) -> dict[str, Value]:
    """Values of an event's row that come from the event itself."""
    return {
        **_identity(event.place),
        "block_number": event.place.block_number,
        "tx_hash": event.place.tx_hash,
        "post_id": str(event.post_id),
        "author": event.author,
        "spelled_cid": kept_text(event.spelled_cid),
        "cid": event.cid,
    }


def _block_of(row: Row) -> BlockRef:
    return BlockRef(row["block_number"], row["block_hash"])


def known_event_of(row: Row) -> KnownEvent:
    """The event of a row, and whether it is confirmed. Raises `Damaged`."""
    return KnownEvent(event_of(row), _seen_at(row), bool(row["confirmed"]))


def letter_of(row: Row) -> KeptLetter:
    """The dead letter of a row."""
    seen_at = _seen_at(row)
    return KeptLetter(row["identity"], row["reason"], row["payload"], row["source"], seen_at)


def _seen_at(row: Row) -> datetime:
    try:
        return moment_of(row["seen_at"])
    except UNREADABLE as error:
        raise Damaged.record("an event or a dead letter") from error


def _damaged(block_hash: object, log_index: object) -> Damaged:
    return Damaged.record(f"the event {log_index!a} of block {block_hash!a}")
