"""Private feeds on every database."""

import asyncio
from dataclasses import replace
from datetime import timedelta

from tests.adapters.stores.conftest import ALICE, BOB, START, Opener, World
from tests.adapters.stores.databases import Database

from imprint.ports.accounts import PrivateFeed


def feed_of(owner: str, number: int) -> PrivateFeed:
    created_at = START + timedelta(seconds=number)
    return PrivateFeed(
        f"feed-{owner[2:4]}-{number}", ALICE if owner == ALICE else BOB, created_at, None
    )


async def test_a_feed_can_be_found_only_by_its_token(world: World) -> None:
    feeds = world.stores.private_feeds
    feed = feed_of(ALICE, 1)
    assert await feeds.add_feed(feed, "one", 10)
    assert await feeds.find_feed("one") == feed
    assert await feeds.find_feed("two") is None
    assert await feeds.find_feed(feed.id) is None


async def test_the_feeds_of_an_owner_are_listed_oldest_first(world: World) -> None:
    feeds = world.stores.private_feeds
    mine = [feed_of(ALICE, number) for number in (3, 1, 2)]
    for feed in (*mine, feed_of(BOB, 0)):
        assert await feeds.add_feed(feed, f"token of {feed.id}", 10)
    assert await feeds.list_feeds(ALICE) == [mine[1], mine[2], mine[0]]


async def test_an_owner_cannot_exceed_the_feed_limit(world: World, open_another: Opener) -> None:
    both = [world.stores.private_feeds, open_another().private_feeds]
    adding = (
        both[number % 2].add_feed(feed_of(ALICE, number), f"token {number}", 3)
        for number in range(8)
    )
    assert sorted(await asyncio.gather(*adding)) == [False] * 5 + [True] * 3
    assert len(await both[0].list_feeds(ALICE)) == 3
    assert await both[0].add_feed(feed_of(BOB, 1), "another", 3)


async def test_replacing_a_token_revokes_the_old_one_in_every_process(
    world: World, open_another: Opener
) -> None:
    here, there = world.stores.private_feeds, open_another().private_feeds
    feed = feed_of(ALICE, 1)
    await here.add_feed(feed, "one", 10)
    assert await there.find_feed("one") == feed
    assert await here.replace_token(ALICE, feed.id, "two")
    assert await there.find_feed("one") is None
    assert await there.find_feed("two") == feed


async def test_a_removed_feed_is_missing_in_every_process(
    world: World, open_another: Opener
) -> None:
    here, there = world.stores.private_feeds, open_another().private_feeds
    feed = feed_of(ALICE, 1)
    await here.add_feed(feed, "one", 10)
    assert await there.find_feed("one") == feed
    assert await here.remove_feed(ALICE, feed.id)
    assert await there.find_feed("one") is None
    assert not await there.remove_feed(ALICE, feed.id)


async def test_only_the_owner_can_change_a_feed(world: World) -> None:
    feeds = world.stores.private_feeds
    feed = feed_of(ALICE, 1)
    await feeds.add_feed(feed, "one", 10)
    assert not await feeds.replace_token(BOB, feed.id, "two")
    assert not await feeds.remove_feed(BOB, feed.id)
    assert await feeds.find_feed("one") == feed


async def test_the_time_of_the_last_fetch_is_stored(world: World) -> None:
    feeds = world.stores.private_feeds
    feed = feed_of(ALICE, 1)
    await feeds.add_feed(feed, "one", 10)
    await feeds.note_fetch(feed.id, START)
    assert await feeds.list_feeds(ALICE) == [replace(feed, fetched_at=START)]


async def test_only_the_hash_of_a_token_is_stored(world: World, database: Database) -> None:
    await world.stores.private_feeds.add_feed(feed_of(ALICE, 1), "the hash", 10)
    assert await database.rows("SELECT token FROM private_feeds") == [("the hash",)]


async def test_a_feed_that_is_never_fetched_is_removed(world: World) -> None:
    stores = world.stores
    feeds = stores.private_feeds
    unused, fetched, new = (feed_of(ALICE, number) for number in (1, 2, 100))
    for feed in (unused, fetched, new):
        await feeds.add_feed(feed, feed.id, 10)
    await feeds.note_fetch(fetched.id, START + timedelta(seconds=50))
    await stores.garbage.prune_feeds(unused.created_at)
    assert len(await feeds.list_feeds(ALICE)) == 3
    await stores.garbage.prune_feeds(START + timedelta(seconds=50))
    assert [feed.id for feed in await feeds.list_feeds(ALICE)] == [fetched.id, new.id]
    await stores.garbage.prune_feeds(START + timedelta(seconds=51))
    assert [feed.id for feed in await feeds.list_feeds(ALICE)] == [new.id]
