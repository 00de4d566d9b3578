"""Fixtures: a catalog on each database, and authors who write to it."""

from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from tests.adapters.stores.databases import Database, PostgresqlServer, SqliteFile, open_any
from tests.postgresql import Server

from imprint.bootstrap.stores import Stores
from imprint.domain.drafts.files import Action, File, Intent, Network, Quota, Version, Write
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.indexed_posts import ListFilter
from imprint.domain.posts.posts import (
    DeadLetter,
    DeliveryKey,
    EventStatus,
    LogPosition,
    PostCreated,
)
from imprint.ports import Monotonic
from imprint.ports.drafts import NO_QUOTA, PurgeOutcome

START = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
LEASE = timedelta(minutes=10)
ALICE = Address("0x" + "a1" * 20)
BOB = Address("0x" + "b0" * 20)


@dataclass
class World:
    """One catalog, a manual clock, and a source of unique numbers."""

    stores: Stores
    now: datetime = START
    alice: Address = ALICE
    bob: Address = BOB
    quota: Quota = NO_QUOTA
    fences: dict[tuple[Cid, Network], int] = field(default_factory=dict)
    _next: Iterable[int] = field(default_factory=lambda: count(1))

    def number(self) -> int:
        return next(iter(self._next))

    def cid(self) -> Cid:
        return Cid(f"bafy{self.number()}")

    def later(self, **by: float) -> datetime:
        self.now += timedelta(**by)
        return self.now

    def write(self, action: Action, owner: Address = ALICE, nonce: str | None = None) -> Write:
        return Write(owner, action, nonce or f"{owner}_{self.number()}", self.now)

    def version(self, owner: Address = ALICE, group_id: str | None = None) -> Version:
        n = self.number()
        return Version(
            f"file-{n}", group_id or f"group-{n}", owner, n, Cid(f"bafy{n}"), 10 + n, self.now
        )

    def intent(
        self,
        write: Write,
        cid: Cid,
        network: Network = Network.PRIVATE,
        number: int | None = None,
        size: int = 10,
    ) -> Intent:
        name = f"intent-{self.number()}"
        return Intent(name, write, cid, size, network, self.now + LEASE, number)

    async def begin(self, write: Write, version: Version) -> Intent:
        intent = self.intent(write, version.cid, number=version.number, size=version.size)
        if await self.stores.drafts.begin_write(intent, self.quota) is not None:
            # Another process took the number first. Within one process, this cannot happen.
            intent = self.intent(write, version.cid, size=version.size)
            assert await self.stores.drafts.begin_write(intent, self.quota) is None
        return intent

    async def begin_thumbnail(self, write: Write, cid: Cid, size: int = 10) -> Intent:
        intent = self.intent(write, cid, Network.PUBLIC, size=size)
        assert await self.stores.drafts.begin_write(intent, self.quota) is None
        return intent

    async def draft(self, owner: Address = ALICE, nonce: str | None = None) -> File:
        write, version = self.write(Action.CREATE, owner, nonce), self.version(owner)
        intent = await self.begin(write, version)
        return await self.stores.drafts.add_draft(write, intent, version)

    async def update(self, old: File, nonce: str | None = None) -> File | None:
        write = self.write(Action.UPDATE, old.owner, nonce)
        version = self.version(old.owner, old.group_id)
        intent = await self.begin(write, version)
        return await self.stores.drafts.replace_draft(write, intent, old.cid, version, old)

    async def prepare(
        self,
        file: File,
        *hashtags: str,
        thumbnail: Cid | None = None,
        nonce: str | None = None,
    ) -> File | None:
        write = self.write(Action.PUBLISH, file.owner, nonce)
        intent = await self.begin_thumbnail(write, thumbnail or self.cid())
        return await self.stores.drafts.prepare_draft(write, intent, file.cid, hashtags, file)

    async def delete(self, file: File, nonce: str | None = None) -> File | None:
        write = self.write(Action.DELETE, file.owner, nonce)
        return await self.stores.drafts.delete_draft(write, file.cid, file)

    async def post(self, *hashtags: str, owner: Address = ALICE) -> File:
        file = await self.draft(owner)
        if hashtags:
            await self.prepare(file, *hashtags)
        assert await self.see(self.event(file)) == [EventStatus.ONCHAIN]
        return await self.live(file.cid)

    def event(
        self,
        file: File | Version,
        *,
        post_id: int | None = None,
        author: Address | None = None,
        block: int | None = None,
        block_hash: str | None = None,
        thumbnail: Cid | None = None,
    ) -> PostCreated:
        n = self.number()
        place = LogPosition(
            31337, block_hash or f"0x{n:064x}", n if block is None else block, 0, f"0x{n:064x}"
        )
        post = n if post_id is None else post_id
        return PostCreated(place, post, author or file.owner, f"Qm{file.cid}", file.cid, thumbnail)

    async def see(
        self,
        *events: PostCreated,
        key: DeliveryKey | None = None,
        letters: Iterable[DeadLetter] = (),
    ) -> list[EventStatus]:
        result = await self.stores.events.apply_events(key, events, tuple(letters), self.now)
        return list(result.statuses)

    async def live(self, cid: Cid) -> File:
        file = await self.stores.files.file_by_cid(cid)
        assert file is not None
        return file

    async def pages(self, which: ListFilter, size: int = 3) -> list[File]:
        files: list[File] = []
        before = None
        while page := await self.stores.files.list_files(which, before, size):
            files += page
            before = page[-1].position
        return files

    async def condemn(self, *, grace_hours: float = 24, limit: int = 100) -> set[tuple[Cid, str]]:
        before = self.now - timedelta(hours=grace_hours)
        found = await self.stores.garbage.condemn_documents(self.now, before, limit)
        self.fences |= {(each.cid, each.network): each.fence for each in found}
        return {(each.cid, each.network.value) for each in found}

    async def purge(self, cid: Cid, network: Network) -> PurgeOutcome:
        """Purge a document with the fence of its last deletion mark, or with 0 if it has none."""
        return await self.stores.garbage.purge(cid, network, self.fences.get((cid, network), 0))


@pytest.fixture(params=["sqlite", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    """The database on which a test of the port runs. Each test runs on both."""
    return str(request.param)


@pytest.fixture
def server(kind: str, request: pytest.FixtureRequest) -> Server | None:
    """The PostgreSQL server, started only if a test needs it."""
    return request.getfixturevalue("postgresql") if kind == "postgresql" else None


@pytest.fixture
async def database(server: Server | None, tmp_path: Path) -> Database:
    """The database of an empty catalog."""
    if server is None:
        return SqliteFile.migrated(tmp_path / "catalog.db")
    return await PostgresqlServer.clean(server)


Opener = Callable[..., Stores]


@pytest.fixture
async def open_another(database: Database) -> AsyncIterator[Opener]:
    """Open the same catalog again, like another process, optionally with a clock for leases."""
    opened: list[Stores] = []

    def open_one(clock: Monotonic | None = None) -> Stores:
        opened.append(open_any(database.address, clock))
        return opened[-1]

    yield open_one
    for stores in opened:
        await stores.close()


@pytest.fixture
async def world(open_another: Opener) -> World:
    return World(open_another())
