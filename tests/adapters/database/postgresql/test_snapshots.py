"""Cached results are shared between concurrent callers, and never miss a commit."""

import asyncio
from collections.abc import Callable

import pytest

from imprint.adapters.database.postgresql.snapshots import (
    REMEMBERED,
    Snapshot,
    SnapshotCache,
    SnapshotRounds,
)

FIRST: Snapshot = ("server", "1:1:")
SECOND: Snapshot = ("server", "2:2:")


class Server:
    """A fake server. The test provides one snapshot per query."""

    def __init__(self) -> None:
        self.asked: list[asyncio.Future[Snapshot]] = []

    async def read(self) -> Snapshot:
        self.asked.append(asyncio.get_running_loop().create_future())
        return await self.asked[-1]


async def settle() -> None:
    """Let every task run until it blocks."""
    for _ in range(10):
        await asyncio.sleep(0)


def key_of(number: int) -> tuple[str, int]:
    return "list", number


async def test_waiting_callers_share_a_snapshot_and_later_ones_get_the_next() -> None:
    server = Server()
    rounds = SnapshotRounds(server.read)
    first = asyncio.create_task(rounds.take())
    await settle()
    late = [asyncio.create_task(rounds.take()) for _ in range(3)]
    await settle()
    assert len(server.asked) == 1
    server.asked[0].set_result(FIRST)
    await settle()
    assert await first == FIRST
    assert len(server.asked) == 2
    assert not any(task.done() for task in late)
    server.asked[1].set_result(SECOND)
    assert await asyncio.gather(*late) == [SECOND] * 3


async def test_a_failed_snapshot_fails_only_its_own_callers() -> None:
    server = Server()
    rounds = SnapshotRounds(server.read)
    both = [asyncio.create_task(rounds.take()) for _ in range(2)]
    await settle()
    late = asyncio.create_task(rounds.take())
    await settle()
    server.asked[0].set_exception(ConnectionError())
    await settle()
    server.asked[1].set_result(SECOND)
    assert await late == SECOND
    for task in both:
        with pytest.raises(ConnectionError):
            await task


async def test_a_cancelled_caller_does_not_affect_the_others() -> None:
    server = Server()
    rounds = SnapshotRounds(server.read)
    leaving, staying = asyncio.create_task(rounds.take()), asyncio.create_task(rounds.take())
    await settle()
    leaving.cancel()
    await settle()
    server.asked[0].set_result(FIRST)
    assert await staying == FIRST
    assert leaving.cancelled()


async def test_a_cancelled_snapshot_cancels_its_callers() -> None:
    async def read() -> Snapshot:
        raise asyncio.CancelledError

    rounds = SnapshotRounds(read)
    with pytest.raises(asyncio.CancelledError):
        await rounds.take()


def lists_that_see(*snapshots: Snapshot) -> tuple[SnapshotCache[list[object]], Callable[[], int]]:
    """Return a cache whose queries yield these snapshots, and a function that counts the unused
    snapshots."""
    left = list(snapshots)

    async def read() -> Snapshot:
        return left.pop(0)

    return SnapshotCache(read), lambda: len(left)


async def test_a_snapshot_is_not_checked_until_two_cached_lists_share_it() -> None:
    lists, left = lists_that_see(FIRST)
    lists.remember(key_of(1), FIRST, [])
    assert not await lists.is_current(FIRST)
    lists.remember(key_of(2), FIRST, [])
    assert await lists.is_current(FIRST)
    assert left() == 0


async def test_a_list_from_another_snapshot_or_server_is_not_current() -> None:
    other: Snapshot = ("another server", FIRST[1])
    lists, _ = lists_that_see(other)
    for number in range(2):
        lists.remember(key_of(number), FIRST, [])
    assert not await lists.is_current(SECOND)
    assert not await lists.is_current(FIRST)


async def test_a_snapshot_known_to_be_outdated_is_not_queried_again() -> None:
    lists, left = lists_that_see(SECOND, SECOND)
    for number in range(2):
        lists.remember(key_of(number), FIRST, [])
    assert not await lists.is_current(FIRST)
    assert left() == 1
    assert not await lists.is_current(FIRST)
    for number in range(2):
        lists.remember(key_of(number), SECOND, [])
    lists.expect_change()
    assert not await lists.is_current(SECOND)
    assert left() == 1


def test_the_oldest_list_is_evicted() -> None:
    lists, _ = lists_that_see()
    for number in range(REMEMBERED + 1):
        lists.remember(key_of(number), FIRST, [])
    assert lists.known(key_of(0)) is None
    assert lists.known(key_of(1)) is not None
