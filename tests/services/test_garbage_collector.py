"""The garbage collector destroys everything that is due, even if one document cannot be removed."""

from dataclasses import dataclass, field
from datetime import timedelta

from tests.world import World

from imprint.adapters.catalog import sql
from imprint.adapters.catalog.catalog import CatalogBase
from imprint.adapters.catalog.transaction import Transaction
from imprint.domain.errors import Unavailable
from imprint.ports import ContentStore
from imprint.services.garbage_collector import RECOUNT_LEASE, GarbageCollector, UsageRecount


@dataclass(slots=True)
class Stubborn:
    """A store that cannot remove some documents."""

    store: ContentStore
    kept: set[str] = field(default_factory=set)

    async def remove(self, cid, network, fence=None):
        if cid in self.kept:
            raise Unavailable.storage()
        await self.store.remove(cid, network)


async def detach(world: World, count: int) -> list[str]:
    alice, cids = world.wallet(1), []
    for _ in range(count):
        file = await world.create(alice)
        cids.append(file["cid"])
        assert (await world.send_delete(alice, file["cid"])).status_code == 200
    world.clock.advance(25 * 3600)
    return cids


async def miscount(world: World, owner: str) -> None:
    """Count what is not there."""

    async def charge(tx: Transaction) -> None:
        await tx.execute(sql.COUNT_USAGE, owner=owner, bytes=1000, drafts=-1)

    assert isinstance(world.adapters.catalog, CatalogBase)
    await world.adapters.catalog.transact((), charge)


async def test_a_recount_corrects_what_counts_for_a_signer(world: World) -> None:
    alice, catalog = world.wallet(1), world.adapters.catalog
    await world.create(alice)
    recount = UsageRecount(catalog)
    assert await recount.recount() == 0
    await miscount(world, alice.address)
    assert await recount.recount() == 1
    assert await recount.recount() == 0


async def test_only_one_process_recounts(world: World) -> None:
    alice, catalog = world.wallet(1), world.adapters.catalog
    await world.create(alice)
    await miscount(world, alice.address)
    assert await catalog.take_lease(RECOUNT_LEASE, "another", timedelta(minutes=1))
    recount = UsageRecount(catalog)
    assert await recount.recount() == 0
    await catalog.release_lease(RECOUNT_LEASE, "another")
    assert await recount.recount() == 1


async def test_one_round_collects_several_batches(world: World) -> None:
    await detach(world, 5)
    adapters, day = world.adapters, timedelta(hours=24)
    collector = GarbageCollector(adapters.catalog, adapters.content, world.clock, day, batch=2)
    assert await collector.collect() == 5
    assert await collector.collect() == 0


async def test_a_document_that_cannot_be_removed_does_not_block_others(world: World) -> None:
    cids = await detach(world, 3)
    store = Stubborn(world.adapters.content, {cids[0]})
    collector = GarbageCollector(world.adapters.catalog, store, world.clock, timedelta(hours=24))
    assert await collector.collect() == 2
    store.kept.clear()
    assert await collector.collect() == 1
