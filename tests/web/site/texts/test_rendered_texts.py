"""Rendered texts: shared by those who want the same, in turns, and kept within a size."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

import pytest
from markupsafe import Markup

from imprint.web.site.texts.rendered_texts import AT_ONCE, LARGEST, RenderedTexts


class Renderer:
    """Renders a content as itself; one that is held is not finished before it is let go."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self._loop = asyncio.get_running_loop()
        self._news: asyncio.Queue[None] = asyncio.Queue()
        self._doors: dict[str, threading.Event] = {}

    def hold(self, content: str) -> None:
        self._doors[content] = threading.Event()

    def let_go(self, content: str) -> None:
        self._doors[content].set()

    async def until_begun(self, count: int) -> None:
        """Wait until so many renderings have begun."""
        while len(self.begun) < count:
            await self._news.get()

    def __call__(self, content: str, title: str) -> Markup:
        self.begun.append(content)
        self._loop.call_soon_threadsafe(self._news.put_nowait, None)
        door = self._doors.get(content)
        assert door is None or door.wait(60)
        return Markup(content)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


class Readers:
    """Clients that want texts; a content has itself as its cid."""

    def __init__(self, capacity: int = 1000) -> None:
        self.renderer = Renderer()
        self.texts = RenderedTexts(capacity, self.renderer)

    def wants(self, client: str, content: str) -> Coroutine[Any, Any, Markup]:
        return self.texts.of(client, content, content, "")


async def fill(readers: Readers) -> list["asyncio.Task[Markup]"]:
    """Have other clients take all renderings that run at once."""
    names = [f"slot {number}" for number in range(AT_ONCE)]
    for name in names:
        readers.renderer.hold(name)
    tasks = [asyncio.create_task(readers.wants(name, name)) for name in names]
    await readers.renderer.until_begun(AT_ONCE)
    return tasks


async def test_clients_that_want_the_same_text_share_one_rendering() -> None:
    readers = Readers()
    readers.renderer.hold("text")
    wanting = [asyncio.create_task(readers.wants(name, "text")) for name in "abc"]
    await readers.renderer.until_begun(1)
    readers.renderer.let_go("text")
    assert await asyncio.gather(*wanting) == ["text"] * 3
    assert await readers.wants("d", "text") == "text"
    assert readers.renderer.begun == ["text"]


@pytest.mark.parametrize("waits", [True, False], ids=["in its turn", "while it is rendered"])
async def test_a_shared_rendering_survives_the_client_that_started_it(*, waits: bool) -> None:
    readers = Readers()
    others = await fill(readers) if waits else []
    readers.renderer.hold("text")
    first, second = (asyncio.create_task(readers.wants(name, "text")) for name in "ab")
    await (settle() if waits else readers.renderer.until_begun(1))
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    for number in range(len(others)):
        readers.renderer.let_go(f"slot {number}")
    readers.renderer.let_go("text")
    assert await second == "text"
    await asyncio.gather(*others)
    assert readers.renderer.begun.count("text") == 1


async def test_a_shared_text_does_not_wait_behind_a_client_with_many_texts() -> None:
    readers = Readers()
    others = await fill(readers)
    many = [f"many {number}" for number in range(5)]
    for name in (*many, "shared"):
        readers.renderer.hold(name)
    wanting = [asyncio.create_task(readers.wants("crawler", name)) for name in (*many, "shared")]
    await settle()
    wanting.append(asyncio.create_task(readers.wants("reader", "shared")))
    await settle()
    readers.renderer.let_go("slot 0")
    await readers.renderer.until_begun(AT_ONCE + 1)
    readers.renderer.let_go("slot 1")
    await readers.renderer.until_begun(AT_ONCE + 2)
    assert set(readers.renderer.begun[AT_ONCE:]) == {"many 0", "shared"}
    for name in (*many, "shared"):
        readers.renderer.let_go(name)
    await asyncio.gather(*others, *wanting)


async def test_a_rendering_abandoned_by_every_client_is_kept() -> None:
    readers = Readers()
    readers.renderer.hold("text")
    left = asyncio.create_task(readers.wants("a", "text"))
    await readers.renderer.until_begun(1)
    left.cancel()
    await settle()
    readers.renderer.let_go("text")
    assert await readers.wants("b", "text") == "text"
    assert readers.renderer.begun == ["text"]


async def test_a_rendering_that_failed_is_tried_again() -> None:
    failures = [ValueError("broken")]

    def render(content: str, title: str) -> Markup:
        if failures:
            raise failures.pop()
        return Markup(content)

    texts = RenderedTexts(render=render)
    with pytest.raises(ValueError, match="broken"):
        await texts.of("a", "cid", "text", "")
    assert await texts.of("a", "cid", "text", "") == "text"


async def test_texts_are_kept_up_to_a_number_of_characters() -> None:
    readers = Readers(capacity=100)
    for number in range(20):
        await readers.wants("a", f"{number:030}")
        assert readers.texts.size <= 100
    assert readers.texts.size == 90
    await readers.wants("a", f"{19:030}")
    assert len(readers.renderer.begun) == 20
    await readers.wants("a", f"{0:030}")
    assert len(readers.renderer.begun) == 21


async def test_a_very_long_text_is_shared_and_not_kept() -> None:
    readers = Readers(capacity=LARGEST * 2)
    long = "x" * (LARGEST + 1)
    for expected in (1, 2):
        found = await asyncio.gather(readers.wants("a", long), readers.wants("b", long))
        assert [len(each) for each in found] == [LARGEST + 1] * 2
        assert (len(readers.renderer.begun), readers.texts.size) == (expected, 0)
