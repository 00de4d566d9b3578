"""The sitemap: its pages cover every post exactly once, and are computed once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from imprint.ports.post_index import PostAddress
from imprint.services.site import BEGINNING, UNSETTLED, Sitemap

NOW = datetime(2026, 1, 2, tzinfo=UTC)


@dataclass
class Index:
    """An index with posts at these positions."""

    places: list[int]
    asked: list[int] = field(default_factory=list)

    async def price_changes(self, post_ids: Sequence[int]) -> Mapping[int, datetime]:
        return {}

    async def place_after(self, after: int, count: int) -> int | None:
        self.asked.append(after)
        later = [place for place in self.places if place > after]
        return later[count - 1] if len(later) >= count else None

    async def addresses(self, after: int, limit: int) -> list[PostAddress]:
        later = [place for place in self.places if place > after][:limit]
        return [PostAddress(place, place, "Title", NOW) for place in later]


async def covered(sitemap: Sitemap) -> list[int]:
    pages = [await sitemap.page(start) for start in await sitemap.pages()]
    return [post.place for page in pages for post in page]


async def test_the_pages_contain_every_post_once() -> None:
    for count in (0, 1, 2, 3, 4, 9):
        index = Index([place << 20 for place in range(count)])
        assert await covered(Sitemap(index, 3)) == index.places


async def test_the_start_positions_of_settled_pages_are_cached() -> None:
    index = Index([place * UNSETTLED for place in range(10)])
    sitemap = Sitemap(index, 2)
    first = await sitemap.pages()
    index.asked.clear()
    assert await sitemap.pages() == first
    assert BEGINNING not in index.asked
    assert len(index.asked) < 4


async def test_a_page_that_a_reorg_may_change_is_read_again() -> None:
    index = Index([place << 20 for place in range(10)])
    sitemap = Sitemap(index, 2)
    await sitemap.pages()
    del index.places[1::3]
    assert await covered(sitemap) == index.places
