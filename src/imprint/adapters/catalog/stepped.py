"""The catalog's port as steps: which steps each method is; how they run is up to the database."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from functools import partial
from typing import Protocol

from imprint.adapters.catalog import (
    adopting,
    drafts,
    following,
    keeping,
    keys,
    listing,
    nonces,
    pacing,
    settling,
)
from imprint.adapters.catalog import statements as sql
from imprint.adapters.catalog.steps import Steps, T, last_query
from imprint.domain.addresses import Address
from imprint.domain.cids import Cid
from imprint.domain.exports import ExportedFile
from imprint.domain.files import File, Intent, Network, Version, Write
from imprint.domain.lists import ListFilter
from imprint.domain.posts import (
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
from imprint.ports.archives import ImportOutcome, StoredDocument
from imprint.ports.content import KeyRecord

_UNKNOWN_REACH = 1_000_000
"""For a read that may look at any number of rows."""


class Snapshot(Protocol):
    """A database as it was at one moment."""

    async def read(self, steps: Steps[T]) -> T:
        """Run steps that change nothing."""
        ...


class CatalogBase(ABC):
    """All ports of a catalog, for a database that can run steps."""

    @abstractmethod
    async def _change(self, make: Callable[[], Steps[T]], durable: bool = True) -> T:
        """Run the steps in a transaction; without `durable` its commit need not be on the disk."""

    @abstractmethod
    async def _read(self, make: Callable[[], Steps[T]], reach: int = 0) -> T:
        """Run steps that change nothing and look at about so many rows."""

    async def _recall(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        """What `read` tells; a database may remember it for as long as nothing is committed."""
        return await read()

    @abstractmethod
    def _snapshot(self) -> AbstractAsyncContextManager["Snapshot"]:
        """All that was committed before, and nothing that is committed from now on."""

    async def walk_files(
        self, owner: Address | None, size: int
    ) -> AsyncIterator[list[ExportedFile]]:
        async with self._snapshot() as snapshot:
            files, last = await snapshot.read(adopting.walk(owner, -1, size))
            while files:
                yield files
                files, last = await snapshot.read(adopting.walk(owner, last, size))

    async def documents_after(
        self, network: Network, after: str, limit: int
    ) -> list[StoredDocument]:
        return await self._read(partial(adopting.list_documents, network, after, limit), limit)

    async def compare_file(self, exported: ExportedFile) -> ImportOutcome:
        return await self._read(partial(adopting.compare, exported))

    async def import_file(self, exported: ExportedFile) -> ImportOutcome:
        return await self._change(partial(adopting.adopt, exported))

    @abstractmethod
    async def probe(self) -> None:
        """Return if the catalog can be written to."""

    @abstractmethod
    async def close(self) -> None:
        """Finish what runs and let go."""

    async def begin_write(self, intent: Intent) -> int | None:
        return await self._change(partial(nonces.begin, intent), durable=False)

    async def check_nonce(self, signer: Address, nonce: str) -> None:
        await self._read(partial(nonces.refuse_spent, signer, nonce))

    async def admit(self, key: str, rate: Rate, now: datetime) -> None:
        await self._change(partial(pacing.admit, key, rate, now), durable=False)

    async def spend_login_nonce(self, address: Address, nonce: str, at: datetime) -> bool:
        return await self._change(partial(nonces.spend_login, address, nonce, at))

    async def add_draft(self, write: Write, intent: Intent, version: Version) -> File:
        return await self._change(partial(drafts.add_draft, write, intent, version))

    async def replace_draft(
        self, write: Write, intent: Intent, old: Cid, version: Version
    ) -> File | None:
        return await self._change(partial(drafts.replace_draft, write, intent, old, version))

    async def prepare_draft(
        self, write: Write, intent: Intent, cid: Cid, hashtags: Sequence[str]
    ) -> File | None:
        return await self._change(partial(drafts.prepare_draft, write, intent, cid, hashtags))

    async def delete_draft(self, write: Write, cid: Cid) -> File | None:
        return await self._change(partial(drafts.delete_draft, write, cid))

    async def file_by_cid(self, cid: Cid) -> File | None:
        steps = partial(listing.find, sql.FILE_BY_CID, {"cid": cid})
        return await self._recall(cid, partial(self._read, steps))

    async def file_by_post_id(self, post_id: int) -> File | None:
        steps = partial(listing.find, sql.FILE_BY_POST, {"post_id": str(post_id)})
        return await self._recall(post_id, partial(self._read, steps))

    async def list_files(self, which: ListFilter, before: int | None, limit: int) -> list[File]:
        page = (which, before, limit)
        return await self._recall(page, partial(self._list_files, *page))

    async def _list_files(self, which: ListFilter, before: int | None, limit: int) -> list[File]:
        plan = await self._read(partial(listing.plan_list, which, before, limit))
        if plan is None:
            return []
        return await self._read(partial(listing.read_list, plan), plan.reach)

    async def is_public(self, cid: Cid) -> bool:
        return await self._read(partial(listing.find_public, cid))

    async def apply_events(
        self,
        key: DeliveryKey | None,
        events: Sequence[PostCreated],
        dead_letters: Sequence[DeadLetter],
        at: datetime,
    ) -> ApplyResult:
        return await self._change(partial(settling.settle, key, events, dead_letters, at))

    async def condemn_documents(
        self, now: datetime, detached_before: datetime, limit: int
    ) -> list[tuple[Cid, Network]]:
        return await self._change(partial(keeping.condemn, now, detached_before, limit))

    async def purge(self, cid: Cid, network: Network) -> None:
        document = {"cid": cid, "network": network.value}
        await self._change(partial(last_query, sql.BURY, document))

    async def detach_strays(self, cids: Sequence[Cid], network: Network, at: datetime) -> int:
        return await self._change(partial(keeping.detach_strays, cids, network, at))

    async def prune_replays(self, before: datetime) -> None:
        await self._change(partial(keeping.prune_replays, before))

    async def cursor(self, chain_id: int) -> BlockRef | None:
        return await self._read(partial(following.read_mark, chain_id, following.STAND))

    async def final_block(self, chain_id: int) -> BlockRef | None:
        return await self._read(partial(following.read_mark, chain_id, following.FINAL))

    async def known_events(self, chain_id: int, first: int, last: int) -> list[KnownEvent]:
        return await self._read(partial(following.known_events, chain_id, first, last))

    async def unconfirmed_events(self, chain_id: int, limit: int) -> list[KnownEvent]:
        return await self._read(partial(following.unconfirmed_events, chain_id, limit))

    async def report_events(self, limit: int) -> EventReport:
        return await self._read(partial(following.report_events, limit), _UNKNOWN_REACH)

    async def advance(self, chain_id: int, step: Advance, at: datetime) -> ApplyResult:
        return await self._change(partial(following.advance, chain_id, step, at))

    async def take_lease(self, name: str, holder: str, now: datetime, until: datetime) -> bool:
        return await self._change(partial(following.take_lease, name, holder, now, until))

    async def release_lease(self, name: str, holder: str) -> None:
        await self._change(partial(following.release_lease, name, holder))

    async def wrapped_keys(self, after: str, limit: int) -> list[KeyRecord]:
        return await self._read(partial(keys.list_keys, after, limit))

    async def replace_keys(self, changes: Sequence[tuple[KeyRecord, bytes]]) -> int:
        return await self._change(partial(keys.replace_keys, changes))
