"""Ports for the post index: its writer, and its readers for lists, search and feeds."""

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
    PostScope,
    PricedPost,
    RecordedPost,
    Sale,
    ShownTotals,
)
from imprint.domain.posts.market_events import MarketEvent
from imprint.domain.posts.openings import TextFacts
from imprint.domain.posts.posts import BlockRef
from imprint.domain.posts.search import SearchQuery


class IndexMoved(Exception):
    """Another process has changed the index since its state was read."""


@dataclass(frozen=True, slots=True)
class IndexSource:
    """The scope of the index: a contract on a chain, its purchase adapter, and the first block."""

    chain_id: int
    contract: Address
    first_block: int
    adapter: Address | None = None


@dataclass(frozen=True, slots=True)
class IndexState:
    """The state of the index. `block` is its last block, or None before the first block.

    Blocks up to `final` cannot be undone: if one of them is replaced, the index starts over.
    `final` is -1 before the first block. `final_hash` is None if no final block has been read yet.
    `complete` is true once the index has reached the newest block.
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
    """One step in updating the index: undo the blocks from `undo_from` on, then apply events.

    `events` are all events of whole blocks, in order, above the last remaining block. `until` is
    the last block that was read. Events in blocks above `final` can be undone later. `logs` are all
    logs of these blocks above `final`, including undecodable ones. `final_hash` is the hash of the
    block at `final`, for later comparison with the chain.
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
    """A missing post ID, and the block of the next post, or of the newest post if none follows."""

    post_id: int
    block: BlockRef


class PostIndexWriter(Protocol):
    """The index from the perspective of the process that fills it."""

    async def index_state(self) -> IndexState | None:
        """Return the state of the index, or None if indexing has never started."""

    async def applied_logs(self) -> list[AppliedLog]:
        """Return the logs in the index whose blocks a reorg may still replace, in order."""

    async def find_gaps(self) -> list[PostGap]:
        """Return the first ID missing below the newest post's ID, and the ID after the newest
        post."""

    async def restart_index(self, source: IndexSource) -> None:
        """Empty the index, so that it is filled again from its first block."""

    async def adopt_adapter(self, expected: IndexState, adapter: Address | None) -> bool:
        """Replace the purchase adapter of the index, unless an event involves either adapter.

        Returns False if the index must be rebuilt instead. Raises `IndexMoved` if the state
        is not `expected`.
        """

    async def advance_index(self, expected: IndexState, step: IndexStep) -> None:
        """Apply a step in one transaction. Raises `IndexMoved` if the state is not `expected`.

        Final blocks stay final, even if the step has a lower final block. Raises ValueError
        for a step that would undo a final block.
        """


@dataclass(frozen=True, slots=True)
class PostAddress:
    """A post in a sitemap. `title` is cut to the length that the slug requires."""

    place: int
    post_id: int
    title: str
    created_at: datetime


class PostIndexReader(Protocol):
    """The index from the perspective of readers.

    The index reflects the chain, but never decides who may read a post.
    """

    async def is_complete(self) -> bool:
        """Whether the index has reached the newest block since it was last emptied.

        Until then, a post that is not found here may still be on the chain.
        """

    async def list_posts(
        self, which: PostFilter, after: PostPosition | None, limit: int
    ) -> PostPage:
        """Return one page of posts."""

    async def posts_at(self, places: Sequence[int], which: PostFilter) -> list[IndexedPost]:
        """Return the posts at these positions that match the filter, in any order."""

    async def indexed_post(self, post_id: int) -> IndexedPost | None:
        """Return the post with this ID."""

    async def posts_with_thumbnail(self, cid: Cid, limit: int) -> list[IndexedPost]:
        """Return posts whose text is stored here and that name this CID as their thumbnail."""

    async def priced_post(self, post_id: int) -> PricedPost | None:
        """Return the post with this ID, and its latest prices."""

    async def recorded_post(self, post_id: int) -> RecordedPost | None:
        """Return the post with this ID, and the position at which the chain records it."""

    async def account(self, address: Address) -> AccountSummary | None:
        """Return the account of an address, or None if it has no activity."""

    async def library(self, holder: Address, before: int | None, limit: int) -> list[HeldPost]:
        """Return the posts that an address holds, most recently acquired first, before a
        position."""

    async def sales_of(self, author: Address, before: int | None, limit: int) -> list[Sale]:
        """Return the purchases of an author's posts, newest first, before a position."""

    async def days_since(self, day: int) -> list[MarketDay]:
        """Return the days with posts or sales, starting from this day, in order."""

    async def totals(self) -> MarketTotals:
        """Return the totals of the marketplace."""

    async def shown_totals(self) -> ShownTotals:
        """Return the totals of all listed posts. The query reads every post."""

    async def post_times(self, author: Address, since: datetime, limit: int) -> list[datetime]:
        """Return an author's newest `limit` publication times from `since` on, in order."""

    async def purchase_times(self, buyer: Address, since: datetime, limit: int) -> list[datetime]:
        """Return a reader's newest `limit` purchase times from `since` on, in order."""

    async def price_changes(self, post_ids: Sequence[int]) -> Mapping[int, datetime]:
        """Return when the price of each post last changed, for up to `FEED_SIZE` posts."""

    async def place_after(self, after: int, count: int) -> int | None:
        """Return the position of the post `count` posts after `after`, or None if there is none."""

    async def addresses(self, after: int, limit: int) -> list[PostAddress]:
        """Return the listed posts among the next `limit` posts after a position, in order."""


@dataclass(frozen=True, slots=True)
class PendingText:
    """A post whose text must be indexed: it is new, became hosted, or became free or paid.

    `post_id` is None if the post is no longer on the chain. `cid` is None if the post names no
    document. `created_at` is the time of its block.
    """

    place: int
    post_id: int | None
    author: Address
    cid: Cid | None
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
    """Matches before a position, newest first, and the position at which to continue.

    There may be fewer matches than requested, or none, even if `following` says that older posts
    were not searched. A search that takes too long is cut short. If the search is repeated, it may
    end at another position.
    """

    found: Sequence[Match]
    following: int | None = None
    """The position at which the search continues. None if all posts were searched."""
    is_cut: bool = False
    """Whether the search ended early."""


class SearchIndex(Protocol):
    """Words of the titles, descriptions and hashtags of all posts, and of their public texts.

    The whole texts of free posts are public, and so are the openings of paid posts. The post index
    maintains titles, descriptions and hashtags, and drops the text of a post in the same
    transaction in which its price stops being zero. The text below the opening of a paid post is
    never stored here.
    """

    async def find_posts(
        self,
        query: SearchQuery,
        before: int | None,
        limit: int,
        scope: PostScope = PostScope.CHAIN,
    ) -> Matches:
        """Return the newest `limit` matches in a scope before a position.

        There are fewer matches if the search takes too long, or if too many are out of scope.
        """

    async def public_texts(self, places: Sequence[int]) -> dict[int, str]:
        """Return the stored texts of hosted posts. Only free posts have whole texts."""

    async def pending_texts(self, after: int, limit: int) -> list[PendingText]:
        """Return the posts whose text must be indexed, in order, starting after a position."""

    async def store_text(
        self, pending: PendingText, cid: Cid, facts: TextFacts, *, is_free: bool
    ) -> bool:
        """Store `facts`. Make the whole text searchable if `is_free`, or else only its opening.

        `cid` is the document of the text. Stores nothing if the post is no longer hosted. Returns
        False if the post has a newer text, or has become free or paid since it was listed. The post
        then remains pending.
        """

    async def skip_text(self, place: int) -> None:
        """Mark a post as no longer pending without indexing its text."""


class Hub(Protocol):
    """A WebSub hub, which fetches feeds and forwards them to their subscribers."""

    async def publish(self, topics: Sequence[str]) -> bool:
        """Notify the hub that these feeds have changed. Returns False if the hub refuses."""
