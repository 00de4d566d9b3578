"""Search pages contain every match once, even if the index stops before it has all of them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from imprint.domain.formats.addresses import Address
from imprint.domain.posts.indexed_posts import (
    IndexedPost,
    PostFilter,
    PostOrder,
    PostScope,
    Sales,
)
from imprint.domain.posts.posts import BlockRef
from imprint.domain.posts.search import SearchQuery, parse_query
from imprint.ports.post_index import Match, Matches
from imprint.services.posts.search import FoundPosts, Search

AUTHOR = Address("0x" + "ab" * 20)
AT = datetime(2030, 1, 31, tzinfo=UTC)


def _post(place: int) -> IndexedPost:
    block = BlockRef(1, "0x")
    texts = ("cid", "", "title", "description", place % 3, 0, ())
    return IndexedPost(place, place, AUTHOR, *texts, False, AT, block, "0x", Sales(0, 0), 0)


@dataclass
class Index:
    """Posts at positions 1, 2, 3 and so on. Every `nth` post matches. Scores are unsorted."""

    posts: int
    nth: int
    looked_at: int
    """How many posts one query examines before it stops."""
    read: int = 0
    """How many posts were read."""

    async def find_posts(
        self, query: SearchQuery, before: int | None, limit: int, scope: PostScope
    ) -> Matches:
        found: list[Match] = []
        start = self.posts if before is None else min(self.posts, before - 1)
        for place in range(start, 0, -1):
            if place % self.nth == 0:
                found.append(Match(place, place * 7 % 5))
            if len(found) == limit:
                return Matches(found, place)
            if start - place + 1 == self.looked_at:
                return Matches(found, place, is_cut=True)
        return Matches(found)

    async def posts_at(self, places: Sequence[int], which: PostFilter) -> list[IndexedPost]:
        posts = [_post(place) for place in places]
        self.read += len(posts)
        return [post for post in posts if which.free is None or post.free == which.free]

    async def public_texts(self, places: Sequence[int]) -> dict[int, str]:
        return {}


async def _pages(
    index: Index, which: PostFilter, limit: int, *, by_score: bool
) -> list[FoundPosts]:
    search = Search(index, index)  # type: ignore[arg-type]  # it has what a search asks for
    pages: list[FoundPosts] = []
    while not pages or pages[-1].next is not None:
        after = pages[-1].next if pages else None
        query = parse_query("words")
        pages.append(await search.find("a", query, which, after, limit, by_score=by_score))
    return pages


@pytest.mark.parametrize("looked_at", [1, 40, 1_000])
@pytest.mark.parametrize("limit", [1, 7, 100])
@pytest.mark.parametrize("nth", [1, 2, 500])
@pytest.mark.parametrize("free", [None, True])
async def test_every_match_is_shown_once(
    nth: int, limit: int, looked_at: int, free: bool | None
) -> None:
    index = Index(301, nth, looked_at)
    for which, by_score in ((PostFilter(free=free), True), (PostFilter(free=free), False)):
        pages = await _pages(index, which, limit, by_score=by_score)
        shown = [post.place for page in pages for post in page.posts]
        matching = range(301 // nth * nth, 0, -nth)
        assert sorted(shown, reverse=True) == [
            place for place in matching if free is None or (place % 3 == 0) is free
        ]
        assert all(len(page.posts) <= limit for page in pages)


@pytest.mark.parametrize("order", [None, PostOrder.NEWEST, PostOrder.OLDEST])
async def test_only_the_posts_of_a_page_are_read(order: PostOrder | None) -> None:
    index = Index(301, 1, 1_000)
    which = PostFilter() if order is None else PostFilter(order=order)
    pages = await _pages(index, which, 20, by_score=order is None)
    # For each page, one additional post is read, to find out whether another page follows.
    assert index.read <= 301 + len(pages)
    assert {len(page.posts) for page in pages[:-1]} == {20}


@pytest.mark.parametrize("order", [None, *PostOrder])
async def test_pages_are_full_even_if_a_filter_leaves_out_most_matches(
    order: PostOrder | None,
) -> None:
    index = Index(301, 1, 1_000)
    which = PostFilter(free=True) if order is None else PostFilter(free=True, order=order)
    pages = await _pages(index, which, 20, by_score=order is None)
    # An empty page may follow: if a page is full at the end of a search window, older posts have
    # not been examined yet.
    assert [len(page.posts) for page in pages] in ([20] * 5, [20] * 5 + [0])
    assert len({post.place for page in pages for post in page.posts}) == 100


async def test_a_page_is_full_even_if_its_search_stops_early() -> None:
    index = Index(301, 1, 90)
    pages = await _pages(index, PostFilter(free=True), 20, by_score=True)
    assert {len(page.posts) for page in pages[:-1]} == {20}
    places = [post.place for page in pages for post in page.posts]
    assert sorted(places) == [place for place in range(1, 302) if place % 3 == 0]


async def test_a_request_ends_when_a_query_stops_early() -> None:
    index = Index(301, 500, 40)
    (first, *_) = await _pages(index, PostFilter(order=PostOrder.NEWEST), 10, by_score=True)
    assert first.posts == ()
    assert first.next is not None


async def test_clients_take_turns_to_search() -> None:
    """A client that sends many searches takes turns with the others."""
    begun: list[str] = []
    ended = asyncio.Event()

    class SlowIndex(Index):
        async def find_posts(
            self, query: SearchQuery, before: int | None, limit: int, scope: PostScope
        ) -> Matches:
            begun.append(query.terms[0].words[0])
            await ended.wait()
            return Matches(())

    index = SlowIndex(0, 1, 1)
    search = Search(index, index)  # type: ignore[arg-type]  # it has what a search asks for

    def ask(client: str, text: str) -> "asyncio.Task[FoundPosts]":
        found = search.find(client, parse_query(text), PostFilter(), None, 1, by_score=True)
        return asyncio.create_task(found)

    asked = [ask("greedy", f"many{number}") for number in range(6)] + [ask("other", "one")]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert begun == ["many0", "many1"]
    ended.set()
    await asyncio.gather(*asked)
    assert begun.index("one") < begun.index("many4")
