"""Installations that share a real Kubo node: the same tests as with the fake, and races."""

import asyncio

import pytest
from tests.adapters.content.test_content_shared import *  # noqa: F403 — the same tests, another store
from tests.adapters.content.workbenches import FIRST, SECOND, mark
from tests.kubo.conftest import KuboWorkbench

from imprint.adapters.content.kubo import write_marker
from imprint.domain.drafts.files import Network
from imprint.domain.errors import Unavailable
from imprint.domain.formats.cids import document_cid


@pytest.fixture
def shared(bench: KuboWorkbench) -> KuboWorkbench:
    return bench


async def test_concurrent_puts_and_removals_lose_nothing(bench: KuboWorkbench) -> None:
    first, second = bench.open(FIRST), bench.open(SECOND)
    await mark(first, FIRST)
    await mark(second, SECOND)
    for number in range(20):
        document = f"{number}".encode() * (1 if number % 2 else 200_000)
        cid = document_cid(document)
        await first.put(cid, document, Network.PUBLIC)
        removed, stored = await asyncio.gather(
            first.remove(cid, Network.PUBLIC),
            second.put(cid, document, Network.PUBLIC),
            return_exceptions=True,
        )
        # Either call may raise `Unavailable`, and is then repeated, as the collector and clients
        # do.
        assert isinstance(removed, Unavailable | None)
        assert isinstance(stored, Unavailable | None)
        if stored is not None:
            await second.put(cid, document, Network.PUBLIC)
        if removed is not None:
            await first.remove(cid, Network.PUBLIC)
        assert await second.read(cid, Network.PUBLIC) == document
    await first.close()
    await second.close()


async def test_an_operator_can_read_a_marker_with_the_nodes_own_client(
    bench: KuboWorkbench,
) -> None:
    await bench.store.claim(FIRST.id)
    marker, _ = write_marker(FIRST.id)
    assert await bench.node.run("cat", marker) == f"imprint installation {FIRST.id}"
