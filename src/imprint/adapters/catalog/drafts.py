"""Rules for drafts: the signed writes, with their nonces and intents.

A write begins with an intent, so that the document of a write that never commits can be found and
removed. The transaction that takes effect ends the intent and spends the nonce.

What counts for a signer is reserved with the intent: the size of the document, and a draft if one
is created. A write that takes effect changes neither: the document counts as that of a draft from
then on. What it replaces counts until it is destroyed.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from imprint.adapters.catalog import sql
from imprint.adapters.catalog.chain_events import apply_kept
from imprint.adapters.catalog.files import (
    UNPLACED,
    checksum_of,
    count_usage,
    find_draft,
    find_live,
    group_checksum_of,
    hashtags_text,
    next_position,
    reattach,
    release,
    retag,
    thumbnail_size,
)
from imprint.adapters.catalog.transaction import Transaction, Value, document_lock, key_text, micros
from imprint.domain.drafts.files import Action, File, Intent, Network, Quota, State, Version, Write
from imprint.domain.errors import Code, NonceUsed, Refusal, Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.sessions import no_writing_session

NO_HASHTAGS = hashtags_text(())
"""The hashtags of a new group."""

NO_LIMIT = 2**62
"""More bytes, and more drafts, than anybody has."""


async def begin_write(tx: Transaction, intent: Intent, quota: Quota) -> int | None:
    """Note an intent and reserve its number, or reserve and return the next one of its owner.

    Takes a condemned document back, and refuses one beyond the quota of its signer.
    """
    await take_back(tx, intent.cid, intent.network)
    if not await _reserve(tx, intent, quota):
        (row,) = await tx.fetchall(sql.NEXT_NUMBER, owner=intent.write.signer)
        return int(row["last_number"])
    await tx.execute(
        sql.ADD_INTENT,
        id=intent.id,
        signer=intent.write.signer,
        nonce=key_text(intent.write.nonce),
        action=intent.write.action.value,
        cid=intent.cid,
        network=intent.network.value,
        number=intent.number,
        lease_until=micros(intent.lease_until),
        size=intent.size,
    )
    return None


async def _reserve(tx: Transaction, intent: Intent, quota: Quota) -> bool:
    """Reserve what counts for an intent, and its number; False if its number is too low."""
    owner, drafts = intent.write.signer, int(intent.write.action is Action.CREATE)
    max_bytes, max_drafts = quota.bytes or NO_LIMIT, quota.drafts or NO_LIMIT
    if not drafts:
        max_drafts = NO_LIMIT
    if intent.size > max_bytes:
        raise _over_quota()
    values: dict[str, Value] = {
        "owner": owner,
        "bytes": intent.size,
        "drafts": drafts,
        "max_bytes": max_bytes,
        "max_drafts": max_drafts,
    }
    statement = sql.RESERVE
    if intent.number is not None:
        statement, values["number"] = sql.RESERVE_WITH_NUMBER, intent.number
    if await tx.fetchone(statement, **values) is not None:
        return True
    if await _settle_deleted(tx, owner) and await tx.fetchone(statement, **values) is not None:
        return True
    (used,) = await tx.fetchall(sql.USAGE, owner=owner)
    if used["used_bytes"] + intent.size > max_bytes or used["drafts"] + drafts > max_drafts:
        raise _over_quota()
    return False


async def _settle_deleted(tx: Transaction, owner: Address) -> bool:
    """Count deleted drafts of an owner no more that still counted; False if there were none."""
    (row,) = await tx.fetchall(sql.DELETED_DRAFTS, owner=owner)
    if not row["count"]:
        return False
    await tx.execute(sql.SETTLE_DELETED_DRAFTS, owner=owner)
    await count_usage(tx, owner, 0, drafts=-row["count"])
    return True


async def add_draft(tx: Transaction, write: Write, intent: Intent, version: Version) -> File:
    """A new group with this version as its draft; a post at once if an event came before it."""
    await refuse_spent(tx, write.signer, write.nonce)
    await _end_intent(tx, intent)
    await tx.execute(
        sql.ADD_GROUP,
        id=version.group_id,
        owner=version.owner,
        created_at=micros(version.created_at),
        checksum=group_checksum_of(version.group_id, NO_HASHTAGS, None),
    )
    file = await add_file(tx, draft_of(version, version.group_id))
    await _spend_nonce(tx, write, file)
    return file


async def replace_draft(
    tx: Transaction, write: Write, intent: Intent, old: Cid, version: Version
) -> File | None:
    """Put a version in the place of the draft `old`; None if that is not a draft of the signer.

    The group is the one that the draft is in now: an event may have moved it since it was read.
    """
    await refuse_spent(tx, write.signer, write.nonce)
    draft = await find_draft(tx, old, write.signer)
    if draft is None:
        return None
    await _end_intent(tx, intent)
    await _retire(tx, draft, State.SUPERSEDED, write)
    file = await add_file(
        tx, draft_of(version, draft.group_id, draft.hashtags, draft.thumbnail_cid)
    )
    await _spend_nonce(tx, write, file)
    return file


async def prepare_draft(
    tx: Transaction, write: Write, intent: Intent, cid: Cid, hashtags: Sequence[str]
) -> File | None:
    """Give a draft its thumbnail and hashtags; None if `cid` is not a draft of the signer."""
    await refuse_spent(tx, write.signer, write.nonce)
    draft = await find_draft(tx, cid, write.signer)
    if draft is None:
        return None
    await _end_intent(tx, intent)
    await _drop_thumbnail(tx, draft, write, intent.cid)
    await reattach(tx, intent.cid, Network.PUBLIC)
    prepared = replace(draft, hashtags=tuple(hashtags), thumbnail_cid=intent.cid)
    text = hashtags_text(prepared.hashtags)
    await tx.execute(
        sql.PREPARE_GROUP,
        id=draft.group_id,
        hashtags=text,
        thumbnail_cid=intent.cid,
        thumbnail_size=intent.size,
        checksum=group_checksum_of(draft.group_id, text, intent.cid),
    )
    await retag(tx, draft, prepared)
    await _spend_nonce(tx, write, prepared)
    return prepared


async def delete_draft(tx: Transaction, write: Write, cid: Cid) -> File | None:
    """Delete a draft and return it as it was; None if `cid` is not a draft of the signer."""
    await refuse_spent(tx, write.signer, write.nonce)
    draft = await find_draft(tx, cid, write.signer)
    if draft is None:
        return None
    await _retire(tx, draft, State.DELETED, write)
    await _drop_thumbnail(tx, draft, write)
    await count_usage(tx, draft.owner, 0, drafts=-1)
    await _spend_nonce(tx, write, None)
    return draft


async def add_file(tx: Transaction, draft: File) -> File:
    """Add a draft to its group, above all other files; a post at once if an event came before."""
    draft = replace(draft, position=await next_position(tx))
    await tx.execute(
        sql.ADD_FILE,
        id=draft.id,
        group_id=draft.group_id,
        owner=draft.owner,
        name=draft.name,
        cid=draft.cid,
        size=draft.size,
        created_at=micros(draft.created_at),
        position=draft.position,
        wrapped_key=draft.wrapped_key,
        checksum=checksum_of(draft),
    )
    await retag(tx, None, draft)
    return await apply_kept(tx, draft)


async def refuse_spent(tx: Transaction, signer: Address, nonce: str) -> None:
    """Raise `NonceUsed` if the signer has spent this nonce, with its file if that is still live."""
    spent = await tx.fetchone(sql.SPENT_NONCE, signer=signer, nonce=key_text(nonce))
    if spent is not None:
        file = await find_live(tx, sql.VERSION_BY_ID, id=spent["file_id"])
        raise NonceUsed(spent["action"], file)


async def refuse_revoked(tx: Transaction, session_id: str) -> None:
    """Refuse `writing_session_invalid` if there is no writing session with this id any more."""
    if await tx.fetchone(sql.HAS_WRITING_SESSION, session=session_id) is None:
        raise no_writing_session()


async def take_back(tx: Transaction, cid: Cid, network: Network) -> None:
    """Forget that a document is condemned: the caller is about to refer to it.

    Raises `Unavailable` if a process of an earlier release condemned it, which destroys it without
    a fence.
    """
    condemned = await tx.fetchone(sql.TAKE_BACK, cid=cid, network=network.value)
    if condemned is None:
        return
    if not condemned["fence"]:
        raise Unavailable.storage()
    await release(tx, condemned)


async def spend_login_nonce(
    tx: Transaction, address: Address, nonce: str, at: datetime
) -> int | None:
    """Spend the nonce of a login; returns the generation of its session, None if it was spent."""
    row = await tx.fetchone(
        sql.SPEND_LOGIN_NONCE, address=address, nonce=key_text(nonce), spent_at=micros(at)
    )
    return None if row is None else int(row["generation"] or 0)


async def _spend_nonce(tx: Transaction, write: Write, file: File | None) -> None:
    """Spend the nonce of a write that takes effect in this transaction and made `file`."""
    await tx.execute(
        sql.SPEND_NONCE,
        signer=write.signer,
        nonce=key_text(write.nonce),
        action=write.action.value,
        file_id=None if file is None else file.id,
        spent_at=micros(write.at),
    )


async def _end_intent(tx: Transaction, intent: Intent) -> None:
    """End an intent whose document is referred to from now on.

    Refuses an intent that is gone: it expired, and its document may have been destroyed.
    """
    if await tx.fetchone(sql.END_INTENT, id=intent.id) is None:
        raise Unavailable.storage()
    if await tx.fetchone(sql.CONDEMNED, cid=intent.cid, network=intent.network.value) is not None:
        # A process of an earlier release has condemned it since.
        raise Unavailable.storage()


async def _retire(tx: Transaction, draft: File, state: State, write: Write) -> None:
    checksum = checksum_of(replace(draft, state=state))
    await tx.execute(sql.RETIRE_FILE, id=draft.id, state=state.value, checksum=checksum)
    await retag(tx, draft, None)
    await _detach(tx, draft.cid, draft.size, Network.PRIVATE, write)


async def _drop_thumbnail(
    tx: Transaction, draft: File, write: Write, successor: Cid | None = None
) -> None:
    """Detach the thumbnail of a draft, unless its successor is the same."""
    thumbnail, size = draft.thumbnail_cid, await thumbnail_size(tx, draft)
    if thumbnail is None:
        return
    if thumbnail == successor:
        # Its bytes counted already, and were reserved once more.
        await count_usage(tx, draft.owner, -size)
        return
    await tx.lock(document_lock(thumbnail, Network.PUBLIC))
    # Several owners may have had the same picture; it counts for the last one.
    await reattach(tx, thumbnail, Network.PUBLIC)
    await _detach(tx, thumbnail, size, Network.PUBLIC, write)


async def _detach(tx: Transaction, cid: Cid, size: int, network: Network, write: Write) -> None:
    await tx.execute(
        sql.DETACH,
        cid=cid,
        network=network.value,
        detached_at=micros(write.at),
        owner=write.signer,
        size=size,
    )


def _over_quota() -> Refusal:
    return Refusal(
        Code.QUOTA_EXCEEDED,
        "The drafts of this signer take up all the space they may. Deleted and replaced ones count"
        " until they are destroyed.",
    )


def draft_of(
    version: Version,
    group_id: str,
    hashtags: tuple[str, ...] = (),
    thumbnail_cid: Cid | None = None,
    position: int = UNPLACED,
) -> File:
    """The draft that a version becomes in a group with these hashtags and this thumbnail."""
    return File(
        id=version.id,
        group_id=group_id,
        owner=version.owner,
        name=version.name,
        cid=version.cid,
        size=version.size,
        created_at=version.created_at,
        state=State.PENDING,
        position=position,
        hashtags=hashtags,
        thumbnail_cid=thumbnail_cid,
        wrapped_key=version.wrapped_key,
    )
