"""A real catalog, a scripted chain, and a follower that connects them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest
from tests.migrated_catalog import put_migrated_catalog
from tests.services.scripted_chain import CHAIN, ScriptedBlock, ScriptedChain, say_created
from tests.stores import open_sqlite_stores
from tests.world import MovableClock

from imprint.bootstrap.stores import Stores
from imprint.domain.drafts.files import Action, File, Intent, Network, State, Version, Write
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid, document_cid
from imprint.domain.posts.marketplace import decode_post_created
from imprint.domain.posts.posts import EventStatus, PostCreated
from imprint.ports import ChainReader
from imprint.services.access.entitlement import EntitlementWatcher
from imprint.services.chain.log_stream import LogStream
from imprint.services.posts.indexer import Indexer
from imprint.services.publication.chain_sync import Follower

ALICE = Address("0x" + "a1" * 20)
BOB = Address("0x" + "b2" * 20)
DEPTH = 8


@dataclass
class Ledger:
    """The catalog and the chain, with helpers that change both."""

    folder: Path
    clock: MovableClock = field(default_factory=MovableClock)
    chain: ScriptedChain = field(init=False)
    stores: Stores = field(init=False)
    follower: Follower = field(init=False)
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.chain = ScriptedChain(self.clock)
        put_migrated_catalog(self.folder / "catalog.db")
        self.stores = open_sqlite_stores(self.folder / "catalog.db", self.clock.monotonic)
        self.follower = self.new_follower()

    def new_follower(self, chain: ChainReader | None = None, depth: int = DEPTH) -> Follower:
        """Another follower, as in another process."""
        chain, elapsed = chain or self.chain, self.clock.monotonic
        stream, stores = LogStream(chain, elapsed), self.stores
        return Follower(stream, stores.events, stores.leases, self.clock, CHAIN, 0, depth)

    async def restart(self) -> None:
        """Close the catalog and open it again, with a new follower."""
        await self.stores.close()
        self.stores = open_sqlite_stores(self.folder / "catalog.db", self.clock.monotonic)
        self.clock.advance(10)
        self.follower = self.new_follower()

    async def draft(self, owner: Address = ALICE) -> File:
        number = next(self._numbers)
        write = self.write(Action.CREATE, owner)
        version = self._version(owner, number, f"group-{number}")
        return await self.stores.drafts.add_draft(write, await self._begin(write, version), version)

    async def update(self, old: File) -> File | None:
        write = self.write(Action.UPDATE, old.owner)
        version = self._version(old.owner, next(self._numbers), old.group_id)
        intent = await self._begin(write, version)
        return await self.stores.drafts.replace_draft(write, intent, old.cid, version)

    async def delete(self, file: File) -> File | None:
        return await self.stores.drafts.delete_draft(
            self.write(Action.DELETE, file.owner), file.cid
        )

    def write(self, action: Action, owner: Address) -> Write:
        return Write(owner, action, f"nonce-{next(self._numbers)}", self.clock.now())

    def _version(self, owner: Address, number: int, group_id: str) -> Version:
        cid = document_cid(f"Document {number}".encode())
        now = self.clock.now()
        return Version(f"file-{number}", group_id, owner, number, cid, 20, now)

    async def _begin(self, write: Write, version: Version) -> Intent:
        until = self.clock.now() + timedelta(minutes=10)
        name = f"intent-{next(self._numbers)}"
        intent = Intent(
            name, write, version.cid, version.size, Network.PRIVATE, until, version.number
        )
        assert await self.stores.drafts.begin_write(intent) is None
        return intent

    def post(self, file: File, post_id: int = 1) -> ScriptedBlock:
        """Mine a block in which the owner publishes this file."""
        return self.chain.mine(say_created(post_id, file.owner, file.cid))

    async def deliver(self, *events: PostCreated) -> list[EventStatus]:
        result = await self.stores.events.apply_events(None, events, (), self.clock.now())
        return list(result.statuses)

    async def deliver_block(self, block: ScriptedBlock) -> list[EventStatus]:
        return await self.deliver(*map(decode_post_created, block.logs))

    async def follow(self, rounds: int = 1) -> None:
        for _ in range(rounds):
            assert await self.follower.follow_once()

    async def state(self, file: File) -> State | None:
        found = await self.stores.files.file_by_cid(file.cid)
        return None if found is None else found.state

    async def post_id(self, file: File) -> int | None:
        found = await self.stores.files.file_by_cid(file.cid)
        return found.publication.post_id if found and found.publication else None

    async def holder(self, post_id: int) -> Cid | None:
        found = await self.stores.files.file_by_post_id(post_id)
        return None if found is None else found.cid


@asynccontextmanager
async def running(
    interval: float, *projections: Follower | Indexer | EntitlementWatcher
) -> AsyncIterator[None]:
    """Run projections, and the log stream of the first projection."""
    tasks = [asyncio.create_task(each.run()) for each in projections]
    tasks.append(asyncio.create_task(projections[0].stream.run(interval)))
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def wait_until(happened: Callable[[], Awaitable[bool]]) -> None:
    """Wait until `happened` returns true. Fails after half a minute."""
    async with asyncio.timeout(30):
        while not await happened():  # noqa: ASYNC110 - most of it has no event
            await asyncio.sleep(0.002)


def forge(event: PostCreated, **place: object) -> PostCreated:
    """A copy of the event at another position."""
    return replace(event, place=replace(event.place, **place))


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    opened = Ledger(tmp_path)
    yield opened
    await opened.stores.close()
