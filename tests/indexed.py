"""The index of a world, brought up to its chain."""

from tests.world import World

from imprint.bootstrap.background import build_indexer


async def fill_index(world: World) -> None:
    """Index every block of the chain, as a running service does in the background."""
    assert await build_indexer(world.settings, world.adapters).index_once()
