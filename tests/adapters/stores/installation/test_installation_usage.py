"""Storage usage according to the catalog, on both databases."""

from tests.adapters.stores.conftest import World

from imprint.ports.installation import Usage

THUMBNAIL = 10
"""The size in bytes of every thumbnail in these tests."""


async def test_an_empty_catalog_has_zero_usage(world: World):
    assert await world.stores.installation.measure_usage() == Usage(0, 0, 0, 0)


async def test_drafts_posts_and_detached_documents_are_counted(world: World):
    kept, deleted = [await world.draft() for _ in range(2)]
    published = await world.post("tag")
    await world.delete(deleted)
    assert await world.stores.installation.measure_usage() == Usage(
        drafts=1,
        posts=1,
        stored_bytes=kept.size + published.size + THUMBNAIL,
        detached_bytes=deleted.size,
    )
