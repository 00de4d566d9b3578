"""The garbage collector destroys all due documents, even if one cannot be removed."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from tests.world import World, picture

from imprint.adapters.database.transaction import Transaction
from imprint.adapters.stores.files import COUNT_USAGE
from imprint.domain.drafts.files import Network
from imprint.domain.errors import Unavailable
from imprint.domain.formats.cids import Cid
from imprint.ports import ContentStore
from imprint.services.drafts.garbage_collector import RECOUNT_LEASE, UsageRecount

OTHER = "5e" * 16
"""The id of another installation."""


@dataclass(slots=True)
class Stubborn:
    """A store that cannot remove some documents."""

    store: ContentStore
    kept: set[str] = field(default_factory=set)

    there: bool = True

    async def remove(self, cid, network, fence=None):
        if cid in self.kept:
            raise Unavailable.storage()
        await self.store.remove(cid, network, fence)

    async def read(self, cid, network):
        return await self.store.read(cid, network)

    async def claimed_by(self, installation):
        return await self.store.claimed_by(installation)

    async def probe(self):
        if not self.there:
            raise Unavailable.storage()


async def detach(world: World, count: int) -> list[str]:
    alice, cids = world.wallet(1), []
    for _ in range(count):
        file = await world.create(alice)
        cids.append(file["cid"])
        assert (await world.send_delete(alice, file["cid"])).status_code == 200
    world.clock.advance(25 * 3600)
    return cids


async def miscount(world: World, owner: str) -> None:
    """Change the usage counters to wrong values."""

    async def charge(tx: Transaction) -> None:
        await tx.execute(COUNT_USAGE, owner=owner, bytes=1000, drafts=-1)

    await world.adapters.stores.database.transact((), charge)


async def test_a_recount_corrects_the_usage_of_a_signer(world: World) -> None:
    alice, stores = world.wallet(1), world.adapters.stores
    await world.create(alice)
    recount = UsageRecount(stores.garbage, stores.leases)
    assert await recount.recount() == 0
    await miscount(world, alice.address)
    assert await recount.recount() == 1
    assert await recount.recount() == 0


async def test_only_one_process_recounts_usage(world: World) -> None:
    alice, stores = world.wallet(1), world.adapters.stores
    await world.create(alice)
    await miscount(world, alice.address)
    assert await stores.leases.take_lease(RECOUNT_LEASE, "another", timedelta(minutes=1))
    recount = UsageRecount(stores.garbage, stores.leases)
    assert await recount.recount() == 0
    await stores.leases.release_lease(RECOUNT_LEASE, "another")
    assert await recount.recount() == 1


async def test_one_round_collects_several_batches(world: World) -> None:
    await detach(world, 5)
    collector = world.collector(batch=2)
    assert await collector.collect() == 5
    assert await collector.collect() == 0


async def test_a_document_that_cannot_be_removed_does_not_block_others(world: World) -> None:
    cids = await detach(world, 3)
    store = Stubborn(world.adapters.content, {cids[0]})
    collector = world.collector(content=store)
    assert await collector.collect() == 2
    store.kept.clear()
    assert await collector.collect() == 1


async def test_documents_that_cannot_be_removed_do_not_block_the_queue(world: World) -> None:
    cids = await detach(world, 7)
    store = Stubborn(world.adapters.content, set(cids[:4]))
    collector = world.collector(content=store, batch=2)
    assert await collector.collect() == 3
    store.kept.clear()
    assert await collector.collect() == 4


async def test_no_further_batch_is_marked_for_deletion_if_the_store_is_unavailable(
    world: World,
) -> None:
    cids = await detach(world, 5)
    store = Stubborn(world.adapters.content, set(cids), there=False)
    day, now = timedelta(hours=24), world.clock()
    collector = world.collector(content=store, batch=2)
    assert await collector.collect() == 0
    # A document that is not condemned is still known to the catalog, and an event could restore it.
    assert len(await world.adapters.stores.archives.documents_after(Network.PRIVATE, "", 10)) == 3
    assert (await world.adapters.stores.garbage.report_garbage(now, now - day, 0)).due == 5


async def test_nothing_is_destroyed_in_the_store_of_another_installation(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    cids = await detach(world, 3)
    stores, content, day = world.adapters.stores, world.adapters.content, timedelta(hours=24)
    collector = world.collector()
    own = stores.installation.identity.id
    assert await content.claim(OTHER, own) == OTHER
    assert await collector.collect() == 0
    assert "not this installation's" in caplog.text
    assert (await stores.garbage.report_garbage(world.clock(), world.clock() - day, 0)).due == 3
    for cid in cids:
        assert await content.read(cid, Network.PRIVATE) is not None
    assert await content.claim(own, OTHER) == own
    assert await collector.collect() == 3


async def test_nothing_is_destroyed_if_the_marker_or_the_store_is_missing(world: World) -> None:
    await detach(world, 1)
    collector = world.collector()
    marker = world.settings.storage.data_dir / "content" / "installation"
    marker.rename(marker.with_name("moved"))
    assert await collector.collect() == 0
    marker.with_name("moved").rename(marker)
    folder = marker.parent
    folder.rename(folder.with_name("unmounted"))
    with pytest.raises(Unavailable):
        await collector.collect()
    folder.with_name("unmounted").rename(folder)
    assert await collector.collect() == 1


@dataclass(slots=True)
class Careless:
    """A store that checks fences too early, so that a concurrent write can intervene."""

    store: ContentStore
    meanwhile: Callable[[], Awaitable[None]]
    puts: int = 0

    async def claimed_by(self, installation):
        return await self.store.claimed_by(installation)

    async def remove(self, cid, network, fence=None):
        await self.meanwhile()
        await self.store.remove(cid, network)

    async def read(self, cid, network):
        return await self.store.read(cid, network)

    async def put(self, cid, document, network, label=None, fence=0):
        self.puts += 1
        await self.store.put(cid, document, network, label, fence)


async def dropped_picture(world: World, image: bytes) -> tuple[str, str]:
    """A draft, and the cid of a picture that it no longer uses."""
    alice = world.wallet(1)
    draft = (await world.create(alice))["cid"]
    response = await world.send_publish(alice, draft, image=image)
    await world.publish(alice, draft)
    world.clock.advance(25 * 3600)
    return draft, response.json()["thumbnailCid"]


async def test_a_document_published_during_its_removal_is_restored(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    image = picture()
    draft, thumbnail = await dropped_picture(world, image)

    async def publish() -> None:
        response = await world.send_publish(world.wallet(1), draft, image=image)
        assert response.json()["thumbnailCid"] == thumbnail

    store = Careless(world.adapters.content, publish)
    collector = world.collector(content=store)
    assert await collector.collect() == 0
    assert store.puts == 1
    assert (await world.client.get(f"/ipfs/{thumbnail}")).status_code == 200
    (record,) = [each for each in caplog.records if each.levelname == "CRITICAL"]
    assert "restored" in record.getMessage()


async def test_concurrent_removal_by_two_collectors_is_not_mistaken_for_a_write(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    _, thumbnail = await dropped_picture(world, picture())
    adapters = world.adapters

    async def collect() -> None:
        other = world.collector(timedelta(0))
        assert await other.destroy_due() > 0

    store = Careless(adapters.content, collect)
    collector = world.collector(content=store)
    assert await collector.collect() == 0
    assert store.puts == 0
    assert await adapters.content.read(Cid(thumbnail), Network.PUBLIC) is None
    assert not [each for each in caplog.records if each.levelname == "CRITICAL"]


async def test_a_document_dropped_again_during_its_removal_stays_destroyed(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    image, alice = picture(), world.wallet(1)
    draft, thumbnail = await dropped_picture(world, image)

    class Slow(Careless):
        """A store that does not look for the document until its author has dropped it again."""

        async def read(self, cid, network):
            if is_published:
                await world.publish(alice, draft)
            return await self.store.read(cid, network)

    is_published = False

    async def publish() -> None:
        nonlocal is_published
        is_published = True
        response = await world.send_publish(alice, draft, image=image)
        assert response.json()["thumbnailCid"] == thumbnail

    store = Slow(world.adapters.content, publish)
    collector = world.collector(content=store)
    assert await collector.collect() == 0
    assert is_published
    assert store.puts == 0
    assert not [each for each in caplog.records if each.levelname == "CRITICAL"]
