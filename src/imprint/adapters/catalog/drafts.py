"""Rules for drafts: the signed writes, with their nonces and intents.

A write begins with an intent, so that the document of a write that never commits can be found and
removed. The transaction that takes effect ends the intent and spends the nonce.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from imprint.adapters.catalog import sql
from imprint.adapters.catalog.chain_events import apply_kept
from imprint.adapters.catalog.files import (
    UNPLACED,
    find_file,
    hashtags_text,
    next_position,
    retag,
)
from imprint.adapters.catalog.transaction import Transaction, document_lock, key_text, micros
from imprint.domain.addresses import Address
from imprint.domain.cids import Cid
from imprint.domain.errors import NonceUsed, Unavailable
from imprint.domain.files import File, Intent, Network, State, Version, Write


async def begin_write(tx: Transaction, intent: Intent) -> int | None:
    """Note an intent and reserve its number, or reserve and return the next one of its owner.

    Refuses a document that is being destroyed.
    """
    await refuse_condemned(tx, intent.cid, intent.network)
    if intent.number is not None:
        owner = intent.write.signer
        if await tx.fetchone(sql.RESERVE_NUMBER, owner=owner, number=intent.number) is None:
            (row,) = await tx.fetchall(sql.NEXT_NUMBER, owner=owner)
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
    )
    return None


async def add_draft(tx: Transaction, write: Write, intent: Intent, version: Version) -> File:
    """A new group with this version as its draft; a post at once if an event came before it."""
    await refuse_spent(tx, write.signer, write.nonce)
    await _end_intent(tx, intent)
    await tx.execute(
        sql.ADD_GROUP,
        id=version.group_id,
        owner=version.owner,
        created_at=micros(version.created_at),
    )
    file = await add_file(tx, _draft_of(version, version.group_id))
    await _spend_nonce(tx, write, file)
    return file


async def replace_draft(
    tx: Transaction, write: Write, intent: Intent, old: Cid, version: Version
) -> File | None:
    """Put a version in the place of the draft `old`; None if that is not a draft of the signer.

    The group is the one that the draft is in now: an event may have moved it since it was read.
    """
    await refuse_spent(tx, write.signer, write.nonce)
    draft = await find_file(tx, sql.DRAFT_OF_OWNER, cid=old, owner=write.signer)
    if draft is None:
        return None
    await _end_intent(tx, intent)
    await _retire(tx, draft, State.SUPERSEDED, write)
    file = await add_file(
        tx, _draft_of(version, draft.group_id, draft.hashtags, draft.thumbnail_cid)
    )
    await _spend_nonce(tx, write, file)
    return file


async def prepare_draft(
    tx: Transaction, write: Write, intent: Intent, cid: Cid, hashtags: Sequence[str]
) -> File | None:
    """Give a draft its thumbnail and hashtags; None if `cid` is not a draft of the signer."""
    await refuse_spent(tx, write.signer, write.nonce)
    draft = await find_file(tx, sql.DRAFT_OF_OWNER, cid=cid, owner=write.signer)
    if draft is None:
        return None
    await _end_intent(tx, intent)
    prepared = replace(draft, hashtags=tuple(hashtags), thumbnail_cid=intent.cid)
    await tx.execute(
        sql.PREPARE_GROUP,
        id=draft.group_id,
        hashtags=hashtags_text(prepared.hashtags),
        thumbnail_cid=intent.cid,
    )
    await retag(tx, draft, prepared)
    if draft.thumbnail_cid is not None and draft.thumbnail_cid != intent.cid:
        await _detach_thumbnail(tx, draft.thumbnail_cid, write)
    await _spend_nonce(tx, write, prepared)
    return prepared


async def delete_draft(tx: Transaction, write: Write, cid: Cid) -> File | None:
    """Delete a draft and return it as it was; None if `cid` is not a draft of the signer."""
    await refuse_spent(tx, write.signer, write.nonce)
    draft = await find_file(tx, sql.DRAFT_OF_OWNER, cid=cid, owner=write.signer)
    if draft is None:
        return None
    await _retire(tx, draft, State.DELETED, write)
    if draft.thumbnail_cid is not None:
        await _detach_thumbnail(tx, draft.thumbnail_cid, write)
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
    )
    await retag(tx, None, draft)
    return await apply_kept(tx, draft)


async def refuse_spent(tx: Transaction, signer: Address, nonce: str) -> None:
    """Raise `NonceUsed` if the signer has spent this nonce, with its file if that is still live."""
    spent = await tx.fetchone(sql.SPENT_NONCE, signer=signer, nonce=key_text(nonce))
    if spent is not None:
        raise NonceUsed(await find_file(tx, sql.FILE_BY_ID, id=spent["file_id"]))


async def refuse_condemned(tx: Transaction, cid: Cid, network: Network) -> None:
    """Raise `Unavailable` for a document that is being destroyed: nothing may refer to it."""
    if await tx.fetchone(sql.CONDEMNED, cid=cid, network=network.value) is not None:
        raise Unavailable.storage()


async def spend_login_nonce(tx: Transaction, address: Address, nonce: str, at: datetime) -> bool:
    """Spend the nonce of a login; False if it was spent before."""
    row = await tx.fetchone(
        sql.SPEND_LOGIN_NONCE, address=address, nonce=key_text(nonce), spent_at=micros(at)
    )
    return row is not None


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
    await refuse_condemned(tx, intent.cid, intent.network)


async def _retire(tx: Transaction, draft: File, state: State, write: Write) -> None:
    await tx.execute(sql.RETIRE_FILE, id=draft.id, state=state.value)
    await retag(tx, draft, None)
    await _detach(tx, draft.cid, Network.PRIVATE, write)


async def _detach_thumbnail(tx: Transaction, thumbnail: Cid, write: Write) -> None:
    await tx.lock(document_lock(thumbnail, Network.PUBLIC))
    await _detach(tx, thumbnail, Network.PUBLIC, write)


async def _detach(tx: Transaction, cid: Cid, network: Network, write: Write) -> None:
    await tx.execute(sql.DETACH, cid=cid, network=network.value, detached_at=micros(write.at))


def _draft_of(
    version: Version,
    group_id: str,
    hashtags: tuple[str, ...] = (),
    thumbnail_cid: Cid | None = None,
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
        position=UNPLACED,
        hashtags=hashtags,
        thumbnail_cid=thumbnail_cid,
        wrapped_key=version.wrapped_key,
    )
