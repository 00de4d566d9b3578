"""Posts, authors, libraries, sales and totals from the index."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeVar
from weakref import ref

from imprint.auth.page_tokens import invalid_page_token
from imprint.auth.post_page_tokens import (
    OwnList,
    OwnPage,
    PostPageTokens,
    PostsPage,
    token_expiry,
)
from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.errors import Code, Refusal, Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid, NotACid, parse_cid
from imprint.domain.moderation import Decision, Measure
from imprint.domain.posts.indexed_posts import (
    AccountSummary,
    HeldPost,
    IndexedPost,
    MarketDay,
    MarketTotals,
    PostFilter,
    PostPosition,
    PostScope,
    PricedPost,
    RecordedPost,
    Sale,
    Sales,
)
from imprint.domain.posts.market_ledger import day_of
from imprint.domain.sessions import LiveSession
from imprint.ports import Clock
from imprint.ports.post_index import PostIndexReader
from imprint.services.moderation import CurrentMeasures
from imprint.services.posts.search import LibrarySearch, Search, parse_search

PAGE_SIZE = 20
"""The default number of posts or sales on a page."""

MAX_PAGE_SIZE = 50
"""Maximum number of posts or sales on a page."""

MAX_TABLE_SIZE = 1_000
"""Maximum and default number of sales in one CSV table."""

STATS_DAYS = 90
"""Number of days in the statistics, including today."""

KEPT_ROWS = 20_000
"""Cache size for list pages, in posts of about a kilobyte each."""

KEPT_OWN_ROWS = 2_000
"""Cache size for the pages of readers and authors, in posts or sales."""

FOUND_ROWS = 2_000
"""Cache size for search results, in posts.

Few searches are repeated, and a crawler that tries many words must not evict lists.
"""

SAME_THUMBNAIL = 100
"""Maximum number of posts with the same thumbnail that are checked."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ListRequest:
    """The parameters of a list request: its filter members, and the position to continue from.

    A page token carries its filter and its limit. A request may repeat the filter along
    with the token, and may name another limit.
    """

    given: Mapping[str, Any] = field(default_factory=dict)
    page_token: str | None = None
    limit: int | None = None
    search: str | None = None


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ListedPosts:
    """A page of posts, and the token of the next page."""

    posts: tuple[IndexedPost, ...]
    next_page_token: str | None
    snippets: Mapping[int, str] | None = None


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Library:
    """A page of a reader's library, and the token of the next page."""

    held: tuple[HeldPost, ...]
    next_page_token: str | None
    snippets: Mapping[int, str] | None = None


@dataclass(frozen=True, slots=True)
class OwnPost:
    """A post as its author sees it, and the measure that hides it from others.

    A withheld post has no title, description or picture.
    """

    post: IndexedPost
    decision: Decision | None


@dataclass(frozen=True, slots=True, weakref_slot=True)
class OwnPosts:
    """A page of an author's own posts, and the token of the next page."""

    posts: tuple[OwnPost, ...]
    next_page_token: str | None


@dataclass(frozen=True, slots=True, weakref_slot=True)
class SalesPage:
    """A page of an author's sales, and the token of the next page."""

    sales: tuple[Sale, ...]
    next_page_token: str | None


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Stats:
    """The totals of the marketplace, and the totals of each recent day, oldest first."""

    totals: MarketTotals
    days: tuple[MarketDay, ...]


class Derived(Generic[T]):
    """Cache of derived values, keyed by the identity of the source object from the catalog.

    The catalog returns the same object until a commit, so a value is derived from it only once. The
    value is dropped when its source is garbage-collected, because nobody can request the value
    again after a commit. A source that does not support weak references, such as a list, is cached
    together with its value. `weigh` returns the weight of a value. The total weight is at most
    `most`, and the least recently used values are evicted.
    """

    def __init__(self, weigh: Callable[[T], int], most: int) -> None:
        self._made: BoundedCache[int, tuple[Callable[[], object], object, T]] = BoundedCache(
            most, lambda made: weigh(made[2])
        )
        self._gone: deque[int] = deque()

    @property
    def weight(self) -> int:
        """The total weight of the cached values."""
        return self._made.weight

    def of(self, source: object, beside: object, make: Callable[[], T]) -> T:
        """Return the value that `make` derives from this source, cached with `beside`.

        A cached value is reused only if `beside` is equal.
        """
        known = self.find(source, beside)
        if known is None:
            known = make()
            self.keep(source, beside, known)
        return known

    def find(self, source: object, beside: object) -> T | None:
        """Return the cached value of this source, if `beside` is equal."""
        known = self._made.get(id(source))
        if known is None or known[0]() is not source or known[1] != beside:
            return None
        self._made.touch(id(source))
        return known[2]

    def keep(self, source: object, beside: object, made: T) -> None:
        """Cache the value derived from this source, replacing any earlier one."""
        key = id(source)
        refer: Callable[[], object]
        try:
            # The last reference may be dropped in another thread, so the callback only records the
            # key.
            refer = ref(source, lambda _: self._gone.append(key))
        except TypeError:
            refer = partial(_itself, source)
        self._made.put(key, (refer, beside, made))
        while self._gone:
            gone = self._gone.popleft()
            known = self._made.get(gone)
            # A new source may have the identity of the old one.
            if known is not None and known[0]() is None:
                self._made.pop(gone)


def _itself(source: object) -> object:
    return source


def kept_pages(rows: Callable[[T], Sized], most: int = KEPT_ROWS) -> Callable[[], Derived[T]]:
    """Return a factory for a cache of pages. A page weighs one more than its number of rows."""
    return lambda: Derived(lambda page: 1 + len(rows(page)), most)


@dataclass(frozen=True, slots=True)
class Posts:
    """Reads posts from the index, which reflects the chain. Access is decided elsewhere."""

    index: PostIndexReader
    tokens: PostPageTokens
    clock: Clock
    search: Search
    library_search: LibrarySearch
    measures: CurrentMeasures
    lists_any: bool = True
    """Whether lists may also contain posts that IMPRINT_SHOW does not select."""
    _listed: Derived[ListedPosts] = field(default_factory=kept_pages(lambda page: page.posts))
    _found: Derived[ListedPosts] = field(
        default_factory=kept_pages(lambda page: page.posts, FOUND_ROWS)
    )
    _libraries: Derived[Library] = field(
        default_factory=kept_pages(lambda page: page.held, KEPT_OWN_ROWS)
    )
    _own: Derived[OwnPosts] = field(
        default_factory=kept_pages(lambda page: page.posts, KEPT_OWN_ROWS)
    )
    _sales: Derived[SalesPage] = field(
        default_factory=kept_pages(lambda page: page.sales, KEPT_OWN_ROWS)
    )
    _stats: Derived[Stats] = field(
        default_factory=kept_pages(lambda page: page.days, 2 * STATS_DAYS)
    )

    async def list(self, request: ListRequest, client: str = "") -> ListedPosts:
        """Return a page of posts. Clients take turns to search. Refuses a token of another list."""
        which, after, limit, text = self._posts_start(request)
        if which.scope is not PostScope.SHOWN and not self.lists_any:
            raise Refusal(Code.INVALID_REQUEST, "This service lists only authors that it allows.")
        if text is not None:
            by_score = "order" not in request.given
            return await self._search(client, text, which, after, limit, by_score=by_score)
        page = await self.index.list_posts(which, after, limit)
        if not page.posts and page.next is None and after is None:
            await expect_complete(self.index)
        expires = token_expiry(self.clock())

        def make() -> ListedPosts:
            if page.next is None:
                return ListedPosts(page.posts, None)
            following = PostsPage(which, page.next, limit)
            return ListedPosts(page.posts, self.tokens.encode(following, expires))

        return self._listed.of(page, expires, make)

    async def _search(
        self,
        client: str,
        text: str,
        which: PostFilter,
        after: PostPosition | None,
        limit: int,
        *,
        by_score: bool,
    ) -> ListedPosts:
        """Return a page of the posts that contain all words of a text."""
        query = parse_search(text)
        found = await self.search.find(client, query, which, after, limit, by_score=by_score)
        if not found.posts and found.next is None and after is None:
            await expect_complete(self.index)
        expires = token_expiry(self.clock())

        def make() -> ListedPosts:
            if found.next is None:
                return ListedPosts(found.posts, None, found.snippets)
            token = self.tokens.encode(PostsPage(which, found.next, limit, text), expires)
            return ListedPosts(found.posts, token, found.snippets)

        # Texts that differ in case or marks find the same posts, but have different tokens.
        return self._found.of(found, (expires, text), make)

    async def listed(self, post_ids: Sequence[int]) -> Sequence[IndexedPost]:
        """Return those of these posts that lists show, in this order."""
        found = [await self.index.indexed_post(post_id) for post_id in post_ids]
        places = [post.place for post in found if post is not None]
        shown = {post.post_id: post for post in await self.index.posts_at(places, PostFilter())}
        return [shown[post_id] for post_id in post_ids if post_id in shown]

    async def post(self, post_id: int) -> PricedPost:
        """Return the post with this ID, and its latest prices.

        Refuses a post that does not exist or is withheld.
        """
        found = await _expect_post(self.index, await self.index.priced_post(post_id))
        await self.measures.check_post(found.post)
        return found

    async def proof(self, post_id: int) -> RecordedPost:
        """Return a post and its record in a final block of the chain.

        Refuses in the same cases as `post`. Also refuses a post that names no document, and refuses
        with `not_final` until the post's block is final.
        """
        found = await _expect_post(self.index, await self.index.recorded_post(post_id))
        await self.measures.check_post(found.post)
        try:
            parse_cid(found.post.cid)
        except NotACid as error:
            raise Refusal(Code.NOT_FOUND, "This post names no document.") from error
        if not found.is_final:
            raise Refusal(
                Code.NOT_FINAL,
                f"The block of this post, {found.post.block.number}, is not final yet. "
                "Try again when more blocks follow it.",
            )
        return found

    async def author(self, address: Address) -> AccountSummary:
        """Return the account of an author.

        Refuses an address with neither a post nor a profile, and a withheld author.
        """
        await self.measures.check_author(address)
        return await find_author(self.index, address)

    async def names_thumbnail(self, cid: Cid) -> bool:
        """Whether a post whose text is stored here has this thumbnail.

        Refuses the thumbnail of posts that are all withheld.
        """
        posts = await self.index.posts_with_thumbnail(cid, SAME_THUMBNAIL)
        if posts and len(await self.measures.withheld(posts)) == len(posts):
            await self.measures.check_post(posts[0])
        return bool(posts)

    async def is_indexed(self, address: Address) -> bool:
        """Whether search engines may list the page of an author."""
        return (await self.measures.current()).on_author(address) is None

    async def library(self, session: LiveSession, request: ListRequest) -> Library:
        """Return the posts that the session's address holds, most recently acquired first."""
        holder = session.address
        before, limit, text = self._own_start(OwnList.LIBRARY, holder, request, PAGE_SIZE)
        if text is not None:
            return await self._search_library(session, text, before, limit)
        rows = await self.index.library(holder, before, limit + 1)
        if not rows and before is None:
            await expect_complete(self.index)
        expires = token_expiry(self.clock())
        hidden = await self.measures.withheld([each.post for each in rows])

        def make() -> Library:
            shown = tuple(each for each in rows[:limit] if each.post.post_id not in hidden)
            if len(rows) <= limit:
                return Library(shown, None)
            following = OwnPage(OwnList.LIBRARY, holder, rows[limit - 1].arrived, limit)
            return Library(shown, self.tokens.encode(following, expires))

        return self._libraries.of(rows, (expires, hidden), make)

    async def _search_library(
        self, session: LiveSession, text: str, before: int | None, limit: int
    ) -> Library:
        query = parse_search(text)
        found = await self.library_search.find(session, query, before, limit)
        if not found.held and found.before is None and before is None:
            await expect_complete(self.index)
        if found.before is None:
            return Library(found.held, None, found.snippets)
        following = OwnPage(OwnList.LIBRARY, session.address, found.before, limit, text)
        token = self.tokens.encode(following, token_expiry(self.clock()))
        return Library(found.held, token, found.snippets)

    async def own(self, session: LiveSession, request: ListRequest) -> OwnPosts:
        """Return all posts of the session's address, newest first, including hidden ones."""
        author = session.address
        before, limit, _ = self._own_start(OwnList.POSTS, author, request, PAGE_SIZE)
        after = None if before is None else PostPosition(before)
        which = PostFilter(author=author, scope=PostScope.CHAIN)
        page = await self.index.list_posts(which, after, limit)
        if not page.posts and page.next is None and after is None:
            await expect_complete(self.index)
        expires, decisions = token_expiry(self.clock()), await self.measures.on_posts(page.posts)

        def make() -> OwnPosts:
            shown = tuple(_own_post(post, decisions.get(post.post_id)) for post in page.posts)
            if page.next is None:
                return OwnPosts(shown, None)
            following = OwnPage(OwnList.POSTS, author, page.next.place, limit)
            return OwnPosts(shown, self.tokens.encode(following, expires))

        return self._own.of(page, (expires, tuple(decisions.items())), make)

    async def sales(
        self, session: LiveSession, request: ListRequest, size: int = PAGE_SIZE
    ) -> SalesPage:
        """Return the purchases of posts by the session's address, newest first."""
        author = session.address
        before, limit, _ = self._own_start(OwnList.SALES, author, request, size)
        rows = await self.index.sales_of(author, before, limit + 1)
        if not rows and before is None:
            await expect_complete(self.index)
        expires = token_expiry(self.clock())
        hidden = await self._withheld_of({row.post_id for row in rows})

        def make() -> SalesPage:
            shown = tuple(
                replace(sale, title=None) if sale.post_id in hidden else sale
                for sale in rows[:limit]
            )
            if len(rows) <= limit:
                return SalesPage(shown, None)
            following = OwnPage(OwnList.SALES, author, shown[-1].place, limit)
            return SalesPage(shown, self.tokens.encode(following, expires))

        return self._sales.of(rows, (expires, hidden), make)

    async def _withheld_of(self, post_ids: set[int]) -> frozenset[int]:
        """Return the IDs among these whose posts are withheld."""
        if not (await self.measures.current()).withholds:
            return frozenset()
        posts = [await self.index.indexed_post(post_id) for post_id in post_ids]
        return await self.measures.withheld([post for post in posts if post is not None])

    async def stats(self) -> Stats:
        """Return overall totals and 90 daily totals. Raises `Unavailable` for an incomplete
        index."""
        await expect_complete(self.index)
        today = day_of(self.clock())
        first = today - STATS_DAYS + 1
        totals, found = await self.index.totals(), await self.index.days_since(first)

        def make() -> Stats:
            known = {day.day: day for day in found}
            nothing = Sales(0, 0)
            days = (known.get(day) or MarketDay(day, 0, nothing) for day in range(first, today + 1))
            return Stats(totals, tuple(days))

        return self._stats.of(found, (today, totals), make)

    def _posts_start(
        self, request: ListRequest
    ) -> tuple[PostFilter, PostPosition | None, int, str | None]:
        """Return the filter, the start position, the limit and the search text of a list."""
        if request.page_token is None:
            limit = request.limit or PAGE_SIZE
            return PostFilter(**request.given), None, limit, request.search
        start = self.tokens.decode(request.page_token, self.clock())
        if not isinstance(start, PostsPage):
            raise invalid_page_token()
        if request.search is not None and request.search != start.query:
            raise invalid_page_token()
        for name, value in request.given.items():
            if getattr(start.which, name) != value:
                raise invalid_page_token()
        return start.which, start.position, request.limit or start.limit, start.query

    def _own_start(
        self, name: OwnList, address: Address, request: ListRequest, size: int
    ) -> tuple[int | None, int, str | None]:
        """Return the position before which a list continues, its limit and its search text."""
        if request.page_token is None:
            return None, request.limit or size, request.search
        start = self.tokens.decode(request.page_token, self.clock())
        if not isinstance(start, OwnPage) or (start.name, start.address) != (name, address):
            raise invalid_page_token()
        if request.search is not None and request.search != start.query:
            raise invalid_page_token()
        limit = request.limit or min(start.limit, max(size, MAX_PAGE_SIZE))
        return start.before, limit, start.query


def _own_post(post: IndexedPost, decision: Decision | None) -> OwnPost:
    if decision is not None and decision.measure is Measure.WITHHELD:
        # Not even the author gets these values. They include the byline, because the measure may be
        # on the author.
        post = replace(post, title="", description="", thumbnail_cid="", byline=None, revision=None)
    return OwnPost(post, decision)


async def expect_complete(index: PostIndexReader) -> None:
    """Raise `Unavailable` if a post that was not found may still be on the chain."""
    if not await index.is_complete():
        raise Unavailable.index()


async def find_post(index: PostIndexReader, post_id: int) -> IndexedPost:
    """Return the post with this ID. Refuses an unknown ID, and raises `Unavailable`."""
    return await _expect_post(index, await index.indexed_post(post_id))


async def _expect_post(index: PostIndexReader, found: T | None) -> T:
    """Return the post that a lookup found. Refuses None.

    Raises `Unavailable` if the index is incomplete.
    """
    if found is None:
        await expect_complete(index)
        raise Refusal(Code.NOT_FOUND, "There is no post with this id.")
    return found


async def find_author(index: PostIndexReader, address: Address) -> AccountSummary:
    """Return the account of an author. Refuses an address with neither a post nor a profile.

    Raises `Unavailable`.
    """
    found = await index.account(address)
    if found is None or not (found.posts or found.profile):
        await expect_complete(index)
        raise Refusal(Code.NOT_FOUND, "This address has neither published anything nor a profile.")
    return found
