"""An object store that fails, hangs or dies loses no acknowledged write. Other writes get 503."""

import asyncio
import random
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.adapters.content.workbenches import FIRST
from tests.crash.authors import Author
from tests.faults.scene import LONG, TIMEOUT, open_scene
from tests.s3.conftest import BucketWorkbench, access_to
from tests.s3.flaky_proxy import FAULTS, open_proxy
from tests.s3.server import MinioServer
from tests.world import MovableClock, World, open_world, problem

from imprint.adapters.content.bucket import BucketStore, open_bucket
from imprint.domain.drafts.files import Network
from imprint.domain.errors import Unavailable
from imprint.domain.formats.cids import document_cid

SHARE = 0.3
AUTHORS = 8
SECONDS = 60.0 if LONG else 4.0
DOCUMENTS = 400 if LONG else 60
GENEROUS = 15.0
"""Seconds allowed on a busy machine for a refusal that normally takes about five seconds."""


async def store_all(store: BucketStore, documents: list[bytes]) -> list[bytes]:
    """Store documents, skip those refused as unavailable, and return the others."""
    stored = []
    for document in documents:
        try:
            await store.put(document_cid(document), document, Network.PRIVATE)
        except Unavailable:
            continue
        stored.append(document)
    return stored


@pytest.mark.parametrize("fault", FAULTS)
async def test_stored_documents_are_read_back_despite_faults(
    bench: BucketWorkbench, fault: str
) -> None:
    async with open_proxy(bench.server.port) as proxy:
        access = access_to(bench.server, bench.bucket, endpoint=proxy.endpoint)
        store = open_bucket(access, FIRST)
        await store.claim(FIRST.id)
        proxy.share, proxy.faults = SHARE, (fault,)
        few = 1 if fault == "silence" else 3
        documents = [b"%d" % number * (1 if number % 3 else 40_000) for number in range(8 * few)]
        stored = await store_all(store, documents)
        for document in documents:
            cid = document_cid(document)
            try:
                found = await store.read(cid, Network.PRIVATE)
            except Unavailable:
                continue
            assert found in ((document,) if document in stored else (document, None))
        proxy.share = 0.0
        for document in stored:
            assert await store.read(document_cid(document), Network.PRIVATE) == document
        for document in documents:
            await store.remove(document_cid(document), Network.PRIVATE)
        assert bench.keys() == ["private/installation"]
        await store.close()


async def test_most_operations_succeed_although_a_third_of_requests_fail(
    bench: BucketWorkbench,
) -> None:
    async with open_proxy(bench.server.port) as proxy:
        store = open_bucket(access_to(bench.server, bench.bucket, endpoint=proxy.endpoint), FIRST)
        await store.claim(FIRST.id)
        proxy.share = SHARE
        proxy.faults = tuple(each for each in FAULTS if each != "silence")
        documents = [b"document %d" % number for number in range(DOCUMENTS)]
        stored = await store_all(store, documents)
        assert len(stored) > 0.9 * DOCUMENTS, proxy.seen
        await store.close()


async def test_a_service_behind_a_failing_network_loses_nothing(
    tmp_path: Path, server: MinioServer
) -> None:
    bucket = server.make_bucket()
    async with open_proxy(server.port) as proxy:
        given = dict(server.settings(bucket, proxy.endpoint))
        async with open_scene(tmp_path, **given) as scene:
            replica, world = scene.replica(), scene.world
            await replica.start()
            proxy.share = SHARE
            authors = [Author(world, world.stranger(), random.Random(n)) for n in range(AUTHORS)]
            stopping = asyncio.Event()
            writing = [asyncio.create_task(each.write_until(stopping)) for each in authors]
            await asyncio.sleep(SECONDS)
            async with asyncio.timeout(TIMEOUT):
                while sum(each.outcomes["done"] for each in authors) <= AUTHORS:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
            proxy.share = 0.0
            stopping.set()
            await asyncio.gather(*writing)
            assert max(each.longest_refusal for each in authors) < GENEROUS
            await replica.wait_for(200)
            for secret in (given["S3_SECRET_ACCESS_KEY"], "Signature=", "X-Amz"):
                assert secret not in replica.log
        outcomes = sum((each.outcomes for each in authors), Counter())
        assert outcomes["done"] > AUTHORS, outcomes
        faults = [fault for each in authors for fault in each.faults]
        async with open_world(
            tmp_path / "data", clock=MovableClock(datetime.now(UTC)), **server.settings(bucket)
        ) as world:
            for author in authors:
                faults += await author.find_losses(world)
            await expect_tidy(world, sum(len(each.drafts) for each in authors))
        assert faults == []


async def expect_tidy(world: World, drafts: int) -> None:
    """Check that the bucket contains exactly the documents of the drafts once all leases have
    expired."""
    world.clock.advance(24 * 3600)
    content, catalog = world.adapters.content, world.adapters.stores
    assert isinstance(content, BucketStore)
    while await world.collector(timedelta(0)).collect():
        pass
    listed = [cid async for cid in content.list_documents(Network.PRIVATE)]
    strays = await catalog.garbage.find_strays(listed, Network.PRIVATE)
    # Documents that arrived after their collection are found by the scan for strays.
    assert len(listed) - len(strays) == drafts


async def test_requests_to_a_hung_or_dead_store_are_refused_in_time(
    tmp_path: Path, own_server: MinioServer
) -> None:
    given = own_server.settings(own_server.make_bucket())
    async with open_scene(tmp_path, **given) as scene:
        replica, world = scene.replica(), scene.world
        await replica.start()
        author = world.wallet(0)
        file = await world.create(author, "Words.")
        session = await world.login(author)
        for stop, go_on in (
            (own_server.freeze, own_server.thaw),
            (own_server.kill, own_server.start),
        ):
            stop()
            began = time.monotonic()
            refused = await asyncio.gather(
                world.send_create(author, "More words."),
                world.client.get("/fileByCid", params={"cid": file["cid"]}, headers=session),
            )
            assert time.monotonic() - began < GENEROUS
            assert problem(refused[0]) == (503, "storage_unavailable")
            # The text may be cached.
            assert refused[1].status_code in (200, 503)
            await replica.wait_for(503)
            await asyncio.to_thread(go_on)
            await replica.wait_for(200)
            await world.create(author, "New words.")
            response = await world.read_draft(author, file["cid"])
            assert response.json()["content"] == "Words."


async def test_a_service_waiting_for_a_hung_store_can_be_stopped(
    tmp_path: Path, own_server: MinioServer
) -> None:
    given = own_server.settings(own_server.make_bucket())
    async with open_scene(tmp_path, **given) as scene:
        replica, world = scene.replica(SHUTDOWN_SECONDS="1"), scene.world
        await replica.start()
        await world.create(world.wallet(0), "Words.")
        own_server.freeze()
        waiting = [
            asyncio.create_task(world.send_create(world.wallet(number))) for number in range(8)
        ]
        await asyncio.sleep(0.3)
        assert await asyncio.to_thread(replica.process.stop) == 0, replica.log
        await asyncio.gather(*waiting, return_exceptions=True)
        own_server.thaw()


async def test_a_service_starts_while_the_store_is_unreachable(
    tmp_path: Path, own_server: MinioServer
) -> None:
    given = own_server.settings(own_server.make_bucket())
    async with open_scene(tmp_path, **given) as scene:
        replica = scene.replica()
        own_server.kill()
        replica.process.spawn()
        await replica.wait_for(200, "/healthz")
        await replica.wait_for(503)
        refused = await scene.world.send_create(scene.world.wallet(0), "Words.")
        assert problem(refused) == (503, "storage_unavailable")
        await asyncio.to_thread(own_server.start)
        await replica.wait_for(200)
        # Nothing is stored in a bucket before it is marked, which happens some seconds later.
        for _ in range(600):
            if (await scene.world.send_create(scene.world.wallet(0))).status_code == 200:
                return
            await asyncio.sleep(0.1)
        raise AssertionError(replica.log)
