"""The sitemap: the URLs of all posts, in pages of a fixed size."""

from dataclasses import dataclass, field

from imprint.domain.posts.market_events import LOGS_PER_BLOCK
from imprint.ports.post_index import PostAddress, PostIndexReader

PAGE_SIZE = 10_000
"""Posts per page."""

BEGINNING = -1
"""The position before all posts."""

UNSETTLED = 1024 * LOGS_PER_BLOCK
"""The range of positions before the newest post, 1024 blocks, whose posts a reorg may still
replace."""


@dataclass(slots=True)
class Sitemap:
    """Pages by their first position. The starts of settled pages never change, and are cached.

    So the first list of pages walks over all posts once, and later ones only over new posts.
    """

    index: PostIndexReader
    page_size: int = PAGE_SIZE
    _starts: list[int] = field(default_factory=lambda: [BEGINNING], init=False)

    async def pages(self) -> list[int]:
        """The positions after which the pages begin; the first is always there."""
        starts = list(self._starts)
        while (end := await self.index.place_after(starts[-1], self.page_size)) is not None:
            starts.append(end)
        self._starts = [BEGINNING, *(each for each in starts[1:] if each < starts[-1] - UNSETTLED)]
        return starts

    async def page(self, after: int) -> list[PostAddress]:
        """The posts of the page that begins after a position."""
        return await self.index.addresses(after, self.page_size)
