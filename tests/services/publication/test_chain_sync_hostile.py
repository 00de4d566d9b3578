"""Hostile blocks and nodes: no block stops the follower, and no single node can undo a post."""

import asyncio
import threading
from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import ClassVar

import pytest
from tests.services.conftest import ALICE, DEPTH, Ledger, forge, wait_until
from tests.services.scripted_chain import (
    CHAIN,
    copy_chain,
    say_bought,
    say_created,
    say_transferred,
    tx_hash_of,
)

from imprint.adapters.stores.publication import SqlEventStore
from imprint.domain.drafts.files import State
from imprint.domain.posts.marketplace import Log, decode_post_created
from imprint.domain.posts.posts import Advance, ApplyResult, BlockRef, EventStatus
from imprint.services.chain.log_stream import FEW_LOGS, MAX_RECEIPT_LOGS, SHRUNK_GRACE, History
from imprint.services.publication.chain_sync import EVENTS_AT_ONCE
from imprint.services.tasks.leases import SHORT_LEASE_TIME


async def test_posts_in_and_after_a_block_whose_logs_are_refused_are_published(
    ledger: Ledger,
) -> None:
    inside, after = await ledger.draft(), await ledger.draft()
    block = ledger.chain.mine(
        say_transferred(ALICE, ALICE, 9), say_created(1, inside.owner, inside.cid)
    )
    ledger.chain.oversized = {block.ref.number}
    ledger.post(after, 2)
    await ledger.follow()
    assert [await ledger.post_id(file) for file in (inside, after)] == [1, 2]


async def test_the_receipts_of_a_block_are_read_only_once(ledger: Ledger) -> None:
    draft = await ledger.draft()
    ledger.chain.oversized = {ledger.post(draft).ref.number}
    for _ in range(3):
        await ledger.follow()
        ledger.chain.mine()
    assert ledger.chain.asked.count("logs_by_receipts") == 1
    assert await ledger.state(draft) is State.ONCHAIN


async def test_the_receipts_of_blocks_full_of_other_logs_are_read_only_once(ledger: Ledger) -> None:
    flood = [say_transferred(ALICE, ALICE, 9)] * (MAX_RECEIPT_LOGS // 2)
    drafts = [await ledger.draft() for _ in range(3)]
    for number, draft in enumerate(drafts, 1):
        block = ledger.chain.mine(*flood, say_created(number, draft.owner, draft.cid))
        ledger.chain.oversized.add(block.ref.number)
    for _ in range(3):
        await ledger.follow()
        ledger.chain.mine()
    assert ledger.chain.asked.count("logs_by_receipts") == 3
    assert [await ledger.post_id(draft) for draft in drafts] == [1, 2, 3]


async def test_a_rebuild_skips_a_block_whose_logs_are_refused(ledger: Ledger) -> None:
    draft = await ledger.draft()
    ledger.chain.oversized = {ledger.chain.mine(say_bought(ALICE, 9)).ref.number}
    ledger.post(draft)
    await ledger.follower.rebuild(0, lambda reached, last: None)
    assert await ledger.state(draft) is State.ONCHAIN


async def test_a_forged_event_in_a_block_whose_logs_are_refused_is_undone(ledger: Ledger) -> None:
    real, draft = await ledger.draft(), await ledger.draft()
    block = ledger.post(real)
    ledger.chain.oversized = {block.ref.number}
    await ledger.follow()
    real_event = decode_post_created(block.logs[0])
    await ledger.deliver(forge(real_event, log_index=5, block_hash="0x" + "e" * 64))
    ledger.chain.mine()
    await ledger.follow()
    assert await ledger.post_id(real) == 1
    assert await ledger.state(draft) is State.PENDING
    assert await ledger.stores.events.unconfirmed_events(CHAIN, 10) == []


async def test_a_reorg_of_a_block_read_from_receipts_is_followed(
    ledger: Ledger,
) -> None:
    old, new = await ledger.draft(), await ledger.draft()
    ledger.chain.oversized = {ledger.post(old, 1).ref.number}
    await ledger.follow()
    ledger.chain.fork(1)
    ledger.post(new, 1)
    ledger.chain.mine()
    await ledger.follow()
    assert await ledger.state(old) is State.PENDING
    assert await ledger.post_id(new) == 1


async def test_a_block_read_from_receipts_is_read_again_after_it_disappeared(
    ledger: Ledger,
) -> None:
    draft = await ledger.draft()
    ledger.chain.mine(blocks=2)
    ledger.chain.oversized = {ledger.post(draft).ref.number}
    await ledger.follow()
    gone = ledger.chain.fork(2)
    await ledger.follow()
    ledger.clock.advance(SHRUNK_GRACE.total_seconds())
    await ledger.follow()
    assert await ledger.state(draft) is State.PENDING
    ledger.chain.blocks += gone
    await ledger.follow()
    assert await ledger.state(draft) is State.ONCHAIN


async def test_a_block_read_from_receipts_is_read_again_after_it_was_replaced(
    ledger: Ledger,
) -> None:
    old, new = await ledger.draft(), await ledger.draft()
    ledger.chain.oversized = {ledger.post(old, 1).ref.number}
    await ledger.follow()
    gone = ledger.chain.fork(1)
    ledger.post(new, 1)
    await ledger.follow()
    assert await ledger.holder(1) == new.cid
    ledger.chain.fork(1)
    ledger.chain.blocks += gone
    ledger.chain.mine()
    await ledger.follow()
    assert await ledger.holder(1) == old.cid


async def test_a_block_undone_by_another_process_is_read_again(ledger: Ledger) -> None:
    draft = await ledger.draft()
    ledger.chain.mine(blocks=2)
    ledger.chain.oversized = {ledger.post(draft).ref.number}
    await ledger.follow()
    ledger.clock.advance(2 * SHORT_LEASE_TIME.total_seconds())
    other = ledger.new_follower()
    assert await other.follow_once()
    assert not await ledger.follower.follow_once()
    gone = ledger.chain.fork(2)
    await other.follow_once()
    ledger.clock.advance(SHRUNK_GRACE.total_seconds())
    await other.follow_once()
    assert await ledger.state(draft) is State.PENDING
    ledger.chain.blocks += gone
    ledger.clock.advance(2 * SHORT_LEASE_TIME.total_seconds())
    await ledger.follow()
    assert await ledger.state(draft) is State.ONCHAIN


async def test_the_lease_is_renewed_while_waiting_for_a_slow_node(ledger: Ledger) -> None:
    draft = await ledger.draft()
    ledger.post(draft)
    ledger.follower.lease_time = timedelta(seconds=0.03)
    read_logs, take_lease = ledger.chain.logs, ledger.stores.leases.take_lease
    holders: list[str] = []

    async def note_holder(name: str, holder: str, length: timedelta) -> bool:
        holders.append(holder)
        return await take_lease(name, holder, length)

    async def take_long(
        first: int, last: int, topics: Collection[bytes], head: BlockRef
    ) -> list[Log]:
        async def is_kept() -> bool:
            return len(holders) > 5

        await wait_until(is_kept)
        return await read_logs(first, last, topics, head)

    ledger.follower.leases = SimpleNamespace(take_lease=note_holder)  # type: ignore[assignment]
    ledger.chain.logs = take_long  # type: ignore[method-assign]
    await ledger.follow()
    assert set(holders) == {ledger.follower.holder}
    assert await ledger.state(draft) is State.ONCHAIN
    # After the round, the lease is no longer renewed.
    count = len(holders)
    await asyncio.sleep(0.1)
    assert len(holders) == count


async def test_an_unreadable_receipt_causes_one_dead_letter_and_one_alarm(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    draft, later = await ledger.draft(), await ledger.draft()
    block = ledger.chain.mine(say_bought(ALICE, 9), say_created(1, draft.owner, draft.cid))
    ledger.chain.oversized = {block.ref.number}
    ledger.chain.unreadable = {tx_hash_of(0)}
    ledger.post(later, 2)
    for _ in range(3):
        await ledger.follow()
        ledger.chain.mine()
    report = await ledger.stores.events.report_events(10)
    assert report.counts[EventStatus.DEAD_LETTER] == 1
    assert tx_hash_of(0) in report.dead_letters[0].payload
    assert [each.levelname for each in caplog.records].count("CRITICAL") == 1
    assert [await ledger.post_id(file) for file in (draft, later)] == [1, 2]


async def test_a_receipt_that_becomes_readable_is_applied(ledger: Ledger) -> None:
    draft = await ledger.draft()
    ledger.chain.oversized = {ledger.post(draft).ref.number}
    ledger.chain.unreadable = {tx_hash_of(0)}
    await ledger.follow()
    assert await ledger.state(draft) is State.PENDING
    ledger.chain.unreadable = set()
    ledger.chain.mine()
    await ledger.follow()
    assert await ledger.state(draft) is State.ONCHAIN


async def test_a_block_with_many_posts_is_applied_in_several_transactions(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = await ledger.draft()
    strangers = [say_created(number, ALICE, f"cid-{number}") for number in range(2, 500)]
    ledger.chain.mine(*strangers, say_created(1, draft.owner, draft.cid))
    steps: list[int] = []
    advance = SqlEventStore.advance

    async def count(
        store: SqlEventStore, chain_id: int, step: Advance, at: datetime
    ) -> ApplyResult:
        steps.append(len(step.events))
        return await advance(store, chain_id, step, at)

    monkeypatch.setattr(SqlEventStore, "advance", count)
    await ledger.follow()
    assert await ledger.post_id(draft) == 1
    assert max(steps) == EVENTS_AT_ONCE
    assert sum(steps) == 499


class NotedLogs(list[Log]):
    """Logs that record the thread in which they are decoded."""

    threads: ClassVar[list[threading.Thread]] = []

    def __iter__(self) -> Iterator[Log]:
        self.threads.append(threading.current_thread())
        return super().__iter__()


@pytest.mark.parametrize("count", [1, FEW_LOGS + 1])
async def test_many_posts_are_decoded_in_a_thread(ledger: Ledger, count: int) -> None:
    ledger.chain.mine(*(say_created(number, ALICE, f"cid-{number}") for number in range(count)))
    read_logs = ledger.chain.logs

    async def note(first: int, last: int, topics: Collection[bytes], head: BlockRef) -> list[Log]:
        return NotedLogs(await read_logs(first, last, topics, head))

    ledger.chain.logs = note  # type: ignore[method-assign]
    NotedLogs.threads.clear()
    await ledger.follow()
    assert NotedLogs.threads
    assert (threading.main_thread() in NotedLogs.threads) is (count == 1)


async def test_a_node_that_hides_the_logs_of_a_block_undoes_nothing(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    draft, delivered, after = [await ledger.draft() for _ in range(3)]
    ledger.post(draft, 1)
    await ledger.follow()
    block = ledger.post(delivered, 2)
    await ledger.deliver_block(block)
    ledger.chain.hidden = {1, 2}
    ledger.post(after, 3)
    await ledger.follow()
    assert [await ledger.post_id(file) for file in (draft, delivered, after)] == [1, 2, 3]
    assert "ERROR" in [each.levelname for each in caplog.records]
    assert len(await ledger.stores.events.unconfirmed_events(CHAIN, 10)) == 1


async def test_a_post_hidden_until_finality_is_found_once_the_node_is_honest(
    ledger: Ledger,
) -> None:
    first, hidden, after = [await ledger.draft() for _ in range(3)]
    ledger.post(first, 1)
    await ledger.follow()
    block = ledger.post(hidden, 2)
    ledger.chain.hidden = {block.ref.number}
    for _ in range(4 * DEPTH):
        ledger.chain.mine()
        await ledger.follow()
    ledger.post(after, 3)
    await ledger.follow()
    assert [await ledger.post_id(file) for file in (first, hidden, after)] == [1, None, 3]
    assert await ledger.stores.events.disputed_blocks(CHAIN) == [block.ref]
    final = await ledger.stores.events.final_block(CHAIN)
    assert final is not None
    assert final.number == block.ref.number - 1
    # The next process to follow the chain takes the dispute over, even if no block is mined.
    await ledger.restart()
    ledger.chain.hidden.clear()
    await ledger.follow()
    assert await ledger.post_id(hidden) == 2
    assert await ledger.stores.events.disputed_blocks(CHAIN) == []
    ledger.chain.mine()
    await ledger.follow()
    final = await ledger.stores.events.final_block(CHAIN)
    assert final is not None
    assert final.number == ledger.chain.blocks[-1].ref.number - DEPTH


async def make_shrunk(ledger: Ledger, depth: int) -> None:
    ledger.chain.fork(depth)
    await ledger.follow()


async def test_a_chain_that_became_shorter_is_followed_after_a_delay(ledger: Ledger) -> None:
    stays, gone = await ledger.draft(), await ledger.draft()
    ledger.post(stays, 1)
    ledger.chain.mine(blocks=2)
    ledger.post(gone, 2)
    await ledger.follow()
    await make_shrunk(ledger, 2)
    assert await ledger.post_id(gone) == 2
    ledger.clock.advance(SHRUNK_GRACE.total_seconds())
    await ledger.follow()
    assert await ledger.state(gone) is State.PENDING
    assert await ledger.post_id(stays) == 1


async def test_a_shorter_chain_with_a_replaced_block_is_followed_immediately(
    ledger: Ledger,
) -> None:
    gone = await ledger.draft()
    ledger.chain.mine()
    await ledger.follow()
    ledger.chain.mine(blocks=2)
    ledger.post(gone, 1)
    await ledger.follow()
    ledger.chain.fork(4)
    ledger.chain.mine(blocks=2)
    await ledger.follow()
    assert await ledger.state(gone) is State.PENDING


async def test_a_node_that_loses_and_regains_blocks_undoes_nothing(ledger: Ledger) -> None:
    draft = await ledger.draft()
    ledger.chain.mine(blocks=2)
    ledger.post(draft, 1)
    await ledger.follow()
    for _ in range(3):
        gone = ledger.chain.fork(2)
        await ledger.follow()
        ledger.clock.advance((SHRUNK_GRACE - timedelta(seconds=1)).total_seconds())
        await ledger.follow()
        ledger.chain.blocks += gone
        await ledger.follow()
        assert await ledger.post_id(draft) == 1


async def test_a_node_that_never_had_the_blocks_undoes_nothing(ledger: Ledger) -> None:
    draft = await ledger.draft()
    ledger.chain.mine(blocks=2)
    ledger.post(draft, 1)
    await ledger.follow()
    ledger.follower.stream.chain = copy_chain(ledger.chain, 2)
    for _ in range(3):
        await ledger.follow()
        ledger.clock.advance(60)
    assert await ledger.post_id(draft) == 1


async def test_a_chain_below_the_final_block_raises_an_alarm_until_a_rebuild(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    draft = await ledger.draft()
    ledger.post(draft, 1)
    ledger.chain.mine(blocks=3 * DEPTH)
    await ledger.follow()
    ledger.chain.fork(3 * DEPTH + 1)
    await ledger.follow(2)
    assert ledger.follower.deep_reorg
    assert [each.levelname for each in caplog.records] == ["CRITICAL"]
    assert await ledger.post_id(draft) == 1
    await ledger.follower.rebuild(0, lambda reached, last: None)
    assert await ledger.state(draft) is State.PENDING
    await ledger.follow()
    assert ledger.follower.history is History.AGREES


async def test_a_rebuild_from_a_lagging_node_undoes_nothing(ledger: Ledger) -> None:
    draft = await ledger.draft()
    ledger.chain.mine(blocks=2)
    ledger.post(draft, 1)
    await ledger.follow()
    behind = ledger.new_follower(copy_chain(ledger.chain, 2))
    await behind.rebuild(0, lambda reached, last: None)
    assert await ledger.post_id(draft) == 1


async def test_a_rebuild_from_a_reset_chain_undoes_posts_above_its_head(
    ledger: Ledger,
) -> None:
    low, high = await ledger.draft(), await ledger.draft()
    ledger.post(low, 1)
    ledger.chain.mine(blocks=5)
    ledger.post(high, 2)
    await ledger.follow()
    reset = copy_chain(ledger.chain, 1)
    reset.mine(blocks=2)
    await ledger.new_follower(reset).rebuild(0, lambda reached, last: None)
    assert [await ledger.state(file) for file in (low, high)] == [State.PENDING] * 2


async def test_the_newest_block_with_an_event_is_found_up_to_a_height(ledger: Ledger) -> None:
    one, two = await ledger.draft(), await ledger.draft()
    first, second = ledger.post(one, 1), ledger.post(two, 2)
    await ledger.follow()
    found = [await ledger.stores.events.newest_event_block(CHAIN, number) for number in (0, 1, 9)]
    assert found == [None, first.ref, second.ref]
