"""Values of the index: posts, sales, libraries, accounts and totals."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from imprint.domain.drafts.files import File
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.posts import BlockRef


@dataclass(frozen=True, slots=True)
class Sales:
    """The number of purchases, and the total paid in wei."""

    count: int
    volume: int


@dataclass(frozen=True, slots=True, weakref_slot=True)
class IndexedPost:
    """A post as the chain describes it.

    `cid` is canonical if the text on the chain is a CID, and that text otherwise. Invalid UTF-8 is
    replaced in all texts. `hosted` if the document of the post is stored here.
    """

    place: int
    post_id: int
    author: Address
    cid: str
    thumbnail_cid: str
    title: str
    description: str
    price: int
    first_price: int
    hashtags: tuple[str, ...]
    hosted: bool
    created_at: datetime
    block: BlockRef
    tx_hash: str
    sales: Sales
    holders: int

    @property
    def free(self) -> bool:
        return self.price == 0


@dataclass(frozen=True, slots=True)
class PricePoint:
    """A price of a post, and since when it had it."""

    price: int
    since: datetime


@dataclass(frozen=True, slots=True)
class PricedPost:
    """A post with its latest prices, the newest first."""

    post: IndexedPost
    prices: tuple[PricePoint, ...]


class PostOrder(StrEnum):
    """The orders of a list of posts; `sales` and `price` have the highest first."""

    NEWEST = "newest"
    OLDEST = "oldest"
    SALES = "sales"
    PRICE = "price"


@dataclass(frozen=True, slots=True)
class PostFilter:
    """Which posts a list contains, and in which order."""

    tags: tuple[str, ...] = ()
    author: Address | None = None
    free: bool | None = None
    min_price: int | None = None
    max_price: int | None = None
    order: PostOrder = PostOrder.NEWEST

    @property
    def selects_all(self) -> bool:
        """Whether every post passes."""
        prices = (self.free, self.min_price, self.max_price)
        return not self.tags and self.author is None and all(each is None for each in prices)


@dataclass(frozen=True, slots=True)
class PostPosition:
    """Where a list continues: after the post at `place`, whose sales or price was `value`."""

    place: int
    value: int = 0


@dataclass(frozen=True, slots=True, weakref_slot=True)
class PostPage:
    """Posts of a list. `next` is where the next page starts, None on the last one.

    A page may have fewer posts than requested, or none, although more follow: its work is bounded.
    """

    posts: tuple[IndexedPost, ...]
    next: PostPosition | None


@dataclass(frozen=True, slots=True)
class HeldPost:
    """A post in a reader's library; `paid` is None if the token was not bought."""

    post: IndexedPost
    balance: int
    arrived: int
    arrived_at: datetime
    paid: int | None


@dataclass(frozen=True, slots=True)
class Sale:
    """One purchase of a post. `title` is None if the index does not have the post."""

    place: int
    post_id: int
    buyer: Address
    price: int
    at: datetime
    block: BlockRef
    tx_hash: str
    title: str | None


@dataclass(frozen=True, slots=True, weakref_slot=True)
class AccountSummary:
    """The activity of an address as an author and as a reader.

    `worth` is the sum of the first prices of its posts; `readers` are the addresses that hold one
    of them; `held` is how many posts it holds itself.
    """

    address: Address
    posts: int
    first_post_at: datetime | None
    last_post_at: datetime | None
    sales: Sales
    worth: int
    readers: int
    purchases: Sales
    held: int


@dataclass(frozen=True, slots=True)
class MarketDay:
    """What happened on one day, counted from 1970-01-01, UTC."""

    day: int
    posts: int
    sales: Sales


@dataclass(frozen=True, slots=True)
class MarketTotals:
    """Totals of the whole marketplace.

    `readers` hold a post; `users` have published, bought or hold one.
    """

    posts: int
    authors: int
    readers: int
    users: int
    sales: Sales
    worth: int


PUBLIC_PAGE_SIZE = 9
"""Files on a page of a public list; fixed by the protocol."""

DRAFTS_PAGE_SIZE = 12
"""Files on the first page of an owner's drafts; fixed by the protocol."""


@dataclass(frozen=True, slots=True)
class PublicList:
    """Posts with all of these tags, newest first; with `drafts_too` also the drafts."""

    tags: tuple[str, ...] = ()
    drafts_too: bool = False


@dataclass(frozen=True, slots=True)
class OwnDrafts:
    """The drafts of one owner, newest first."""

    owner: Address


ListFilter = PublicList | OwnDrafts


@dataclass(frozen=True, slots=True)
class Page:
    """Files of a list; `next_position` is where the next page starts, None on the last one."""

    files: tuple[File, ...]
    next_position: int | None


def cut_page(files: list[File], size: int) -> Page:
    """Cut a page out of up to `size + 1` files; the extra file shows that more follow."""
    shown = tuple(files[:size])
    more = len(files) > size
    return Page(shown, shown[-1].position if more else None)
