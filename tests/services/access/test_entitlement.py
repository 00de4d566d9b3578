"""Grants are cached for a few seconds. Denials for a named reader are never cached."""

import asyncio
import gc
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from tests.services.conftest import running, wait_until
from tests.services.scripted_chain import (
    ScriptedChain,
    say_bought,
    say_created,
    say_priced,
    say_transferred,
)
from tests.world import MovableClock

from imprint.domain.access import Access
from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.files import File, State
from imprint.domain.errors import Unavailable
from imprint.domain.formats.addresses import ZERO_ADDRESS, Address
from imprint.domain.formats.cids import Cid, document_cid
from imprint.domain.posts.marketplace import TRANSFER
from imprint.domain.posts.posts import PostEntry, PostFacts
from imprint.services.access.entitlement import (
    LONGEST_GAP,
    MOST_CHANGES,
    Entitlement,
    EntitlementWatcher,
)
from imprint.services.chain.log_stream import LogStream

AUTHOR = Address("0x" + "a1" * 20)
READER = Address("0x" + "b2" * 20)
OTHER = Address("0x" + "d4" * 20)
CID = document_cid(b"words")
CACHE_SECONDS = 5.0


@dataclass
class Market:
    """A marketplace that has one post, and whose responses can be delayed."""

    entry: PostEntry = PostEntry(AUTHOR, CID, 5)  # noqa: RUF009  a frozen value
    balances: dict[Address | None, int] = field(default_factory=dict)
    asked: int = 0
    waiting: list[asyncio.Event] | None = None
    problem: Exception | None = None

    async def post_facts(self, post_id: int, reader: Address | None) -> PostFacts:
        self.asked += 1
        facts = PostFacts(self.entry, self.balances.get(reader, 0))
        if self.waiting is not None:
            self.waiting.append(asyncio.Event())
            await self.waiting[-1].wait()
        if self.problem is not None:
            raise self.problem
        return facts


@dataclass
class Gate:
    """Entitlement checks against a scripted marketplace, and a watcher of a scripted chain."""

    clock: MovableClock = field(default_factory=MovableClock)
    market: Market = field(default_factory=Market)
    chain: ScriptedChain = field(init=False)
    entitlement: Entitlement = field(init=False)
    watcher: EntitlementWatcher = field(init=False)

    def __post_init__(self) -> None:
        self.chain = ScriptedChain(self.clock)
        cache_time = timedelta(seconds=CACHE_SECONDS)
        self.entitlement = Entitlement(self.market, self.clock.monotonic, cache_time)
        self.watcher = EntitlementWatcher(LogStream(self.chain), self.entitlement)

    async def ask(self, reader: Address | None = READER, cid: Cid = CID) -> Access | None:
        now = self.clock.now()
        file = File("id", "group", AUTHOR, f"{AUTHOR}_1", cid, 5, now, State.ONCHAIN, 1)
        decision = await self.entitlement.decide(file, 9, reader)
        return None if decision is None else decision.access

    def begin(self, reader: Address | None = READER) -> "asyncio.Task[Access | None]":
        return asyncio.create_task(self.ask(reader))

    async def respond(self, exchange: int) -> None:
        """Release the delayed response to this query."""
        await self.wait_for(exchange)
        assert self.market.waiting is not None
        self.market.waiting[exchange].set()

    async def wait_for(self, exchange: int = 0) -> None:
        """Wait until the market is delaying the response to this query."""

        async def began() -> bool:
            return self.market.waiting is not None and len(self.market.waiting) > exchange

        await wait_until(began)


@pytest.fixture
async def gate() -> Gate:
    gate = Gate()
    await gate.watcher.watch_once()
    return gate


async def test_has_grant_is_true_only_while_a_grant_is_cached(gate: Gate) -> None:
    await gate.ask()
    assert not gate.entitlement.has_grant(9, READER)
    gate.market.balances[READER] = 1
    await gate.ask()
    assert gate.entitlement.has_grant(9, READER)
    assert not gate.entitlement.has_grant(9, OTHER)
    gate.clock.advance(CACHE_SECONDS)
    assert not gate.entitlement.has_grant(9, READER)


async def test_a_grant_is_cached_for_the_cache_time_and_no_longer(gate: Gate) -> None:
    gate.market.balances[READER] = 1
    assert await gate.ask() is Access.HOLDER
    gate.market.balances.clear()
    gate.clock.advance(CACHE_SECONDS - 0.01)
    assert await gate.ask() is Access.HOLDER
    assert gate.market.asked == 1
    gate.clock.advance(0.01)
    assert await gate.ask() is Access.DENIED


@pytest.mark.parametrize("correction", [-3600, 3600])
async def test_changing_the_system_clock_does_not_prolong_a_grant(
    gate: Gate, correction: float
) -> None:
    gate.market.balances[READER] = 1
    assert await gate.ask() is Access.HOLDER
    gate.market.balances.clear()
    gate.clock.set_ahead(correction)
    assert await gate.ask() is Access.HOLDER
    gate.clock.advance(CACHE_SECONDS)
    assert await gate.ask() is Access.DENIED


async def test_a_denial_for_a_named_reader_is_never_cached(gate: Gate) -> None:
    assert await gate.ask() is Access.DENIED
    gate.market.balances[READER] = 1
    assert await gate.ask() is Access.HOLDER


async def test_a_missing_entry_is_never_cached_for_a_named_reader(gate: Gate) -> None:
    entry, gate.market.entry = gate.market.entry, PostEntry(ZERO_ADDRESS, None, 0)
    assert await gate.ask() is None
    gate.market.entry = entry
    assert await gate.ask(AUTHOR) is Access.AUTHOR


async def test_an_anonymous_denial_is_cached_for_a_second(gate: Gate) -> None:
    for _ in range(1_000):
        assert await gate.ask(None) is Access.DENIED
    assert gate.market.asked == 1
    gate.market.entry = PostEntry(AUTHOR, CID, 0)
    gate.clock.advance(0.99)
    assert await gate.ask(None) is Access.DENIED
    gate.clock.advance(0.01)
    assert await gate.ask(None) is Access.FREE


@pytest.mark.parametrize(
    "entry",
    [
        PostEntry(ZERO_ADDRESS, None, 0),
        PostEntry(OTHER, CID, 0),
        PostEntry(AUTHOR, document_cid(b"other words"), 5),
    ],
)
async def test_a_mismatching_entry_is_cached_as_an_anonymous_denial(
    gate: Gate, entry: PostEntry
) -> None:
    found, gate.market.entry = gate.market.entry, entry
    for _ in range(1_000):
        assert await gate.ask(None) is None
    assert gate.market.asked == 1
    gate.market.entry = found
    gate.clock.advance(1)
    assert await gate.ask(None) is Access.DENIED


async def test_an_anonymous_denial_does_not_deny_a_logged_in_reader(gate: Gate) -> None:
    assert await gate.ask(None) is Access.DENIED
    gate.market.balances[READER] = 1
    assert await gate.ask() is Access.HOLDER
    assert await gate.ask(AUTHOR) is Access.AUTHOR


async def test_an_anonymous_denial_is_dropped_by_a_new_block(gate: Gate) -> None:
    assert await gate.ask(None) is Access.DENIED
    gate.market.entry = PostEntry(AUTHOR, CID, 0)
    await gate.watcher.watch_once()
    assert await gate.ask(None) is Access.DENIED
    gate.chain.mine()
    await gate.watcher.watch_once()
    assert await gate.ask(None) is Access.FREE


@pytest.mark.parametrize("readers", [None, [OTHER]])
async def test_an_anonymous_denial_is_dropped_by_an_invalidation(
    gate: Gate, readers: list[Address] | None
) -> None:
    await gate.ask(None)
    gate.market.entry = PostEntry(AUTHOR, CID, 0)
    gate.entitlement.invalidate(8, readers)
    assert await gate.ask(None) is Access.DENIED
    gate.entitlement.invalidate(9, readers)
    assert await gate.ask(None) is Access.FREE


async def test_an_anonymous_denial_is_dropped_by_invalidate_all(gate: Gate) -> None:
    await gate.ask(None)
    gate.market.entry = PostEntry(AUTHOR, CID, 0)
    gate.entitlement.invalidate_all()
    assert await gate.ask(None) is Access.FREE


@pytest.mark.parametrize("event", ["a new block", "an invalidation"])
async def test_an_anonymous_denial_dropped_during_its_query_is_not_cached(
    gate: Gate, event: str
) -> None:
    gate.market.waiting = []
    asking = gate.begin(None)
    await gate.wait_for()
    if event == "a new block":
        gate.entitlement.on_new_block()
    else:
        gate.entitlement.invalidate(9, [OTHER])
    await gate.respond(0)
    assert await asking is Access.DENIED
    gate.market.waiting = None
    gate.market.entry = PostEntry(AUTHOR, CID, 0)
    assert await gate.ask(None) is Access.FREE


async def test_many_concurrent_anonymous_denials_cost_one_query(gate: Gate) -> None:
    gate.market.waiting = []
    requests = [gate.begin(None) for _ in range(50)]
    await gate.respond(0)
    assert set(await asyncio.gather(*requests)) == {Access.DENIED}
    assert gate.market.asked == 1


async def test_a_request_does_not_join_a_query_older_than_a_second(gate: Gate) -> None:
    gate.market.waiting = []
    early = gate.begin(None)
    await gate.wait_for()
    gate.market.entry = PostEntry(AUTHOR, CID, 0)
    gate.clock.advance(1.5)
    late = gate.begin(None)
    await gate.respond(0)
    await gate.respond(1)
    assert [await early, await late] == [Access.DENIED, Access.FREE]


async def test_a_free_post_is_cached_for_the_cache_time_and_no_longer(gate: Gate) -> None:
    gate.entitlement.cache_time = timedelta(seconds=0.5)
    gate.market.entry = PostEntry(AUTHOR, CID, 0)
    assert await gate.ask(None) is Access.FREE
    gate.market.entry = PostEntry(AUTHOR, CID, 5)
    gate.clock.advance(0.5)
    assert await gate.ask(None) is Access.DENIED


async def test_a_changed_price_drops_the_grants_of_all_readers_of_that_post(gate: Gate) -> None:
    gate.market.balances = {READER: 1, OTHER: 1}
    readers = [READER, OTHER, AUTHOR]
    for reader in readers:
        await gate.ask(reader)
    gate.entitlement.invalidate(8, None)
    for reader in readers:
        await gate.ask(reader)
    assert gate.market.asked == 3
    gate.entitlement.invalidate(9, None)
    gate.market.balances.clear()
    assert [await gate.ask(each) for each in (READER, OTHER)] == [Access.DENIED] * 2
    assert list(gate.entitlement._grants) == []
    assert gate.entitlement._readers == {}


async def test_clearing_the_cache_leaves_no_reader_in_memory(gate: Gate) -> None:
    gate.market.balances[READER] = 1
    await gate.ask()
    gate.entitlement.invalidate_all()
    assert list(gate.entitlement._grants) == []
    assert gate.entitlement._readers == {}


async def test_a_grant_is_cached_for_one_reader_only(gate: Gate) -> None:
    gate.market.balances[READER] = 1
    await gate.ask()
    assert await gate.ask(OTHER) is Access.DENIED
    assert await gate.ask(None) is Access.DENIED


async def test_a_grant_cached_for_another_file_is_not_used(gate: Gate) -> None:
    gate.market.balances[READER] = 1
    await gate.ask()
    other = document_cid(b"other words")
    assert await gate.ask(cid=other) is None
    gate.market.entry = PostEntry(AUTHOR, other, 5)
    assert await gate.ask(cid=other) is Access.HOLDER


async def test_without_a_cache_time_nothing_is_cached(gate: Gate) -> None:
    gate.entitlement.cache_time = timedelta(0)
    gate.market.balances[READER] = 1
    await gate.ask()
    gate.market.balances.clear()
    assert await gate.ask() is Access.DENIED


async def test_the_oldest_grant_is_evicted_when_there_are_too_many(gate: Gate) -> None:
    gate.market.balances = {READER: 1, OTHER: 1}
    grants = BoundedCache[Any, Any](2)
    gate.entitlement._grants = grants
    for reader in (READER, OTHER, AUTHOR):
        await gate.ask(reader)
    assert list(grants) == [(9, OTHER), (9, AUTHOR)]
    assert gate.entitlement._readers == {9: {OTHER, AUTHOR}}


@pytest.mark.parametrize(
    ("said", "dropped"),
    [
        (say_transferred(READER, OTHER, 9), True),
        (say_transferred(OTHER, READER, 9), True),
        (say_transferred(OTHER, AUTHOR, 9), False),
        (say_transferred(READER, OTHER, 8), False),
        (say_bought(READER, 9), True),
        (say_bought(OTHER, 9), False),
        (say_priced(9, 7), True),
        (say_priced(8, 7), False),
        (say_created(10, AUTHOR, "cid"), False),
        (((TRANSFER,), b""), True),
    ],
)
async def test_a_log_invalidates_the_grants_it_may_change(
    gate: Gate, said: tuple[tuple[bytes, ...], bytes], dropped: bool
) -> None:
    gate.market.balances[READER] = 1
    await gate.ask()
    gate.market.balances.clear()
    gate.chain.mine(said)
    await gate.watcher.watch_once()
    assert await gate.ask() is (Access.DENIED if dropped else Access.HOLDER)


@pytest.mark.parametrize("case", ["a reorg", "a node that is behind", "a long gap"])
async def test_all_grants_are_invalidated_when_logs_may_have_been_missed(
    gate: Gate, case: str
) -> None:
    gate.chain.mine(blocks=3)
    await gate.watcher.watch_once()
    gate.market.balances[READER] = 1
    await gate.ask()
    gate.market.balances.clear()
    if case != "a long gap":
        gate.chain.fork(2)
    gate.chain.mine(blocks={"a reorg": 3, "a node that is behind": 1}.get(case, LONGEST_GAP + 1))
    await gate.watcher.watch_once()
    assert await gate.ask() is Access.DENIED


async def test_an_unreadable_block_invalidates_every_grant_and_is_skipped(
    gate: Gate,
) -> None:
    gate.market.balances[READER] = 1
    await gate.ask()
    gate.market.balances.clear()
    gate.chain.oversized = {gate.chain.mine().ref.number}
    await gate.watcher.watch_once()
    assert await gate.ask() is Access.DENIED
    asked = len(gate.chain.ranges)
    gate.chain.mine()
    await gate.watcher.watch_once()
    assert gate.chain.ranges[asked:] == [1]


@pytest.mark.parametrize(
    ("count", "access"), [(MOST_CHANGES, Access.HOLDER), (MOST_CHANGES + 1, Access.DENIED)]
)
async def test_only_a_block_with_too_many_logs_invalidates_everything(
    gate: Gate, count: int, access: Access
) -> None:
    gate.market.balances[READER] = 1
    await gate.ask()
    gate.market.balances.clear()
    gate.chain.mine(*[say_priced(8, number) for number in range(count)])
    await gate.watcher.watch_once()
    assert await gate.ask() is access


async def test_a_gap_of_the_longest_length_drops_only_the_grants_that_its_logs_change(
    gate: Gate,
) -> None:
    gate.market.balances = {READER: 1, OTHER: 1}
    for reader in (READER, OTHER):
        await gate.ask(reader)
    gate.market.balances.clear()
    gate.chain.mine(say_bought(OTHER, 9), blocks=LONGEST_GAP)
    await gate.watcher.watch_once()
    assert [await gate.ask(each) for each in (READER, OTHER)] == [Access.HOLDER, Access.DENIED]


async def test_a_new_block_without_logs_drops_no_grant_at_any_height(gate: Gate) -> None:
    gate.chain.mine(blocks=LONGEST_GAP)
    await gate.watcher.watch_once()
    gate.market.balances[READER] = 1
    await gate.ask()
    gate.chain.mine()
    await gate.watcher.watch_once()
    assert gate.entitlement.has_grant(9, READER)


async def test_the_index_is_trusted_for_an_hour_after_each_round_of_the_watcher(
    gate: Gate,
) -> None:
    # First a round without a new block, then one with a new block.
    for new_blocks in (0, 1):
        for _ in range(new_blocks):
            gate.chain.mine()
        gate.clock.advance(3_599)
        assert gate.entitlement.trusts_index(9)
        await gate.watcher.watch_once()
    gate.clock.advance(3_599)
    assert gate.entitlement.trusts_index(9)
    gate.clock.advance(1)
    assert not gate.entitlement.trusts_index(9)


async def test_the_index_is_not_trusted_about_a_post_that_was_not_free_on_the_chain(
    gate: Gate,
) -> None:
    await gate.ask()
    assert not gate.entitlement.trusts_index(9)
    assert gate.entitlement.trusts_index(8)
    gate.market.entry = PostEntry(AUTHOR, CID, 0)
    await gate.ask()
    assert gate.entitlement.trusts_index(9)
    gate.entitlement.invalidate(9, [OTHER])
    assert gate.entitlement.trusts_index(9)
    gate.entitlement.invalidate(9, None)
    assert not gate.entitlement.trusts_index(9)


async def test_the_index_is_not_trusted_while_logs_may_have_been_missed(gate: Gate) -> None:
    gate.entitlement.invalidate_all()
    assert not gate.entitlement.trusts_index(9)


async def test_the_chain_counts_as_silent_for_two_seconds_after_a_failure(gate: Gate) -> None:
    assert not gate.entitlement.is_silent
    gate.market.problem = Unavailable.chain()
    with pytest.raises(Unavailable):
        await gate.ask()
    gate.clock.advance(1.99)
    assert gate.entitlement.is_silent
    gate.clock.advance(0.01)
    assert not gate.entitlement.is_silent


async def test_a_chain_that_responds_again_no_longer_counts_as_silent(gate: Gate) -> None:
    gate.market.problem = Unavailable.chain()
    with pytest.raises(Unavailable):
        await gate.ask()
    gate.market.problem = None
    await gate.ask()
    assert not gate.entitlement.is_silent


async def test_a_round_reads_the_blocks_that_a_failed_round_missed(gate: Gate) -> None:
    gate.market.balances[READER] = 1
    await gate.ask()
    gate.market.balances.clear()
    gate.chain.mine(say_transferred(READER, OTHER, 9))

    def fail(question: str) -> None:
        if question in ("logs", "block_at"):
            raise Unavailable.chain()

    gate.chain.fault = fail
    with pytest.raises(Unavailable):
        await gate.watcher.watch_once()
    gate.chain.fault = lambda question: None
    await gate.watcher.watch_once()
    assert await gate.ask() is Access.DENIED


async def test_watching_continues_after_a_failed_round(
    gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    gate.market.balances[READER] = 1
    await gate.ask()
    gate.market.balances.clear()
    gate.chain.mine(say_transferred(READER, OTHER, 9))
    faults = [KeyError("a mistake"), Unavailable.chain()]

    def fail(question: str) -> None:
        if faults:
            raise faults.pop()

    gate.chain.fault = fail

    async def refused() -> bool:
        return await gate.ask() is Access.DENIED

    async with running(0.001, gate.watcher):
        await wait_until(refused)
    (record,) = caplog.records
    assert (record.message, record.__dict__["chore"]) == ("background task failed", "watcher")


@pytest.mark.parametrize("dropped", ["the grant", "all grants", "the grant, then all grants"])
async def test_a_grant_invalidated_during_its_query_is_not_cached(gate: Gate, dropped: str) -> None:
    gate.market.balances[READER] = 1
    gate.market.waiting = []
    asking = gate.begin()
    await gate.wait_for()
    if "the grant" in dropped:
        gate.entitlement.invalidate(9, [READER])
    if "all grants" in dropped:
        gate.entitlement.invalidate_all()
    await gate.respond(0)
    assert await asking is Access.HOLDER
    gate.market.waiting = None
    gate.market.balances.clear()
    assert await gate.ask() is Access.DENIED


async def test_joining_a_running_query_does_not_extend_the_cache_time(gate: Gate) -> None:
    gate.market.balances[READER] = 1
    gate.market.waiting = []
    first = gate.begin()
    await gate.wait_for()
    gate.clock.advance(CACHE_SECONDS - 1)
    second = gate.begin()
    await gate.respond(0)
    assert [await first, await second] == [Access.HOLDER] * 2
    gate.market.waiting = None
    gate.market.balances.clear()
    gate.clock.advance(1)
    assert await gate.ask() is Access.DENIED


async def test_concurrent_readers_share_one_query(gate: Gate) -> None:
    gate.market.balances[READER] = 1
    gate.market.waiting = []
    readers = [gate.begin() for _ in range(50)]
    await gate.respond(0)
    assert set(await asyncio.gather(*readers)) == {Access.HOLDER}
    assert gate.market.asked == 1


async def test_a_reader_who_buys_during_a_running_query_is_admitted(gate: Gate) -> None:
    gate.market.waiting = []
    early = gate.begin()
    await gate.wait_for()
    gate.market.balances[READER] = 1
    late = gate.begin()
    await gate.respond(0)
    await gate.respond(1)
    assert await early is Access.DENIED
    assert await late is Access.HOLDER


async def test_an_anonymous_denial_does_not_deny_a_reader_who_buys_during_a_running_query(
    gate: Gate,
) -> None:
    assert await gate.ask(None) is Access.DENIED
    gate.market.waiting = []
    early = gate.begin()
    await gate.wait_for()
    gate.market.balances[READER] = 1
    late = gate.begin()
    await gate.respond(0)
    gate.market.waiting = None
    assert [await early, await late] == [Access.DENIED, Access.HOLDER]


async def test_a_post_published_during_a_running_query_is_found(gate: Gate) -> None:
    entry, gate.market.entry = gate.market.entry, PostEntry(ZERO_ADDRESS, None, 0)
    gate.market.waiting = []
    early = gate.begin(AUTHOR)
    await gate.wait_for()
    gate.market.entry = entry
    late = gate.begin(AUTHOR)
    await gate.respond(0)
    await gate.respond(1)
    assert await early is None
    assert await late is Access.AUTHOR


async def test_many_concurrent_denials_cost_two_queries(gate: Gate) -> None:
    gate.market.waiting = []
    readers = [gate.begin() for _ in range(50)]
    await gate.respond(0)
    await gate.respond(1)
    assert set(await asyncio.gather(*readers)) == {Access.DENIED}
    assert gate.market.asked == 2


async def test_an_unreachable_chain_neither_grants_nor_denies(gate: Gate) -> None:
    gate.market.problem = Unavailable.chain()
    for reader in (READER, AUTHOR, None):
        with pytest.raises(Unavailable):
            await gate.ask(reader)


async def test_cancelling_one_reader_does_not_cancel_others(gate: Gate) -> None:
    gate.market.balances[READER] = 1
    gate.market.waiting = []
    leaving, staying = gate.begin(), gate.begin()
    await gate.wait_for()
    leaving.cancel()
    await gate.respond(0)
    assert await staying is Access.HOLDER
    with pytest.raises(asyncio.CancelledError):
        await leaving


async def test_an_abandoned_query_reports_no_error(gate: Gate) -> None:
    reported: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, context: reported.append(context))
    gate.market.problem = Unavailable.chain()
    gate.market.waiting = []
    leaving = gate.begin()
    await gate.wait_for()
    leaving.cancel()
    await gate.respond(0)
    await asyncio.sleep(0.01)
    del leaving
    gc.collect()
    assert reported == []
    gate.market.problem = gate.market.waiting = None
    assert await gate.ask(AUTHOR) is Access.AUTHOR


async def test_a_cancelled_query_is_reported_as_unavailable(gate: Gate) -> None:
    gate.market.waiting = []
    waiting = gate.begin()
    await gate.wait_for()
    (task,) = gate.entitlement._single_flight._running.values()
    task.cancel()
    with pytest.raises(Unavailable):
        await waiting
