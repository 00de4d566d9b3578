"""Text conversions are shared between clients, run in fair order, and cached up to a size."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

from imprint.domain.posts.text_work import Abandoned, TextWork
from imprint.services.content.text_conversions import AT_ONCE, TextConversions


class Converter:
    """Converts a text into itself. A held conversion finishes only when it is released."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self._loop = asyncio.get_running_loop()
        self._news: asyncio.Queue[None] = asyncio.Queue()
        self._doors: dict[str, threading.Event] = {}

    def hold(self, content: str) -> None:
        self._doors[content] = threading.Event()

    def let_go(self, content: str) -> None:
        self._doors[content].set()

    async def until_begun(self, count: int) -> None:
        """Wait until `count` conversions have begun."""
        while len(self.begun) < count:
            await self._news.get()

    async def until_ended(self, count: int) -> None:
        """Wait until `count` conversions have ended, with or without a result."""
        while len(self.ended) < count:
            await self._news.get()

    def __call__(self, content: str, work: TextWork) -> str:
        self._note(self.begun, content)
        door = self._doors.get(content)
        try:
            assert door is None or door.wait(60)
            work.spend()
        finally:
            self._note(self.ended, content)
        return content

    def _note(self, where: list[str], content: str) -> None:
        where.append(content)
        self._loop.call_soon_threadsafe(self._news.put_nowait, None)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


class Readers:
    """Clients that request texts. Each text serves as its own CID."""

    def __init__(self, capacity: int = 1000) -> None:
        self.converter = Converter()
        self.texts = TextConversions(capacity)

    def wants(self, client: str, content: str, *, keep: bool = True) -> Coroutine[Any, Any, str]:
        async def load() -> str:
            return content

        return self.texts.of(client, content, load, self.converter, keep=keep)


async def fill(readers: Readers) -> list["asyncio.Task[str]"]:
    """Let other clients occupy all conversion slots."""
    names = [f"slot {number}" for number in range(AT_ONCE)]
    for name in names:
        readers.converter.hold(name)
    tasks = [asyncio.create_task(readers.wants(name, name)) for name in names]
    await readers.converter.until_begun(AT_ONCE)
    return tasks


async def test_clients_that_request_the_same_text_share_one_conversion() -> None:
    readers = Readers()
    readers.converter.hold("text")
    wanting = [asyncio.create_task(readers.wants(name, "text")) for name in "abc"]
    await readers.converter.until_begun(1)
    readers.converter.let_go("text")
    assert await asyncio.gather(*wanting) == ["text"] * 3
    assert await readers.wants("d", "text") == "text"
    assert readers.converter.begun == ["text"]


@pytest.mark.parametrize("waits", [True, False], ids=["in its turn", "while it is converted"])
async def test_a_shared_conversion_survives_the_client_that_started_it(*, waits: bool) -> None:
    readers = Readers()
    others = await fill(readers) if waits else []
    readers.converter.hold("text")
    first, second = (asyncio.create_task(readers.wants(name, "text")) for name in "ab")
    await (settle() if waits else readers.converter.until_begun(1))
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    for number in range(len(others)):
        readers.converter.let_go(f"slot {number}")
    readers.converter.let_go("text")
    assert await second == "text"
    await asyncio.gather(*others)
    assert readers.converter.begun.count("text") == 1


async def test_a_shared_text_does_not_wait_behind_a_client_with_many_texts() -> None:
    readers = Readers()
    others = await fill(readers)
    many = [f"many {number}" for number in range(5)]
    for name in (*many, "shared"):
        readers.converter.hold(name)
    wanting = [asyncio.create_task(readers.wants("crawler", name)) for name in (*many, "shared")]
    await settle()
    wanting.append(asyncio.create_task(readers.wants("reader", "shared")))
    await settle()
    readers.converter.let_go("slot 0")
    await readers.converter.until_begun(AT_ONCE + 1)
    readers.converter.let_go("slot 1")
    await readers.converter.until_begun(AT_ONCE + 2)
    assert set(readers.converter.begun[AT_ONCE:]) == {"many 0", "shared"}
    for name in (*many, "shared"):
        readers.converter.let_go(name)
    await asyncio.gather(*others, *wanting)


async def test_a_conversion_abandoned_by_every_client_stops() -> None:
    readers = Readers()
    readers.converter.hold("text")
    left = asyncio.create_task(readers.wants("a", "text"))
    await readers.converter.until_begun(1)
    left.cancel()
    with pytest.raises(asyncio.CancelledError):
        await left
    again = asyncio.create_task(readers.wants("b", "text"))
    readers.converter.let_go("text")
    assert await again == "text"
    await readers.converter.until_ended(2)
    assert readers.texts.size == len("text")


async def test_a_conversion_abandoned_by_every_client_while_queued_never_begins() -> None:
    readers = Readers()
    others = await fill(readers)
    left = asyncio.create_task(readers.wants("a", "text"))
    await settle()
    left.cancel()
    with pytest.raises(asyncio.CancelledError):
        await left
    for number in range(AT_ONCE):
        readers.converter.let_go(f"slot {number}")
    await asyncio.gather(*others)
    assert await readers.wants("b", "other") == "other"
    assert "text" not in readers.converter.begun


async def test_abandoned_work_stops_at_its_next_step() -> None:
    work = TextWork()
    work.is_abandoned = True
    with pytest.raises(Abandoned):
        work.spend()


async def test_a_text_is_loaded_only_when_its_turn_comes() -> None:
    readers = Readers()
    others = await fill(readers)
    read = []

    async def load() -> str:
        read.append("text")
        return "text"

    waiting = asyncio.create_task(readers.texts.of("a", "key", load, readers.converter))
    await settle()
    assert read == []
    for number in range(AT_ONCE):
        readers.converter.let_go(f"slot {number}")
    assert await waiting == "text"
    await asyncio.gather(*others)


async def test_a_failed_conversion_is_retried() -> None:
    failures = [ValueError("broken")]

    def convert(content: str, work: TextWork) -> str:
        if failures:
            raise failures.pop()
        return content

    async def load() -> str:
        return "text"

    texts = TextConversions()
    with pytest.raises(ValueError, match="broken"):
        await texts.of("a", "key", load, convert)
    assert await texts.of("a", "key", load, convert) == "text"


async def test_texts_are_cached_up_to_a_number_of_characters() -> None:
    readers = Readers(capacity=100)
    for number in range(20):
        await readers.wants("a", f"{number:030}")
        assert readers.texts.size <= 100
    assert readers.texts.size == 90
    await readers.wants("a", f"{19:030}")
    assert len(readers.converter.begun) == 20
    await readers.wants("a", f"{0:030}")
    assert len(readers.converter.begun) == 21


async def test_uncached_conversions_are_shared() -> None:
    readers = Readers()
    for expected in (1, 2):
        wanting = (readers.wants(name, "text", keep=False) for name in "ab")
        assert await asyncio.gather(*wanting) == ["text"] * 2
        assert (len(readers.converter.begun), readers.texts.size) == (expected, 0)
