"""Posts for pages: single posts with free texts, the newest posts, and the sitemap.

Used by the HTML pages, and by the Markdown and lists for machines.
"""

from dataclasses import dataclass, field

from imprint.domain.drafts.files import File
from imprint.domain.errors import Code, Refusal, Withheld
from imprint.domain.posts.indexed_posts import IndexedPost, PostFilter
from imprint.domain.posts.market_events import LOGS_PER_BLOCK
from imprint.ports.post_index import PostAddress, PostIndexReader
from imprint.services.access.reads import Reads
from imprint.services.posts.posts import find_post

NEWEST = 20
"""Number of posts listed on the page about the service."""


@dataclass(frozen=True, slots=True)
class ShownPost:
    """A post, with the file of its newest text if the text is free and stored here.

    `opening` is the file whose opening everybody may read, if the post has one. `price` is None if
    the post is no longer free on the chain and the index does not have its new price yet.
    """

    post: IndexedPost
    file: File | None
    price: int | None
    is_listed: bool = True
    """Whether lists and search engines may contain the post."""
    opening: File | None = None


@dataclass(frozen=True, slots=True)
class Pages:
    """Provides posts for pages. The chain decides whether a text is shown."""

    index: PostIndexReader
    reads: Reads

    async def check(self, post_id: int) -> None:
        """Refuse an unknown or withheld post."""
        await self.reads.measures.check_post(await find_post(self.index, post_id))

    async def show(self, post_id: int) -> ShownPost:
        """Return a post before its text is read. Refuses an unknown or withheld post."""
        post = await find_post(self.index, post_id)
        is_listed = await self.reads.measures.check_post(post) is None
        opening = await self._opening(post)
        if not (post.free and post.hosted):
            return ShownPost(post, None, post.price, is_listed, opening)
        try:
            file = await self.reads.shown_post(post)
            version = await self.reads.newest(file)
        except Withheld:
            raise
        except Refusal as refusal:
            is_paid = refusal.code is Code.NOT_FREE
            price = None if is_paid else post.price
            return ShownPost(post, None, price, is_listed, opening)
        return ShownPost(post, version.text, post.price, is_listed, opening)

    async def _opening(self, post: IndexedPost) -> File | None:
        if not post.has_opening:
            return None
        try:
            return await self.reads.opened_post(post)
        except Refusal as refusal:
            if refusal.code is not Code.NO_OPENING:
                raise
            return None

    async def newest(self) -> tuple[IndexedPost, ...]:
        """Return the newest posts of all authors."""
        return (await self.index.list_posts(PostFilter(), None, NEWEST)).posts


PAGE_SIZE = 10_000
"""Number of posts per page."""

BEGINNING = -1
"""The position before the first post."""

UNSETTLED = 1024 * LOGS_PER_BLOCK
"""Number of positions in 1024 blocks. A reorg may replace posts this close to the newest."""


@dataclass(slots=True)
class Sitemap:
    """Sitemap pages, keyed by start position. Start positions of settled pages are cached.

    The first listing therefore walks over all posts once, and later listings only over new posts.
    """

    index: PostIndexReader
    page_size: int = PAGE_SIZE
    _starts: list[int] = field(default_factory=lambda: [BEGINNING], init=False)

    async def pages(self) -> list[int]:
        """Return the positions after which the pages begin. There is always a first page."""
        starts = list(self._starts)
        while (end := await self.index.place_after(starts[-1], self.page_size)) is not None:
            starts.append(end)
        self._starts = [BEGINNING, *(each for each in starts[1:] if each < starts[-1] - UNSETTLED)]
        return starts

    async def page(self, after: int) -> list[PostAddress]:
        """Return the posts of the page that begins after a position."""
        return await self.index.addresses(after, self.page_size)
