"""Brings the index of a world up to date with its chain."""

from tests.world import World

from imprint.adapters.database.transaction import Transaction
from imprint.bootstrap.background import build_indexer


async def fill_index(world: World) -> None:
    """Index every block of the chain, as a running service does in the background."""
    indexer = build_indexer(world.settings, world.adapters)
    # The same holder each time: the lease of the previous round has not ended.
    indexer.holder = "a test"
    assert await indexer.index_once()


async def forget_completeness(tx: Transaction) -> None:
    """Leave the index as it is in the middle of a rebuild."""
    await tx.execute("UPDATE index_state SET complete = 0")
