"""Workbenches: a content store, and what only its maker can do to it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from tests.adapters.content.kubo_fake import KuboFake

from imprint.adapters.content.embedded import EmbeddedStore
from imprint.adapters.content.exchanges import Pace
from imprint.adapters.content.kubo import KuboStore
from imprint.domain.cids import Cid, Codec, codec_of
from imprint.domain.files import Network
from imprint.ports import ContentStore

HASTE = Pace(pause=0.001)
"""As patient as a service is, but with pauses that a test does not notice."""


class WallClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class Workbench(Protocol):
    """A store, and what only its maker can do to it."""

    @property
    def store(self) -> ContentStore: ...

    async def reopen(self) -> None:
        """Close the store, and open another one on what it left."""
        ...

    def tamper(self, cid: Cid, network: Network, document: bytes) -> None:
        """Put other bytes in the place of a stored document, behind the store's back."""
        ...


class EmbeddedWorkbench:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = WallClock()
        self.store = EmbeddedStore(root, self.clock)

    async def reopen(self) -> None:
        await self.store.close()
        self.store = EmbeddedStore(self.root, self.clock)

    def tamper(self, cid: Cid, network: Network, document: bytes) -> None:
        (path,) = (self.root / network).rglob(cid)
        path.write_bytes(document)


class KuboFakeWorkbench:
    """A store on a node in this process."""

    def __init__(self, fake: KuboFake) -> None:
        self.fake = fake
        self.store = KuboStore(fake.address, pace=HASTE)

    async def reopen(self) -> None:
        await self.store.close()
        self.store = KuboStore(self.fake.address, pace=HASTE)

    def tamper(self, cid: Cid, network: Network, document: bytes) -> None:
        leaves = [each for each in self.fake.below(cid) if codec_of(each) is Codec.RAW]
        at = 0
        for leaf in dict.fromkeys(leaves):
            whole = len(leaves) == 1
            size = len(document) if whole else len(self.fake.blocks[leaf])
            self.fake.blocks[leaf] = document[at : at + size]
            at += size


@asynccontextmanager
async def open_embedded(path: Path) -> AsyncIterator[EmbeddedWorkbench]:
    workbench = EmbeddedWorkbench(path / "content")
    yield workbench
    await workbench.store.close()


@asynccontextmanager
async def open_kubo_fake(path: Path) -> AsyncIterator[KuboFakeWorkbench]:
    fake = KuboFake()
    await fake.start()
    workbench = KuboFakeWorkbench(fake)
    yield workbench
    await workbench.store.close()
    await fake.stop()
