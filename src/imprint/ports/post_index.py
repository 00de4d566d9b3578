"""Ports for the index of posts: its writer, and its readers, for lists, search and feeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.indexed_posts import (
    AccountSummary,
    HeldPost,
    IndexedPost,
    MarketDay,
    MarketTotals,
    PostFilter,
    PostPage,
    PostPosition,
    PricedPost,
    Sale,
)
from imprint.domain.posts.market_events import MarketEvent
from imprint.domain.posts.posts import BlockRef
from imprint.domain.posts.search import SearchQuery


class IndexMoved(Exception):
    """Another process has changed the index since its state was read."""


@dataclass(frozen=True, slots=True)
class IndexSource:
    """What the index is of: a contract on a chain, from a block on."""

    chain_id: int
    contract: Address
    first_block: int


@dataclass(frozen=True, slots=True)
class IndexState:
    """The last block in the index, None before the first.

    Blocks up to `final` cannot be undone: if one of them is replaced, the index begins again. It is
    -1 before the first; `final_hash` is None if no such block was read yet. `complete` once the
    index has reached the newest block.
    """

    source: IndexSource
    block: BlockRef | None
    complete: bool
    final: int = -1
    final_hash: str | None = None


@dataclass(frozen=True, slots=True)
class AppliedLog:
    """A log in the index whose block a reorg may still replace."""

    place: int
    block_hash: str


@dataclass(frozen=True, slots=True)
class IndexStep:
    """A step of the index: undo the blocks from `undo_from` on, then apply events.

    `events` are all events of whole blocks, in order, above the last block that stays. `until` is
    the last block that was read. Events in blocks above `final` can be undone later; `logs` are all
    logs of those blocks, also those that could not be decoded. `final_hash` is the hash of the
    block at `final`, to be compared with the chain later.
    """

    until: BlockRef
    final: int
    events: Sequence[MarketEvent] = ()
    logs: Sequence[AppliedLog] = ()
    undo_from: int | None = None
    complete: bool = False
    final_hash: str | None = None


class PostIndexWriter(Protocol):
    """The index, as the process that fills it sees it."""

    async def index_state(self) -> IndexState | None:
        """The state of the index; None if it was never begun."""

    async def applied_logs(self) -> list[AppliedLog]:
        """The logs in the index whose blocks a reorg may still replace, in order."""

    async def restart_index(self, source: IndexSource) -> None:
        """Empty the index, to be filled again from its first block on."""

    async def advance_index(self, expected: IndexState, step: IndexStep) -> None:
        """Apply a step in one transaction. Raises `IndexMoved` if the state is not the expected.

        What is final stays final, even if the step has a lower final block. Raises ValueError for a
        step that undoes a final block.
        """


@dataclass(frozen=True, slots=True)
class PostAddress:
    """A post in a sitemap."""

    place: int
    post_id: int
    created_at: datetime


class PostIndexReader(Protocol):
    """The index, as readers see it. It shows what the chain said; it never decides who may read."""

    async def is_complete(self) -> bool:
        """Whether the index has reached the newest block since it was begun.

        Before that, what is not found may still be on the chain.
        """

    async def list_posts(
        self, which: PostFilter, after: PostPosition | None, limit: int
    ) -> PostPage:
        """A page of posts."""

    async def posts_at(self, places: Sequence[int], which: PostFilter) -> list[IndexedPost]:
        """Those of the posts at these places that the filter lets through, in any order."""

    async def indexed_post(self, post_id: int) -> IndexedPost | None:
        """The post with this id."""

    async def names_thumbnail(self, cid: Cid) -> bool:
        """Whether a post whose text is here names this cid as its thumbnail."""

    async def priced_post(self, post_id: int) -> PricedPost | None:
        """The post with this id, and its latest prices."""

    async def account(self, address: Address) -> AccountSummary | None:
        """What an address did; None if it did nothing."""

    async def library(self, holder: Address, before: int | None, limit: int) -> list[HeldPost]:
        """Posts that an address holds, the latest arrival first, only those before a place."""

    async def sales_of(self, author: Address, before: int | None, limit: int) -> list[Sale]:
        """Purchases of an author's posts, the newest first, only those before a place."""

    async def days_since(self, day: int) -> list[MarketDay]:
        """The days from this one on that had posts or sales, in order."""

    async def totals(self) -> MarketTotals:
        """The totals of the marketplace."""

    async def post_times(self, author: Address, since: datetime, limit: int) -> list[datetime]:
        """When an author published: the newest `limit` moments since then, in order."""

    async def purchase_times(self, buyer: Address, since: datetime, limit: int) -> list[datetime]:
        """When a reader bought: the newest `limit` moments since then, in order."""

    async def price_changes(self, post_ids: Sequence[int]) -> Mapping[int, datetime]:
        """When the prices of these posts, at most `FEED_SIZE`, were last changed, if ever."""

    async def place_after(self, after: int, count: int) -> int | None:
        """The place of the post that many posts after a place; None if there are fewer."""

    async def addresses(self, after: int, limit: int) -> list[PostAddress]:
        """The first posts after a place, in the order of the chain."""


@dataclass(frozen=True, slots=True)
class PendingText:
    """A post that became free or hosted, whose text is to be looked at.

    `post_id` is None if the post left the chain. `created_at` is the time of its block.
    """

    place: int
    post_id: int | None
    free: bool
    hosted: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Match:
    """A post that matches a query, and how well (`domain.search.score`)."""

    place: int
    score: int


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """The newest matches before a place, the newest first, and the place to go on before.

    A search that takes too long ends early: it has fewer matches, perhaps none, and `following`.
    """

    found: Sequence[Match]
    following: int | None = None
    """None if all posts were looked at."""
    is_cut: bool = False
    """Whether the search ended early."""


class SearchIndex(Protocol):
    """Words of titles, descriptions and hashtags of all posts, and of the texts of free ones.

    The index of posts keeps the first three itself, and drops the text of a post in the same
    transaction in which its price stops being zero. Texts of other posts never come here.
    """

    async def find_posts(self, query: SearchQuery, before: int | None, limit: int) -> Matches:
        """The newest `limit` matches before a place, or fewer if they take too long to find."""

    async def free_texts(self, places: Sequence[int]) -> dict[int, str]:
        """The stored texts of those of these posts that are free and hosted now."""

    async def pending_texts(self, after: int, limit: int) -> list[PendingText]:
        """Posts whose text is to be looked at, in order, only those after a place."""

    async def store_text(self, place: int, text: str) -> None:
        """Make the text of a post searchable, if the post is still there, free and hosted.

        The post is no longer pending, whatever its state.
        """

    async def skip_text(self, place: int) -> None:
        """The text of a post need not be looked at; it is no longer pending."""


class Hub(Protocol):
    """A WebSub hub, which fetches feeds and passes them on to their subscribers."""

    async def publish(self, topics: Sequence[str]) -> bool:
        """Tell the hub that these feeds have changed; False if it did not accept that."""
