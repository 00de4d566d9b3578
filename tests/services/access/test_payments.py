"""Waiting for a purchase is bounded per client and in total, and stops when it must."""

import asyncio
from typing import Any

import pytest

from imprint.domain.errors import Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.posts import Purchase
from imprint.domain.rate_limits import Budget
from imprint.services.access import payments
from imprint.services.access.payments import MAX_WAITS, Payments

BUYER = Address("0x" + "b2" * 20)
BOUGHT = Purchase(5, is_recent=True)


class Market:
    """A marketplace in whose chain a transaction appears when a test says so."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.found: Purchase | None = None
        self.failure: Exception | None = None

    async def find_purchase(self, tx_hash: str, post_id: int, buyer: Address) -> Purchase | None:
        self.asked.append(tx_hash)
        if self.failure is not None:
            raise self.failure
        return self.found


@pytest.fixture
def market(monkeypatch: pytest.MonkeyPatch) -> Market:
    monkeypatch.setattr(payments, "WAIT_SECONDS", 60)
    monkeypatch.setattr(payments, "POLL_SECONDS", 0.001)
    return Market()


def payments_of(market: Market, total: int = MAX_WAITS) -> Payments:
    parts: list[Any] = [None] * 9
    return Payments(*parts, market, Budget.of(total))  # type: ignore[arg-type, call-arg]


async def wait(service: Payments, client: str, number: int = 1) -> Purchase | None:
    return await service.wait_for_purchase(f"0x{number:064x}", 9, BUYER, client)


async def flood(service: Payments, client: str, count: int) -> list["asyncio.Task[Any]"]:
    """Name `count` invented transactions, and return the reads once each has queried the chain."""
    tasks = [asyncio.create_task(wait(service, client, number)) for number in range(count)]
    for _ in range(10):
        await asyncio.sleep(0)
    return tasks


async def end(tasks: list["asyncio.Task[Any]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_one_client_may_have_a_quarter_of_the_waiting_reads(market: Market) -> None:
    service = payments_of(market)
    tasks = await flood(service, "flood", 100)
    assert sum(not task.done() for task in tasks) == MAX_WAITS // 4
    assert all(task.result() is None for task in tasks if task.done())
    honest = await flood(service, "honest", 1)
    assert not honest[0].done()
    market.found = BOUGHT
    assert await honest[0] == BOUGHT
    await end(tasks)
    assert service.waiting.taken == 0


async def test_the_waiting_reads_of_all_clients_together_are_bounded(market: Market) -> None:
    service = payments_of(market)
    tasks = [each for client in range(20) for each in await flood(service, f"c{client}", 8)]
    assert sum(not task.done() for task in tasks) == MAX_WAITS
    # Beyond that, a read still finds a purchase that is in a block.
    market.found = BOUGHT
    assert await wait(service, "late") == BOUGHT
    await end(tasks)


async def test_every_pause_between_two_queries_is_longer_than_the_one_before(
    market: Market, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        market.found = BOUGHT if len(pauses) == 4 else None

    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(payments, "POLL_SECONDS", 0.5)
    assert await wait(payments_of(market), "a") == BOUGHT
    assert pauses == [0.5, 0.75, 1.125, 1.6875]


async def test_a_read_gives_up_when_its_time_has_passed(
    market: Market, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payments, "WAIT_SECONDS", 0.01)
    service = payments_of(market)
    assert await wait(service, "a") is None
    assert service.waiting.taken == 0


async def test_a_node_that_fails_during_the_wait_ends_it(market: Market) -> None:
    service = payments_of(market)
    tasks = await flood(service, "a", 1)
    market.failure = Unavailable.chain()
    with pytest.raises(Unavailable):
        await tasks[0]
    assert service.waiting.taken == 0
