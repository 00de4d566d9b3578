"""Price changes and positions of posts, on every database."""

import sqlite3
from contextlib import closing
from datetime import timedelta

from tests.adapters.stores.conftest import START, World

from imprint.adapters.database.schema import known_migrations, migrate
from imprint.adapters.database.transaction import Transaction, micros
from imprint.adapters.stores.posts.index_reader import PRICE_CHANGES
from imprint.domain.posts.feeds import FEED_SIZE
from imprint.domain.posts.indexed_posts import PricePoint
from imprint.domain.posts.slugs import page_path
from imprint.ports.post_index import PostAddress

ADD_POST = """
INSERT INTO posts (place, post_id, author, spelled_cid, thumbnail_cid, title, description, hashtags,
                   first_price, price, created_at, block_hash, tx_hash)
VALUES (:place, :post_id, 'author', :text, :text, :text, :text, '[]', :text, :text, :at, '', '')"""

ADD_CHANGE = """
INSERT INTO price_changes (place, post_id, price, at) VALUES (:place, :post_id, '1', :at)"""


async def add_posts(tx: Transaction, count: int) -> None:
    for number in range(count):
        at = micros(START) + number
        await tx.execute(ADD_POST, place=10 * number, post_id=str(number), text=b"", at=at)


async def add_changes(tx: Transaction, changes: dict[int, list[int]]) -> None:
    for post_id, seconds in changes.items():
        for second in seconds:
            at = micros(START) + second * 1_000_000
            await tx.execute(ADD_CHANGE, place=1000 * post_id + second, post_id=str(post_id), at=at)


async def test_the_last_price_change_of_each_post_is_found(world: World) -> None:
    index = world.stores.index_reader
    await world.stores.database.transact((), add_posts, 100)
    await world.stores.database.transact((), add_changes, {1: [5, 9, 7], 2: [3], 99: [1]})
    wanted = [1, 2, *range(3, FEED_SIZE + 1)]
    found = await index.price_changes(wanted)
    assert found == {1: START + timedelta(seconds=9), 2: START + timedelta(seconds=3)}
    assert await index.price_changes([2]) == {2: START + timedelta(seconds=3)}
    assert await index.price_changes([]) == {}


async def test_the_latest_prices_of_a_post_are_found(world: World) -> None:
    index = world.stores.index_reader
    await world.stores.database.transact((), add_posts, 3)
    await world.stores.database.transact((), add_changes, {1: [*range(30, 0, -1)], 2: [5]})
    many, few, none = [await index.priced_post(number) for number in (1, 2, 0)]
    assert many is not None
    assert few is not None
    assert none is not None
    latest = [START + timedelta(seconds=second) for second in range(30, 10, -1)]
    assert [each.since for each in many.prices] == latest
    first = PricePoint(0, few.post.created_at)
    assert few.prices == (PricePoint(1, START + timedelta(seconds=5)), first)
    assert none.prices == (PricePoint(0, none.post.created_at),)


def count_steps(connection: sqlite3.Connection, post_id: str) -> int:
    """Return the number of SQLite instructions needed to find the last price change."""
    taken = 0

    def count() -> None:
        nonlocal taken
        taken += 1

    connection.set_progress_handler(count, 1)
    ids = {f"id{number}": post_id for number in range(FEED_SIZE)}
    assert len(connection.execute(PRICE_CHANGES, ids).fetchall()) == 1
    connection.set_progress_handler(None, 0)
    return taken


def test_finding_the_latest_price_change_takes_constant_time() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, known_migrations())
        for number in (1, 2):
            post = {"place": number, "post_id": str(number), "text": b"", "at": 0}
            connection.execute(ADD_POST, post)
        for place in range(5_000):
            change = {"place": place, "post_id": "1" if place < 5 else "2", "at": place}
            connection.execute(ADD_CHANGE, change)
        few, many = count_steps(connection, "1"), count_steps(connection, "2")
    assert 0 < many <= few + 20


async def test_posts_are_found_by_position(world: World) -> None:
    index = world.stores.index_reader
    await world.stores.database.transact((), add_posts, 5)
    assert await index.place_after(-1, 1) == 0
    assert await index.place_after(-1, 5) == 40
    assert await index.place_after(-1, 6) is None
    assert await index.place_after(10, 2) == 30
    assert await index.addresses(10, 2) == [
        PostAddress(10 * number, number, "", START + timedelta(microseconds=number))
        for number in (2, 3)
    ]


async def test_the_title_of_a_post_address_is_cut_to_the_part_its_slug_needs(
    world: World,
) -> None:
    title = "é" * 10_000
    entry = {"place": 0, "post_id": "1", "text": title.encode(), "at": micros(START)}

    async def add(tx: Transaction) -> None:
        await tx.execute(ADD_POST, **entry)

    await world.stores.database.transact((), add)
    (found,) = await world.stores.index_reader.addresses(-1, 2)
    assert len(found.title) < 1_000
    assert page_path(1, found.title) == page_path(1, title)
