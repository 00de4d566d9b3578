"""Brings the index of a world up to date with its chain."""

from datetime import timedelta

from tests.world import World

from imprint.adapters.database.transaction import Transaction
from imprint.bootstrap.background import build_indexer
from imprint.services.access.entitlement import Entitlement
from imprint.services.access.reads import Reads
from imprint.services.posts.search import SearchTexts


async def fill_index(world: World) -> None:
    """Index every block of the chain, as a running service does in the background."""
    indexer = build_indexer(world.settings, world.adapters)
    # The same holder each time: the lease of the previous round has not ended.
    indexer.holder = "a test"
    assert await indexer.index_once()


async def forget_completeness(tx: Transaction) -> None:
    """Put the index into the state that it has in the middle of a rebuild."""
    await tx.execute("UPDATE index_state SET complete = 0")


async def read_texts(world: World) -> None:
    """Read the texts that the index waits for, as a running service does in the background."""
    adapters, stores = world.adapters, world.adapters.stores
    entitlement = Entitlement(adapters.marketplace, adapters.monotonic, timedelta(0))
    reads = Reads(stores.files, stores.revisions, adapters.content, adapters.cipher, entitlement)
    # The same holder each time: the lease of the previous round has not ended.
    texts = SearchTexts(stores.leases, stores.search, reads, world.clock, "a test")
    await texts.read_pending()
