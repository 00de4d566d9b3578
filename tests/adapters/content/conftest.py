"""The content stores that have to pass the conformance tests, each on a workbench of its own."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import pytest

from imprint.adapters.content.embedded import EmbeddedStore
from imprint.domain.cids import Cid
from imprint.domain.files import Network
from imprint.ports import ContentStore


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


WORKBENCHES = {"embedded": EmbeddedWorkbench}


@pytest.fixture(params=WORKBENCHES)
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Workbench]:
    workbench = WORKBENCHES[request.param](tmp_path / "content")
    yield workbench
    await workbench.store.close()


@pytest.fixture
async def embedded(tmp_path: Path) -> AsyncIterator[EmbeddedWorkbench]:
    workbench = EmbeddedWorkbench(tmp_path / "content")
    yield workbench
    await workbench.store.close()
