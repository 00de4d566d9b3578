"""Rules for garbage: documents that nothing refers to are condemned, and purged once destroyed.

They hold whoever runs them at the same time: see docs/decisions/collector-without-lease.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from imprint.adapters.catalog import sql
from imprint.adapters.catalog.files import count_usage, reattach, release
from imprint.adapters.catalog.transaction import (
    Row,
    Transaction,
    document_lock,
    micros,
    moment_of,
)
from imprint.domain.drafts.files import Action, Network
from imprint.domain.formats.cids import Cid
from imprint.ports.garbage import Condemned, GarbageReport, PurgeOutcome


@dataclass(frozen=True, slots=True)
class Usage:
    """Bytes and drafts of an owner."""

    owner: str
    bytes: int
    drafts: int


_NEVER_ATTACHED = 0
"""The `detached_at` of the document of an expired intent: earlier than any other."""


_BEFORE_ALL = Condemned(Cid(""), Network.PRIVATE, -1)
"""Before every condemned document in their order."""


async def read_fence(tx: Transaction) -> int:
    """How many transactions have condemned documents."""
    row = await tx.fetchone(sql.FENCE)
    return 0 if row is None else int(row["value"])


async def condemn_documents(  # noqa: PLR0917  a rule takes its values in order
    tx: Transaction,
    by_server: bool,
    now: datetime,
    detached_before: datetime,
    limit: int,
    after: Condemned | None,
) -> list[Condemned]:
    """Up to `limit` documents to be destroyed, those condemned before first.

    With `by_server`, a clock that is ahead of the server's one is set right, so that it cannot cut
    the grace period short.

    A document that something refers to again is no longer detached. The version of a condemned
    document is deleted, so that nothing can restore it, and groups without a live file lose it as
    their thumbnail.
    """
    if by_server:
        ahead = await _time_ahead(tx, now)
        now, detached_before = now - ahead, detached_before - ahead
    for row in await tx.fetchall(sql.EXPIRED_INTENTS, now=micros(now), limit=limit):
        await _expire(tx, row)
    last = after or _BEFORE_ALL
    listed = await tx.fetchall(
        sql.ALL_CONDEMNED, fence=last.fence, cid=last.cid, network=last.network.value, limit=limit
    )
    known = [Condemned(Cid(row["cid"]), Network(row["network"]), row["fence"]) for row in listed]
    candidates = await tx.fetchall(
        sql.DETACHED_BEFORE, before=micros(detached_before), limit=limit - len(known)
    )
    unfenced = [each for each in known if not each.fence]
    if not candidates and not unfenced:
        return known
    (raised,) = await tx.fetchall(sql.RAISE_FENCE)
    fence = int(raised["value"])
    fenced = [each for each in known if each.fence]
    # Processes of an earlier release have condemned these.
    fenced += [
        Condemned(old.cid, old.network, fence)
        for old in unfenced
        if await tx.fetchone(sql.SET_FENCE, cid=old.cid, network=old.network.value, fence=fence)
    ]
    for row in candidates:
        new = Condemned(Cid(row["cid"]), Network(row["network"]), fence)
        if await _condemn(tx, new, now, detached_before):
            fenced.append(new)
    return sorted(fenced, key=lambda each: (each.fence, each.cid, each.network.value))


async def is_condemned(tx: Transaction, condemned: Condemned) -> bool:
    """Whether this condemnation still holds, and nothing refers to the document."""
    cid, network = condemned.cid, condemned.network
    row = await tx.fetchone(sql.CONDEMNED, cid=cid, network=network.value)
    if row is None or row["fence"] != condemned.fence:
        return False
    return not await _is_used(tx, cid, network)


async def purge(tx: Transaction, condemned: Condemned) -> PurgeOutcome:
    """Delete the record of a condemnation, unless the document is wanted again.

    The caller holds the lock of the document, as everybody does who wants it.
    """
    cid, network = condemned.cid, condemned.network
    if await _is_used(tx, cid, network):
        await release(tx, await tx.fetchone(sql.TAKE_BACK, cid=cid, network=network.value))
        return PurgeOutcome.USED
    # One that has expired may still commit as long as nobody has ended it.
    if await _is_coming(tx, cid, network, 0):
        return PurgeOutcome.PENDING
    row = await tx.fetchone(sql.PURGE, cid=cid, network=network.value, fence=condemned.fence)
    await release(tx, row)
    return PurgeOutcome.PASSED if row is None else PurgeOutcome.PURGED


async def report_garbage(
    tx: Transaction, now: datetime, detached_before: datetime, limit: int
) -> GarbageReport:
    """What would be condemned now, and is already."""
    moments = {"now": micros(now), "before": micros(detached_before)}
    (due,) = await tx.fetchall(sql.COUNT_DUE, **moments)
    (waiting,) = await tx.fetchall(sql.COUNT_WAITING, before=moments["before"])
    first = await tx.fetchall(sql.LIST_DUE, **moments, limit=limit)
    return GarbageReport(
        due["count"],
        due["bytes"],
        waiting["count"],
        tuple((Cid(row["cid"]), Network(row["network"])) for row in first),
    )


async def find_strays(tx: Transaction, cids: Sequence[Cid], network: Network) -> list[Cid]:
    """Those of the documents that the catalog does not know."""
    return [
        cid
        for cid in cids
        if await tx.fetchone(sql.STRAY, cid=cid, network=network.value) is not None
    ]


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
    """Forget deliveries, logins, sessions and rate limits that are too old to matter.

    Sessions stay for as long after they expired as logins after they were made: a process whose
    clock is ahead must not forget that a session was ended while it is valid for the others.
    """
    await tx.execute(sql.FORGET_DELIVERIES, before=micros(before))
    await tx.execute(sql.FORGET_LOGINS, before=micros(before))
    await tx.execute(sql.FORGET_ENDED_SESSIONS, before=micros(before))
    await tx.execute(sql.FORGET_WRITING_SESSIONS, before=micros(before))
    await tx.execute(sql.FORGET_RATE_LIMITS, before=micros(before))


async def compare_usage(tx: Transaction) -> list[Usage]:
    """By how much the records of each signer differ from what counts for it."""
    rows = await tx.fetchall(sql.COMPARE_USAGE)
    return [Usage(row["owner"], row["used_bytes"], row["drafts"]) for row in rows]


async def correct_usage(tx: Transaction, differences: Sequence[Usage]) -> None:
    """Add differences; what was counted since they were found stays counted."""
    for usage in differences:
        await count_usage(tx, usage.owner, usage.bytes, drafts=usage.drafts)


async def _time_ahead(tx: Transaction, now: datetime) -> timedelta:
    """By how much a clock is ahead of the server's one."""
    (row,) = await tx.fetchall(sql.NOW, now=None)
    return max(now - moment_of(row["now"]), timedelta(0))


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
    tx: Transaction, new: Condemned, now: datetime, detached_before: datetime
) -> bool:
    cid, network = new.cid, new.network
    await tx.lock(document_lock(cid, network))
    if await _is_used(tx, cid, network) or await _is_coming(tx, cid, network, micros(now)):
        await reattach(tx, cid, network)
        return False
    # It may have been attached and detached again since the candidates were read.
    still = await tx.fetchone(
        sql.CONDEMN,
        cid=cid,
        network=network.value,
        before=micros(detached_before),
        fence=new.fence,
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


async def _is_used(tx: Transaction, cid: Cid, network: Network) -> bool:
    """Whether a live file refers to a document."""
    user = sql.LIVE_DOCUMENT if network is Network.PRIVATE else sql.THUMBNAIL_OF_LIVE
    return await tx.fetchone(user, cid=cid) is not None


async def _is_coming(tx: Transaction, cid: Cid, network: Network, now: int) -> bool:
    """Whether a write that has not expired by then is about to store a document."""
    running = await tx.fetchone(sql.RUNNING_INTENT, cid=cid, network=network.value, now=now)
    return running is not None
