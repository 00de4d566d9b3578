"""Workbenches: a content store under test, with a way to tamper with its documents."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol, cast

from obstore.store import MemoryStore, ObjectStore
from tests.adapters.content.kubo_fake import KuboFake
from tests.adapters.content.pinata_fake import JWT, PinataFake
from tests.documents import change_document

from imprint.adapters.content.bucket import BucketStore
from imprint.adapters.content.bucket_client import BucketClient
from imprint.adapters.content.embedded import EmbeddedStore
from imprint.adapters.content.http_retry import RetryPolicy
from imprint.adapters.content.kubo import KuboStore
from imprint.adapters.content.pinata import Account, PinataStore
from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import Cid, Codec, Layout, codec_of
from imprint.domain.installation import UNNAMED, Identity
from imprint.ports import ContentStore, utc_now

UPLOADED_AT_ONCE = 8_000_000
"""Size in bytes up to which the in-memory bucket accepts a document without delay."""

SHORT_PAUSES = RetryPolicy(pause=0.001)
"""The production timeouts, but with short pauses, so that tests are fast."""

FIRST, SECOND = Identity("1a" * 16), Identity("2b" * 16)
"""Two installations that share a store."""

OLDEST = Identity("3c" * 16, owns_unnamed=True)
"""An installation that stored documents before it had an id."""


class Workbench(Protocol):
    """A store, and ways to tamper with it."""

    @property
    def store(self) -> ContentStore: ...

    async def reopen(self) -> None:
        """Close the store and reopen it on the same data."""
        ...

    def tamper(self, cid: Cid, network: Network, document: bytes) -> None:
        """Replace the bytes of a stored document, bypassing the store."""
        ...


class SharedWorkbench(Workbench, Protocol):
    """A backend that holds documents of several installations."""

    def open(self, identity: Identity) -> ContentStore:
        """Open the store of one installation. The test must close it."""
        ...

    async def empty(self) -> None:
        """Replace the backend with an empty node or account."""
        ...


class EmbeddedWorkbench:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = EmbeddedStore(root, utc_now)

    async def reopen(self) -> None:
        await self.store.close()
        self.store = EmbeddedStore(self.root, utc_now)

    def tamper(self, cid: Cid, network: Network, document: bytes) -> None:
        change_document(self.root, network, cid, document)


class _Distant:
    """A bucket with slow uploads of large documents, so that a write can be cancelled."""

    def __init__(self, objects: MemoryStore) -> None:
        self._objects = objects

    def __getattr__(self, name: str) -> Any:
        return getattr(self._objects, name)

    async def put_async(self, key: str, data: bytes, **given: Any) -> None:
        if len(data) > UPLOADED_AT_ONCE:
            await asyncio.sleep(0.2)
        await self._objects.put_async(key, data, **given)


class BucketWorkbench:
    """A store in obstore's in-memory bucket."""

    def __init__(self, identity: Identity = UNNAMED) -> None:
        self.objects = MemoryStore()
        self.identity = identity
        self.store = self.open(identity)

    def open(self, identity: Identity) -> BucketStore:
        client = BucketClient("memory", cast(ObjectStore, _Distant(self.objects)), SHORT_PAUSES)
        return BucketStore(client, policy=SHORT_PAUSES, identity=identity)

    async def reopen(self) -> None:
        await self.store.close()
        self.store = self.open(self.identity)

    def tamper(self, cid: Cid, network: Network, document: bytes) -> None:
        for page in self.objects.list(f"{network}/{cid}"):
            for each in page:
                self.objects.put(each["path"], document)


class KuboFakeWorkbench:
    """A store on a fake Kubo node in this process."""

    def __init__(self, fake: KuboFake, identity: Identity = UNNAMED) -> None:
        self.fake = fake
        self.identity = identity
        self.store = self.open(identity)

    def open(self, identity: Identity) -> KuboStore:
        return KuboStore(self.fake.address, policy=SHORT_PAUSES, identity=identity)

    async def empty(self) -> None:
        self.fake.pins.clear()
        self.fake.blocks.clear()

    async def reopen(self) -> None:
        await self.store.close()
        self.store = self.open(self.identity)

    def tamper(self, cid: Cid, network: Network, document: bytes) -> None:
        leaves = [each for each in self.fake.below(cid) if codec_of(each) is Codec.RAW]
        at = 0
        for leaf in dict.fromkeys(leaves):
            whole = len(leaves) == 1
            size = len(document) if whole else len(self.fake.blocks[leaf])
            self.fake.blocks[leaf] = document[at : at + size]
            at += size


class PinataWorkbench:
    """A store on a fake Pinata in this process."""

    def __init__(self, fake: PinataFake, public: bool, identity: Identity = UNNAMED) -> None:
        self.fake = fake
        self.public = public
        self.identity = identity
        self.store = self.open(identity)

    def open(self, identity: Identity = UNNAMED, policy: RetryPolicy = SHORT_PAUSES) -> PinataStore:
        origin = self.fake.origin
        account = Account(JWT, origin, f"{origin}/api/v3", f"{origin}/uploads/v3")
        return PinataStore(account, utc_now, public=self.public, policy=policy, identity=identity)

    async def empty(self) -> None:
        for files in self.fake.files.values():
            files.clear()

    async def reopen(self) -> None:
        await self.store.close()
        self.store = self.open(self.identity)

    def tamper(self, cid: Cid, network: Network, document: bytes) -> None:
        where = "public" if self.public else str(network)
        found = [
            each["cid"]
            for each in self.fake.files[where].values()
            if cid
            in (
                each["keyvalues"].get(f"imprint_{network}"),
                each["keyvalues"].get(f"imprint_{network}_{self.identity.id}"),
            )
        ]
        self.fake.contents[where, found[0]] = document


async def mark(store: ContentStore, identity: Identity) -> None:
    """Claim a store, as the service does at startup."""
    if identity.id:
        assert await store.claim(identity.id) == identity.id


@asynccontextmanager
async def open_embedded(path: Path) -> AsyncIterator[EmbeddedWorkbench]:
    workbench = EmbeddedWorkbench(path / "content")
    yield workbench
    await workbench.store.close()


@asynccontextmanager
async def open_bucket(path: Path, identity: Identity = UNNAMED) -> AsyncIterator[BucketWorkbench]:
    workbench = BucketWorkbench(identity)
    await mark(workbench.store, identity)
    yield workbench
    await workbench.store.close()


@asynccontextmanager
async def open_kubo_fake(
    path: Path, identity: Identity = UNNAMED
) -> AsyncIterator[KuboFakeWorkbench]:
    fake = KuboFake()
    await fake.start()
    workbench = KuboFakeWorkbench(fake, identity)
    try:
        await mark(workbench.store, identity)
        yield workbench
    finally:
        await workbench.store.close()
        await fake.stop()


@asynccontextmanager
async def open_pinata(
    path: Path,
    fake: PinataFake | None = None,
    public: bool = False,
    identity: Identity = UNNAMED,
) -> AsyncIterator[PinataWorkbench]:
    fake = fake or PinataFake()
    await fake.start()
    workbench = PinataWorkbench(fake, public, identity)
    try:
        await mark(workbench.store, identity)
        yield workbench
    finally:
        await workbench.store.close()
        await fake.stop()


def open_pinata_with_other_cids(path: Path) -> AbstractAsyncContextManager[PinataWorkbench]:
    """Open a Pinata account with its own chunk sizes, in which equal documents share one record."""
    layout = Layout(500_000, 7)
    return open_pinata(path, PinataFake(layout=layout, duplicates_share_a_record=True))


def open_public_pinata(path: Path) -> AbstractAsyncContextManager[PinataWorkbench]:
    """Open a Pinata account whose plan has no private files."""
    return open_pinata(path, public=True)


def open_shared_pinata(
    path: Path, identity: Identity = UNNAMED
) -> AbstractAsyncContextManager[PinataWorkbench]:
    """Open a Pinata account without private files, where equal documents share one record."""
    fake = PinataFake(duplicates_share_a_record=True)
    return open_pinata(path, fake, public=True, identity=identity)
