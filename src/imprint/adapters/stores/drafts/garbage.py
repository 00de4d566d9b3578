"""`GarbageStore` in the database: marks unreferenced documents for deletion, and purges them.

The rules are correct with any number of concurrent callers: see
docs/decisions/collector-without-lease.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from imprint.adapters.database.database import UNKNOWN_REACH, Database
from imprint.adapters.database.transaction import (
    CONDEMN_LOCK,
    Row,
    Transaction,
    by_server_time,
    document_lock,
    micros,
    moment_of,
)
from imprint.adapters.stores.files import (
    PICTURE_IN_USE,
    TAKE_BACK,
    count_usage,
    reattach,
    release,
)
from imprint.adapters.stores.revisions import forget_revisions
from imprint.adapters.stores.signed_writes import CONDEMNED, END_INTENT
from imprint.domain.drafts.files import Action, Network
from imprint.domain.formats.cids import Cid
from imprint.ports.drafts import Condemned, GarbageReport, PurgeOutcome

# Detached documents, and documents marked for deletion

DETACH_UNLESS_KNOWN = """
INSERT INTO detached (cid, network, detached_at, owner, size)
VALUES (:cid, :network, :detached_at, :owner, :size)
ON CONFLICT DO NOTHING RETURNING 1"""
DETACH_STRAY = """
INSERT INTO detached (cid, network, detached_at)
SELECT :cid, :network, CAST(:detached_at AS BIGINT)
WHERE NOT EXISTS (SELECT 1 FROM files WHERE cid = :cid)
  AND NOT EXISTS (SELECT 1 FROM revisions WHERE cid = :cid)
  AND NOT EXISTS (SELECT 1 FROM file_groups WHERE thumbnail_cid = :cid)
  AND NOT EXISTS (SELECT 1 FROM profiles WHERE avatar_cid = :cid)
  AND NOT EXISTS (SELECT 1 FROM intents WHERE cid = :cid)
ON CONFLICT DO NOTHING RETURNING 1"""
STRAY = """
SELECT 1 AS stray WHERE NOT EXISTS (SELECT 1 FROM files WHERE cid = :cid)
  AND NOT EXISTS (SELECT 1 FROM revisions WHERE cid = :cid)
  AND NOT EXISTS (SELECT 1 FROM file_groups WHERE thumbnail_cid = :cid)
  AND NOT EXISTS (SELECT 1 FROM profiles WHERE avatar_cid = :cid)
  AND NOT EXISTS (SELECT 1 FROM intents WHERE cid = :cid)
  AND NOT EXISTS (SELECT 1 FROM detached WHERE cid = :cid AND network = :network)"""
SERVER_TIME = by_server_time("SELECT :now AS now")
FENCE = "SELECT value FROM counters WHERE name = 'fence'"
RAISE_FENCE = """
INSERT INTO counters (name, value) VALUES ('fence', 1)
ON CONFLICT (name) DO UPDATE SET value = counters.value + 1 RETURNING value"""
ALL_CONDEMNED = """
SELECT cid, network, fence FROM detached
WHERE condemned = 1 AND (fence, cid, network) > (:fence, :cid, :network)
ORDER BY fence, cid, network LIMIT :limit"""
SET_FENCE = """
UPDATE detached SET fence = :fence
WHERE cid = :cid AND network = :network AND condemned = 1 AND fence = 0 RETURNING 1"""
_DUE = """
FROM (
    SELECT cid, network, size FROM detached WHERE condemned = 1 OR detached_at < :before
    UNION
    SELECT i.cid, i.network, max(i.size) FROM intents i WHERE i.lease_until < :now
      AND NOT EXISTS (SELECT 1 FROM detached d WHERE d.cid = i.cid AND d.network = i.network)
    GROUP BY i.cid, i.network
) AS due
WHERE NOT EXISTS (SELECT 1 FROM intents i
                  WHERE i.cid = due.cid AND i.network = due.network AND i.lease_until >= :now)
  AND NOT (due.network = 'private' AND EXISTS (
      SELECT 1 FROM files f WHERE f.cid = due.cid AND f.state IN ('pending', 'onchain')))
  AND NOT (due.network = 'private' AND EXISTS (
      SELECT 1 FROM revisions r WHERE r.cid = due.cid))
  AND NOT (due.network = 'public' AND EXISTS (
      SELECT 1 FROM file_groups g JOIN files f ON f.group_id = g.id
      WHERE g.thumbnail_cid = due.cid AND f.state IN ('pending', 'onchain')))
  AND NOT (due.network = 'public' AND EXISTS (
      SELECT 1 FROM profiles a WHERE a.avatar_cid = due.cid))"""
COUNT_DUE = "SELECT count(*) AS count, CAST(coalesce(sum(size), 0) AS BIGINT) AS bytes" + _DUE
LIST_DUE = "SELECT cid, network" + _DUE + " ORDER BY network, cid LIMIT :limit"
COUNT_WAITING = """
SELECT count(*) AS count FROM detached WHERE condemned = 0 AND detached_at >= :before"""
DETACHED_BEFORE = """
SELECT cid, network FROM detached WHERE condemned = 0 AND detached_at < :before
ORDER BY detached_at, cid, network LIMIT :limit"""
EXPIRED_INTENTS = """
SELECT id, signer, action, cid, network, size FROM intents
WHERE lease_until < :now ORDER BY lease_until LIMIT :limit"""
RUNNING_INTENT = """
SELECT 1 FROM intents
WHERE cid = :cid AND network = :network AND lease_until >= :now LIMIT 1"""
LIVE_DOCUMENT = """
SELECT 1 FROM files WHERE cid = :cid AND state IN ('pending', 'onchain')
UNION ALL SELECT 1 FROM revisions WHERE cid = :cid LIMIT 1"""
END_INTENTS_FOR = """
DELETE FROM intents WHERE cid = :cid AND network = :network RETURNING signer, action, size"""
CONDEMN = """
UPDATE detached SET condemned = 1, fence = :fence
WHERE cid = :cid AND network = :network AND detached_at < :before RETURNING 1"""
PURGE = """
DELETE FROM detached
WHERE cid = :cid AND network = :network AND condemned = 1 AND fence = :fence
RETURNING owner, size, drafts"""
FORGET_VERSION = "DELETE FROM files WHERE cid = :cid RETURNING group_id"
FORGET_EMPTY_GROUP = """
DELETE FROM file_groups
WHERE id = :id AND NOT EXISTS (SELECT 1 FROM files WHERE group_id = :id)"""
FORGET_THUMBNAIL = """
UPDATE file_groups SET thumbnail_cid = NULL, thumbnail_size = 0 WHERE thumbnail_cid = :cid"""

# Expired records

FORGET_DELIVERIES = "DELETE FROM deliveries WHERE received_at < :before"
FORGET_LOGINS = "DELETE FROM login_nonces WHERE spent_at < :before"
FORGET_ENDED_SESSIONS = "DELETE FROM ended_sessions WHERE expires_at < :before"
FORGET_WRITING_SESSIONS = "DELETE FROM writing_sessions WHERE expires_at < :before"
FORGET_RATE_LIMITS = "DELETE FROM paces WHERE until < :before"
FORGET_FEEDS = "DELETE FROM private_feeds WHERE COALESCE(fetched_at, created_at) < :before"

# Usage of signers

COMPARE_USAGE = """
SELECT o.owner, coalesce(f.used_bytes, 0) - o.used_bytes AS used_bytes,
       coalesce(f.drafts, 0) - o.drafts AS drafts
FROM owners o LEFT JOIN (
    SELECT owner, CAST(sum(size) AS BIGINT) AS used_bytes, CAST(sum(draft) AS BIGINT) AS drafts
    FROM (
        SELECT f.owner, f.size + CASE WHEN g.thumbnail_cid IS NULL THEN 0 ELSE g.thumbnail_size END
               AS size, 1 AS draft
        FROM files f JOIN file_groups g ON g.id = f.group_id WHERE f.state = 'pending'
        UNION ALL SELECT address, avatar_size, 0 FROM profiles
        UNION ALL SELECT owner, size, 0 FROM revisions
        UNION ALL SELECT owner, size, drafts FROM detached WHERE owner IS NOT NULL
        UNION ALL SELECT signer, size, CASE action WHEN 'create' THEN 1 ELSE 0 END FROM intents
    ) AS counted GROUP BY owner
) AS f ON f.owner = o.owner
WHERE coalesce(f.used_bytes, 0) <> o.used_bytes OR coalesce(f.drafts, 0) <> o.drafts"""


_NEVER_ATTACHED = 0
"""`detached_at` of an expired intent's document: earlier than any other time."""


_BEFORE_ALL = Condemned(Cid(""), Network.PRIVATE, -1)
"""Cursor that precedes every document marked for deletion."""


@dataclass(frozen=True, slots=True)
class SqlGarbageStore:
    """Unreferenced documents of all owners."""

    database: Database

    async def fence(self) -> int:
        return await self.database.read(read_fence)

    async def condemn_documents(
        self, now: datetime, detached_before: datetime, limit: int, after: Condemned | None = None
    ) -> list[Condemned]:
        by_server = self.database.lease_now() is None
        return await self.database.transact(
            CONDEMN_LOCK, _condemn_documents, by_server, now, detached_before, limit, after
        )

    async def is_condemned(self, condemned: Condemned) -> bool:
        return await self.database.read(_is_condemned, condemned)

    async def purge(self, cid: Cid, network: Network, fence: int) -> PurgeOutcome:
        locks = document_lock(cid, network)
        return await self.database.transact(locks, _purge, Condemned(cid, network, fence))

    async def report_garbage(
        self, now: datetime, detached_before: datetime, limit: int
    ) -> GarbageReport:
        return await self.database.read(
            _report_garbage, now, detached_before, limit, reach=UNKNOWN_REACH
        )

    async def find_strays(self, cids: Sequence[Cid], network: Network) -> list[Cid]:
        return await self.database.read(_find_strays, cids, network, reach=4 * len(cids))

    async def detach_strays(self, cids: Sequence[Cid], network: Network, at: datetime) -> int:
        return await self.database.transact((), _detach_strays, cids, network, at)

    async def recount_usage(self) -> int:
        async def compare(tx: Transaction) -> list[Row]:
            return await tx.fetchall(COMPARE_USAGE)

        async def correct(tx: Transaction) -> None:
            # Usage that was counted after the differences were found is kept.
            for owner, used_bytes, drafts in differences:
                await count_usage(tx, owner, used_bytes, drafts=drafts)

        async with self.database.snapshot() as snapshot:
            differences = await snapshot.read(compare)
        if differences:
            await self.database.transact((), correct)
        return len(differences)

    async def prune_replays(self, before: datetime) -> None:
        await self.database.transact((), _prune_replays, before)

    async def prune_feeds(self, before: datetime) -> None:
        await self.database.change(FORGET_FEEDS, {"before": micros(before)})


async def read_fence(tx: Transaction) -> int:
    """Number of transactions that marked documents for deletion."""
    row = await tx.fetchone(FENCE)
    return 0 if row is None else int(row["value"])


async def _condemn_documents(  # noqa: PLR0917  a rule takes its values in order
    tx: Transaction,
    by_server: bool,
    now: datetime,
    detached_before: datetime,
    limit: int,
    after: Condemned | None,
) -> list[Condemned]:
    """Find up to `limit` documents to delete, starting with those already marked.

    With `by_server`, a clock ahead of the server's is corrected, so that it cannot shorten the
    grace period.

    A document that is referenced again is no longer detached. The version of a marked document is
    deleted, so that nothing can restore it, and groups without a live file lose the document as
    their thumbnail.
    """
    if by_server:
        ahead = await _time_ahead(tx, now)
        now, detached_before = now - ahead, detached_before - ahead
    expired = await tx.fetchall(EXPIRED_INTENTS, now=micros(now), limit=limit)
    # Lock the documents. Otherwise, a write could detach them at the same time and overwrite their
    # recorded owners.
    await tx.lock(set().union(*(document_lock(row["cid"], row["network"]) for row in expired)))
    for row in expired:
        await _expire(tx, row)
    last = after or _BEFORE_ALL
    listed = await tx.fetchall(
        ALL_CONDEMNED, fence=last.fence, cid=last.cid, network=last.network.value, limit=limit
    )
    known = [Condemned(Cid(row["cid"]), Network(row["network"]), row["fence"]) for row in listed]
    candidates = await tx.fetchall(
        DETACHED_BEFORE, before=micros(detached_before), limit=limit - len(known)
    )
    unfenced = [each for each in known if not each.fence]
    if not candidates and not unfenced:
        return known
    (raised,) = await tx.fetchall(RAISE_FENCE)
    fence = int(raised["value"])
    fenced = [each for each in known if each.fence]
    # Processes of an earlier release have marked these documents for deletion.
    fenced += [
        Condemned(old.cid, old.network, fence)
        for old in unfenced
        if await tx.fetchone(SET_FENCE, cid=old.cid, network=old.network.value, fence=fence)
    ]
    for row in candidates:
        new = Condemned(Cid(row["cid"]), Network(row["network"]), fence)
        if await _condemn(tx, new, now, detached_before):
            fenced.append(new)
    return sorted(fenced, key=lambda each: (each.fence, each.cid, each.network.value))


async def _is_condemned(tx: Transaction, condemned: Condemned) -> bool:
    cid, network = condemned.cid, condemned.network
    row = await tx.fetchone(CONDEMNED, cid=cid, network=network.value)
    if row is None or row["fence"] != condemned.fence:
        return False
    return not await _is_used(tx, cid, network)


async def _purge(tx: Transaction, condemned: Condemned) -> PurgeOutcome:
    """Remove the deletion mark of a document, unless the document is needed again.

    The caller holds the document's lock, as does everybody who needs the document.
    """
    cid, network = condemned.cid, condemned.network
    if await _is_used(tx, cid, network):
        await release(tx, await tx.fetchone(TAKE_BACK, cid=cid, network=network.value))
        return PurgeOutcome.USED
    # The write of an expired intent may still commit as long as nobody has ended the intent.
    if await _is_coming(tx, cid, network, 0):
        return PurgeOutcome.PENDING
    row = await tx.fetchone(PURGE, cid=cid, network=network.value, fence=condemned.fence)
    await release(tx, row)
    return PurgeOutcome.PASSED if row is None else PurgeOutcome.PURGED


async def _report_garbage(
    tx: Transaction, now: datetime, detached_before: datetime, limit: int
) -> GarbageReport:
    moments = {"now": micros(now), "before": micros(detached_before)}
    (due,) = await tx.fetchall(COUNT_DUE, **moments)
    (waiting,) = await tx.fetchall(COUNT_WAITING, before=moments["before"])
    first = await tx.fetchall(LIST_DUE, **moments, limit=limit)
    return GarbageReport(
        due["count"],
        due["bytes"],
        waiting["count"],
        tuple((Cid(row["cid"]), Network(row["network"])) for row in first),
    )


async def _find_strays(tx: Transaction, cids: Sequence[Cid], network: Network) -> list[Cid]:
    return [
        cid for cid in cids if await tx.fetchone(STRAY, cid=cid, network=network.value) is not None
    ]


async def _detach_strays(
    tx: Transaction, cids: Sequence[Cid], network: Network, at: datetime
) -> int:
    found = 0
    for cid in cids:
        row = await tx.fetchone(
            DETACH_STRAY, cid=cid, network=network.value, detached_at=micros(at)
        )
        found += row is not None
    return found


async def _prune_replays(tx: Transaction, before: datetime) -> None:
    """Delete deliveries, logins, sessions and rate limits that are too old to matter.

    Expired sessions are kept as long as logins, because a process whose clock is ahead must not
    forget an ended session that other processes still consider valid.
    """
    await tx.execute(FORGET_DELIVERIES, before=micros(before))
    await tx.execute(FORGET_LOGINS, before=micros(before))
    await tx.execute(FORGET_ENDED_SESSIONS, before=micros(before))
    await tx.execute(FORGET_WRITING_SESSIONS, before=micros(before))
    await tx.execute(FORGET_RATE_LIMITS, before=micros(before))


async def _time_ahead(tx: Transaction, now: datetime) -> timedelta:
    """How far a clock is ahead of the server's clock."""
    (row,) = await tx.fetchall(SERVER_TIME, now=None)
    return max(now - moment_of(row["now"]), timedelta(0))


async def _expire(tx: Transaction, intent: Row) -> None:
    """End an intent. The intent's document counts toward the signer's usage until it is deleted."""
    if await tx.fetchone(END_INTENT, id=intent["id"]) is None:
        # The intent's write took effect after the intent was read.
        return
    detached = await tx.fetchone(
        DETACH_UNLESS_KNOWN,
        cid=intent["cid"],
        network=intent["network"],
        detached_at=_NEVER_ATTACHED,
        owner=intent["signer"],
        size=intent["size"],
    )
    await _abandon(tx, intent, 0 if detached is not None else intent["size"])


async def _abandon(tx: Transaction, intent: Row, size: int) -> None:
    """Release what an ineffective intent reserved: `size` bytes, and a draft if it creates one."""
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
    # The document may have been attached and detached again since the candidates were read.
    still = await tx.fetchone(
        CONDEMN,
        cid=cid,
        network=network.value,
        before=micros(detached_before),
        fence=new.fence,
    )
    if still is None:
        return False
    # A late write must not take effect after its document was destroyed.
    for late in await tx.fetchall(END_INTENTS_FOR, cid=cid, network=network.value):
        await _abandon(tx, late, late["size"])
    if network is Network.PUBLIC:
        await tx.execute(FORGET_THUMBNAIL, cid=cid)
    else:
        for row in await tx.fetchall(FORGET_VERSION, cid=cid):
            await tx.execute(FORGET_EMPTY_GROUP, id=row["group_id"])
        await forget_revisions(tx, cid, micros(now))
    return True


async def _is_used(tx: Transaction, cid: Cid, network: Network) -> bool:
    """Whether a live file, a revision or a profile refers to a document."""
    user = LIVE_DOCUMENT if network is Network.PRIVATE else PICTURE_IN_USE
    return await tx.fetchone(user, cid=cid) is not None


async def _is_coming(tx: Transaction, cid: Cid, network: Network, now: int) -> bool:
    """Whether an unexpired write is about to store a document."""
    running = await tx.fetchone(RUNNING_INTENT, cid=cid, network=network.value, now=now)
    return running is not None
