"""Lists that the service returns page by page."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Some items of a list, and the token of the next page, if there is one."""

    items: tuple[Item, ...]
    next_page_token: str | None

    def __len__(self) -> int:
        return len(self.items)


class Listing(Generic[Item]):
    """A list whose pages are requested as they are needed.

        async for post in imprint.list_indexed_posts(tag=["essays"]): ...
        async for page in imprint.list_indexed_posts(limit=50).pages(): ...

    Each iteration begins anew.
    """

    def __init__(self, load: Callable[[str | None], Awaitable[Page[Item]]]) -> None:
        """`load` returns the page with this token, or the first one."""
        self._load = load

    async def page(self, token: str | None = None) -> Page[Item]:
        """Return the page with this token, or the first one."""
        return await self._load(token)

    async def pages(self, token: str | None = None) -> AsyncIterator[Page[Item]]:
        """Yield the pages in order, starting with this token or the first page."""
        while True:
            page = await self._load(token)
            yield page
            token = page.next_page_token
            if token is None:
                return

    async def __aiter__(self) -> AsyncIterator[Item]:
        async for page in self.pages():
            for item in page.items:
                yield item
