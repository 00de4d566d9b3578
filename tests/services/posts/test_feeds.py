"""Feeds omit the texts of lost documents, and texts beyond the size limit."""

from datetime import timedelta
from functools import partial
from typing import Any

from tests.indexed import fill_index
from tests.world import World

from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.feeds import MAX_FEED_BYTES, FeedEntry
from imprint.services.access.entitlement import Entitlement
from imprint.services.access.reads import ContentCache, Reads
from imprint.services.posts.feeds import Feeds


class LosingStore:
    """A content store that has lost some documents."""

    def __init__(self, store: Any, *lost: str) -> None:
        self._store = store
        self._lost = lost

    async def read(self, cid: Cid, network: Network) -> bytes | None:
        found: bytes | None = await self._store.read(cid, network)
        return None if cid in self._lost else found


def feeds_of(world: World, content: Any) -> Feeds:
    """The feeds of a world on this content store, without any cache."""
    adapters, clock = world.adapters, world.clock
    access = Entitlement(adapters.marketplace, clock.monotonic, timedelta(0))
    reads = Reads(
        adapters.stores.files,
        adapters.stores.revisions,
        content,
        adapters.cipher,
        access,
        ContentCache(0),
    )
    return Feeds(
        adapters.stores.index_reader,
        reads,
        adapters.stores.private_feeds,
        clock,
    )


async def show(reads: Reads, client: str, entry: FeedEntry) -> str | None:
    """Return the text of an entry unchanged, or None if it has no file."""
    return None if entry.file is None else await reads.content_of(entry.file)


async def test_a_lost_document_removes_only_its_own_text_from_the_feed(world: World) -> None:
    _, lost = await world.post(world.wallet(1), "Lost.", 0)
    await world.post(world.wallet(1), "Kept.", 0)
    await fill_index(world)
    feeds = feeds_of(world, LosingStore(world.adapters.content, lost["cid"]))
    feed = await feeds.newest()
    texts = await feeds.texts("client", feed, partial(show, feeds.reads))
    kept, gone = [entry.post.post_id for entry in feed.entries]
    assert (texts.html, texts.is_complete) == ({kept: "Kept."}, False)
    assert gone not in texts.html


async def test_the_newest_texts_are_included_first_until_the_feed_is_full(world: World) -> None:
    long = "ä" * (MAX_FEED_BYTES // 2 // 4)
    await world.post(world.wallet(1), "Short.", 0)
    for _ in range(5):
        await world.post(world.wallet(1), long, 0)
    await fill_index(world)
    feeds = feeds_of(world, world.adapters.content)
    feed = await feeds.newest()
    texts = await feeds.texts("client", feed, partial(show, feeds.reads))
    ids = [entry.post.post_id for entry in feed.entries]
    assert list(texts.html) == [*ids[:4]]
    assert texts.is_complete
