"""What events do to files: each is kept, found by its identity, and applied once.

An event binds the file of its cid to its post id if its author is the owner. Two events can claim
one post id only if one of them stands in a block that left the chain, or will leave it. Until the
follower knows which, the one in the higher block holds the post id (the later one, if both are
equally high): the other file is a draft again, and the event that held it is no longer canonical.
But what the follower has read itself gives way only to what it reads itself: a delivery may be
wrong, and nobody would ever read again what is final.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from uuid import NAMESPACE_OID, uuid5

from imprint.adapters.catalog import statements as sql
from imprint.adapters.catalog.holding import hold_events, hold_owner
from imprint.adapters.catalog.ordering import next_position, retag
from imprint.adapters.catalog.rows import (
    event_of,
    event_values,
    file_of,
    identity_values,
    kept_text,
    key_text,
    micros,
    moment_of,
)
from imprint.adapters.catalog.steps import Query, Row, Steps, Unstorable, Value
from imprint.domain.files import File, Publication, State
from imprint.domain.posts import (
    ApplyResult,
    DeadLetter,
    DeliveryKey,
    EventStatus,
    PostCreated,
)

_KEPT_AT_ONCE = 10
"""How many kept events for one cid or post id are tried: all but one are claims of strangers."""


def settle(
    key: DeliveryKey | None,
    events: Sequence[PostCreated],
    dead_letters: Sequence[DeadLetter],
    at: datetime,
    canonical: bool = False,
) -> Steps[ApplyResult]:
    """Keep and apply events, each apart from the others.

    `canonical` is the word of somebody who has read the chain: it also brings back an event whose
    block had left. A delivery alone cannot, so that an old one repeated revives nothing.
    """
    if events:
        yield hold_events(events)
    if key is not None and not (yield from _remember(key, at)):
        return ApplyResult(duplicate=True)
    source = None if key is None else key.provider
    statuses = []
    for event in events:
        status = yield from _settle_apart(event, source, at, canonical)
        statuses.append(status)
    new_letters = 0
    for letter in dead_letters:
        new_letters += len((yield _keep_letter(letter, source, at)))
    return ApplyResult(False, tuple(statuses), new_letters)


def apply_kept(draft: File) -> Steps[File]:
    """Apply the events that named the cid of a draft before it was one; returns what it is now."""
    values: dict[str, Value] = {"cid": draft.cid, "author": draft.owner, "limit": _KEPT_AT_ONCE}
    rows = yield Query(sql.KEPT_FOR_CID, values)
    for row in rows:
        at = max(moment_of(row[9]), draft.created_at)
        yield from _apply(event_of(row), at, canonical=False)
    if not rows:
        return draft
    now = yield Query(sql.VERSION_BY_CID, {"cid": draft.cid})
    return file_of(now[0])


def apply_claims(post_id: str) -> Steps[None]:
    """Apply the events that claimed a post id while another file held it."""
    claims = Query(sql.KEPT_FOR_POST, {"post_id": post_id, "limit": _KEPT_AT_ONCE})
    rows = yield claims
    yield hold_events(event_of(row) for row in rows)
    rows = yield claims
    for row in rows:
        if row[10] is None:
            yield from _apply(event_of(row), moment_of(row[9]), canonical=False)


def unbind(file_id: str) -> Steps[File]:
    """Make a post a draft again, and the event that held it no longer canonical."""
    rows = yield Query(sql.FILE_BY_ID, {"id": file_id})
    post = file_of(rows[0])
    yield Query(sql.RELEASE_EVENT, {"file_id": file_id})
    yield Query(sql.UNPUBLISH_FILE, {"id": file_id})
    draft = replace(post, state=State.PENDING, publication=None)
    yield from retag(post, draft)
    return draft


def _remember(key: DeliveryKey, at: datetime) -> Steps[bool]:
    values: dict[str, Value] = {
        "provider": key.provider,
        "digest": key_text(key.digest),
        "nonce": key_text(key.nonce),
        "received_at": micros(at),
    }
    rows = yield Query(sql.REMEMBER_DELIVERY, values)
    return bool(rows)


def _settle_apart(
    event: PostCreated, source: str | None, at: datetime, canonical: bool
) -> Steps[EventStatus]:
    yield Query(sql.SAVEPOINT)
    try:
        status = yield from _settle_one(event, source, at, canonical)
    except Unstorable:
        yield Query(sql.ROLL_BACK)
        yield _keep_letter(DeadLetter(event.place, "unstorable", repr(event)), source, at)
        status = EventStatus.DEAD_LETTER
    yield Query(sql.RELEASE)
    return status


def _settle_one(
    event: PostCreated, source: str | None, at: datetime, canonical: bool
) -> Steps[EventStatus]:
    values = event_values(event)
    said = (values["post_id"], values["author"], values["spelled_cid"])
    rows = yield from _known(event)
    stands, holds, *known = rows[0] if rows else (True, None, *said)
    if not rows:
        yield Query(sql.ADD_EVENT, {**values, "source": source, "seen_at": micros(at)})
    if not canonical and (not stands or tuple(known) != said):
        # Whoever delivers may not revive what was undone, nor say otherwise about what is known.
        return EventStatus.UNKNOWN_FILE
    misled = None
    if tuple(known) != said and holds is not None:
        misled, holds = (yield from unbind(holds)), None
    if canonical:
        # A delivery may have left out, or got wrong, what nobody checked when it came.
        yield Query(sql.CORRECT_EVENT, values)
    if holds is None:
        status = yield from _apply(event, at, canonical)
        if misled is not None:
            yield from apply_kept(misled)
        return status
    if canonical:
        yield Query(sql.CORRECT_FILE, {"id": holds, "tx_hash": event.place.tx_hash})
    return EventStatus.ALREADY_ONCHAIN


def _known(event: PostCreated) -> Steps[list[Row]]:
    """What is kept of an event; if that names another author, what is theirs is held as well."""
    known = Query(sql.KNOWN_EVENT, identity_values(event.place))
    rows = yield known
    if rows and rows[0][3] != event.author:
        yield hold_owner(rows[0][3])
        rows = yield known
    return rows


def _apply(event: PostCreated, at: datetime, canonical: bool) -> Steps[EventStatus]:
    rows = yield Query(sql.KNOWN_EVENT, identity_values(event.place))
    if rows[0][1] is not None:
        # It holds its file, since a moment ago perhaps: what came with it has applied it already.
        return EventStatus.ALREADY_ONCHAIN
    file = yield from _version_of(event)
    status, displaced = yield from _judge(event, file, canonical)
    bound = None
    if status is EventStatus.ONCHAIN and file is not None:
        yield from _bind(event, file, at)
        bound = file.id
    values = {**identity_values(event.place), "status": status.value, "file_id": bound}
    yield Query(sql.NOTE_STATUS, values)
    if displaced is not None:
        # It may stand elsewhere too: an event that found it published already was only kept.
        yield from apply_kept(displaced)
    return status


def _version_of(event: PostCreated) -> Steps[File | None]:
    if event.cid is None:
        return None
    rows = yield Query(sql.VERSION_BY_CID, {"cid": event.cid})
    return file_of(rows[0]) if rows else None


def _judge(
    event: PostCreated, file: File | None, canonical: bool
) -> Steps[tuple[EventStatus, File | None]]:
    """What becomes of an event, and the file that loses its post id to it, now a draft."""
    if file is None:
        return EventStatus.UNKNOWN_FILE, None
    if file.owner != event.author:
        return EventStatus.AUTHOR_MISMATCH, None
    if file.state is State.ONCHAIN:
        return EventStatus.ALREADY_ONCHAIN, None
    holder = yield from _holder(event)
    if holder is None:
        return EventStatus.ONCHAIN, None
    ((held, confirmed),) = yield Query(sql.BINDING_OF_FILE, {"file_id": holder.id})
    claimed = event.place.block_number
    higher = held is None or claimed is None or claimed >= held
    if not canonical and (confirmed or not higher):
        return EventStatus.ALREADY_ONCHAIN, None
    return EventStatus.ONCHAIN, (yield from unbind(holder.id))


def _holder(claim: PostCreated) -> Steps[File | None]:
    """The file that has the post id of a claim; its owner, if another one, is held from now on."""
    held = {claim.author}
    while True:
        rows = yield Query(sql.FILE_BY_POST, {"post_id": str(claim.post_id)})
        holder = file_of(rows[0]) if rows else None
        if holder is None or holder.owner in held:
            return holder
        yield hold_owner(holder.owner)
        held.add(holder.owner)


def _bind(event: PostCreated, file: File, at: datetime) -> Steps[None]:
    if not file.state.live:
        yield from _make_room(file)
    position = yield from next_position()
    publication = Publication(event.post_id, at, event.place.tx_hash)
    values: dict[str, Value] = {
        "id": file.id,
        "position": position,
        "post_id": str(event.post_id),
        "published_at": micros(at),
        "tx_hash": event.place.tx_hash,
    }
    yield Query(sql.PUBLISH_FILE, values)
    post = replace(file, state=State.ONCHAIN, position=position, publication=publication)
    yield from retag(file, post)


def _make_room(restored: File) -> Steps[None]:
    """Give a newer draft a group of its own; a post stays, and the restored one goes instead."""
    rows = yield Query(sql.LIVE_IN_GROUP, {"group_id": restored.group_id})
    if not rows:
        return
    newer = file_of(rows[0])
    mover = newer if newer.state is State.PENDING else restored
    # A file never returns to a group and never keeps a position there, so this id is new.
    label = f"{mover.group_id} {mover.id} {mover.position}"
    group_id = str(uuid5(NAMESPACE_OID, label))
    yield Query(sql.COPY_GROUP, {"id": group_id, "group_id": mover.group_id})
    yield Query(sql.MOVE_FILE, {"id": mover.id, "group_id": group_id})


def _keep_letter(letter: DeadLetter, source: str | None, at: datetime) -> Query:
    place = letter.place
    if place is None:
        content = f"{letter.reason}\n{letter.payload}".encode("utf-8", "surrogatepass")
        identity = sha256(content).hexdigest()
    else:
        identity = key_text(f"{place.chain_id} {place.block_hash.lower()} {place.log_index}")
    values = {
        "identity": identity,
        "reason": kept_text(letter.reason),
        "payload": kept_text(letter.payload),
        "source": source,
        "seen_at": micros(at),
    }
    return Query(sql.KEEP_DEAD_LETTER, values)
