"""The sitemap: the addresses of all posts, in pages of a fixed number."""

from dataclasses import dataclass, field

from imprint.domain.posts.market_events import LOGS_PER_BLOCK
from imprint.ports.post_index import PostAddress, PostIndexReader

PAGE_SIZE = 10_000
"""Posts of a page."""

BEGINNING = -1
"""The place before all posts."""

UNSETTLED = 1024 * LOGS_PER_BLOCK
"""Places before the newest post, 1024 blocks, whose posts a reorg may still replace."""


@dataclass(slots=True)
class Sitemap:
    """Pages by their first place. The starts of settled pages never change, and are remembered.

    So the first list of pages walks over all posts once, and the next one only over the new ones.
    """

    index: PostIndexReader
    page_size: int = PAGE_SIZE
    _starts: list[int] = field(default_factory=lambda: [BEGINNING], init=False)

    async def pages(self) -> list[int]:
        """The places after which the pages begin; the first is always there."""
        starts = list(self._starts)
        while (end := await self.index.place_after(starts[-1], self.page_size)) is not None:
            starts.append(end)
        self._starts = [BEGINNING, *(each for each in starts[1:] if each < starts[-1] - UNSETTLED)]
        return starts

    async def page(self, after: int) -> list[PostAddress]:
        """The posts of the page that begins after a place."""
        return await self.index.addresses(after, self.page_size)
