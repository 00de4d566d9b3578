"""Rendered texts: the HTML of posts by their cids, made in a thread."""

import asyncio
from collections import OrderedDict
from functools import partial

from markupsafe import Markup

from imprint.services.large_documents import FairQueue
from imprint.services.single_flight import SingleFlight
from imprint.web.site.post_html import post_html

CAPACITY = 16 * 1024 * 1024
"""Characters of the HTML that is kept; what was read least recently is dropped."""

LARGEST = CAPACITY // 16
"""Characters of the longest HTML that is kept: a text of the greatest length, and a few small
pictures."""

AT_ONCE = 2
"""Texts that are rendered at once; clients take turns."""


class RenderedTexts:
    """Renders texts, and keeps what was rendered; who may read a text is decided before."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._kept: OrderedDict[tuple[str, str], Markup] = OrderedDict()
        self._size = 0
        self._turns, self._previews = FairQueue(AT_ONCE), FairQueue(1)
        self._running: SingleFlight[tuple[str, str], Markup] = SingleFlight()

    async def of(self, client: str, cid: str, content: str, title: str) -> Markup:
        """The HTML of the content with this cid; a heading that repeats the title is left out."""
        key = cid, title
        known = self._kept.get(key)
        if known is not None:
            self._kept.move_to_end(key)
            return known
        render = partial(self._render, self._turns, client, content, title)
        made = await self._running.run(key, render)
        self._keep(key, made)
        return made

    async def preview(self, client: str, content: str) -> Markup:
        """The HTML of a content that is kept nowhere; it takes no reader's turn."""
        return await self._render(self._previews, client, content, "")

    async def _render(self, turns: FairQueue, client: str, content: str, title: str) -> Markup:
        """The HTML of a content. Raises `Unavailable` after a long wait."""
        async with turns.turn(client):
            return await asyncio.to_thread(post_html, content, title)

    def _keep(self, key: tuple[str, str], made: Markup) -> None:
        if len(made) > LARGEST or key in self._kept:
            return
        self._kept[key] = made
        self._size += len(made)
        while self._size > self._capacity:
            _, oldest = self._kept.popitem(last=False)
            self._size -= len(oldest)
