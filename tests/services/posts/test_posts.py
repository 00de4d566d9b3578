"""Posts from the index: page tokens, daily statistics, caches, and an incomplete index."""

import gc
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from imprint.auth.post_page_tokens import PostPageTokens
from imprint.domain.errors import Code, Problem
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.indexed_posts import (
    AccountSummary,
    IndexedPost,
    MarketDay,
    MarketTotals,
    PostFilter,
    PostOrder,
    PostPage,
    PostPosition,
    PricedPost,
    Sale,
    Sales,
)
from imprint.domain.posts.posts import BlockRef
from imprint.domain.sessions import Session
from imprint.services.moderation import CurrentMeasures
from imprint.services.posts.posts import (
    KEPT_OWN_ROWS,
    KEPT_ROWS,
    PAGE_SIZE,
    Derived,
    ListRequest,
    Posts,
)
from imprint.services.posts.search import FoundPosts

NOW = datetime(2030, 1, 31, 12, 0, 0, tzinfo=UTC)
OWNER = Address("0x" + "ab" * 20)
SESSION = Session(OWNER, NOW + timedelta(hours=2), "one")
NOTHING = Sales(0, 0)
TOTALS = MarketTotals(1, 2, 3, 4, Sales(5, 6), 7)


def make_sale(place: int) -> Sale:
    return Sale(place, 1, OWNER, 7, NOW, BlockRef(1, "0x"), "0x", "Title")


@dataclass
class Index:
    """An index that has a few posts and records the calls to it."""

    complete: bool = True
    pages: dict[PostPosition | None, PostPage] = field(default_factory=dict)
    asked: list[Any] = field(default_factory=list)
    days: list[MarketDay] = field(default_factory=list)
    accounts: dict[Address, AccountSummary] = field(default_factory=dict)
    sold: list[Sale] = field(default_factory=list)

    async def is_complete(self) -> bool:
        return self.complete

    async def list_posts(
        self, which: PostFilter, after: PostPosition | None, limit: int
    ) -> PostPage:
        self.asked.append((which, after, limit))
        return self.pages.setdefault(after, PostPage((), None))

    async def posts_at(self, places: Sequence[int], which: PostFilter) -> list[IndexedPost]:
        return []

    async def indexed_post(self, post_id: int) -> IndexedPost | None:
        return None

    async def priced_post(self, post_id: int) -> PricedPost | None:
        return None

    async def account(self, address: Address) -> AccountSummary | None:
        return self.accounts.get(address)

    async def library(self, holder: Address, before: int | None, limit: int) -> list[Any]:
        self.asked.append((holder, before, limit))
        return []

    async def sales_of(self, author: Address, before: int | None, limit: int) -> list[Sale]:
        self.asked.append((author, before, limit))
        return [sale for sale in self.sold if before is None or sale.place < before][:limit]

    async def days_since(self, day: int) -> list[MarketDay]:
        self.asked.append(day)
        return self.days

    async def totals(self) -> MarketTotals:
        return TOTALS

    async def post_times(self, author: Address, since: datetime, limit: int) -> list[datetime]:
        return []

    async def purchase_times(self, buyer: Address, since: datetime, limit: int) -> list[datetime]:
        return []


@dataclass
class Clock:
    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now


def make_posts(index: Index, clock: Clock | None = None) -> Posts:
    # These tests do not search, so there is no search service.
    nobody: Any = None
    tokens, measures = PostPageTokens(b"s" * 32), CurrentMeasures()
    return Posts(index, tokens, clock or Clock(), nobody, nobody, measures)


async def code_of(call: Any) -> Code:
    with pytest.raises(Problem) as caught:
        await call
    return caught.value.code


POSITION = PostPosition(9, 2**200)


async def test_a_token_continues_the_list_with_the_limit_of_the_first_page() -> None:
    index = Index(pages={None: PostPage((), POSITION)})
    posts = make_posts(index)
    given = {"tags": ("ink",), "order": PostOrder.PRICE}
    page = await posts.list(ListRequest(given, limit=7))
    await posts.list(ListRequest(page_token=page.next_page_token))
    await posts.list(ListRequest(given, page.next_page_token, 3))
    which = PostFilter(("ink",), order=PostOrder.PRICE)
    assert index.asked == [(which, None, 7), (which, POSITION, 7), (which, POSITION, 3)]


async def test_a_page_token_with_a_different_filter_is_refused() -> None:
    posts = make_posts(Index(pages={None: PostPage((), POSITION)}))
    page = await posts.list(ListRequest({"free": True}))
    for other in ({"free": False}, {"author": OWNER}, {"tags": ("ink",)}, {"min_price": 0}):
        request = ListRequest(other, page.next_page_token)
        assert await code_of(posts.list(request)) is Code.INVALID_PAGE_TOKEN
    for own in (posts.library, posts.sales):
        request = ListRequest(page_token=page.next_page_token)
        assert await code_of(own(SESSION, request)) is Code.INVALID_PAGE_TOKEN


async def test_a_page_is_cached_until_the_index_or_the_day_changes() -> None:
    index, clock = Index(pages={None: PostPage((), POSITION)}), Clock()
    posts = make_posts(index, clock)
    first = await posts.list(ListRequest())
    clock.now += timedelta(hours=1)
    assert await posts.list(ListRequest()) is first
    clock.now += timedelta(hours=12)
    tomorrow = await posts.list(ListRequest())
    assert tomorrow.next_page_token != first.next_page_token
    index.pages[None] = PostPage((), None)
    assert (await posts.list(ListRequest())).next_page_token is None


async def test_the_next_page_of_sales_starts_after_the_last_position() -> None:
    index = Index(sold=[make_sale(place) for place in (9, 5, 3)])
    posts = make_posts(index)
    first = await posts.sales(SESSION, ListRequest(limit=2))
    assert [sale.place for sale in first.sales] == [9, 5]
    last = await posts.sales(SESSION, ListRequest(page_token=first.next_page_token))
    assert ([sale.place for sale in last.sales], last.next_page_token) == ([3], None)
    other = replace(SESSION, address=Address("0x" + "cd" * 20))
    request = ListRequest(page_token=first.next_page_token)
    assert await code_of(posts.sales(other, request)) is Code.INVALID_PAGE_TOKEN
    assert index.asked[0] == (OWNER, None, 3)
    await posts.sales(SESSION, ListRequest())
    assert index.asked[-1] == (OWNER, None, PAGE_SIZE + 1)


async def test_the_page_after_an_oversized_page_has_the_default_size() -> None:
    index = Index(sold=[make_sale(place) for place in range(2000, 0, -1)])
    posts = make_posts(index)
    table = await posts.sales(SESSION, ListRequest(), 1000)
    assert len(table.sales) == 1000
    page = await posts.sales(SESSION, ListRequest(page_token=table.next_page_token))
    assert len(page.sales) == 50


async def test_stats_include_every_day_until_today() -> None:
    today = (NOW - datetime(1970, 1, 1, tzinfo=UTC)).days
    index = Index(days=[MarketDay(today - 3, 2, Sales(1, 5))])
    stats = await make_posts(index).stats()
    assert [day.day for day in stats.days] == list(range(today - 89, today + 1))
    assert stats.days[-4] == index.days[0]
    assert stats.days[0] == MarketDay(today - 89, 0, NOTHING)
    assert stats.totals is TOTALS


async def test_empty_results_raise_unavailable_until_the_index_is_complete() -> None:
    index = Index(complete=False)
    posts = make_posts(index)
    calls = (
        lambda: posts.list(ListRequest()),
        lambda: posts.post(1),
        lambda: posts.author(OWNER),
        lambda: posts.library(SESSION, ListRequest()),
        lambda: posts.sales(SESSION, ListRequest()),
        posts.stats,
    )
    for call in calls:
        assert await code_of(call()) is Code.INDEX_UNAVAILABLE
    index.complete = True
    assert await code_of(posts.post(1)) is Code.NOT_FOUND
    assert (await posts.list(ListRequest())).posts == ()


async def test_an_address_that_only_buys_is_not_an_author() -> None:
    account = AccountSummary(OWNER, 0, None, None, NOTHING, 0, 0, Sales(1, 1), 1)
    posts = make_posts(Index(accounts={OWNER: account}))
    assert await code_of(posts.author(OWNER)) is Code.NOT_FOUND


class Source:
    """A stand-in for an object returned by a catalog."""


def test_a_value_derived_from_a_garbage_collected_source_is_dropped() -> None:
    kept: Derived[str] = Derived(len, 1000)
    held = Source()
    kept.of(held, None, lambda: "stays")
    for _ in range(100):
        kept.of(Source(), None, lambda: "gone")
    assert kept.weight <= len("stays") + len("gone")
    assert kept.find(held, None) == "stays"


@pytest.mark.parametrize("result", [IndexedPost, PricedPost, PostPage, AccountSummary, FoundPosts])
def test_results_of_the_index_do_not_outlive_the_query_cache(result: type) -> None:
    """Without weak references to a result, a body cached for the result would keep it alive."""
    assert result.__weakrefoffset__ > 0


def test_a_source_without_weak_reference_support_is_kept_alive() -> None:
    kept: Derived[str] = Derived(len, 9)
    for number in range(5):
        assert kept.of([number], None, lambda: "list") == "list"
    assert kept.weight == 8


def test_the_least_recently_used_value_is_evicted_above_the_limit() -> None:
    kept: Derived[str] = Derived(len, 10)
    first, second, third = Source(), Source(), Source()
    for source, text in ((first, "aaaa"), (second, "bbbb")):
        assert kept.of(source, None, lambda text=text: text) == text
        assert kept.of(source, None, lambda: "another") == text
    assert kept.find(first, None) == "aaaa"
    assert kept.of(third, None, lambda: "cccc") == "cccc"
    assert (kept.find(first, None), kept.find(third, None)) == ("aaaa", "cccc")
    assert kept.find(second, None) is None
    assert kept.weight == 8


def test_a_new_value_for_a_source_replaces_the_old_one() -> None:
    kept: Derived[str] = Derived(len, 10)
    source = Source()
    assert kept.of(source, 1, lambda: "aaaa") == "aaaa"
    assert kept.of(source, 2, lambda: "bbbbbb") == "bbbbbb"
    assert kept.find(source, 1) is None
    assert kept.weight == 6


class WatchedSale(Sale):
    """A sale whose lifetime can be tracked with a weak reference."""

    __slots__ = ("__weakref__",)


@dataclass
class WatchedIndex(Index):
    """An index that returns new results each time, as after a commit, and tracks their lifetime."""

    read: list[weakref.ref[WatchedSale]] = field(default_factory=list)

    async def sales_of(self, author: Address, before: int | None, limit: int) -> list[Sale]:
        made = make_sale(0)
        first = WatchedSale(*(getattr(made, each.name) for each in fields(made)))
        self.read.append(weakref.ref(first))
        return [first, *(make_sale(place) for place in range(1, limit))]


async def test_pages_are_cached_up_to_a_number_of_rows() -> None:
    index = WatchedIndex()
    posts = make_posts(index)
    for _ in range(3 * KEPT_OWN_ROWS // 500):
        await posts.sales(SESSION, ListRequest(), 500)
    gc.collect()
    kept = [sale for watched in index.read if (sale := watched()) is not None]
    assert 0 < len(kept) <= KEPT_OWN_ROWS // 500


class AnySearch:
    """A search that finds nothing and always returns a new result."""

    async def find(self, *given: Any, by_score: bool) -> FoundPosts:
        return FoundPosts((), {}, None)


async def test_searches_do_not_evict_lists() -> None:
    posts = replace(make_posts(Index()), search=AnySearch())
    listed = await posts.list(ListRequest())
    for _ in range(KEPT_ROWS + 1):
        await posts.list(ListRequest(search="ink"))
    assert await posts.list(ListRequest()) is listed
