"""`DraftStore` in the database: the signed writes and their intents.

A write begins with an intent, so that the document of a write that never commits can be found and
removed. The committing transaction ends the intent and spends the nonce.

The intent also reserves the signer's usage: the document's size, and one draft if it creates one. A
committed write keeps that reservation, because the document then counts as part of a draft. A
replaced document counts until it is deleted.
"""

from collections.abc import Sequence
from dataclasses import replace

from imprint.adapters.database.database import Database
from imprint.adapters.database.transaction import (
    Transaction,
    Value,
    group_checksum_of,
    key_text,
    micros,
    write_locks,
)
from imprint.adapters.stores.files import (
    ADD_GROUP,
    DETACH,
    UNPLACED,
    SqlFileStore,
    checksum_of,
    count_usage,
    detach,
    find_draft,
    hashtags_text,
    next_position,
    reattach,
    retag,
    store_group,
    take_back,
    thumbnail_size,
)
from imprint.adapters.stores.publication import apply_kept
from imprint.adapters.stores.rate_limits import SqlRateLimits
from imprint.adapters.stores.signed_writes import end_intent, refuse_spent, spend_nonce
from imprint.domain.drafts.files import Action, File, Intent, Network, Quota, State, Version, Write
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.rate_limits import Rate
from imprint.domain.sessions import no_writing_session
from imprint.ports.drafts import NO_QUOTA

HAS_WRITING_SESSION = "SELECT 1 FROM writing_sessions WHERE id = :session"

# Intents and usage of signers

_WITHIN_QUOTA = """
SET last_number = {number}, used_bytes = owners.used_bytes + excluded.used_bytes,
    drafts = owners.drafts + excluded.drafts
WHERE owners.used_bytes + excluded.used_bytes <= :max_bytes
  AND owners.drafts + excluded.drafts <= :max_drafts"""
RESERVE = (
    """
INSERT INTO owners (owner, last_number, used_bytes, drafts) VALUES (:owner, 0, :bytes, :drafts)
ON CONFLICT (owner) DO UPDATE"""
    + _WITHIN_QUOTA.format(number="owners.last_number")
    + " RETURNING 1"
)
RESERVE_WITH_NUMBER = (
    """
INSERT INTO owners (owner, last_number, used_bytes, drafts)
VALUES (:owner, :number, :bytes, :drafts)
ON CONFLICT (owner) DO UPDATE"""
    + _WITHIN_QUOTA.format(number="excluded.last_number")
    + " AND excluded.last_number > owners.last_number RETURNING 1"
)
USAGE = "SELECT used_bytes, drafts FROM owners WHERE owner = :owner"
DELETED_DRAFTS = """
SELECT CAST(coalesce(sum(drafts), 0) AS BIGINT) AS count FROM detached
WHERE owner = :owner AND drafts > 0"""
SETTLE_DELETED_DRAFTS = "UPDATE detached SET drafts = 0 WHERE owner = :owner AND drafts > 0"
NEXT_NUMBER = """
UPDATE owners SET last_number = last_number + 1 WHERE owner = :owner RETURNING last_number"""
ADD_INTENT = """
INSERT INTO intents (id, signer, nonce, action, cid, network, number, lease_until, size)
VALUES (:id, :signer, :nonce, :action, :cid, :network, :number, :lease_until, :size)"""

# Drafts

ADD_FILE = """
INSERT INTO files (id, group_id, owner, name, cid, size, created_at, state, position, wrapped_key,
       checksum)
VALUES (:id, :group_id, :owner, :name, :cid, :size, :created_at, 'pending', :position,
       :wrapped_key, :checksum)"""
RETIRE_FILE = "UPDATE files SET state = :state, checksum = :checksum WHERE id = :id"

NO_HASHTAGS = hashtags_text(())
"""Hashtags of a new group."""

NO_LIMIT = 2**62
"""A quota in bytes or drafts that nobody can reach."""


class SqlDraftStore:
    """Drafts of all signers, written by transaction rules."""

    def __init__(self, database: Database, files: SqlFileStore, limits: SqlRateLimits) -> None:
        self._database = database
        self._files = files
        self._limits = limits

    async def open_write(
        self, write: Write, rate: Rate | None, key: str, cid: Cid | None = None
    ) -> File | None:
        if write.session is not None:
            await self._database.read(_refuse_revoked, write.session)
        if rate is not None:
            await self._limits.admit(key, rate, write.at)
        file = None if cid is None else await self._files.file_by_cid(cid)
        # The nonce is checked last: another attempt of this write may replace the file meanwhile,
        # and spends the nonce in the same transaction.
        await self._database.read(refuse_spent, write.signer, write.nonce)
        return file

    async def open_create(
        self, write: Write, rate: Rate | None, key: str, intent: Intent, quota: Quota
    ) -> int | None:
        await self.open_write(write, rate, key)
        return await self.begin_write(intent, quota)

    async def begin_write(self, intent: Intent, quota: Quota = NO_QUOTA) -> int | None:
        locks = write_locks(intent.write, intent)
        return await self._database.transact(locks, begin_write, intent, quota, durable=False)

    async def add_draft(self, write: Write, intent: Intent, version: Version) -> File:
        locks = write_locks(write, intent)
        return await self._database.transact(locks, add_draft, write, intent, version)

    async def replace_draft(
        self,
        write: Write,
        intent: Intent,
        old: Cid,
        version: Version,
        known: File | None = None,
    ) -> File | None:
        locks = write_locks(write, intent, old)
        return await self._database.transact(locks, replace_draft, write, intent, old, version)

    async def prepare_draft(
        self,
        write: Write,
        intent: Intent,
        cid: Cid,
        hashtags: Sequence[str],
        known: File | None = None,
    ) -> File | None:
        locks = write_locks(write, intent)
        return await self._database.transact(locks, prepare_draft, write, intent, cid, hashtags)

    async def delete_draft(self, write: Write, cid: Cid, known: File | None = None) -> File | None:
        locks = write_locks(write, None, cid)
        return await self._database.transact(locks, delete_draft, write, cid)


async def begin_write(tx: Transaction, intent: Intent, quota: Quota) -> int | None:
    """Record an intent with its number. If its number is too low, reserve and return the next one.

    Keeps a document that was marked for deletion. Refuses a document that exceeds its signer's
    quota.
    """
    await take_back(tx, intent.cid, intent.network)
    if not await _reserve(tx, intent, quota):
        (row,) = await tx.fetchall(NEXT_NUMBER, owner=intent.write.signer)
        return int(row["last_number"])
    await tx.execute(
        ADD_INTENT,
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
    """Reserve the usage and number of an intent. Returns False if its number is too low."""
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
    statement = RESERVE
    if intent.number is not None:
        statement, values["number"] = RESERVE_WITH_NUMBER, intent.number
    if await tx.fetchone(statement, **values) is not None:
        return True
    if await _settle_deleted(tx, owner) and await tx.fetchone(statement, **values) is not None:
        return True
    (used,) = await tx.fetchall(USAGE, owner=owner)
    if used["used_bytes"] + intent.size > max_bytes or used["drafts"] + drafts > max_drafts:
        raise _over_quota()
    return False


async def _settle_deleted(tx: Transaction, owner: Address) -> bool:
    """Stop counting an owner's deleted drafts. Returns False if there were none to release."""
    (row,) = await tx.fetchall(DELETED_DRAFTS, owner=owner)
    if not row["count"]:
        return False
    await tx.execute(SETTLE_DELETED_DRAFTS, owner=owner)
    await count_usage(tx, owner, 0, drafts=-row["count"])
    return True


async def add_draft(tx: Transaction, write: Write, intent: Intent, version: Version) -> File:
    """Create a group with this version as its draft, or as a post if the event came first."""
    await refuse_spent(tx, write.signer, write.nonce)
    await end_intent(tx, intent)
    await tx.execute(
        ADD_GROUP,
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
    """Replace the draft `old` with a version, or return None if it is not one of the signer's
    drafts.

    Uses the draft's current group, because an event may have moved it since it was read.
    """
    await refuse_spent(tx, write.signer, write.nonce)
    draft = await find_draft(tx, old, write.signer)
    if draft is None:
        return None
    await end_intent(tx, intent)
    await _retire(tx, draft, State.SUPERSEDED, write)
    file = await add_file(
        tx, draft_of(version, draft.group_id, draft.hashtags, draft.thumbnail_cid)
    )
    await _spend_nonce(tx, write, file)
    return file


async def prepare_draft(
    tx: Transaction, write: Write, intent: Intent, cid: Cid, hashtags: Sequence[str]
) -> File | None:
    """Set a draft's thumbnail and hashtags, or return None if `cid` is not a draft of the
    signer."""
    await refuse_spent(tx, write.signer, write.nonce)
    draft = await find_draft(tx, cid, write.signer)
    if draft is None:
        return None
    await end_intent(tx, intent)
    await _drop_thumbnail(tx, draft, write, intent.cid)
    await reattach(tx, intent.cid, Network.PUBLIC)
    prepared = replace(draft, hashtags=tuple(hashtags), thumbnail_cid=intent.cid)
    await store_group(tx, prepared, intent.size)
    await retag(tx, draft, prepared)
    await _spend_nonce(tx, write, prepared)
    return prepared


async def delete_draft(tx: Transaction, write: Write, cid: Cid) -> File | None:
    """Delete a draft and return its last state, or None if `cid` is not a draft of the signer."""
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
    """Add a draft to its group as the newest version, or a post if the event came first."""
    draft = replace(draft, position=await next_position(tx))
    await tx.execute(
        ADD_FILE,
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


async def _refuse_revoked(tx: Transaction, session_id: str) -> None:
    """Refuse with `writing_session_invalid` if the session with this id does not exist any more."""
    if await tx.fetchone(HAS_WRITING_SESSION, session=session_id) is None:
        raise no_writing_session()


async def _spend_nonce(tx: Transaction, write: Write, file: File | None) -> None:
    """Spend the nonce of the write that created `file`, in the same transaction."""
    file_id = None if file is None else file.id
    action = write.action.value
    await spend_nonce(tx, write.signer, write.nonce, write.at, action=action, file_id=file_id)


async def _retire(tx: Transaction, draft: File, state: State, write: Write) -> None:
    checksum = checksum_of(replace(draft, state=state))
    await tx.execute(RETIRE_FILE, id=draft.id, state=state.value, checksum=checksum)
    await retag(tx, draft, None)
    # The document was live: nobody else has it, and nobody has detached it.
    await tx.execute(
        DETACH,
        cid=draft.cid,
        network=Network.PRIVATE.value,
        detached_at=micros(write.at),
        owner=write.signer,
        size=draft.size,
    )


async def _drop_thumbnail(
    tx: Transaction, draft: File, write: Write, successor: Cid | None = None
) -> None:
    """Detach a draft's thumbnail, unless the next version has the same one."""
    thumbnail, size = draft.thumbnail_cid, await thumbnail_size(tx, draft)
    if thumbnail is None:
        return
    if thumbnail == successor:
        # The thumbnail was already counted, and the intent reserved its bytes a second time.
        await count_usage(tx, draft.owner, -size)
        return
    await detach(tx, thumbnail, Network.PUBLIC, write.signer, size, micros(write.at))


def _over_quota() -> Refusal:
    return Refusal(
        Code.QUOTA_EXCEEDED,
        "This signer's drafts have reached their quota. Delete or publish some; deleted and "
        "replaced versions count until they are destroyed.",
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
