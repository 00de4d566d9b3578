"""Large responses: memory is reserved before loading, bodies are shared and sent in pieces."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from imprint.domain.errors import Code, Unavailable
from imprint.domain.rate_limits import Budget
from imprint.web.http.large_responses import (
    MAX_WAITING,
    PIECE,
    LargeResponse,
    Reservation,
    ResponseBudget,
)

MIB = 1024 * 1024


@dataclass(slots=True)
class Store:
    """Bodies that load once the test allows it."""

    sizes: dict[str, int] = field(default_factory=dict)
    loads: list[str] = field(default_factory=list)
    open: asyncio.Event = field(default_factory=asyncio.Event)

    def loader(self, name: str) -> Callable[[], Any]:
        async def load() -> tuple[bytes, int]:
            self.loads.append(name)
            await self.open.wait()
            body = bytes(self.sizes.get(name, MIB))
            return body, len(body)

        return load


@dataclass(slots=True)
class Readers:
    """A budget of 16 MiB with a share of 4 MiB per client, and a store of bodies."""

    budget: ResponseBudget
    store: Store

    def share(self, client: str, name: str, expected: int = MIB) -> asyncio.Task[Reservation]:
        load = self.store.loader(name)
        return asyncio.create_task(self.budget.share(client, name, expected, load))

    def reserve(self, client: str, size: int) -> asyncio.Task[Reservation]:
        return self.load(client, size, size)

    def load(self, client: str, size: int, expected: int) -> asyncio.Task[Reservation]:
        async def load() -> bytes:
            await self.store.open.wait()
            return bytes(size)

        return asyncio.create_task(self.budget.reserve(client, expected, load))

    @property
    def taken(self) -> int:
        return self.budget.budget.taken


@asynccontextmanager
async def _readers(wait_seconds: float = 30, *, loads: bool = True) -> AsyncIterator[Readers]:
    """Readers, which are checked to have released the whole budget at the end."""
    readers = Readers(ResponseBudget(Budget.of(16 * MIB), wait_seconds), Store())
    if loads:
        readers.store.open.set()
    yield readers
    assert readers.taken == 0
    assert not readers.budget.budget.held("a")


async def _settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_body_counts_until_it_is_closed() -> None:
    async with _readers() as readers:
        reservation = await readers.share("a", "x")
        assert (len(reservation.body), readers.taken) == (MIB, MIB)
        reservation.close()
        reservation.close()
        assert readers.taken == 0


async def test_the_expected_size_counts_before_the_body_is_read() -> None:
    async with _readers(loads=False) as readers:
        reading = readers.share("a", "x", expected=3 * MIB)
        await _settle()
        assert (readers.store.loads, readers.taken) == (["x"], 3 * MIB)
        readers.store.open.set()
        reservation = await reading
        assert readers.taken == MIB
        reservation.close()


async def test_the_memory_needed_to_build_a_body_counts_while_it_is_built() -> None:
    async with _readers(loads=False) as readers:
        first, second = (readers.load("a", MIB, 3 * MIB) for _ in range(2))
        await _settle()
        assert readers.taken == 3 * MIB
        readers.store.open.set()
        reservation = await first
        assert len(reservation.body) == MIB
        (await second).close()
        assert readers.taken == MIB
        reservation.close()


async def test_a_body_that_fails_to_build_no_longer_counts() -> None:
    async def fail() -> bytes:
        raise Unavailable.storage()

    async with _readers() as readers:
        with pytest.raises(Unavailable):
            await readers.budget.reserve("a", MIB, fail)
        assert readers.taken == 0


async def test_a_body_that_is_larger_than_expected_is_read_again_within_the_budget() -> None:
    async with _readers() as readers:
        readers.store.sizes["x"] = 3 * MIB
        other = await readers.reserve("a", 2 * MIB)
        reading = readers.share("a", "x")
        await _settle()
        assert (readers.store.loads, readers.taken) == (["x"], 2 * MIB)
        other.close()
        reservation = await reading
        assert (readers.store.loads, readers.taken) == (["x", "x"], 3 * MIB)
        reservation.close()


async def test_a_body_larger_than_a_clients_share_is_served_alone() -> None:
    async with _readers() as readers:
        readers.store.sizes["x"] = 20 * MIB
        reservation = await readers.share("a", "x")
        assert (len(reservation.body), readers.taken) == (20 * MIB, 4 * MIB)
        reservation.close()


async def test_a_body_known_to_be_small_does_not_wait_for_the_budget() -> None:
    async with _readers() as readers:
        readers.store.sizes["x"] = 100
        held = await readers.reserve("a", 4 * MIB)
        reservation = await readers.share("a", "x", expected=100)
        assert (len(reservation.body), readers.taken) == (100, 4 * MIB)
        held.close()


async def test_a_small_body_counts_only_while_it_is_read() -> None:
    async with _readers() as readers:
        readers.store.sizes["x"] = 100
        reservation = await readers.share("a", "x")
        assert (len(reservation.body), readers.taken) == (100, 0)
        reservation.close()


async def test_a_body_that_fails_to_load_no_longer_counts() -> None:
    async def load() -> tuple[bytes, int]:
        raise Unavailable.storage()

    async with _readers() as readers:
        with pytest.raises(Unavailable) as caught:
            await readers.budget.share("a", "x", MIB, load)
        assert caught.value.code is Code.STORAGE_UNAVAILABLE


async def test_responses_with_the_same_body_share_it() -> None:
    async with _readers() as readers:
        reservations = [await readers.share(client, "x") for client in ("a", "b", "a", "c")]
        assert readers.store.loads == ["x"]
        assert len({id(reservation.body) for reservation in reservations}) == 1
        assert readers.taken == MIB
        for reservation in reservations[:3]:
            reservation.close()
        assert (readers.taken, readers.budget.budget.held("a")) == (MIB, 0)
        reservations[3].close()


async def test_a_shared_body_counts_towards_the_share_of_every_client() -> None:
    async with _readers() as readers:
        others = [await readers.share("b", name) for name in "wxyz"]
        joined = [await readers.share("a", name) for name in "wxyz"]
        waiting = readers.share("a", "v")
        await _settle()
        assert not waiting.done()
        joined[0].close()
        for reservation in (*others, *joined, await waiting):
            reservation.close()


async def test_concurrent_reads_of_a_body_end_up_sharing_one_copy() -> None:
    async with _readers(loads=False) as readers:
        reading = [readers.share(client, "x") for client in ("a", "b", "c")]
        await _settle()
        assert readers.taken == 3 * MIB
        readers.store.open.set()
        reservations = await asyncio.gather(*reading)
        assert len({id(reservation.body) for reservation in reservations}) == 1
        assert readers.taken == MIB
        for reservation in reservations:
            reservation.close()


async def test_a_response_beyond_its_clients_share_waits_for_its_turn() -> None:
    async with _readers() as readers:
        held = [await readers.reserve("a", 2 * MIB) for _ in range(2)]
        waiting = [readers.reserve("a", 2 * MIB) for _ in range(3)]
        await _settle()
        assert not any(task.done() for task in waiting)
        (await readers.reserve("b", MIB)).close()
        for reservation in held:
            reservation.close()
        await _settle()
        assert [task.done() for task in waiting] == [True, True, False]
        for task in waiting:
            (await task).close()


async def test_the_waiting_client_that_holds_the_least_memory_goes_first() -> None:
    async with _readers() as readers:
        held = [await readers.reserve(client, 4 * MIB) for client in "bcde"]
        busy = readers.reserve("b", 2 * MIB)
        await _settle()
        idle = readers.reserve("a", 4 * MIB)
        await _settle()
        held[1].close()
        await _settle()
        assert (idle.done(), busy.done()) == (True, False)
        (await idle).close()
        held[0].close()
        for reservation in (await busy, *held[2:]):
            reservation.close()


async def test_a_response_that_waits_too_long_is_refused() -> None:
    async with _readers(wait_seconds=0.01) as readers:
        held = await readers.reserve("a", 4 * MIB)
        with pytest.raises(Unavailable) as caught:
            await readers.reserve("a", MIB)
        assert caught.value.code is Code.OVERLOADED
        held.close()


async def test_the_number_of_waiting_responses_per_client_is_bounded() -> None:
    async with _readers() as readers:
        held = await readers.reserve("a", 4 * MIB)
        waiting = [readers.reserve("a", MIB) for _ in range(MAX_WAITING // 4)]
        await _settle()
        with pytest.raises(Unavailable):
            await readers.reserve("a", MIB)
        held.close()
        for task in waiting:
            (await task).close()


async def test_a_client_that_disconnects_while_waiting_holds_nothing() -> None:
    async with _readers() as readers:
        held = await readers.reserve("a", 4 * MIB)
        gone, waiting = readers.reserve("a", 4 * MIB), readers.reserve("a", 4 * MIB)
        await _settle()
        held.close()
        gone.cancel()
        (await waiting).close()
        assert gone.cancelled()


async def test_a_waiting_response_shares_a_body_that_has_since_been_loaded() -> None:
    async with _readers(loads=False) as readers:
        reading = [readers.share("a", "x", expected=4 * MIB) for _ in range(9)]
        await _settle()
        assert readers.store.loads == ["x"]
        readers.store.open.set()
        reservations = await asyncio.gather(*reading)
        assert (readers.store.loads, readers.taken) == (["x"], MIB)
        for reservation in reservations:
            reservation.close()


async def test_a_response_is_sent_in_pieces_and_then_releases_its_body() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async with _readers() as readers:
        reservation = await readers.share("a", "x")
        body = memoryview(reservation.body)[: 2 * PIECE + 1]
        response = LargeResponse(reservation, body, 206, {"ETag": '"x"'}, "image/png")
        await response({"type": "http"}, send, send)
        start, *pieces = sent
        assert start["status"] == 206
        assert (b"content-length", b"%d" % (2 * PIECE + 1)) in start["headers"]
        assert [(len(each["body"]), each["more_body"]) for each in pieces] == [
            (PIECE, True),
            (PIECE, True),
            (1, False),
        ]
        assert readers.taken == 0


async def test_a_response_that_cannot_be_sent_releases_its_body() -> None:
    async def send(message: Any) -> None:
        raise OSError

    async with _readers() as readers:
        reservation = await readers.share("a", "x")
        response = LargeResponse(reservation, reservation.body, 200, {}, "image/png")
        with pytest.raises(OSError):  # noqa: PT011 - the one above
            await response({"type": "http"}, send, send)
        assert readers.taken == 0


async def test_a_body_of_unknown_size_counts_as_soon_as_it_is_built() -> None:
    async with _readers() as readers:
        made = 0

        async def make() -> bytes:
            nonlocal made
            made += 1
            assert readers.taken == 0
            return bytes(2 * MIB)

        reservation = await readers.budget.admit("a", make)
        assert (made, readers.taken) == (1, 2 * MIB)
        reservation.close()


async def test_a_small_body_needs_no_budget() -> None:
    async with _readers() as readers:
        reservations = [await readers.reserve(name, 4 * MIB) for name in "abcd"]

        async def make() -> bytes:
            return b"small"

        assert (await readers.budget.admit("e", make)).body == b"small"
        for reservation in reservations:
            reservation.close()


async def test_a_body_that_does_not_fit_the_budget_is_rebuilt_once_there_is_room() -> None:
    async with _readers() as readers:
        reservations = [await readers.reserve(name, 4 * MIB) for name in "abcd"]
        made = 0

        async def make() -> bytes:
            nonlocal made
            made += 1
            return bytes(3 * MIB)

        waiting = asyncio.create_task(readers.budget.admit("e", make))
        await _settle()
        assert (made, waiting.done()) == (1, False)
        reservations[0].close()
        reservation = await waiting
        assert (made, readers.taken) == (2, 15 * MIB)
        for each in (*reservations, reservation):
            each.close()
