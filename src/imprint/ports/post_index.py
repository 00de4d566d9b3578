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
    """What the index covers: a contract on a chain, from a block on."""

    chain_id: int
    contract: Address
    first_block: int


@dataclass(frozen=True, slots=True)
class IndexState:
    """The last block in the index, None before the first.

    Blocks up to `final` cannot be undone: if one of them is replaced, the index starts over.
    `final` is -1 before the first block; `final_hash` is None if no such block has been read yet.
    `complete` once the index has reached the newest block.
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

    `events` are all events of whole blocks, in order, above the last block that is kept. `until` is
    the last block that was read. Events in blocks above `final` can be undone later; `logs` are all
    logs of those blocks, including undecodable ones. `final_hash` is the hash of the block at
    `final`, for comparison with the chain later.
    """

    until: BlockRef
    final: int
    events: Sequence[MarketEvent] = ()
    logs: Sequence[AppliedLog] = ()
    undo_from: int | None = None
    complete: bool = False
    final_hash: str | None = None


@dataclass(frozen=True, slots=True)
class PostGap:
    """An id that no post of the index has, and the block of the next post, or of the newest one."""

    post_id: int
    block: BlockRef


class PostIndexWriter(Protocol):
    """The index, as seen by the process that fills it."""

    async def index_state(self) -> IndexState | None:
        """The state of the index; None if it was never begun."""

    async def applied_logs(self) -> list[AppliedLog]:
        """The logs in the index whose blocks a reorg may still replace, in order."""

    async def find_gaps(self) -> list[PostGap]:
        """The first id that is missing between others, and the one after the newest."""

    async def restart_index(self, source: IndexSource) -> None:
        """Empty the index, to be filled again from its first block."""

    async def advance_index(self, expected: IndexState, step: IndexStep) -> None:
        """Apply a step in one transaction. Raises `IndexMoved` if the state is not `expected`.

        Final blocks stay final, even if the step has a lower final block. Raises ValueError for a
        step that undoes a final block.
        """


@dataclass(frozen=True, slots=True)
class PostAddress:
    """A post in a sitemap."""

    place: int
    post_id: int
    created_at: datetime


class PostIndexReader(Protocol):
    """The index, as seen by readers. It shows what the chain says; it never decides who may
    read."""

    async def is_complete(self) -> bool:
        """Whether the index has reached the newest block since it was started.

        Until then, a post that is not found may still be on the chain.
        """

    async def list_posts(
        self, which: PostFilter, after: PostPosition | None, limit: int
    ) -> PostPage:
        """A page of posts."""

    async def posts_at(self, places: Sequence[int], which: PostFilter) -> list[IndexedPost]:
        """Those of the posts at these positions that pass the filter, in any order."""

    async def indexed_post(self, post_id: int) -> IndexedPost | None:
        """The post with this id."""

    async def names_thumbnail(self, cid: Cid) -> bool:
        """Whether a post whose text is here names this cid as its thumbnail."""

    async def priced_post(self, post_id: int) -> PricedPost | None:
        """The post with this id, and its latest prices."""

    async def account(self, address: Address) -> AccountSummary | None:
        """The account of an address; None if it has done nothing."""

    async def library(self, holder: Address, before: int | None, limit: int) -> list[HeldPost]:
        """Posts that an address holds, the latest arrival first, only those before a position."""

    async def sales_of(self, author: Address, before: int | None, limit: int) -> list[Sale]:
        """Purchases of an author's posts, the newest first, only those before a position."""

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
        """The position of the post that many posts after a position; None if there are fewer."""

    async def addresses(self, after: int, limit: int) -> list[PostAddress]:
        """The first posts after a position, in chain order."""


@dataclass(frozen=True, slots=True)
class PendingText:
    """A post that became free or hosted, whose text has to be indexed.

    `post_id` is None if the post left the chain. `created_at` is the time of its block.
    """

    place: int
    post_id: int | None
    free: bool
    hosted: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Match:
    """A post that matches a query, with its score (`domain.search.score`)."""

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

    The index of posts maintains the first three, and drops the text of a post in the same
    transaction in which its price stops being zero. Texts of other posts are never stored here.
    """

    async def find_posts(self, query: SearchQuery, before: int | None, limit: int) -> Matches:
        """The newest `limit` matches before a place, or fewer if they take too long to find."""

    async def free_texts(self, places: Sequence[int]) -> dict[int, str]:
        """The stored texts of these posts, as far as they are currently free and hosted."""

    async def pending_texts(self, after: int, limit: int) -> list[PendingText]:
        """Posts whose text has to be indexed, in order, only those after a position."""

    async def store_text(self, place: int, text: str) -> None:
        """Make the text of a post searchable, if the post still exists, free and hosted.

        The post is no longer pending, whatever its state.
        """

    async def skip_text(self, place: int) -> None:
        """Mark a post as no longer pending without indexing its text."""


class Hub(Protocol):
    """A WebSub hub, which fetches feeds and passes them on to their subscribers."""

    async def publish(self, topics: Sequence[str]) -> bool:
        """Notify the hub that these feeds have changed; False if it did not accept."""
