"""The catalog in a SQLite file, which several processes of one machine may share.

Reads run on the event loop: they walk an index and take microseconds, less than the way to a
thread and back. Lists by several common tags can take longer, and go to a thread of their own.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from pathlib import Path

from imprint.adapters.catalog import drafts, following, keeping, keys, listing, nonces, settling
from imprint.adapters.catalog import statements as sql
from imprint.adapters.catalog.backup import copy_catalog
from imprint.adapters.catalog.connecting import connect_reader, connect_writer
from imprint.adapters.catalog.schema import known_migrations, migrate
from imprint.adapters.catalog.steps import Steps, T, Unstorable, last_query
from imprint.adapters.catalog.writer import Writer, run_steps
from imprint.domain.addresses import Address
from imprint.domain.cids import Cid
from imprint.domain.files import File, Intent, Network, Version, Write
from imprint.domain.paging import ListFilter
from imprint.domain.posts import (
    Advance,
    BlockMark,
    DeadLetter,
    DeliveryKey,
    EventReport,
    KnownEvent,
    PostCreated,
    Settlement,
)
from imprint.domain.refusals import Unavailable
from imprint.sealing import KeyRecord

_log = logging.getLogger(__name__)

_LONG_REACH = 2_000
"""How many rows a read on the event loop may look at: about as many milliseconds as it may take."""

_PROBE_SECONDS = 2.0
"""How long a probe waits for the writer."""


def open_catalog(path: Path) -> "SqliteCatalog":
    """Open the catalog in this file, making it or bringing its schema up to date.

    Refuses with `NewerSchema` one that a newer version wrote.
    """
    try:
        writer = connect_writer(path)
        try:
            migrate(writer, known_migrations())
            return SqliteCatalog(path, writer)
        except BaseException:
            writer.close()
            raise
    except (sqlite3.Error, OSError) as error:
        _log.error("The catalog cannot be opened: %s", error)
        raise Unavailable.database() from error


class SqliteCatalog:
    """`Catalog` in SQLite."""

    def __init__(
        self, path: Path, writer: sqlite3.Connection, long_reach: int = _LONG_REACH
    ) -> None:
        self._path = path
        self._writing = writer
        self._writer = Writer(writer)
        self._reading = connect_reader(path)
        self._long_reading = connect_reader(path)
        self._long_reader = ThreadPoolExecutor(1, "catalog-reader")
        self._long_reach = long_reach
        self._closed = False

    @property
    def commits(self) -> int:
        """How many transactions this process has committed."""
        return self._writer.commits

    async def begin_write(self, intent: Intent) -> int | None:
        return await self._writer.commit(nonces.begin(intent), durable=False)

    async def check_nonce(self, signer: Address, nonce: str) -> None:
        self._read(nonces.refuse_spent(signer, nonce))

    async def spend_login_nonce(self, address: Address, nonce: str, at: datetime) -> bool:
        return await self._writer.commit(nonces.spend_login(address, nonce, at))

    async def add_draft(self, write: Write, intent: Intent, version: Version) -> File:
        return await self._writer.commit(drafts.add_draft(write, intent, version))

    async def replace_draft(
        self, write: Write, intent: Intent, old: Cid, version: Version
    ) -> File | None:
        return await self._writer.commit(drafts.replace_draft(write, intent, old, version))

    async def dress_draft(
        self, write: Write, intent: Intent, cid: Cid, hashtags: Sequence[str]
    ) -> File | None:
        return await self._writer.commit(drafts.dress_draft(write, intent, cid, hashtags))

    async def discard_draft(self, write: Write, cid: Cid) -> File | None:
        return await self._writer.commit(drafts.discard_draft(write, cid))

    async def file_by_cid(self, cid: Cid) -> File | None:
        return self._read(listing.find(sql.FILE_BY_CID, {"cid": cid}))

    async def file_by_post_id(self, post_id: int) -> File | None:
        return self._read(listing.find(sql.FILE_BY_POST, {"post_id": str(post_id)}))

    async def list_files(self, which: ListFilter, before: int | None, limit: int) -> list[File]:
        plan = self._read(listing.plan_list(which, before, limit))
        if plan is None:
            return []
        if plan.reach > self._long_reach:
            return await self._read_long(listing.read_list(plan))
        return self._read(listing.read_list(plan))

    async def is_public(self, cid: Cid) -> bool:
        return self._read(listing.find_public(cid))

    async def settle(
        self,
        key: DeliveryKey | None,
        events: Sequence[PostCreated],
        dead_letters: Sequence[DeadLetter],
        at: datetime,
    ) -> Settlement:
        return await self._writer.commit(settling.settle(key, events, dead_letters, at))

    async def condemn_documents(
        self, now: datetime, detached_before: datetime, limit: int
    ) -> list[tuple[Cid, Network]]:
        return await self._writer.commit(keeping.condemn(now, detached_before, limit))

    async def bury(self, cid: Cid, network: Network) -> None:
        document = {"cid": cid, "network": network.value}
        await self._writer.commit(last_query(sql.BURY, document))

    async def detach_strays(self, cids: Sequence[Cid], network: Network, at: datetime) -> int:
        return await self._writer.commit(keeping.detach_strays(cids, network, at))

    async def forget_replays(self, before: datetime) -> None:
        await self._writer.commit(keeping.forget_replays(before))

    async def probe(self) -> None:
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                await self._writer.commit(last_query(sql.BEAT, {}), durable=False)
        except TimeoutError as error:
            raise Unavailable.database() from error

    async def close(self) -> None:
        self._closed = True
        await self._writer.close()
        await asyncio.to_thread(self._long_reader.shutdown)
        for connection in (self._long_reading, self._reading, self._writing):
            connection.close()

    async def stand(self, chain_id: int) -> BlockMark | None:
        return self._read(following.read_mark(chain_id, following.STAND))

    async def final_block(self, chain_id: int) -> BlockMark | None:
        return self._read(following.read_mark(chain_id, following.FINAL))

    async def known_events(self, chain_id: int, first: int, last: int) -> list[KnownEvent]:
        return self._read(following.known_events(chain_id, first, last))

    async def unconfirmed_events(self, chain_id: int, limit: int) -> list[KnownEvent]:
        return self._read(following.unconfirmed_events(chain_id, limit))

    async def report_events(self, limit: int) -> EventReport:
        return await self._read_long(following.report_events(limit))

    async def advance(self, chain_id: int, step: Advance, at: datetime) -> Settlement:
        return await self._writer.commit(following.advance(chain_id, step, at))

    async def take_lease(self, name: str, holder: str, now: datetime, until: datetime) -> bool:
        return await self._writer.commit(following.take_lease(name, holder, now, until))

    async def release_lease(self, name: str, holder: str) -> None:
        await self._writer.commit(following.release_lease(name, holder))

    async def wrapped_keys(self, after: str, limit: int) -> list[KeyRecord]:
        return self._read(keys.list_keys(after, limit))

    async def replace_keys(self, changes: Sequence[tuple[KeyRecord, bytes]]) -> int:
        return await self._writer.commit(keys.replace_keys(changes))

    async def backup_to(self, path: Path) -> None:
        """Write a whole, consistent copy to `path` while others write; refuses one that exists."""
        await asyncio.to_thread(_translated, partial(copy_catalog, self._path, path))

    def _read(self, steps: Steps[T]) -> T:
        return _translated(partial(run_steps, self._reading, steps))

    async def _read_long(self, steps: Steps[T]) -> T:
        if self._closed:
            raise Unavailable.database()
        read = partial(run_steps, self._long_reading, steps)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._long_reader, partial(_translated, read))


def _translated(action: Callable[[], T]) -> T:
    try:
        return action()
    except FileExistsError:
        raise
    except (sqlite3.Error, OSError, Unstorable) as error:
        _log.error("The database did not answer: %s", error)
        raise Unavailable.database() from error
