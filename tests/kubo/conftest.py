"""Real Kubo nodes: one for all tests, and the workbench for the conformance tests."""

from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.kubo.node import KuboNode

from imprint.adapters.content.kubo import KuboStore
from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import Cid, Codec, codec_of, read_links
from imprint.domain.installation import Identity


class KuboWorkbench:
    """A content store on a real node, and that node's files."""

    def __init__(self, node: KuboNode) -> None:
        self.node = node
        self.store = KuboStore(node.api)

    def open(self, identity: Identity) -> KuboStore:
        return KuboStore(self.node.api, identity=identity)

    async def empty(self) -> None:
        for line in (await self.node.run("pin", "ls", "--type=all", "--quiet")).split():
            with suppress(RuntimeError):
                # A block that is pinned only indirectly cannot be unpinned.
                await self.node.run("pin", "rm", line)
        await self.node.run("repo", "gc", "--quiet")

    async def reopen(self) -> None:
        await self.store.close()
        self.store = KuboStore(self.node.api)

    def tamper(self, cid: Cid, network: Network, document: bytes) -> None:
        if codec_of(cid) is Codec.RAW:
            self.node.block_file(cid).write_bytes(document)
            return
        for leaf in dict.fromkeys(read_links(self.node.block_file(cid).read_bytes())):
            path = self.node.block_file(leaf)
            size = path.stat().st_size
            path.write_bytes(document[:size])
            document = document[size:]


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[KuboNode]:
    running = KuboNode(tmp_path / "node")
    await running.start()
    yield running
    await running.stop()


@pytest.fixture
async def bench(node: KuboNode) -> AsyncIterator[KuboWorkbench]:
    workbench = KuboWorkbench(node)
    yield workbench
    await workbench.store.close()


@pytest.fixture
async def neighbours(tmp_path: Path) -> AsyncIterator[tuple[KuboNode, KuboNode]]:
    first, second = (KuboNode(tmp_path / name, swarm=True) for name in ("first", "second"))
    for node in (first, second):
        await node.start()
    addresses = (await first.run("id", "--format=<addrs>")).splitlines()
    await second.run("swarm", "connect", addresses[0])
    yield first, second
    for node in (first, second):
        await node.stop()
