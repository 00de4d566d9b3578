"""Which posts are offered for sale, how proofs are spent, and how long a purchase is awaited."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from imprint.auth.sign_in_with_x import SignInProof
from imprint.auth.signatures import Unproved
from imprint.domain.drafts.files import File, State
from imprint.domain.errors import Code, NonceUsed, Unavailable, Unpaid
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import document_cid
from imprint.domain.moderation import Show
from imprint.domain.posts.posts import Purchase
from imprint.domain.rate_limits import Budget, Rate
from imprint.services.access import payments
from imprint.services.access.payments import MAX_WAITS, Payments

BUYER = Address("0x" + "b2" * 20)
BOUGHT = Purchase(5, is_recent=True)


class Market:
    """A marketplace that finds a purchase once the test sets `found`."""

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
    """Start `count` reads with invented transactions, and wait until all query the chain."""
    tasks = [asyncio.create_task(wait(service, client, number)) for number in range(count)]
    for _ in range(10):
        await asyncio.sleep(0)
    return tasks


async def end(tasks: list["asyncio.Task[Any]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_one_client_may_occupy_at_most_a_quarter_of_the_slots_for_waiting_reads(
    market: Market,
) -> None:
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
    # A further read may not wait, but still finds a purchase that is already in a block.
    market.found = BOUGHT
    assert await wait(service, "late") == BOUGHT
    await end(tasks)


async def test_each_pause_between_queries_is_longer_than_the_previous_one(
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


async def test_a_read_gives_up_at_its_deadline(
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


AUTHOR = Address("0x" + "a1" * 20)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
FILE = File("id", "group", AUTHOR, "name", document_cid(b"words"), 5, NOW, State.ONCHAIN, 1)
PROOF = SignInProof(BUYER, "nonce")
RATE = Rate(5, 60)


@dataclass
class Titled:
    """An indexed post with a title."""

    cid: str
    title: str = "A title"


@dataclass
class Parts:
    """Stand-ins for the other parts of the service, which a test configures."""

    allowed: set[Address] = field(default_factory=set)
    posts: dict[int, Titled] = field(default_factory=dict)
    proof: Any = PROOF
    spent: set[tuple[Address, str]] = field(default_factory=set)
    calls: list[Any] = field(default_factory=list)

    async def current(self) -> "Parts":
        return self

    def allows(self, author: Address) -> bool:
        return author in self.allowed

    async def indexed_post(self, post_id: int) -> Titled | None:
        return self.posts.get(post_id)

    def issue(self, path: str, now: datetime) -> Any:
        return path, now

    def verify(self, claim: Any, path: str, now: datetime) -> Any:
        self.calls.append((path, now))
        return self.proof

    async def prove(self, unproved: Any, client: str) -> Any:
        self.calls.append(client)
        return unproved.proof

    async def admit(self, key: str, rate: Rate, now: datetime, cost: int = 1) -> None:
        self.calls.append((key, rate, now))

    async def spend_login_nonce(self, address: Address, nonce: str, now: datetime) -> int | None:
        if (address, nonce) in self.spent:
            return None
        self.spent.add((address, nonce))
        return 0


@dataclass
class Claim:
    """An unverified proof that a client sent."""

    client: str = "192.0.2.1"


def service_of(parts: Any, show: Show = Show.ALL, rate: Rate | None = None) -> Payments:
    return Payments(parts, parts, parts, parts, parts, parts, show, lambda: NOW, rate, parts)


def unpaid(*, is_listed: bool = True) -> Unpaid:
    return Unpaid(Code.NOT_ENTITLED, "", FILE, 5, is_listed=is_listed)


@pytest.mark.parametrize(
    ("show", "is_listed", "is_allowed", "offered"),
    [
        (Show.ALL, True, False, True),
        (Show.ALL, False, True, False),
        (Show.ALLOWED, True, True, True),
        (Show.ALLOWED, True, False, False),
        (Show.ALLOWED, False, True, False),
    ],
)
async def test_a_post_is_offered_if_it_is_listed_and_its_author_is_shown(
    show: Show, is_listed: bool, is_allowed: bool, offered: bool
) -> None:
    service = service_of(Parts(allowed={AUTHOR} if is_allowed else set()), show)
    assert await service.offers(unpaid(is_listed=is_listed)) is offered


async def test_the_title_of_a_post_is_known_once_its_document_is_indexed() -> None:
    parts = Parts()
    service = service_of(parts)
    assert await service.title(9, FILE) is None
    parts.posts[9] = Titled("another document")
    assert await service.title(9, FILE) is None
    parts.posts[9] = Titled(FILE.cid)
    assert await service.title(9, FILE) == "A title"


async def test_the_title_of_a_post_is_empty_without_an_index() -> None:
    assert await replace(service_of(Parts()), index=None).title(9, FILE) == ""


def test_a_challenge_is_issued_for_its_path_at_the_current_time() -> None:
    issued: Any = service_of(Parts()).challenge("/posts/9.md")
    assert issued == ("/posts/9.md", NOW)


async def test_a_proof_by_a_key_calls_no_contract_and_is_rate_limited_by_address() -> None:
    parts = Parts()
    proof = await service_of(parts, rate=RATE).prove(Claim(), "/posts/9.md")
    assert proof == PROOF
    assert parts.calls == [("/posts/9.md", NOW), (f"read {BUYER}", RATE, NOW)]


async def test_a_proof_by_a_contract_is_checked_on_behalf_of_its_client() -> None:
    parts = Parts(proof=Unproved(PROOF, BUYER, b"digest", b"signature"))
    assert await service_of(parts).prove(Claim(), "/posts/9.md") == PROOF
    assert parts.calls == [("/posts/9.md", NOW), "192.0.2.1"]


async def test_a_proof_allows_one_read() -> None:
    service = service_of(Parts())
    await service.spend(PROOF)
    with pytest.raises(NonceUsed):
        await service.spend(PROOF)
