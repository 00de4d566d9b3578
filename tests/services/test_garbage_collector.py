"""The janitor: everything that is due goes, and one document that resists holds up no other."""

from dataclasses import dataclass, field
from datetime import timedelta

from tests.world import World

from imprint.domain.errors import Unavailable
from imprint.ports import ContentStore
from imprint.services.garbage_collector import GarbageCollector


@dataclass(slots=True)
class Stubborn:
    """A store that will not let go of some documents."""

    store: ContentStore
    kept: set[str] = field(default_factory=set)

    async def remove(self, cid, network):
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


async def test_more_than_one_batch_goes_in_one_round(world: World) -> None:
    await detach(world, 5)
    parts, day = world.adapters, timedelta(hours=24)
    collector = GarbageCollector(parts.catalog, parts.content, world.clock, day, batch=2)
    assert await collector.collect() == 5
    assert await collector.collect() == 0


async def test_a_document_that_resists_holds_up_no_other(world: World) -> None:
    cids = await detach(world, 3)
    store = Stubborn(world.adapters.content, {cids[0]})
    collector = GarbageCollector(world.adapters.catalog, store, world.clock, timedelta(hours=24))
    assert await collector.collect() == 2
    store.kept.clear()
    assert await collector.collect() == 1
