"""A content store whose calls fail 30% of the time: no confirmed write is lost."""

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.crash.authors import Author
from tests.crash.ledger import find_faults, open_intents
from tests.world import open_world

from imprint.bootstrap import Adapters
from imprint.domain.errors import Unavailable
from imprint.services.tasks.leases import LEASE_TIME

FAILING = 0.3
AUTHORS = 8
SECONDS = 1.5
FAILURES = 20
LONGEST = 20.0


@dataclass(slots=True)
class UnreliableStore:
    """A store whose calls randomly fail before or after they take effect, or are slow."""

    inner: Any
    chance: random.Random
    is_failing: bool = True
    failed: int = 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            if not self.is_failing or self.chance.random() >= FAILING:
                return await method(*args, **kwargs)
            self.failed += 1
            fault = self.chance.choice(("before", "after", "slow"))
            if fault == "after":
                await method(*args, **kwargs)
            if fault == "slow":
                await asyncio.sleep(0.05)
            raise Unavailable.storage()

        return call


async def test_no_confirmed_write_is_lost_while_the_store_is_unreliable(tmp_path: Path):
    stores: list[UnreliableStore] = []

    def shake(parts: Adapters) -> Adapters:
        stores.append(UnreliableStore(parts.content, random.Random(7)))
        return replace(parts, content=stores[0])

    async with open_world(tmp_path, adapt=shake) as world:
        authors = [Author(world, world.stranger(), random.Random(n)) for n in range(AUTHORS)]
        stopping = asyncio.Event()
        writing = [asyncio.create_task(each.write_until(stopping)) for each in authors]
        reads = Counter()
        until = time.monotonic() + SECONDS
        while time.monotonic() < until or stores[0].failed <= FAILURES:
            reads[(await world.client.get("/filesMetaData")).status_code] += 1
            await asyncio.sleep(0.01)
        stores[0].is_failing = False
        healed = {id(each): each.outcomes["unavailable"] for each in authors}
        await asyncio.sleep(0.1)
        stopping.set()
        await asyncio.gather(*writing)

        assert [fault for each in authors for fault in each.faults] == []
        assert max(each.longest_refusal for each in authors) < LONGEST
        # Writes that were in progress as the store recovered may still be refused, but no later
        # ones.
        late = sum(each.outcomes["unavailable"] - healed[id(each)] for each in authors)
        assert late <= AUTHORS
        assert set(reads) == {200}
        for author in authors:
            assert await author.find_losses(world) == []
        world.clock.advance(LEASE_TIME.total_seconds() + 300)
        collector = world.collector()
        while await collector.collect():
            pass
    assert find_faults(tmp_path) == []
    assert open_intents(tmp_path) == 0
