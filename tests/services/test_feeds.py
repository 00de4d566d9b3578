"""What is left out of a feed: documents that are lost, and those that are too many."""

from dataclasses import replace
from typing import Any

from tests.world import World

from imprint.domain.cids import Cid
from imprint.domain.files import Network
from imprint.services.content_cache import ContentCache
from imprint.services.entitlement import Entitlement
from imprint.services.feeds import Feeds
from imprint.services.reads import Reads


class LosingStore:
    """A content store that has lost some documents."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.lost: set[str] = set()

    async def read(self, cid: Cid, network: Network) -> bytes | None:
        return None if cid in self.lost else await self.store.read(cid, network)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


def feeds_of(world: World, content: Any) -> Feeds:
    """The feeds of a world, whose texts are in no cache."""
    adapters = world.adapters
    clock = world.clock
    access = Entitlement(adapters.marketplace, clock.monotonic, replace(world).clock.now() * 0)
    reads = Reads(adapters.catalog, content, adapters.cipher, access, ContentCache(0))
    return Feeds(adapters.index_reader, adapters.feed_index, reads, adapters.private_feeds, clock)
