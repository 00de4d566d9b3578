"""The JSON of posts, authors, libraries, sales and statistics, made from what the index shows."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from io import StringIO

import msgspec

from imprint.domain.formats.instants import format_instant
from imprint.domain.posts.indexed_posts import AccountSummary, HeldPost, IndexedPost, Sale, Sales
from imprint.domain.posts.posts import BlockRef
from imprint.services.posts.posts import Derived, Library, ListedPosts, SalesPage, Stats
from imprint.web.api.feed_links import page_path

# ruff: noqa: N815  members are named as in the interface

_EPOCH_DAY = date(1970, 1, 1).toordinal()

_KEPT = 2_048
"""How many records of posts are kept, of about a kilobyte each."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""


class BlockRecord(msgspec.Struct):
    """A block."""

    number: int
    hash: str


class SalesRecord(msgspec.Struct):
    """How many purchases, and what was paid for them."""

    count: int
    volume: str


class PostLinks(msgspec.Struct):
    """Absolute addresses of a post."""

    self: str
    content: str
    page: str


class PostRecord(msgspec.Struct):
    """A post: `GET /posts/{id}`"""

    id: str
    author: str
    cid: str
    thumbnailCid: str
    title: str
    description: str
    price: str
    firstPrice: str
    free: bool
    hashtags: tuple[str, ...]
    hosted: bool
    createdAt: datetime
    block: BlockRecord
    transaction: str
    sales: SalesRecord
    holders: int
    links: PostLinks
    snippet: str | msgspec.UnsetType = msgspec.UNSET


class HeldRecord(msgspec.Struct):
    """How a reader holds a post; `paid` is null if the token was not bought."""

    balance: str
    boughtAt: datetime
    paid: str | None


class HeldPostRecord(PostRecord, kw_only=True):
    """A post in a library."""

    held: HeldRecord


class PostsResponse(msgspec.Struct):
    """`GET /posts`"""

    posts: list[PostRecord]
    next_page_token: str | None


class LibraryResponse(msgspec.Struct):
    """`GET /me/library`"""

    posts: list[HeldPostRecord]
    next_page_token: str | None


class AuthorResponse(msgspec.Struct):
    """`GET /authors/{address}`"""

    address: str
    posts: int
    sales: SalesRecord
    readers: int
    firstPostAt: datetime | None
    lastPostAt: datetime | None


class SaleRecord(msgspec.Struct):
    """One purchase."""

    postId: str
    buyer: str
    price: str
    at: datetime
    block: BlockRecord
    transaction: str


class SalesResponse(msgspec.Struct):
    """`GET /me/sales`"""

    sales: list[SaleRecord]
    next_page_token: str | None


class DayRecord(msgspec.Struct):
    """What happened on one day, UTC."""

    day: str
    posts: int
    sales: int
    volume: str


class StatsResponse(msgspec.Struct):
    """`GET /stats`"""

    posts: int
    authors: int
    readers: int
    sales: int
    volume: str
    days: list[DayRecord]


@dataclass(frozen=True, slots=True)
class PostRecords:
    """Makes records of posts, with links that begin with the public URL of the service."""

    public_url: str
    _records: Derived[PostRecord] = field(default_factory=lambda: Derived(lambda _: 1, _KEPT))

    def of(self, post: IndexedPost) -> PostRecord:
        """The record of a post; kept, because the catalog returns the same posts for a while."""
        return self._records.of(post, None, lambda: post_record(post, self.public_url))

    def listed(self, listed: ListedPosts) -> PostsResponse:
        """A page of posts."""
        posts = [self.found(post, listed.snippets) for post in listed.posts]
        return PostsResponse(posts, listed.next_page_token)

    def library(self, library: Library) -> LibraryResponse:
        """A page of a library."""
        held = [self.held(each, library.snippets) for each in library.held]
        return LibraryResponse(held, library.next_page_token)

    def found(self, post: IndexedPost, snippets: Mapping[int, str] | None) -> PostRecord:
        """A post, with its snippet if it was searched for."""
        if snippets is None:
            return self.of(post)
        return msgspec.structs.replace(self.of(post), snippet=snippets[post.place])

    def held(self, held: HeldPost, snippets: Mapping[int, str] | None = None) -> HeldPostRecord:
        """A post with how it is held."""
        paid = None if held.paid is None else str(held.paid)
        record = HeldRecord(str(held.balance), held.arrived_at, paid)
        return HeldPostRecord(
            **msgspec.structs.asdict(self.found(held.post, snippets)), held=record
        )


def post_record(post: IndexedPost, public_url: str) -> PostRecord:
    """The one JSON form of a post; `public_url` has no slash at its end."""
    address = f"{public_url}/posts/{post.post_id}"
    return PostRecord(
        str(post.post_id),
        post.author,
        post.cid,
        post.thumbnail_cid,
        post.title,
        post.description,
        str(post.price),
        str(post.first_price),
        post.free,
        post.hashtags,
        post.hosted,
        post.created_at,
        _block(post.block),
        post.tx_hash,
        _sales(post.sales),
        post.holders,
        PostLinks(address, f"{address}/content", public_url + page_path(post.post_id)),
    )


def author_response(account: AccountSummary) -> AuthorResponse:
    """What an author did."""
    return AuthorResponse(
        account.address,
        account.posts,
        _sales(account.sales),
        account.readers,
        account.first_post_at,
        account.last_post_at,
    )


def sales_response(page: SalesPage) -> SalesResponse:
    """A page of sales."""
    sales = [
        SaleRecord(
            str(sale.post_id),
            sale.buyer,
            str(sale.price),
            sale.at,
            _block(sale.block),
            sale.tx_hash,
        )
        for sale in page.sales
    ]
    return SalesResponse(sales, page.next_page_token)


CSV_COLUMNS = ("postId", "buyer", "price", "at", "blockNumber", "blockHash", "transaction")
"""The first line of a table of sales."""


def sales_table(sales: Sequence[Sale]) -> bytes:
    """Sales as comma-separated values (RFC 4180), with a line of names.

    A spreadsheet must not take a cell for a formula, so one that looks like it gets an apostrophe.
    """
    text = StringIO()
    table = csv.writer(text, lineterminator="\r\n")
    table.writerow(CSV_COLUMNS)
    for sale in sales:
        cells = (
            str(sale.post_id),
            sale.buyer,
            str(sale.price),
            format_instant(sale.at),
            str(sale.block.number),
            sale.block.block_hash,
            sale.tx_hash,
        )
        table.writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells])
    return text.getvalue().encode()


def stats_response(stats: Stats) -> StatsResponse:
    """The totals and the last days."""
    totals = stats.totals
    days = [
        DayRecord(
            date.fromordinal(_EPOCH_DAY + day.day).isoformat(),
            day.posts,
            day.sales.count,
            str(day.sales.volume),
        )
        for day in stats.days
    ]
    return StatsResponse(
        totals.posts,
        totals.authors,
        totals.readers,
        totals.sales.count,
        str(totals.sales.volume),
        days,
    )


def _block(block: BlockRef) -> BlockRecord:
    return BlockRecord(block.number, block.block_hash)


def _sales(sales: Sales) -> SalesRecord:
    return SalesRecord(sales.count, str(sales.volume))
