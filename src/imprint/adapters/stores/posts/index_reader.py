"""`PostIndexReader` in the database."""

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from heapq import nlargest
from typing import Any

from imprint.adapters.database.database import Database
from imprint.adapters.database.transaction import Row, Rule, T, Transaction, Ts, Value, micros
from imprint.adapters.database.transaction import moment_of as moment
from imprint.adapters.stores.files import END, UNREADABLE
from imprint.adapters.stores.posts import index_sql as sql
from imprint.adapters.stores.posts.index_tables import price_bytes
from imprint.adapters.stores.profiles import find_profile
from imprint.domain.errors import Damaged, Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.feeds import FEED_SIZE
from imprint.domain.posts.indexed_posts import (
    AccountSummary,
    HeldPost,
    IndexedPost,
    MarketDay,
    MarketTotals,
    PostFilter,
    PostOrder,
    PostPage,
    PostPosition,
    PostScope,
    PricedPost,
    PricePoint,
    RecordedPost,
    Sale,
    Sales,
    ShownTotals,
    inactive_account,
)
from imprint.domain.posts.market_events import block_of, log_index_of
from imprint.domain.posts.posts import BlockRef
from imprint.domain.posts.revisions import RevisionSummary
from imprint.domain.posts.slugs import READ_CHARACTERS
from imprint.domain.profiles import Byline
from imprint.ports.post_index import PostAddress

_HIGHEST = 2**256 - 1
"""The highest possible price."""

_ABOVE_ALL = b"\xff" * 33
"""Value that sorts after every price. A price has 32 bytes."""

_PRICES = 20
"""Maximum number of prices shown per post, because authors may change prices all day."""

_LONGEST_KEPT = 100
"""Maximum number of sales in a cached list. A thousand sales take half a megabyte."""

_TIMES = 500
"""Number of timestamps read per statement."""

_MOST_DAYS = 1_000
"""Maximum number of days read per statement."""


@lru_cache(maxsize=2048)
def build_post(  # noqa: PLR0917  one parameter for each column
    place: int,
    post_id: str,
    author: Address,
    cid: str | None,
    spelled_cid: bytes,
    thumbnail_cid: bytes,
    title: bytes,
    description: bytes,
    price: bytes,
    first_price: bytes,
    hashtags: str,
    created_at: int,
    block_hash: str,
    tx_hash: str,
    sales: int,
    volume: str,
    holders: int,
    hosted: int | None,
    byline: str | None,
    avatar: Cid | None,
    words: int | None,
    has_opening: int | None,
    revision: int | None,
    note: str | None,
    revised_at: int | None,
) -> IndexedPost:
    """Build the post of a row with `index_sql.POST_COLUMNS`. Raises `Damaged` for unreadable
    values.

    Successive lists have mostly the same rows, so posts are cached like files.
    """
    try:
        return IndexedPost(
            place,
            int(post_id),
            author,
            _text(spelled_cid) if cid is None else cid,
            _text(thumbnail_cid),
            _text(title),
            _text(description),
            int.from_bytes(price, "big"),
            int.from_bytes(first_price, "big"),
            tuple(json.loads(hashtags)),
            hosted is not None,
            moment(created_at),
            BlockRef(block_of(place), block_hash),
            tx_hash,
            Sales(sales, int(volume)),
            holders,
            None if byline is None else Byline(byline, avatar),
            words,
            bool(has_opening),
            _summary(revision, note, revised_at) if hosted is not None else None,
        )
    except UNREADABLE as error:
        raise Damaged.record(f"the post at position {place!a}") from error


def _summary(
    number: int | None, note: str | None, revised_at: int | None
) -> RevisionSummary | None:
    if number is None or note is None or revised_at is None:
        return None
    return RevisionSummary(number, note, moment(revised_at))


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "replace")


def refuse_damaged_index(database: Database) -> None:
    """Raise `Unavailable` if the index is damaged, because a post that is not found may exist."""
    if database.damage.structure is not None or database.damage.index is not None:
        raise Unavailable.database()


@dataclass(frozen=True, slots=True)
class SqlIndexReader:
    """`PostIndexReader` in the database."""

    database: Database

    async def is_complete(self) -> bool:
        return await self._cached("complete", 0, _is_complete)

    async def list_posts(
        self, which: PostFilter, after: PostPosition | None, limit: int
    ) -> PostPage:
        is_simple = not (which.tags or which.author or _bounds(which) != (0, _HIGHEST))
        is_simple = is_simple and which.scope is not PostScope.LISTED
        reach = limit if is_simple else 2 * sql.WALK
        return await self._cached("posts", reach, _list_posts, which, after, limit)

    async def posts_at(self, places: Sequence[int], which: PostFilter) -> list[IndexedPost]:
        refuse_damaged_index(self.database)
        return await self.database.read(_posts_at, tuple(places), which, reach=len(places))

    async def indexed_post(self, post_id: int) -> IndexedPost | None:
        return await self._cached("post", 0, _find_post, post_id)

    async def posts_with_thumbnail(self, cid: Cid, limit: int) -> list[IndexedPost]:
        return await self._cached("thumbnail", limit, _posts_with_thumbnail, cid, limit)

    async def priced_post(self, post_id: int) -> PricedPost | None:
        return await self._cached("priced post", 0, _find_priced_post, post_id)

    async def recorded_post(self, post_id: int) -> RecordedPost | None:
        return await self._cached("recorded post", 0, _find_recorded_post, post_id)

    async def account(self, address: Address) -> AccountSummary | None:
        return await self._cached("account", 0, _find_account, address)

    async def library(self, holder: Address, before: int | None, limit: int) -> list[HeldPost]:
        return await self._cached("library", limit, _library, holder, before, limit)

    async def sales_of(self, author: Address, before: int | None, limit: int) -> list[Sale]:
        if limit > _LONGEST_KEPT:
            refuse_damaged_index(self.database)
            return await self.database.read(_sales_of, author, before, limit, reach=limit)
        return await self._cached("sales", limit, _sales_of, author, before, limit)

    async def days_since(self, day: int) -> list[MarketDay]:
        return await self._cached("days", 0, _days_since, day)

    async def totals(self) -> MarketTotals:
        return await self._cached("totals", 0, _totals)

    async def shown_totals(self) -> ShownTotals:
        refuse_damaged_index(self.database)
        async with self.database.snapshot() as snapshot:
            return await snapshot.read(_shown_totals)

    async def post_times(self, author: Address, since: datetime, limit: int) -> list[datetime]:
        return await self._times(sql.POST_TIMES, author, since, limit)

    async def purchase_times(self, buyer: Address, since: datetime, limit: int) -> list[datetime]:
        return await self._times(sql.PURCHASE_TIMES, buyer, since, limit)

    async def price_changes(self, post_ids: Sequence[int]) -> Mapping[int, datetime]:
        if not post_ids:
            return {}
        refuse_damaged_index(self.database)
        ids = tuple(post_ids)
        return await self.database.cached(
            ("price changes", ids), lambda: self.database.read(_price_changes, ids)
        )

    async def place_after(self, after: int, count: int) -> int | None:
        refuse_damaged_index(self.database)
        return await self.database.read(_place_after, after, count, reach=count)

    async def addresses(self, after: int, limit: int) -> list[PostAddress]:
        refuse_damaged_index(self.database)
        return await self.database.read(_addresses, after, limit, reach=limit)

    async def _times(
        self, statement: str, who: Address, since: datetime, limit: int
    ) -> list[datetime]:
        refuse_damaged_index(self.database)
        return await self.database.read(_times, statement, who, since, limit, reach=limit)

    async def _cached(self, name: str, reach: int, rule: Rule[*Ts, T], *args: *Ts) -> T:
        """A rule's result, cached until a commit."""
        refuse_damaged_index(self.database)
        key: Hashable = ("index", name, args)
        return await self.database.cached(key, lambda: self.database.read(rule, *args, reach=reach))


async def _is_complete(tx: Transaction) -> bool:
    row = await tx.fetchone(sql.IS_COMPLETE)
    return row is not None and bool(row["complete"])


async def _find_post(tx: Transaction, post_id: int) -> IndexedPost | None:
    row = await tx.fetchone(sql.POST_BY_ID, post_id=str(post_id))
    return None if row is None else build_post(*row)


async def _posts_with_thumbnail(tx: Transaction, cid: Cid, limit: int) -> list[IndexedPost]:
    thumbnail = cid.encode()
    rows = await tx.fetchall(sql.POSTS_WITH_THUMBNAIL, thumbnail_cid=thumbnail, limit=limit)
    return [build_post(*row) for row in rows]


async def find_tags(tx: Transaction, post_ids: tuple[int, ...]) -> dict[int, frozenset[str]]:
    """The hashtags of posts, both from the chain and from their files."""
    found: dict[int, frozenset[str]] = {}
    ids = json.dumps([str(post_id) for post_id in post_ids])
    for row in await tx.fetchall(sql.TAGS_OF_POSTS, ids=ids):
        post_id = int(row["post_id"])
        found[post_id] = found.get(post_id, frozenset()) | frozenset(json.loads(row["hashtags"]))
    return found


async def _find_priced_post(tx: Transaction, post_id: int) -> PricedPost | None:
    post = await _find_post(tx, post_id)
    if post is None:
        return None
    rows = await tx.fetchall(sql.PRICES_OF, post_id=str(post_id), limit=_PRICES)
    prices = [PricePoint(int(row["price"]), moment(row["at"])) for row in rows]
    prices.append(PricePoint(post.first_price, post.created_at))
    return PricedPost(post, tuple(prices[:_PRICES]))


async def _find_recorded_post(tx: Transaction, post_id: int) -> RecordedPost | None:
    # Both in one transaction, because a newer final block says nothing about a post read earlier.
    post, state = await _find_post(tx, post_id), await tx.fetchone(sql.INDEX_STATE)
    if post is None or state is None:
        return None
    return RecordedPost(
        post,
        state["chain_id"],
        state["contract"],
        log_index_of(post.place),
        post.block.number <= state["final_block"],
    )


# Lists of posts

LOWEST_SHOWN = {PostScope.CHAIN: 0, PostScope.LISTED: 1, PostScope.SHOWN: 2}
"""The lowest `posts.shown` in each scope."""

_Found = tuple[int, Any]
"""A post's position and the value by which the list is sorted."""


def _bounds(which: PostFilter) -> tuple[int, int]:
    """The lowest and highest price of a filter."""
    low, high = which.min_price or 0, _HIGHEST if which.max_price is None else which.max_price
    if which.free is True:
        high = min(high, 0)
    elif which.free is False:
        low = max(low, 1)
    return low, min(high, _HIGHEST)


@dataclass(frozen=True, slots=True)
class _Query:
    """A list with the parameters of its statements: the tags (rarest first), and the values."""

    which: PostFilter
    low: int
    high: int
    tags: tuple[str, ...]
    fewest: int
    author_is_fewest: bool

    @property
    def is_priced(self) -> bool:
        return (self.low, self.high) != (0, _HIGHEST)

    def also(
        self, *, tags_from: int = 0, author: bool = True, price: bool = True, shown: bool = False
    ) -> sql.Also:
        """The conditions that the chosen index does not cover.

        Most walks cover the scope. For a walk that does not, `shown` adds the scope as a condition.
        """
        tags = tuple(range(tags_from, len(self.tags)))
        has_author, is_priced = author and self.which.author is not None, price and self.is_priced
        lowest = LOWEST_SHOWN[self.which.scope]
        if self.which.scope is PostScope.SHOWN and not shown:
            lowest = 0
        return sql.Also(tags, has_author, is_priced, lowest)

    def walk(self, walk: sql.Walk) -> sql.Walk:
        """Restrict a walk to the posts of the scope, if an index has exactly these posts."""
        return sql.among_shown(walk) if self.which.scope is PostScope.SHOWN else walk

    @property
    def values(self) -> dict[str, Value]:
        values: dict[str, Value] = {f"tag{n}": tag for n, tag in enumerate(self.tags)}
        if self.which.author is not None:
            values["author"] = self.which.author
        return values | {"low": price_bytes(self.low), "high": price_bytes(self.high)}


async def _plan(tx: Transaction, which: PostFilter) -> _Query | None:
    """Plan a list, or return None if it is empty."""
    low, high = _bounds(which)
    if low > high:
        return None
    counted = []
    for tag in dict.fromkeys(which.tags):
        is_shown = which.scope is PostScope.SHOWN
        count = sql.COUNT_SHOWN_TAGGED if is_shown else sql.COUNT_TAGGED
        (row,) = await tx.fetchall(count, tag=tag)
        counted.append((int(row["count"]), tag))
    counted.sort()
    fewest, author_is_fewest = counted[0][0] if counted else END, False
    if which.author is not None:
        found = await tx.fetchone(sql.POSTS_OF_AUTHOR, author=which.author)
        of_author = 0 if found is None else int(found["posts"])
        if of_author <= fewest:
            fewest, author_is_fewest = of_author, True
    if not fewest:
        return None
    return _Query(which, low, high, tuple(tag for _, tag in counted), fewest, author_is_fewest)


async def _list_posts(
    tx: Transaction, which: PostFilter, after: PostPosition | None, limit: int
) -> PostPage:
    query = await _plan(tx, which)
    if query is None:
        return PostPage((), None)
    has_value = which.order in (PostOrder.SALES, PostOrder.PRICE)
    if has_value and query.fewest <= sql.SORTED:
        found, following = await _sort(tx, query, after, limit)
    else:
        walks = _walks_by_value(query, after) if has_value else _walks_by_place(query, after)
        found, following = await _walk(tx, query, walks, limit)
    posts = await _fetch(tx, [place for place, _ in found])
    return PostPage(tuple(posts[place] for place, _ in found if place in posts), following)


_Step = tuple[sql.Walk, sql.Also, dict[str, Value]]
"""A walk, its conditions, and its start values."""


def _walks_by_place(query: _Query, after: PostPosition | None) -> Iterator[_Step]:
    """The single walk of a list in chain order, by its most selective condition."""
    is_oldest = query.which.order is PostOrder.OLDEST
    place = (-1 if is_oldest else END) if after is None else after.place
    if query.author_is_fewest:
        walks, also = sql.BY_AUTHOR, query.also(author=False)
    elif query.tags:
        walks, also = sql.BY_TAG, query.also(tags_from=1)
    elif query.low == query.high:
        walks, also = sql.AT_PRICE, query.also(price=False)
    else:
        walks, also = sql.ALL_POSTS, query.also()
    yield query.walk(walks[is_oldest]), also, {"place": place}


def _walks_by_value(query: _Query, after: PostPosition | None) -> Iterator[_Step]:
    """The walks of a sorted list: posts with the same value as the position, then posts with lower
    values."""
    if query.which.order is PostOrder.SALES:
        same, lower, also = sql.SAME_SALES, sql.FEWER_SALES, query.also()
        value: Value = END if after is None else min(after.value, END)
    else:
        same, lower, also = sql.SAME_PRICE, sql.LOWER_PRICE, query.also(price=False)
        if after is None or after.value > query.high:
            after = None
            value = _ABOVE_ALL if query.high == _HIGHEST else price_bytes(query.high + 1)
        else:
            value = price_bytes(after.value)
    if after is not None:
        yield query.walk(same), also, {"value": value, "place": after.place}
    yield query.walk(lower), also, {"value": value}


async def _walk(
    tx: Transaction, query: _Query, walks: Iterable[_Step], limit: int
) -> tuple[list[_Found], PostPosition | None]:
    found: list[_Found] = []
    for walk, also, start in walks:
        values = query.values | start
        missing = limit + 1 - len(found)
        rows = await tx.fetchall(sql.find_places(walk, also), **values, limit=missing)
        found += [(row["place"], row["value"]) for row in rows]
        if len(found) > limit:
            return found[:limit], _position(*found[limit - 1])
        if also:
            end = await tx.fetchone(sql.end_of_walk(walk), **values)
            if end is not None:
                return found, _position(end["place"], end["value"])
    return found, None


def _position(place: int, value: Any) -> PostPosition:
    return PostPosition(place, _number(value))


def _number(value: Any) -> int:
    """Decode a number of sales or a price."""
    return value if isinstance(value, int) else int.from_bytes(value, "big")


async def _sort(
    tx: Transaction, query: _Query, after: PostPosition | None, limit: int
) -> tuple[list[_Found], PostPosition | None]:
    """A page of a list that is sorted by sales or price and short enough to sort in memory."""
    value = "sales" if query.which.order is PostOrder.SALES else "price"
    if query.author_is_fewest:
        text = sql.places_of_author(value, query.also(author=False, shown=True))
    else:
        text = sql.places_of_tag(value, query.also(tags_from=1, shown=True))
    rows = await tx.fetchall(text, **query.values)
    found = ((_number(row["value"]), row["place"]) for row in rows)
    if after is not None:
        start = after.value, after.place
        found = (each for each in found if each < start)
    best = nlargest(limit + 1, found)
    page = [(place, value) for value, place in best[:limit]]
    return page, _position(*page[-1]) if len(best) > limit else None


async def _fetch(tx: Transaction, places: Sequence[int]) -> dict[int, IndexedPost]:
    nothing = sql.Also()
    found = await _by_keys(tx, places, lambda count: sql.posts_at(count, nothing))
    return {post.place: post for post in found}


async def _posts_at(
    tx: Transaction, places: tuple[int, ...], which: PostFilter
) -> list[IndexedPost]:
    low, high = _bounds(which)
    if low > high:
        return []
    query = _Query(which, low, high, tuple(dict.fromkeys(which.tags)), END, False)
    also = query.also(shown=True)
    return await _by_keys(tx, places, lambda count: sql.posts_at(count, also), query.values)


async def _by_keys(
    tx: Transaction,
    keys: Sequence[Value],
    statement: Callable[[int], str],
    values: dict[str, Value] | None = None,
) -> list[IndexedPost]:
    """Posts with these keys, found in batches."""
    posts: list[IndexedPost] = []
    largest = sql.BATCHES[-1]
    for start in range(0, len(keys), largest):
        batch = keys[start : start + largest]
        size = next(size for size in sql.BATCHES if size >= len(batch))
        padded = (*batch, *(batch[-1],) * (size - len(batch)))
        named = {f"key{number}": key for number, key in enumerate(padded)}
        rows = await tx.fetchall(statement(size), **named, **(values or {}))
        posts += [build_post(*row) for row in rows]
    return posts


# Accounts, libraries and sales


async def _find_account(tx: Transaction, address: Address) -> AccountSummary | None:
    row = await tx.fetchone(sql.ACCOUNT, address=address)
    profile = await find_profile(tx, address)
    if row is None:
        return None if profile is None else replace(inactive_account(address), profile=profile)
    summary = AccountSummary(
        address,
        row["posts"],
        _moment(row["first_post_at"]),
        _moment(row["last_post_at"]),
        _sales(row),
        int(row["worth"]),
        row["readers"],
        Sales(row["purchases"], int(row["spent"])),
        row["held"],
        profile,
    )
    # After a reorg, there may be a row for an account without any activity.
    did_anything = summary.posts or summary.purchases.count or summary.held
    return summary if did_anything or profile else None


def _moment(value: int | None) -> datetime | None:
    return None if value is None else moment(value)


def _sales(row: Row) -> Sales:
    return Sales(row["sales"], int(row["volume"]))


async def _library(
    tx: Transaction, holder: Address, before: int | None, limit: int
) -> list[HeldPost]:
    end = END if before is None else before
    rows = await tx.fetchall(sql.LIBRARY, holder=holder, before=end, limit=limit)
    found = await _by_keys(tx, [row["post_id"] for row in rows], sql.posts_with_ids)
    posts = {post.post_id: post for post in found}
    return [
        HeldPost(
            posts[int(row["post_id"])],
            int(row["balance"]),
            row["arrived"],
            moment(row["arrived_at"]),
            None if row["paid"] is None else int(row["paid"]),
        )
        for row in rows
    ]


async def _sales_of(tx: Transaction, author: Address, before: int | None, limit: int) -> list[Sale]:
    end = END if before is None else before
    rows = await tx.fetchall(sql.SALES_OF, author=author, before=end, limit=limit)
    return [
        Sale(
            row["place"],
            int(row["post_id"]),
            row["buyer"],
            int(row["price"]),
            moment(row["at"]),
            BlockRef(block_of(row["place"]), row["block_hash"]),
            row["tx_hash"],
            None if row["title"] is None else _text(row["title"]),
            row["receiver"],
        )
        for row in rows
    ]


# Totals and times


async def _days_since(tx: Transaction, day: int) -> list[MarketDay]:
    rows = await tx.fetchall(sql.DAYS_SINCE, day=day, limit=_MOST_DAYS)
    return [MarketDay(row["day"], row["posts"], _sales(row)) for row in rows]


async def _totals(tx: Transaction) -> MarketTotals:
    row = await tx.fetchone(sql.TOTALS)
    if row is None:
        return MarketTotals(0, 0, 0, 0, Sales(0, 0), 0)
    return MarketTotals(
        row["posts"],
        row["authors"],
        row["readers"],
        row["users"],
        _sales(row),
        int(row["worth"]),
    )


SHOWN_POSTS = """
SELECT count(*) AS posts, count(DISTINCT author) AS authors,
       CAST(coalesce(sum(sales), 0) AS BIGINT) AS sales
FROM posts WHERE shown = 2"""
SHOWN_VOLUMES = "SELECT volume FROM posts WHERE shown = 2 AND sales > 0"
SHOWN_READERS = """
SELECT count(DISTINCT h.holder) AS readers FROM holdings h JOIN posts p ON p.post_id = h.post_id
WHERE h.held = 1 AND p.shown = 2"""


async def _shown_totals(tx: Transaction) -> ShownTotals:
    (posts,) = await tx.fetchall(SHOWN_POSTS)
    (held,) = await tx.fetchall(SHOWN_READERS)
    # Volumes reach up to 2^256, which only one of the databases can sum.
    volume = sum(int(row["volume"]) for row in await tx.fetchall(SHOWN_VOLUMES))
    sales = Sales(posts["sales"], volume)
    return ShownTotals(posts["posts"], posts["authors"], held["readers"], sales)


async def _times(
    tx: Transaction, statement: str, who: Address, since: datetime, limit: int
) -> list[datetime]:
    """The newest timestamps since a given time, oldest first. They are read in batches, so that
    few timestamps before that time are read."""
    earliest, before = micros(since), END
    times: list[int] = []
    while len(times) < limit:
        size = min(_TIMES, limit - len(times))
        rows = await tx.fetchall(statement, who=who, before=before, limit=size)
        recent = [row["at"] for row in rows if row["at"] >= earliest]
        times += recent
        if len(recent) < size:
            break
        before = rows[-1]["place"]
    return [moment(each) for each in reversed(times)]


# Feeds and sitemaps

_IDS = ", ".join(f":id{number}" for number in range(FEED_SIZE))

PRICE_CHANGES = f"""
SELECT p.post_id,
       (SELECT c.at FROM price_changes c WHERE c.post_id = p.post_id ORDER BY c.place DESC LIMIT 1)
       AS at
FROM posts p WHERE p.post_id IN ({_IDS})"""  # noqa: S608
"""The last change of each price, regardless of how often authors change it.

The statement is the same for any number of posts, so that a database prepares it once.
"""

PLACE_AFTER = """
SELECT place FROM posts WHERE place > :after ORDER BY place LIMIT 1 OFFSET :skipped"""

ADDRESSES = """
SELECT place, post_id, substr(title, 1, :size) AS title, created_at FROM posts
WHERE shown = 2 AND place > :after AND place <= :last ORDER BY place LIMIT :limit"""


async def _price_changes(tx: Transaction, post_ids: tuple[int, ...]) -> dict[int, datetime]:
    padded = post_ids + post_ids[-1:] * (FEED_SIZE - len(post_ids))
    values = {f"id{number}": str(post_id) for number, post_id in enumerate(padded)}
    rows = await tx.fetchall(PRICE_CHANGES, **values)
    return {int(row["post_id"]): moment(row["at"]) for row in rows if row["at"] is not None}


async def _place_after(tx: Transaction, after: int, count: int) -> int | None:
    row = await tx.fetchone(PLACE_AFTER, after=after, skipped=count - 1)
    return None if row is None else row["place"]


async def _addresses(tx: Transaction, after: int, limit: int) -> list[PostAddress]:
    end = await _place_after(tx, after, limit)
    last = END if end is None else end
    # A character has at most four bytes.
    size = 4 * READ_CHARACTERS
    rows = await tx.fetchall(ADDRESSES, after=after, last=last, limit=limit, size=size)
    return [
        PostAddress(
            row["place"],
            int(row["post_id"]),
            # SQLite returns NULL for a part of an empty title.
            _text(row["title"] or b""),
            moment(row["created_at"]),
        )
        for row in rows
    ]
