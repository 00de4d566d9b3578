"""The index matches a simple model of the same events, page by page."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adapters.stores.conftest import World
from tests.adapters.stores.market import START, TAGS, WALLETS, RandomMarket
from tests.hypothesis_settings import SHARED_FIXTURE

from imprint.adapters.database.transaction import Transaction
from imprint.adapters.stores.posts import index_sql
from imprint.adapters.stores.posts.index_reader import SqlIndexReader
from imprint.bootstrap.stores import Stores
from imprint.domain.errors import Unavailable
from imprint.domain.formats.addresses import ZERO_ADDRESS, Address
from imprint.domain.posts.indexed_posts import IndexedPost, PostFilter, PostOrder, PostPosition
from imprint.domain.posts.market_events import (
    Origin,
    PostPublished,
    PostPurchased,
    PriceChanged,
    TokensMoved,
    position_of,
)
from imprint.domain.posts.posts import BlockRef
from imprint.ports.damage import Damage
from imprint.ports.post_index import IndexSource, IndexStep

SOURCE = IndexSource(31337, WALLETS[0], 0)
EVERYTHING = 10_000

FILTERS = st.builds(
    PostFilter,
    tags=st.lists(st.sampled_from((*TAGS, "unused")), max_size=3).map(tuple),
    author=st.none() | st.sampled_from((*WALLETS, Address("0x" + "99" * 20))),
    free=st.none() | st.booleans(),
    min_price=st.none() | st.sampled_from([0, 1, 7, 10**17, 2**256 - 1]),
    max_price=st.none() | st.sampled_from([0, 1, 7, 10**17, 2**200, 2**256 - 1]),
    order=st.sampled_from(PostOrder),
)


async def build_index(
    stores: Stores, market: RandomMarket, *, complete: bool = True, at_once: int = EVERYTHING
) -> None:
    """Fill the index with all events, `at_once` blocks per transaction."""
    writer, height = stores.index_writer, len(market.blocks)
    await writer.restart_index(SOURCE)
    for first in range(0, height, at_once):
        last = min(first + at_once, height) - 1
        state = await writer.index_state()
        assert state is not None
        events = [event for block in market.blocks[first : last + 1] for event in block]
        head = BlockRef(last, market.hashes[last])
        is_whole = complete and last == height - 1
        await writer.advance_index(state, IndexStep(head, last, events, complete=is_whole))


def random_market(seed: int = 7, blocks: int = 120) -> RandomMarket:
    market = RandomMarket(Random(seed))
    for _ in range(blocks):
        market.mine()
    return market


def passes(post: IndexedPost, which: PostFilter) -> bool:
    return (
        set(which.tags) <= set(post.hashtags)
        and which.author in (None, post.author)
        and which.free in (None, post.free)
        and (which.min_price is None or post.price >= which.min_price)
        and (which.max_price is None or post.price <= which.max_price)
    )


def in_order(posts: list[IndexedPost], order: PostOrder) -> list[IndexedPost]:
    keys = {
        PostOrder.NEWEST: lambda post: -post.place,
        PostOrder.OLDEST: lambda post: post.place,
        PostOrder.SALES: lambda post: (-post.sales.count, -post.place),
        PostOrder.PRICE: lambda post: (-post.price, -post.place),
    }
    return sorted(posts, key=keys[order])


async def walk(reader: SqlIndexReader, which: PostFilter, limit: int) -> list[IndexedPost]:
    """Return all posts in a list, read page by page."""
    posts: list[IndexedPost] = []
    after: PostPosition | None = None
    for _ in range(EVERYTHING):
        page = await reader.list_posts(which, after, limit)
        assert len(page.posts) <= limit
        posts += page.posts
        if page.next is None:
            return posts
        after = page.next
    raise AssertionError("The list has no end.")


@pytest.fixture
async def market(world: World) -> RandomMarket:
    made = random_market()
    await build_index(world.stores, made)
    return made


@settings(SHARED_FIXTURE, max_examples=150)
@given(which=FILTERS, limit=st.integers(1, 9))
async def test_paging_returns_every_post_of_a_list_once_and_in_order(
    world: World, market: RandomMarket, which: PostFilter, limit: int
) -> None:
    reader = world.stores.index_reader
    every = await walk(reader, PostFilter(), 50)
    expected = in_order([post for post in every if passes(post, which)], which.order)
    assert await walk(reader, which, limit) == expected
    places = [post.place for post in every]
    found = await reader.posts_at(places, which)
    assert {post.place for post in found} == {post.place for post in expected}


async def test_a_post_has_the_values_of_its_events(world: World, market: RandomMarket) -> None:
    reader = world.stores.index_reader
    listed = {post.post_id: post for post in await walk(reader, PostFilter(), 50)}
    published = [event for event in market.events if isinstance(event, PostPublished)]
    assert len(listed) == len(published) > 20
    for event in published:
        post = await reader.indexed_post(event.post_id)
        assert post == listed[event.post_id]
        prices = [
            each.price
            for each in market.events
            if isinstance(each, PriceChanged) and each.post_id == event.post_id
        ]
        bought = [
            each.price
            for each in market.events
            if isinstance(each, PostPurchased) and each.post_id == event.post_id
        ]
        assert post.title == event.title.decode("utf-8", "replace")
        assert post.description == "about \0 \N{REPLACEMENT CHARACTER}"
        assert (post.price, post.first_price) == ([event.price, *prices][-1], event.price)
        priced = await reader.priced_post(event.post_id)
        assert priced is not None
        assert priced.post == post
        assert [each.price for each in priced.prices] == [event.price, *prices][:-21:-1]
        assert (post.sales.count, post.sales.volume) == (len(bought), sum(bought))
        assert post.hashtags == event.hashtags
        assert post.block == event.origin.block
        assert not post.hosted


async def test_unknown_posts_and_accounts_are_returned_as_none(
    world: World, market: RandomMarket
) -> None:
    reader = world.stores.index_reader
    assert await reader.indexed_post(2**256 - 1) is None
    assert await reader.priced_post(2**256 - 1) is None
    assert await reader.account(Address("0x" + "99" * 20)) is None


async def test_a_library_lists_the_latest_arrival_first(world: World, market: RandomMarket) -> None:
    reader = world.stores.index_reader
    for holder in WALLETS:
        every = await reader.library(holder, None, EVERYTHING)
        assert [held.arrived for held in every] == sorted(
            (held.arrived for held in every), reverse=True
        )
        assert {held.post.post_id for held in every} == {
            post for post, balance in balances(market, holder).items() if balance > 0
        }
        paged, before = [], None
        while page := await reader.library(holder, before, 2):
            paged += page
            before = page[-1].arrived
        assert paged == every


async def test_a_library_page_skips_tokens_of_unknown_posts(world: World) -> None:
    block = BlockRef(0, "0x" + "00" * 32)
    origins = [Origin(position_of(0, n), block, f"0x{n:064x}", START) for n in range(4)]
    holder, unknown = WALLETS[1], 9
    published = PostPublished(origins[0], 1, WALLETS[0], b"c", None, b"", b"", 0)
    moved = [
        TokensMoved(origin, post_id, ZERO_ADDRESS, holder, 1)
        for origin, post_id in zip(origins[1:], (1, unknown, unknown + 1), strict=True)
    ]
    market = RandomMarket(Random(1), [[published, *moved]], [block.block_hash])
    await build_index(world.stores, market)
    (held,) = await world.stores.index_reader.library(holder, None, 1)
    assert held.post.post_id == 1


def balances(market: RandomMarket, holder: Address) -> dict[int, int]:
    held: dict[int, int] = {}
    for event in market.events:
        if isinstance(event, TokensMoved):
            before = held.get(event.post_id, 0)
            gained = event.amount * ((event.receiver == holder) - (event.sender == holder))
            held[event.post_id] = before + gained
    return held


async def test_sales_daily_figures_and_totals_match_the_events(
    world: World, market: RandomMarket
) -> None:
    reader = world.stores.index_reader
    published = [event for event in market.events if isinstance(event, PostPublished)]
    authors = {event.post_id: event.author for event in published}
    titles = {event.post_id: event.title.decode(errors="replace") for event in published}
    bought = [event for event in market.events if isinstance(event, PostPurchased)]
    totals = await reader.totals()
    assert (totals.posts, totals.authors) == (len(published), len(set(authors.values())))
    assert (totals.sales.count, totals.sales.volume) == (
        len(bought),
        sum(event.price for event in bought),
    )
    days = await reader.days_since(0)
    assert sum(day.posts for day in days) == len(published)
    assert [day.day for day in days] == sorted(day.day for day in days)
    for wallet in WALLETS:
        sales = await reader.sales_of(wallet, None, EVERYTHING)
        expected = [event for event in bought if authors[event.post_id] == wallet]
        assert [(sale.place, sale.price, sale.buyer, sale.title) for sale in sales] == [
            (event.origin.place, event.price, event.buyer, titles[event.post_id])
            for event in reversed(expected)
        ]
        if sales:
            assert await reader.sales_of(wallet, sales[0].place, EVERYTHING) == sales[1:]
        since = START + timedelta(hours=60)
        own = [e.origin.at for e in published if e.author == wallet and e.origin.at >= since]
        spent = [e.origin.at for e in bought if e.buyer == wallet and e.origin.at >= since]
        assert await reader.post_times(wallet, since, EVERYTHING) == own
        assert await reader.purchase_times(wallet, since, EVERYTHING) == spent
        assert await reader.purchase_times(wallet, since, 2) == spent[-2:]


async def test_a_long_list_of_sales_is_not_cached(world: World, market: RandomMarket) -> None:
    reader = world.stores.index_reader
    for author in WALLETS:
        table, again = [await reader.sales_of(author, None, 1_001) for _ in range(2)]
        assert table == again
        assert table is not again
        assert table[:51] == await reader.sales_of(author, None, 51)


async def test_an_index_is_complete_only_after_it_is_marked_complete(world: World) -> None:
    reader = world.stores.index_reader
    assert not await reader.is_complete()
    await build_index(world.stores, random_market(blocks=3), complete=False)
    assert not await reader.is_complete()
    await build_index(world.stores, random_market(blocks=3))
    assert await reader.is_complete()


async def test_the_next_read_sees_a_commit(world: World, market: RandomMarket) -> None:
    reader = world.stores.index_reader
    first = await reader.list_posts(PostFilter(), None, 3)
    assert await reader.list_posts(PostFilter(), None, 3) is first
    more = random_market(blocks=160)
    await build_index(world.stores, more)
    newest = [event for event in more.events if isinstance(event, PostPublished)][-1]
    page = await reader.list_posts(PostFilter(), None, 3)
    assert page.posts[0].post_id == newest.post_id


async def test_a_page_of_a_sparse_list_ends_early_and_can_be_continued(world: World) -> None:
    """Publish a rare post behind more candidates than one request examines."""
    reader = world.stores.index_reader
    market = RandomMarket(Random(1))
    for number in range(index_sql.WALK + 10):
        block = number // 500
        if block == len(market.blocks):
            market.hashes.append(f"0x{block:064x}")
            market.blocks.append([])
        origin = Origin(
            position_of(block, number),
            BlockRef(block, market.hashes[block]),
            "0x" + "11" * 32,
            START,
        )
        price = 3 if number in (4, 8) else 5 + number % 2
        tags = ("common", "other") if number == 4 else ("common",)
        market.blocks[block].append(
            PostPublished(origin, number + 1, WALLETS[0], b"c", None, b"", b"", price, b"", tags)
        )
    await build_index(world.stores, market, at_once=1)
    cheap = PostFilter(max_price=4)
    page = await reader.list_posts(cheap, None, 3)
    assert page.posts == ()
    assert page.next is not None
    for order in (PostOrder.NEWEST, PostOrder.SALES, PostOrder.OLDEST):
        found = await walk(reader, replace(cheap, order=order), 3)
        ids = [5, 9] if order is PostOrder.OLDEST else [9, 5]
        assert [post.post_id for post in found] == ids
    for order in PostOrder:
        rare = PostFilter(("common", "other"), WALLETS[0], order=order)
        assert [post.post_id for post in await walk(reader, rare, 3)] == [5]
        priced = PostFilter(("common",), WALLETS[0], max_price=4, order=order)
        assert {post.post_id for post in await walk(reader, priced, 1)} == {5, 9}


async def test_a_post_whose_file_is_stored_locally_is_hosted(world: World) -> None:
    file = await world.draft()
    draft_only = await world.draft()
    event = world.event(file, post_id=1, block=1)
    await world.see(event)
    market = RandomMarket(Random(1), [[], []], ["0x" + "00" * 32, "0x" + "01" * 32])
    for post_id, cid in ((1, file.cid), (2, draft_only.cid)):
        origin = Origin(
            position_of(1, post_id), BlockRef(1, market.hashes[1]), "0x" + "11" * 32, START
        )
        market.blocks[1].append(
            PostPublished(origin, post_id, world.bob, cid.encode(), cid, b"", b"", 0)
        )
    await build_index(world.stores, market)
    reader = world.stores.index_reader
    hosted = {post.post_id: post.hosted for post in await walk(reader, PostFilter(), 5)}
    assert hosted == {1: True, 2: False}


@pytest.mark.parametrize("note", [Damage.note_structure, Damage.note_index])
async def test_a_damaged_index_returns_nothing(
    world: World, market: RandomMarket, note: Callable[[Damage, str], None]
) -> None:
    reader = world.stores.index_reader
    note(world.stores.database.damage, "an index")
    with pytest.raises(Unavailable):
        await reader.indexed_post(1)
    with pytest.raises(Unavailable):
        await reader.list_posts(PostFilter(), None, 3)


async def test_totals_of_a_catalog_without_an_index_are_zero(world: World) -> None:
    async def remove(tx: Transaction) -> None:
        await tx.execute("DELETE FROM market_totals")

    await world.stores.database.transact((), remove)
    totals = await world.stores.index_reader.totals()
    assert (totals.posts, totals.users, totals.sales.volume) == (0, 0, 0)
