"""`Catalog` over any database: which rule each method runs, and under which locks."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Hashable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from imprint.adapters.catalog import (
    archives,
    chain_events,
    drafts,
    files,
    garbage,
    installation,
    leases,
    records,
    sql,
    usage,
)
from imprint.adapters.catalog.transaction import (
    CONDEMN_LOCK,
    Rule,
    T,
    Transaction,
    Ts,
    document_lock,
    event_locks,
    file_locks,
    micros,
    owner_lock,
    write_locks,
)
from imprint.domain.drafts.files import File, Intent, Network, Quota, Version, Write
from imprint.domain.errors import RateLimited, Unavailable
from imprint.domain.exports import ExportedFile
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.installation import Identity
from imprint.domain.posts.lists import ListFilter
from imprint.domain.posts.posts import (
    Advance,
    ApplyResult,
    BlockRef,
    DeadLetter,
    DeliveryKey,
    EventReport,
    KnownEvent,
    PostCreated,
)
from imprint.domain.rate_limits import Rate
from imprint.domain.sessions import Session
from imprint.ports.catalog import (
    NO_QUOTA,
    ImportOutcome,
    KeyRecord,
    Lease,
    StoredDocument,
    Usage,
    VerifiedRecord,
)
from imprint.ports.damage import Damage
from imprint.ports.garbage import Condemned, GarbageReport, PurgeOutcome

_UNKNOWN_REACH = 1_000_000
"""The `reach` of a read that may visit any number of rows."""

_PROBE_SECONDS = 2.0
"""How long a probe waits for its transaction."""

_SECOND = 1_000_000
"""Microseconds in a second: moments are stored in microseconds."""

ReadFor = Callable[[Session | None], Awaitable[T]]
"""A read that refuses the session if it was ended."""


class Snapshot(Protocol):
    """The database as it was at one moment."""

    async def read(self, rule: Rule[*Ts, T], *args: *Ts) -> T:
        """Run a rule that changes nothing."""
        ...


class CatalogBase(ABC):
    """`Catalog` for a database that can run rules in transactions."""

    identity: Identity
    damage: Damage

    @abstractmethod
    async def transact(
        self, locks: Collection[str], rule: Rule[*Ts, T], *args: *Ts, durable: bool = True
    ) -> T:
        """Take the locks, run a rule and commit; after a conflict the rule runs again.

        Without `durable` the commit survives a crash of the process but perhaps not a power loss.
        """

    @abstractmethod
    async def read(self, rule: Rule[*Ts, T], *args: *Ts, reach: int = 0) -> T:
        """Run a rule that changes nothing and visits about `reach` rows."""

    async def cached(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        """The result of `read`; a database may keep it under `key` until the next commit."""
        return await read()

    async def cached_for(self, session: Session | None, key: Hashable, read: ReadFor[T]) -> T:
        """The result of `read`, as in `cached`; refuses an ended session.

        `read` refuses it if it is given the session: what is kept needs another check.
        """
        return await read(session)

    @abstractmethod
    def snapshot(self) -> AbstractAsyncContextManager[Snapshot]:
        """Everything that is committed by now, and nothing that is committed later."""

    @abstractmethod
    async def close(self) -> None:
        """Finish running transactions and close every connection."""

    @abstractmethod
    def lease_now(self) -> int | None:
        """What leases take for now, in microseconds; None is the time of the database's server."""

    async def probe(self, *, grow: bool = False) -> None:
        # Every commit of SQLite makes its log longer, so this one does what `grow` asks for.
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                await self.transact((), _beat, durable=False)
        except TimeoutError as error:
            raise Unavailable.database() from error

    async def probe_reads(self) -> None:
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                await self.read(_read_beat)
        except TimeoutError as error:
            raise Unavailable.database() from error

    # Signed writes

    async def check_nonce(self, signer: Address, nonce: str) -> None:
        await self.read(drafts.refuse_spent, signer, nonce)

    async def open_write(
        self, write: Write, rate: Rate | None, key: str, cid: Cid | None = None
    ) -> File | None:
        if write.session is not None:
            await self.read(drafts.refuse_revoked, write.session)
        if rate is not None:
            await self.admit(key, rate, write.at)
        await self.check_nonce(write.signer, write.nonce)
        return None if cid is None else await self.file_by_cid(cid)

    async def open_create(
        self, write: Write, rate: Rate | None, key: str, intent: Intent, quota: Quota
    ) -> int | None:
        await self.open_write(write, rate, key)
        return await self.begin_write(intent, quota)

    async def begin_write(self, intent: Intent, quota: Quota = NO_QUOTA) -> int | None:
        locks = write_locks(intent.write, intent)
        return await self.transact(locks, drafts.begin_write, intent, quota, durable=False)

    async def add_draft(self, write: Write, intent: Intent, version: Version) -> File:
        locks = write_locks(write, intent)
        return await self.transact(locks, drafts.add_draft, write, intent, version)

    async def replace_draft(
        self,
        write: Write,
        intent: Intent,
        old: Cid,
        version: Version,
        known: File | None = None,
    ) -> File | None:
        locks = write_locks(write, intent, old)
        return await self.transact(locks, drafts.replace_draft, write, intent, old, version)

    async def prepare_draft(
        self,
        write: Write,
        intent: Intent,
        cid: Cid,
        hashtags: Sequence[str],
        known: File | None = None,
    ) -> File | None:
        locks = write_locks(write, intent)
        return await self.transact(locks, drafts.prepare_draft, write, intent, cid, hashtags)

    async def delete_draft(self, write: Write, cid: Cid, known: File | None = None) -> File | None:
        locks = write_locks(write, None, cid)
        return await self.transact(locks, drafts.delete_draft, write, cid)

    async def spend_login_nonce(self, address: Address, nonce: str, at: datetime) -> int | None:
        return await self.transact((), drafts.spend_login_nonce, address, nonce, at)

    async def admit(self, key: str, rate: Rate, now: datetime, cost: int = 1) -> None:
        await self.transact((), _admit, key, rate, now, cost, durable=False)

    async def charge(self, key: str, rate: Rate, count: int, now: datetime) -> None:
        await self.transact((), _charge, key, rate, count, now, durable=False)

    # Files and lists

    async def file_by_cid(self, cid: Cid, session: Session | None = None) -> File | None:
        file = await self.cached_for(
            session, cid, lambda unchecked: self.read(files.find_by_cid, cid, unchecked)
        )
        if file is None:
            self._refuse_miss()
        return file

    async def file_by_post_id(self, post_id: int, session: Session | None = None) -> File | None:
        file = await self.cached_for(
            session,
            post_id,
            lambda unchecked: self.read(files.find_by_post_id, post_id, unchecked),
        )
        if file is None:
            self._refuse_miss()
        return file

    def _refuse_miss(self) -> None:
        """Raise `Unavailable` if what was not found may be there: an index is damaged."""
        if self.damage.structure is not None:
            raise Unavailable.database()

    async def list_files(
        self, which: ListFilter, before: int | None, limit: int, session: Session | None = None
    ) -> list[File]:
        self._refuse_miss()

        async def read_list(unchecked: Session | None) -> list[File]:
            plan = await self.read(files.plan_list, which, before, limit)
            if plan is None:
                return []
            return await self.read(files.read_list, plan, unchecked, reach=plan.reach)

        return await self.cached_for(session, (which, before, limit), read_list)

    async def public_size(self, cid: Cid) -> int | None:
        size = await self.read(files.public_size, cid)
        if size is None:
            self._refuse_miss()
        return size

    async def wrapped_keys(self, after: str, limit: int) -> list[KeyRecord]:
        return await self.read(files.list_keys, after, limit)

    async def replace_keys(self, changes: Sequence[tuple[KeyRecord, bytes]]) -> int:
        return await self.transact((), files.replace_keys, changes)

    # Events of the chain

    async def apply_events(
        self,
        key: DeliveryKey | None,
        events: Sequence[PostCreated],
        dead_letters: Sequence[DeadLetter],
        at: datetime,
    ) -> ApplyResult:
        locks = event_locks(events)
        return await self.transact(locks, chain_events.apply_events, key, events, dead_letters, at)

    async def advance(self, chain_id: int, step: Advance, at: datetime) -> ApplyResult:
        # The authors of lost events are read first; then the rule takes all locks at once.
        locks = () if step.lost else event_locks(step.events)
        return await self.transact(locks, chain_events.advance, chain_id, step, at)

    async def cursor(self, chain_id: int) -> BlockRef | None:
        return await self.read(chain_events.read_mark, chain_id, chain_events.CURSOR)

    async def final_block(self, chain_id: int) -> BlockRef | None:
        return await self.read(chain_events.read_mark, chain_id, chain_events.FINAL)

    async def known_events(self, chain_id: int, first: int, last: int) -> list[KnownEvent]:
        return await self.read(
            chain_events.known_events, chain_id, first, last, reach=_UNKNOWN_REACH
        )

    async def newest_event_block(self, chain_id: int, last: int) -> BlockRef | None:
        return await self.read(chain_events.newest_event_block, chain_id, last)

    async def oldest_event_block(self, chain_id: int) -> BlockRef | None:
        return await self.read(chain_events.oldest_event_block, chain_id)

    async def unconfirmed_events(self, chain_id: int, limit: int) -> list[KnownEvent]:
        return await self.read(chain_events.unconfirmed_events, chain_id, limit)

    async def report_events(self, limit: int) -> EventReport:
        return await self.read(chain_events.report_events, limit, reach=_UNKNOWN_REACH)

    # Leases and garbage

    async def take_lease(self, name: str, holder: str, length: timedelta) -> bool:
        return await self.transact((), leases.take, self.lease_now, name, holder, length)

    async def release_lease(self, name: str, holder: str) -> None:
        await self.transact((), leases.release, self.lease_now, name, holder)

    async def find_lease(self, name: str) -> Lease | None:
        return await self.read(leases.find, self.lease_now, name)

    async def lease_age(self, name: str) -> timedelta | None:
        found = await self.find_lease(name)
        return None if found is None else max(-found.left, timedelta(0))

    async def fence(self) -> int:
        return await self.read(garbage.read_fence)

    async def condemn_documents(
        self, now: datetime, detached_before: datetime, limit: int, after: Condemned | None = None
    ) -> list[Condemned]:
        return await self.transact(
            CONDEMN_LOCK,
            garbage.condemn_documents,
            self.lease_now() is None,
            now,
            detached_before,
            limit,
            after,
        )

    async def is_condemned(self, condemned: Condemned) -> bool:
        return await self.read(garbage.is_condemned, condemned)

    async def purge(self, cid: Cid, network: Network, fence: int) -> PurgeOutcome:
        locks = document_lock(cid, network)
        return await self.transact(locks, garbage.purge, Condemned(cid, network, fence))

    async def report_garbage(
        self, now: datetime, detached_before: datetime, limit: int
    ) -> GarbageReport:
        return await self.read(
            garbage.report_garbage, now, detached_before, limit, reach=_UNKNOWN_REACH
        )

    async def find_strays(self, cids: Sequence[Cid], network: Network) -> list[Cid]:
        return await self.read(garbage.find_strays, cids, network, reach=4 * len(cids))

    async def detach_strays(self, cids: Sequence[Cid], network: Network, at: datetime) -> int:
        return await self.transact((), garbage.detach_strays, cids, network, at)

    async def recount_usage(self) -> int:
        async with self.snapshot() as snapshot:
            differences = await snapshot.read(garbage.compare_usage)
        if differences:
            await self.transact((), garbage.correct_usage, differences)
        return len(differences)

    async def measure_usage(self) -> Usage:
        async with self.snapshot() as snapshot:
            return await snapshot.read(usage.measure_usage)

    async def prune_replays(self, before: datetime) -> None:
        await self.transact((), garbage.prune_replays, before)

    # Checks of what is stored

    async def check_files(self) -> None:
        """Return: a server looks after its own files."""
        return

    async def examine(self) -> list[str]:
        return []

    async def warnings(self) -> list[str]:
        return []

    async def verify_records(self, after: int, limit: int) -> list[VerifiedRecord]:
        async with self.snapshot() as snapshot:
            return await snapshot.read(records.verify_records, after, limit)

    async def fill_checksums(self, file: File) -> None:
        locks = owner_lock(file.owner)
        await self.transact(locks, records.fill_checksums, file.id, durable=False)

    async def compare_tags(self) -> list[str]:
        async with self.snapshot() as snapshot:
            return await snapshot.read(records.compare_tags)

    # Archives

    async def walk_files(
        self, owner: Address | None, size: int
    ) -> AsyncIterator[list[ExportedFile]]:
        async with self.snapshot() as snapshot:
            page = await snapshot.read(archives.walk_files, owner, -1, size)
            while page:
                yield page
                last = page[-1].file.position
                page = await snapshot.read(archives.walk_files, owner, last, size)

    async def documents_after(
        self, network: Network, after: str, limit: int
    ) -> list[StoredDocument]:
        return await self.read(archives.documents_after, network, after, limit, reach=limit)

    async def compare_file(self, exported: ExportedFile) -> ImportOutcome:
        return await self.read(archives.compare_file, exported)

    async def import_file(
        self, exported: ExportedFile, thumbnail_size: int = 0, fence: int | None = None
    ) -> ImportOutcome:
        locks = file_locks(exported.file)
        if exported.event is not None:
            locks |= event_locks([exported.event])
        return await self.transact(locks, archives.import_file, exported, thumbnail_size, fence)

    # The installation

    async def note_claim(self) -> None:
        await self.transact((), installation.note_claim)
        self.identity = replace(self.identity, claimed=True)

    async def rename_installation(self, new_id: str) -> None:
        await self.transact((), installation.rename_installation, new_id)
        self.identity = Identity(new_id)

    async def count_known(self, cids: Sequence[Cid]) -> int:
        return await self.read(installation.count_known, cids)

    async def master_keys(self) -> frozenset[bytes] | None:
        return await self.read(installation.find_master_keys)

    async def note_master_keys(self, added: Collection[bytes], dropped: Collection[bytes]) -> None:
        locks = (installation.MASTER_KEYS_LOCK,)
        await self.transact(locks, installation.note_master_keys, added, dropped)

    async def has_wrapped_key(self, prefix: bytes) -> bool:
        return await self.read(installation.has_wrapped_key, prefix, reach=_UNKNOWN_REACH)


async def _beat(tx: Transaction) -> None:
    await tx.execute(sql.HEARTBEAT)


async def _read_beat(tx: Transaction) -> None:
    await tx.fetchone(sql.READ_HEARTBEAT)


async def _admit(tx: Transaction, key: str, rate: Rate, now: datetime, cost: int) -> None:
    """Count a request of a key, for all processes together. Raises `RateLimited`.

    One moment is stored for each key. A request moves it forward by its share of the period,
    starting from now if it has passed. A request that would move it more than a whole period
    ahead of now is refused. One that costs more than the whole rate takes the whole period.

    A moment for which the request would wait longer than a period was stored by a clock that was
    wrong, and counts as passed. One that is ahead by less may be of a process whose clock differs
    a little; if it counted as passed, the limits of all such processes would add up.
    """
    values = admission(key, rate, now, cost)
    if await tx.fetchone(sql.ADMIT, **values) is None:
        share, latest = values["share"], values["latest"]
        row = await tx.fetchone(sql.RATE_LIMIT, key=key)
        until = latest if row is None else row["until"]
        wait = -(-(until + share - latest) // _SECOND)
        # The row may have been changed after it refused this request.
        raise RateLimited(min(max(1, wait), rate.seconds))


def admission(key: str, rate: Rate, now: datetime, cost: int = 1) -> dict[str, Any]:
    """The values of `sql.ADMIT`."""
    moment, period = micros(now), rate.seconds * _SECOND
    share = period * min(cost, rate.count) // rate.count
    return {
        "key": key,
        "now": moment,
        "share": share,
        "first": moment + share,
        "latest": moment + period,
        "furthest": moment + 2 * period - share,
    }


async def _charge(tx: Transaction, key: str, rate: Rate, count: int, now: datetime) -> None:
    """Move the moment of a key forward by the shares of `count` requests, within its period."""
    share = rate.seconds * _SECOND // rate.count * count
    latest = micros(now) + rate.seconds * _SECOND
    await tx.execute(
        sql.CHARGE,
        key=key,
        now=micros(now),
        share=share,
        first=min(micros(now) + share, latest),
        latest=latest,
        furthest=latest + rate.seconds * _SECOND,
    )
