"""Rules for garbage: documents that nothing refers to are condemned, and purged once destroyed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from imprint.adapters.catalog import sql
from imprint.adapters.catalog.files import count_usage, reattach, release
from imprint.adapters.catalog.transaction import Row, Transaction, document_lock, micros
from imprint.domain.cids import Cid
from imprint.domain.files import Action, Network


@dataclass(frozen=True, slots=True)
class Usage:
    """Bytes and drafts of an owner."""

    owner: str
    bytes: int
    drafts: int


_NEVER_ATTACHED = 0
"""The `detached_at` of the document of an expired intent: earlier than any other."""


async def condemn_documents(
    tx: Transaction, now: datetime, detached_before: datetime, limit: int
) -> list[tuple[Cid, Network]]:
    """Up to `limit` documents to be destroyed, those condemned before first.

    A document that something refers to again is no longer detached. The version of a condemned
    document is deleted, so that nothing can restore it, and groups without a live file lose it as
    their thumbnail.
    """
    for row in await tx.fetchall(sql.EXPIRED_INTENTS, now=micros(now), limit=limit):
        await _expire(tx, row)
    condemned = [
        (Cid(row["cid"]), Network(row["network"]))
        for row in await tx.fetchall(sql.ALL_CONDEMNED, limit=limit)
    ]
    candidates = await tx.fetchall(
        sql.DETACHED_BEFORE, before=micros(detached_before), limit=limit - len(condemned)
    )
    for row in candidates:
        cid, network = Cid(row["cid"]), Network(row["network"])
        if await _condemn(tx, cid, network, now, detached_before):
            condemned.append((cid, network))
    return condemned


async def purge(tx: Transaction, cid: Cid, network: Network) -> None:
    """Delete the record of a condemned document after the document itself is destroyed."""
    await release(tx, await tx.fetchone(sql.PURGE, cid=cid, network=network.value))


async def detach_strays(
    tx: Transaction, cids: Sequence[Cid], network: Network, at: datetime
) -> int:
    """Detach the documents that the catalog does not know; returns how many there were."""
    found = 0
    for cid in cids:
        row = await tx.fetchone(
            sql.DETACH_STRAY, cid=cid, network=network.value, detached_at=micros(at)
        )
        found += row is not None
    return found


async def prune_replays(tx: Transaction, before: datetime) -> None:
    """Forget deliveries, logins and rate limits that are too old to matter."""
    await tx.execute(sql.FORGET_DELIVERIES, before=micros(before))
    await tx.execute(sql.FORGET_LOGINS, before=micros(before))
    await tx.execute(sql.FORGET_RATE_LIMITS, before=micros(before))


async def compare_usage(tx: Transaction) -> list[Usage]:
    """By how much the records of each signer differ from what counts for it."""
    rows = await tx.fetchall(sql.COMPARE_USAGE)
    return [Usage(row["owner"], row["used_bytes"], row["drafts"]) for row in rows]


async def correct_usage(tx: Transaction, differences: Sequence[Usage]) -> None:
    """Add differences; what was counted since they were found stays counted."""
    for usage in differences:
        await count_usage(tx, usage.owner, usage.bytes, drafts=usage.drafts)


async def _expire(tx: Transaction, intent: Row) -> None:
    """End an intent; its document counts for the signer until it is destroyed."""
    if await tx.fetchone(sql.END_INTENT, id=intent["id"]) is None:
        # Its write took effect since it was read.
        return
    detached = await tx.fetchone(
        sql.DETACH_UNLESS_KNOWN,
        cid=intent["cid"],
        network=intent["network"],
        detached_at=_NEVER_ATTACHED,
        owner=intent["signer"],
        size=intent["size"],
    )
    await _abandon(tx, intent, 0 if detached is not None else intent["size"])


async def _abandon(tx: Transaction, intent: Row, size: int) -> None:
    """Undo what an intent without effect counts for, of its bytes so many."""
    drafts = 1 if intent["action"] == Action.CREATE else 0
    if size or drafts:
        await count_usage(tx, intent["signer"], -size, drafts=-drafts)


async def _condemn(
    tx: Transaction, cid: Cid, network: Network, now: datetime, detached_before: datetime
) -> bool:
    await tx.lock(document_lock(cid, network))
    user = sql.LIVE_DOCUMENT if network is Network.PRIVATE else sql.THUMBNAIL_OF_LIVE
    used = await tx.fetchone(user, cid=cid)
    running = await tx.fetchone(sql.RUNNING_INTENT, cid=cid, network=network.value, now=micros(now))
    if used is not None or running is not None:
        await reattach(tx, cid, network)
        return False
    # It may have been attached and detached again since the candidates were read.
    still = await tx.fetchone(
        sql.CONDEMN, cid=cid, network=network.value, before=micros(detached_before)
    )
    if still is None:
        return False
    # A write that is late must not take effect after its document was destroyed.
    for late in await tx.fetchall(sql.END_INTENTS_FOR, cid=cid, network=network.value):
        await _abandon(tx, late, late["size"])
    if network is Network.PUBLIC:
        await tx.execute(sql.FORGET_THUMBNAIL, cid=cid)
    else:
        for row in await tx.fetchall(sql.FORGET_VERSION, cid=cid):
            await tx.execute(sql.FORGET_EMPTY_GROUP, id=row["group_id"])
    return True
