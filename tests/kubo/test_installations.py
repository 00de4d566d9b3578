"""Installations that share a real Kubo node: the tests of the double, and whole services."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from tests.adapters.content.test_content_shared import *  # noqa: F403 — the same tests, another store
from tests.adapters.content.workbenches import FIRST, SECOND, mark
from tests.kubo.conftest import KuboWorkbench
from tests.kubo.node import KuboNode
from tests.world import open_world, picture

from imprint.adapters.content.kubo import write_marker
from imprint.domain.cids import document_cid
from imprint.domain.errors import CannotStart, Unavailable
from imprint.domain.files import Network
from imprint.services.garbage_collector import GarbageCollector

KEY = "5c7d1f0e93ab48260d51be7fa94c836217e0db3f68a5924cc1f7053eb8d26a94"
DAY = timedelta(hours=24)


@pytest.fixture
def shared(bench: KuboWorkbench) -> KuboWorkbench:
    return bench


async def test_two_services_publish_the_same_thumbnail_and_one_destroys_it(
    tmp_path: Path, node: KuboNode
) -> None:
    given = {"CONTENT_STORE": f"kubo:{node.api}", "ENCRYPTION_KEY": KEY}
    async with (
        open_world(tmp_path / "one", **given) as one,
        open_world(tmp_path / "other", **given) as other,
    ):
        author = one.wallet(0)
        files = [await world.create(author, "Words.") for world in (one, other)]
        image, thumbnails = picture(), set()
        for world, file in zip((one, other), files, strict=True):
            response = await world.send_publish(author, file["cid"], image=image)
            thumbnails.add(response.json()["thumbnailCid"])
        (thumbnail,) = thumbnails
        assert (await one.send_delete(author, files[0]["cid"])).status_code == 200
        one.clock.advance(25 * 3600)
        adapters = one.adapters
        await GarbageCollector(adapters.catalog, adapters.content, one.clock, DAY).collect()
        await node.run("repo", "gc", "--quiet")
        assert (await one.client.get(f"/ipfs/{thumbnail}")).status_code == 404
        assert (await other.client.get(f"/ipfs/{thumbnail}")).status_code == 200


async def test_storing_and_destroying_at_once_loses_nothing(bench: KuboWorkbench) -> None:
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
        # Either may be unavailable and is repeated then, as by the collector and by clients.
        assert isinstance(removed, Unavailable | None)
        assert isinstance(stored, Unavailable | None)
        if stored is not None:
            await second.put(cid, document, Network.PUBLIC)
        if removed is not None:
            await first.remove(cid, Network.PUBLIC)
        assert await second.read(cid, Network.PUBLIC) == document
    await first.close()
    await second.close()


async def test_an_operator_can_read_a_marker(bench: KuboWorkbench) -> None:
    await bench.store.claim(FIRST.id)
    marker, _ = write_marker(FIRST.id)
    assert await bench.node.run("cat", marker) == f"imprint installation {FIRST.id}"


async def test_a_node_that_was_never_marked_is_refused(
    tmp_path: Path, neighbours: tuple[KuboNode, KuboNode]
) -> None:
    first, second = neighbours
    given = {"CONTENT_STORE": f"kubo:{first.api}", "ENCRYPTION_KEY": KEY}
    async with open_world(tmp_path / "data", **given) as world:
        await world.create(world.wallet(0), "Words.")
    with pytest.raises(CannotStart, match="imprint adopt"):
        async with open_world(
            tmp_path / "data", **(given | {"CONTENT_STORE": f"kubo:{second.api}"})
        ):
            pass
