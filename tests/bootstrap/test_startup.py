"""Start-up retries: growing pauses, few log lines, and no retries after permanent failures."""

import asyncio
import logging
import threading
from dataclasses import dataclass, field

import pytest

from imprint.bootstrap.startup import (
    FIRST_PAUSE,
    LOG_SECONDS,
    LONGEST_PAUSE,
    in_daemon_thread,
    open_when_reachable,
)
from imprint.domain.errors import CannotStart, Code, NotReachable, Unavailable


@dataclass(slots=True)
class Patience:
    """A clock that advances only by sleeping."""

    now: float = 1000.0
    pauses: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def seconds(self) -> float:
        return self.now


@dataclass(slots=True)
class Door:
    """A resource that opens after the given number of failed attempts."""

    failures: int
    error: Exception
    attempts: int = 0

    async def open(self) -> str:
        self.attempts += 1
        if self.attempts <= self.failures:
            raise self.error
        return "open"


def _locked() -> NotReachable:
    return NotReachable("The database cannot be opened: it is locked.", Unavailable.database())


async def _open(door: Door, patience: Patience) -> tuple[str, list[Unavailable]]:
    missing: list[Unavailable] = []
    opened = await open_when_reachable(
        door.open, missing.append, sleep=patience.sleep, seconds=patience.seconds
    )
    return opened, missing


async def test_pauses_grow_up_to_a_maximum() -> None:
    patience = Patience()
    opened, missing = await _open(Door(12, _locked()), patience)
    assert opened == "open"
    assert [each.code for each in missing] == [Code.DATABASE_UNAVAILABLE] * 12
    limits = [min(FIRST_PAUSE * 2**number, LONGEST_PAUSE) for number in range(12)]
    for pause, limit in zip(patience.pauses, limits, strict=True):
        assert limit / 2 <= pause <= limit


async def test_start_up_also_waits_for_an_unresponsive_store() -> None:
    _, missing = await _open(Door(1, Unavailable.storage()), Patience())
    assert [each.code for each in missing] == [Code.STORAGE_UNAVAILABLE]


async def test_a_long_wait_is_logged_at_its_start_its_end_and_rarely_in_between(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    patience = Patience()
    await _open(Door(60, _locked()), patience)
    *waits, end = caplog.messages
    assert set(waits) == {"start-up waits for a dependency"}
    assert end == "start-up goes on"
    waited = patience.now - 1000.0
    assert waited / LOG_SECONDS / 2 < len(waits) <= waited / LOG_SECONDS + 1
    assert vars(caplog.records[0])["reason"] == "The database cannot be opened: it is locked."


async def test_nothing_is_logged_without_a_wait(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert await _open(Door(0, _locked()), Patience()) == ("open", [])
    assert caplog.messages == []


async def test_a_permanent_failure_is_not_retried() -> None:
    door = Door(5, CannotStart("The database has schema 9."))
    with pytest.raises(CannotStart):
        await _open(door, Patience())
    assert door.attempts == 1


async def test_a_daemon_thread_returns_its_result_or_raises_its_error() -> None:
    def fail() -> None:
        raise CannotStart("No.")

    assert await in_daemon_thread(lambda: threading.current_thread().daemon)
    with pytest.raises(CannotStart):
        await in_daemon_thread(fail)


async def test_a_cancelled_wait_ignores_the_result_of_its_thread() -> None:
    gate = threading.Event()
    waiting = asyncio.create_task(in_daemon_thread(gate.wait))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    gate.set()
    await asyncio.sleep(0.05)
