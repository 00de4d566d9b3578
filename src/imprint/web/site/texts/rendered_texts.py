"""Rendered texts: the HTML of posts by their cids, made in a thread."""

import asyncio
from collections.abc import Callable
from functools import partial

from markupsafe import Markup

from imprint.domain.bounded_cache import BoundedCache
from imprint.services.content.large_documents import FairQueue, Turn
from imprint.services.tasks.single_flight import SingleFlight
from imprint.web.site.texts.post_html import post_html

CAPACITY = 16 * 1024 * 1024
"""Characters of the HTML that is kept; what was read least recently is dropped."""

LARGEST = CAPACITY // 16
"""Characters of the longest HTML that is kept: a text of the greatest length, and a few small
pictures."""

AT_ONCE = 2
"""Texts that are rendered at once; clients take turns."""

OVERLOADED = "Too many texts are being rendered."

Render = Callable[[str, str], Markup]
"""The HTML of a content; a heading that repeats the title is left out."""


class RenderedTexts:
    """Renders texts, and keeps what was rendered; who may read a text is decided before.

    Clients that want the same text share one rendering. It begins when it is the turn of any of
    them, and goes on when the one that came first is gone.
    """

    def __init__(self, capacity: int = CAPACITY, render: Render = post_html) -> None:
        self._html = render
        self._kept: BoundedCache[tuple[str, str], Markup] = BoundedCache(capacity, len)
        self._turns = FairQueue(AT_ONCE, detail=OVERLOADED)
        self._previews = FairQueue(1, detail=OVERLOADED)
        self._running: SingleFlight[tuple[str, str], Markup] = SingleFlight()
        self._turn_of: dict[tuple[str, str], Turn] = {}

    @property
    def size(self) -> int:
        """Characters of the HTML that is kept now."""
        return self._kept.weight

    async def of(self, client: str, cid: str, content: str, title: str) -> Markup:
        """The HTML of the content with this cid; a heading that repeats the title is left out.

        Raises `Unavailable` after a long wait.
        """
        key = cid, title
        known = self._kept.get(key)
        if known is not None:
            self._kept.touch(key)
            return known
        turn = self._turn_of.get(key)
        if turn is not None:
            self._turns.join(turn, client)
        elif not self._running.is_running(key):
            self._turn_of[key] = Turn([client])
        return await self._running.run(key, partial(self._make, key, content))

    async def preview(self, client: str, content: str) -> Markup:
        """The HTML of a content that is kept nowhere; it takes no reader's turn.

        Raises `Unavailable` after a long wait.
        """
        async with self._previews.turn(client):
            return await asyncio.to_thread(self._html, content, "")

    async def _make(self, key: tuple[str, str], content: str) -> Markup:
        _, title = key
        try:
            async with self._turns.take(self._turn_of[key]):
                made = await asyncio.to_thread(self._html, content, title)
        finally:
            del self._turn_of[key]
        if len(made) <= LARGEST:
            self._kept.put(key, made)
        return made
