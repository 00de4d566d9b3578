"""Values stored in the index: posts, sales, libraries, accounts and totals."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from imprint.domain.drafts.files import File
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.posts import BlockRef
from imprint.domain.posts.revisions import RevisionSummary
from imprint.domain.profiles import Byline, Profile


@dataclass(frozen=True, slots=True)
class Sales:
    """The number of purchases, and the total paid in wei."""

    count: int
    volume: int


@dataclass(frozen=True, slots=True, weakref_slot=True)
class IndexedPost:
    """A post as the chain describes it.

    `cid` is the canonical CID if the text on the chain is a CID, and otherwise is that text.
    Invalid UTF-8 is replaced in all texts. `hosted` says whether the post's document is stored
    here. `byline` comes from the author's profile, if there is one. `words` is the number of words
    in the whole text, or None if the text is not stored here or has not been read yet.
    `has_opening` says whether everybody may read the beginning of the text. `revision` is the
    newest revision of a hosted post.
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
    byline: Byline | None = None
    words: int | None = None
    has_opening: bool = False
    revision: RevisionSummary | None = None

    @property
    def free(self) -> bool:
        return self.price == 0


@dataclass(frozen=True, slots=True)
class PricePoint:
    """A price of a post, and the time from which it applied."""

    price: int
    since: datetime


@dataclass(frozen=True, slots=True, weakref_slot=True)
class PricedPost:
    """A post with its latest prices, newest first."""

    post: IndexedPost
    prices: tuple[PricePoint, ...]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class RecordedPost:
    """A post with the position of its log, and the contract and chain of that log.

    `is_final` is true once no reorg of the configured depth can replace its block.
    """

    post: IndexedPost
    chain_id: int
    contract: Address
    log_index: int
    is_final: bool


class PostOrder(StrEnum):
    """Sort orders of a list of posts. `sales` and `price` sort the highest first."""

    NEWEST = "newest"
    OLDEST = "oldest"
    SALES = "sales"
    PRICE = "price"


class PostScope(StrEnum):
    """The posts that a list may contain.

    The scopes contain, in this order: all posts on the chain, the posts that no measure hides, and
    those of them that IMPRINT_SHOW selects.
    """

    CHAIN = "chain"
    LISTED = "listed"
    SHOWN = "shown"


@dataclass(frozen=True, slots=True)
class PostFilter:
    """The filter and sort order of a list of posts."""

    tags: tuple[str, ...] = ()
    author: Address | None = None
    free: bool | None = None
    min_price: int | None = None
    max_price: int | None = None
    order: PostOrder = PostOrder.NEWEST
    scope: PostScope = PostScope.SHOWN


@dataclass(frozen=True, slots=True)
class PostPosition:
    """The last post on a page: its position `place`, and its sales or price as `value`."""

    place: int
    value: int = 0


@dataclass(frozen=True, slots=True, weakref_slot=True)
class PostPage:
    """One page of a list of posts. `next` is the start of the next page, or None.

    Because the work per page is bounded, a page may have fewer posts than requested, or none, even
    if more pages follow.
    """

    posts: tuple[IndexedPost, ...]
    next: PostPosition | None


@dataclass(frozen=True, slots=True)
class HeldPost:
    """A post in a reader's library. `paid` is None if the token was not bought."""

    post: IndexedPost
    balance: int
    arrived: int
    arrived_at: datetime
    paid: int | None


@dataclass(frozen=True, slots=True)
class Sale:
    """One purchase of a post. `title` is None if the post is not in the index.

    `receiver` is who got the token, if the buyer gave it away in the same transaction.
    """

    place: int
    post_id: int
    buyer: Address
    price: int
    at: datetime
    block: BlockRef
    tx_hash: str
    title: str | None
    receiver: Address | None = None


@dataclass(frozen=True, slots=True, weakref_slot=True)
class AccountSummary:
    """The activity of an address as an author and as a reader.

    `worth` is the sum of the initial prices of its posts, `readers` is the number of addresses that
    hold one of these posts, and `held` is the number of posts that the address itself holds.
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
    profile: Profile | None = None


def inactive_account(address: Address) -> AccountSummary:
    """Return the account of an address that has neither published nor bought a post."""
    nothing = Sales(0, 0)
    return AccountSummary(address, 0, None, None, nothing, 0, 0, nothing, 0)


@dataclass(frozen=True, slots=True)
class MarketDay:
    """The activity of one UTC day. Days are numbered from 1970-01-01."""

    day: int
    posts: int
    sales: Sales


@dataclass(frozen=True, slots=True)
class MarketTotals:
    """Totals of the whole marketplace.

    `readers` counts addresses that hold a post. `users` counts addresses that have published,
    bought or received a post.
    """

    posts: int
    authors: int
    readers: int
    users: int
    sales: Sales
    worth: int


@dataclass(frozen=True, slots=True)
class ShownTotals:
    """Totals of the listed posts. `readers` counts addresses that hold a listed post."""

    posts: int
    authors: int
    readers: int
    sales: Sales


PUBLIC_PAGE_SIZE = 9
"""Number of files on a page of a public list, fixed by the protocol."""

DRAFTS_PAGE_SIZE = 12
"""Number of files on the first page of an owner's drafts, fixed by the protocol."""


@dataclass(frozen=True, slots=True)
class PublicList:
    """Posts with all of these tags, newest first. With `drafts_too`, includes drafts."""

    tags: tuple[str, ...] = ()
    drafts_too: bool = False


@dataclass(frozen=True, slots=True)
class OwnDrafts:
    """The drafts of one owner, newest first."""

    owner: Address


ListFilter = PublicList | OwnDrafts


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list of files. `next_position` starts the next page, or is None."""

    files: tuple[File, ...]
    next_position: int | None


def cut_page(files: list[File], size: int) -> Page:
    """Build a page from up to `size + 1` files. An extra file means that another page follows."""
    shown = tuple(files[:size])
    more = len(files) > size
    return Page(shown, shown[-1].position if more else None)
