"""The indexer keeps the index consistent with the chain, whatever nodes and processes do."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from tests.adapters.stores.databases import PostgresqlServer, SqliteFile
from tests.services.conftest import running, wait_until
from tests.services.indexed_chain import (
    DEPTH,
    SOURCE,
    WALLETS,
    IndexedChain,
    Omitting,
)
from tests.services.scripted_chain import (
    ADAPTER,
    CHAIN,
    MARKET,
    copy_chain,
    say_bought,
    say_bought_through,
    say_created,
    say_priced,
    say_transferred,
    tx_hash_of,
)

from imprint.domain.errors import Unavailable
from imprint.domain.formats.addresses import ZERO_ADDRESS, Address
from imprint.domain.posts.marketplace import MAX_DESCRIPTION, TRANSFER, cut_text
from imprint.metrics import NODE_CONTRADICTIONS, read_counter
from imprint.ports.post_index import IndexMoved, IndexSource
from imprint.services.chain import log_stream
from imprint.services.chain.log_stream import SHRUNK_GRACE
from imprint.services.posts.indexer import (
    COMPARE_SECONDS,
    INDEXER_LEASE,
    LOGS_AT_ONCE,
    RESTART_GRACE,
    ROUNDS_UNTIL_SKIPPED,
    IndexBusy,
    take_index,
)
from imprint.services.tasks.leases import SHORT_LEASE_TIME


@pytest.fixture(params=["sqlite", "postgresql"])
async def market(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[IndexedChain]:
    if request.param == "sqlite":
        opened = IndexedChain(SqliteFile.migrated(tmp_path / "catalog.db"))
    else:
        server = request.getfixturevalue("postgresql")
        opened = IndexedChain(await PostgresqlServer.clean(server))
    yield opened
    await opened.stores.close()


async def titles(market: IndexedChain, column: str = "post_id") -> list[object]:
    rows = await market.database.rows(f"SELECT {column} FROM posts ORDER BY place")
    return [bytes(each) if isinstance(each, memoryview) else each for (each,) in rows]


async def compare_ids(market: IndexedChain) -> None:
    """Index the chain until its blocks are final, and let the indexer compare the ids of posts."""
    await market.settle()
    market.clock.advance(COMPARE_SECONDS)
    await market.indexer.index_once()


async def state_block(market: IndexedChain) -> int | None:
    state = await market.indexer.writer.index_state()
    return state.block.number if state and state.block else None


async def test_marketplace_events_are_indexed(market: IndexedChain) -> None:
    buyer = WALLETS[4]
    market.chain.mine(*market.publish(b"Poetry", b"\xff", b"law"))
    market.chain.descriptions[1] = cut_text(b"\x00About \xff" + "ä".encode() * 300, MAX_DESCRIPTION)
    market.chain.mine(say_transferred(ZERO_ADDRESS, buyer, 1), say_bought(buyer, 1))
    market.chain.mine(say_priced(1, 7))
    assert await market.indexer.index_once()
    shown = await market.shown()
    assert {name: len(rows) for name, rows in shown.items()} == {
        "posts": 1,
        "post_tags": 2,
        "purchases": 1,
        "price_changes": 1,
        "holdings": 1,
        "accounts": 2,
        "author_readers": 1,
        "market_days": 1,
        "market_totals": 1,
    }
    state = await market.indexer.writer.index_state()
    assert state is not None
    assert (state.block, state.complete, state.source) == (
        market.chain.blocks[-1].ref,
        True,
        SOURCE,
    )
    (description,) = await titles(market, "description")
    assert description == b"\x00About \xff" + "ä".encode() * 246
    assert await market.database.rows("SELECT hashtags, sales, holders FROM posts") == [
        ('["poetry", "law"]', 1, 1)
    ]


async def test_an_idle_chain_is_not_read_again(market: IndexedChain) -> None:
    market.chain.mine(*market.publish())
    await market.indexer.index_once()
    asked = len(market.chain.asked)
    await market.indexer.index_once()
    assert market.chain.asked[asked:] == ["head"]


@pytest.mark.parametrize("seed", range(3))
async def test_an_index_that_followed_reorgs_equals_one_built_from_scratch(
    market: IndexedChain, tmp_path: Path, seed: int
) -> None:
    random = Random(seed)
    depth = random.choice([1, 8, 64])
    market.indexer = market.new_indexer(depth=depth)
    for _ in range(12):
        gone = min(random.randint(0, depth), len(market.chain.blocks) - 1)
        if random.random() < 0.5 and gone:
            market.chain.fork(gone)
            # The replacing branch is longer, like every winning fork.
            for _ in range(gone):
                market.chain.mine(*(market.happen(random) if random.random() < 0.5 else ()))
        for _ in range(random.randint(1, 20)):
            events = [each for _ in range(random.randrange(4)) for each in market.happen(random)]
            market.chain.mine(*events)
        if random.random() < 0.2:
            await market.restart()
            market.indexer = market.new_indexer(depth=depth)
        market.indexer.reader.size = market.indexer.reader.ceiling = random.randint(1, 99)
        assert await market.indexer.index_once()
        assert await market.shown() == await market.expected(tmp_path)


async def test_a_log_omitted_by_a_node_is_found_later(market: IndexedChain, tmp_path: Path) -> None:
    node = Omitting(market.chain)
    market.indexer = market.new_indexer(node)  # type: ignore[arg-type]
    block = market.chain.mine(*market.publish(b"poetry"), *market.publish(b"law"))
    # The post of the first transaction, and the hashtag of the second.
    node.omitted = {(block.ref.number, 0), (block.ref.number, 3)}
    await market.indexer.index_once()
    assert len(await titles(market)) == 1
    node.omitted.clear()
    market.chain.mine()
    await market.indexer.index_once()
    assert len(await titles(market)) == 2
    assert await market.shown() == await market.expected(tmp_path)


async def test_a_log_omitted_from_a_final_block_is_found_later(
    market: IndexedChain, tmp_path: Path
) -> None:
    node = Omitting(market.chain)
    market.indexer = market.new_indexer(node, depth=4)  # type: ignore[arg-type]
    market.chain.mine()
    await market.indexer.index_once()
    # Another log of the block has the same first topic, so the bloom filter does not reveal that
    # one is missing.
    block = market.chain.mine(*market.publish(b"poetry"), *market.publish(b"law"))
    node.omitted = {(block.ref.number, 0)}
    for _ in range(20):
        market.chain.mine()
    await market.indexer.index_once()
    assert len(await titles(market)) == 1
    node.omitted.clear()
    market.chain.mine()
    await market.indexer.index_once()
    assert len(await titles(market)) == 2
    assert await market.shown() == await market.expected(tmp_path)


async def test_logs_revealed_only_by_a_bloom_filter_are_read_from_receipts(
    market: IndexedChain, tmp_path: Path
) -> None:
    node = Omitting(market.chain)
    market.indexer = market.new_indexer(node)  # type: ignore[arg-type]
    for _ in range(3):
        block = market.chain.mine(*market.publish(b"poetry"))
        node.omitted |= {(block.ref.number, 0), (block.ref.number, 1)}
    ((_, before),) = read_counter(NODE_CONTRADICTIONS, {})
    for _ in range(3):
        market.chain.mine(blocks=DEPTH)
        await market.indexer.index_once()
        assert await market.shown() == await market.expected(tmp_path)
    assert len(await titles(market)) == 3
    assert market.chain.asked.count("prove_logs") == 3
    ((_, after),) = read_counter(NODE_CONTRADICTIONS, {})
    assert after - before == 3


async def test_a_log_that_a_node_stops_returning_is_not_undone(
    market: IndexedChain, tmp_path: Path
) -> None:
    blocks = [market.chain.mine(*market.publish()) for _ in range(3)]
    await market.settle()
    before = await market.shown()
    market.chain.hidden = {block.ref.number for block in blocks}
    for _ in range(3 * ROUNDS_UNTIL_SKIPPED):
        market.chain.mine()
        await market.indexer.index_once()
        assert await market.shown() == before
    state = await market.indexer.writer.index_state()
    assert state is not None
    # No block from the first hidden one on is final, so missing logs can still be applied.
    assert state.final < blocks[0].ref.number
    market.chain.hidden.clear()
    market.chain.mine(*market.publish())
    await market.indexer.index_once()
    assert not market.indexer.stream.disputed
    assert await market.shown() == await market.expected(tmp_path)


async def test_a_log_hidden_until_finality_is_found_once_the_node_is_honest(
    market: IndexedChain, tmp_path: Path
) -> None:
    market.chain.mine(*market.publish())
    await market.settle()
    block = market.chain.mine(*market.publish(b"poetry"))
    market.chain.hidden = {block.ref.number}
    for _ in range(4 * DEPTH):
        market.chain.mine()
        await market.indexer.index_once()
    assert await titles(market) == ["1"]
    assert [each.number for each in market.indexer.stream.disputed] == [block.ref.number]
    market.chain.hidden.clear()
    # No new block is mined: the indexer reads again only because of the dispute.
    await market.indexer.index_once()
    assert not market.indexer.stream.disputed
    assert await market.shown() == await market.expected(tmp_path)
    assert await titles(market) == ["1", "2"]


async def test_a_reorg_resolves_a_dispute_about_a_block_that_it_replaces(
    market: IndexedChain, tmp_path: Path
) -> None:
    block = market.chain.mine(*market.publish())
    market.chain.hidden = {block.ref.number}
    await market.indexer.index_once()
    assert market.indexer.stream.disputed
    market.chain.fork(1)
    market.chain.mine(blocks=2)
    await market.indexer.index_once()
    assert not market.indexer.stream.disputed
    assert await market.shown() == await market.expected(tmp_path)


async def test_a_missing_log_below_a_disputed_block_is_applied_once_the_dispute_ends(
    market: IndexedChain, tmp_path: Path
) -> None:
    node = Omitting(market.chain)
    market.indexer = market.new_indexer(node)  # type: ignore[arg-type]
    first = market.chain.mine(*market.publish(), *market.publish())
    node.omitted = {(first.ref.number, 0)}
    second = market.chain.mine(*market.publish())
    await market.indexer.index_once()
    # The node now returns the log that it omitted, and hides a block that it has returned.
    node.omitted.clear()
    market.chain.hidden = {second.ref.number}
    market.chain.mine()
    with pytest.raises(Unavailable):
        await market.indexer.index_once()
    assert await titles(market) == ["2", "3"]
    market.chain.hidden.clear()
    await market.indexer.index_once()
    assert await market.shown() == await market.expected(tmp_path)


async def test_a_log_returned_only_by_another_node_is_read_from_receipts(
    market: IndexedChain, tmp_path: Path
) -> None:
    node = Omitting(market.chain)
    market.indexer = market.new_indexer(node)  # type: ignore[arg-type]
    market.chain.other = copy_chain(market.chain, 0)
    market.chain.other.blocks = market.chain.blocks
    # Another log of the block has the same first topic, so the bloom filter does not reveal that
    # one is missing.
    block = market.chain.mine(*market.publish(), *market.publish())
    node.omitted = {(block.ref.number, 0)}
    for _ in range(2 * DEPTH):
        market.chain.mine()
        await market.indexer.index_once()
    assert market.chain.asked.count("prove_logs") == 1
    # Each block was compared with the other node once.
    assert sum(market.chain.other.ranges) == len(market.chain.blocks)
    assert await market.shown() == await market.expected(tmp_path)
    assert len(await titles(market)) == 2


async def test_old_blocks_are_compared_with_the_logs_of_another_node_once(
    market: IndexedChain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_stream, "CHECKED_BLOCKS", DEPTH)
    monkeypatch.setattr(log_stream, "FIRST_SIZE", 10)
    node = Omitting(market.chain)
    market.indexer = market.new_indexer(node)  # type: ignore[arg-type]
    market.chain.other = copy_chain(market.chain, 0)
    market.chain.other.blocks = market.chain.blocks
    for _ in range(3):
        hidden = market.chain.mine(*market.publish())
        node.omitted.add((hidden.ref.number, 0))
        market.chain.mine(*market.publish(), blocks=9)
    market.chain.mine(blocks=3 * DEPTH)
    await market.indexer.index_once()
    assert market.chain.asked.count("prove_logs") == 3
    assert sum(market.chain.other.ranges) == len(market.chain.blocks)
    assert len(await titles(market)) == 6
    assert await market.shown() == await market.expected(tmp_path)


@pytest.mark.parametrize("last", [False, True])
async def test_an_old_post_omitted_by_the_only_node_is_noticed_by_its_missing_id(
    market: IndexedChain, monkeypatch: pytest.MonkeyPatch, last: bool
) -> None:
    monkeypatch.setattr(log_stream, "CHECKED_BLOCKS", DEPTH)
    node = Omitting(market.chain)
    market.indexer = market.new_indexer(node)  # type: ignore[arg-type]
    shown = [market.chain.mine(*market.publish()) for _ in range(3)]
    hidden = shown.pop(-1 if last else 1)
    node.omitted = {(hidden.ref.number, 0)}
    market.chain.mine(blocks=3 * DEPTH)
    await compare_ids(market)
    assert len(await titles(market)) == 2
    assert [*market.indexer.stream.disputed] == [shown[-1].ref]
    # Once the node returns the log, a rebuilt index contains the post, and the next comparison
    # ends the dispute.
    node.omitted.clear()
    await market.stores.index_writer.restart_index(SOURCE)
    await compare_ids(market)
    assert len(await titles(market)) == 3
    assert not market.indexer.stream.disputed


async def test_ids_that_the_marketplace_never_assigned_do_not_count_as_missing(
    market: IndexedChain,
) -> None:
    market.chain.mine(*market.publish())
    market.posts += 5
    market.chain.mine(*market.publish())
    market.chain.mine(blocks=3 * DEPTH)
    await compare_ids(market)
    assert len(await titles(market)) == 2
    assert not market.indexer.stream.disputed


async def test_a_failing_second_node_does_not_stop_a_read_of_old_blocks(
    market: IndexedChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_stream, "CHECKED_BLOCKS", DEPTH)
    market.chain.other = copy_chain(market.chain, 0)
    foreign = market.chain.other.mine(*market.publish())
    market.chain.mine(*market.publish(), blocks=3 * DEPTH)
    await market.indexer.index_once()
    # A block that only the second node returns is not on the chain, so it is not disputed.
    assert foreign.ref not in market.indexer.stream.disputed
    assert market.chain.asked.count("prove_logs") == 0
    assert len(await titles(market)) == 1


async def test_a_second_node_that_contradicts_itself_does_not_stop_the_index(
    market: IndexedChain, tmp_path: Path
) -> None:
    market.chain.other = other = copy_chain(market.chain, 0)
    block = market.chain.mine(*market.publish())
    other.blocks = [market.chain.blocks[0], replace(block, logs=block.logs * 2)]
    await market.indexer.index_once()
    assert len(await titles(market)) == 1
    assert not market.indexer.stream.disputed


async def test_a_false_positive_of_a_bloom_filter_is_resolved_by_receipts_once(
    market: IndexedChain,
) -> None:
    market.chain.seemingly = {number: {TRANSFER} for number in range(1, 4)}
    market.chain.mine(blocks=3)
    for _ in range(2 * DEPTH):
        await market.indexer.index_once()
        market.chain.mine()
    assert market.chain.asked.count("prove_logs") == 3
    state = await market.indexer.writer.index_state()
    assert state is not None
    assert state.final > 3
    assert not market.indexer.stream.disputed


@pytest.mark.parametrize("blocks", [1, 3, 20])
async def test_a_node_behind_the_index_changes_nothing(market: IndexedChain, blocks: int) -> None:
    for _ in range(30):
        market.chain.mine(*market.publish())
    await market.indexer.index_once()
    before = await market.shown()
    market.indexer = market.new_indexer(copy_chain(market.chain, blocks))
    market.clock.advance(SHORT_LEASE_TIME.total_seconds() + 1)
    for _ in range(3):
        await market.indexer.index_once()
        market.clock.advance(RESTART_GRACE.total_seconds() + 1)
    assert await market.shown() == before


async def test_a_chain_that_becomes_shorter_is_followed_after_a_delay(
    market: IndexedChain, tmp_path: Path
) -> None:
    for _ in range(5):
        market.chain.mine(*market.publish())
    await market.indexer.index_once()
    market.chain.fork(3)
    await market.indexer.index_once()
    assert len(await titles(market)) == 5
    market.clock.advance(SHRUNK_GRACE.total_seconds())
    await market.indexer.index_once()
    assert await market.shown() == await market.expected(tmp_path)
    assert len(await titles(market)) == 2


async def test_a_fork_without_logs_updates_the_indexed_block(market: IndexedChain) -> None:
    market.chain.mine(blocks=3)
    await market.indexer.index_once()
    market.chain.fork(1)
    replaced = market.chain.mine()
    await market.indexer.index_once()
    state = await market.indexer.writer.index_state()
    assert state is not None
    assert state.block == replaced.ref


async def test_a_persistent_deep_reorg_restarts_the_index(
    market: IndexedChain, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3 * DEPTH):
        market.chain.mine(*market.publish())
    await market.settle()
    before = await market.shown()
    market.chain.fork(2 * DEPTH)
    market.chain.mine(*market.publish(), blocks=2 * DEPTH + 1)
    await market.indexer.index_once()
    assert await market.shown() == before
    market.clock.advance(RESTART_GRACE.total_seconds())
    await market.indexer.index_once()
    assert await market.shown() == await market.expected(tmp_path)
    assert [each.levelname for each in caplog.records] == ["CRITICAL"] * 2


async def test_a_temporary_deep_reorg_does_not_restart_the_index(market: IndexedChain) -> None:
    market.chain.mine(*market.publish(), blocks=3 * DEPTH)
    await market.settle()
    gone = market.chain.fork(2 * DEPTH)
    market.chain.mine(blocks=2 * DEPTH + 1)
    await market.indexer.index_once()
    other = market.chain.fork(2 * DEPTH + 1)
    market.chain.blocks += gone
    market.clock.advance(RESTART_GRACE.total_seconds())
    await market.indexer.index_once()
    market.chain.fork(2 * DEPTH)
    market.chain.blocks += other
    await market.indexer.index_once()
    assert len(await titles(market)) == 1


@pytest.mark.parametrize(
    ("source", "restarts"),
    [
        (IndexSource(CHAIN, MARKET, 2), False),
        (IndexSource(CHAIN, MARKET, 0), True),
        (IndexSource(CHAIN, Address("0x" + "dd" * 20), 1), True),
        (IndexSource(5, MARKET, 1), True),
    ],
    ids=["later", "earlier", "contract", "chain"],
)
async def test_a_changed_source_or_earlier_start_restarts_the_index(
    market: IndexedChain, source: IndexSource, restarts: bool
) -> None:
    market.indexer = market.new_indexer(source=IndexSource(CHAIN, MARKET, 1))
    market.chain.mine(*market.publish())
    await market.indexer.index_once()
    market.indexer = market.new_indexer(source=source)
    market.clock.advance(SHORT_LEASE_TIME.total_seconds() + 1)
    await market.indexer.index_once()
    state = await market.indexer.writer.index_state()
    assert state is not None
    assert state.source == (source if restarts else IndexSource(CHAIN, MARKET, 1))
    assert len(await titles(market)) == 1


async def test_a_purchase_through_the_adapter_counts_once_for_payer_and_receiver(
    market: IndexedChain, tmp_path: Path
) -> None:
    payer, receiver = WALLETS[2], WALLETS[3]
    market.chain.mine(*market.publish())
    market.chain.mine(*say_bought_through(1, payer, receiver), *say_bought_through(1, payer, payer))
    await market.indexer.index_once()
    sales = "SELECT buyer, receiver, price FROM purchases ORDER BY place"
    assert [tuple(row) for row in await market.database.rows(sales)] == [
        (payer, receiver, "5"),
        (payer, None, "5"),
    ]
    held = "SELECT holder, balance, paid FROM holdings ORDER BY arrived"
    assert [tuple(row) for row in await market.database.rows(held)] == [
        (receiver, "1", None),
        (payer, "1", "5"),
    ]
    accounts = "SELECT purchases, spent, held FROM accounts WHERE address = '{}'"
    (spent,) = await market.database.rows(accounts.format(payer))
    assert tuple(spent) == (2, "10", 1)
    (nothing,) = await market.database.rows(accounts.format(ADAPTER))
    assert tuple(nothing) == (0, "0", 0)
    market.chain.fork(1)
    market.chain.mine()
    await market.indexer.index_once()
    market.chain.fork(1)
    market.chain.mine(*say_bought_through(1, payer, receiver), *say_bought_through(1, payer, payer))
    await market.indexer.index_once()
    assert await market.shown() == await market.expected(tmp_path)


@pytest.mark.parametrize("used", [True, False])
async def test_a_new_adapter_restarts_the_index_only_if_the_index_mentions_it(
    market: IndexedChain, used: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    market.indexer = market.new_indexer(source=IndexSource(CHAIN, MARKET, 0))
    market.chain.mine(*market.publish())
    if used:
        market.chain.mine(
            say_transferred(ZERO_ADDRESS, ADAPTER, 1),
            say_bought(ADAPTER, 1),
            say_transferred(ADAPTER, WALLETS[0], 1),
        )
    await market.indexer.index_once()
    market.indexer = market.new_indexer()
    market.clock.advance(SHORT_LEASE_TIME.total_seconds() + 1)
    await market.settle()
    reasons = [getattr(record, "reason", None) for record in caplog.records]
    assert ("other adapter" in reasons) == used
    state = await market.indexer.writer.index_state()
    assert state is not None
    assert state.source == SOURCE
    assert await market.shown() == await market.expected(tmp_path)


async def test_logs_that_cannot_be_decoded_are_skipped(
    market: IndexedChain, caplog: pytest.LogCaptureFixture
) -> None:
    (topics, data), *_ = market.publish()
    market.chain.mine((topics, data[:40]), (topics[:2], data), say_created(9, WALLETS[0], b"\xff"))
    for _ in range(3):
        await market.indexer.index_once()
        market.chain.mine()
    assert await titles(market) == ["9"]
    assert len(caplog.records) == 2


async def test_many_blocks_are_applied_in_small_steps_without_splitting_a_block(
    market: IndexedChain,
) -> None:
    for _ in range(3):
        market.chain.mine(*(say_priced(1, n) for n in range(LOGS_AT_ONCE // 2)))
    market.chain.mine(*(say_priced(1, n) for n in range(3 * LOGS_AT_ONCE)))
    market.chain.mine(blocks=2 * DEPTH)
    sizes: list[tuple[int, int]] = []
    advance = market.indexer.writer.advance_index

    async def count(state, step):
        sizes.append((step.until.number, len(step.events)))
        await advance(state, step)

    market.indexer.writer.advance_index = count  # type: ignore[method-assign]
    await market.indexer.index_once()
    half = LOGS_AT_ONCE // 2
    assert sizes == [(2, 2 * half), (3, half), (20, 3 * LOGS_AT_ONCE)]


async def test_a_block_whose_logs_are_refused_is_read_from_receipts(
    market: IndexedChain, tmp_path: Path
) -> None:
    block = market.chain.mine(*market.publish(b"law"), *market.publish())
    market.chain.oversized = {block.ref.number}
    await market.indexer.index_once()
    market.chain.mine(*market.publish())
    await market.indexer.index_once()
    assert len(await titles(market)) == 3
    assert market.chain.asked.count("logs_by_receipts") == 1


async def test_a_block_with_12_000_logs_is_applied_and_undone_in_one_step(
    market: IndexedChain, tmp_path: Path
) -> None:
    market.chain.mine(*market.publish())
    moves = [say_transferred(ZERO_ADDRESS, WALLETS[n % 5], 1) for n in range(12_000)]
    block = market.chain.mine(*moves)
    market.chain.oversized = {block.ref.number}
    await market.indexer.index_once()
    assert await market.database.rows("SELECT sum(CAST(balance AS INTEGER)) FROM holdings") == [
        (12_000,)
    ]
    market.chain.oversized.clear()
    market.chain.fork(1)
    market.chain.mine(*moves[:7], blocks=2)
    await market.indexer.index_once()
    assert await market.shown() == await market.expected(tmp_path)


async def test_a_permanently_unreadable_receipt_does_not_stop_the_index(
    market: IndexedChain, caplog: pytest.LogCaptureFixture
) -> None:
    block = market.chain.mine(*market.publish(), *market.publish())
    market.chain.oversized = {block.ref.number}
    market.chain.unreadable = {tx_hash_of(0)}
    for _ in range(ROUNDS_UNTIL_SKIPPED - 1):
        with pytest.raises(Unavailable):
            await market.indexer.index_once()
    await market.indexer.index_once()
    assert await titles(market) == ["2"]
    assert [each.levelname for each in caplog.records] == ["CRITICAL"]


async def test_a_description_that_is_never_returned_stays_empty(
    market: IndexedChain, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(120):
        market.chain.mine(*market.publish())
    market.chain.undescribed = {7, 99}
    for _ in range(ROUNDS_UNTIL_SKIPPED - 1):
        with pytest.raises(Unavailable):
            await market.indexer.index_once()
    await market.indexer.index_once()
    empty = [
        number for number, text in enumerate(await titles(market, "description"), 1) if not text
    ]
    assert empty == [7, 99]
    assert [each.levelname for each in caplog.records] == ["ERROR"] * 2


async def test_no_posts_are_skipped_while_the_chain_is_unavailable(market: IndexedChain) -> None:
    market.chain.mine(*market.publish())

    def fail(question: str) -> None:
        if question not in ("head", "logs", "block_times"):
            raise Unavailable.chain()

    market.chain.fault = fail
    for _ in range(3 * ROUNDS_UNTIL_SKIPPED):
        with pytest.raises(Unavailable):
            await market.indexer.index_once()
    assert await titles(market) == []


async def test_progress_is_kept_when_a_node_fails_midway(
    market: IndexedChain, tmp_path: Path
) -> None:
    for _ in range(5 * DEPTH):
        market.chain.mine(*market.publish())
    market.indexer.reader.size = market.indexer.reader.ceiling = 10
    left = [2]

    def die(question: str) -> None:
        left[0] -= question == "logs"
        if left[0] < 0:
            raise Unavailable.chain()

    market.chain.fault = die
    with pytest.raises(Unavailable):
        await market.indexer.index_once()
    assert await state_block(market) == 19
    state = await market.indexer.writer.index_state()
    assert state is not None
    assert not state.complete
    market.chain.fault = lambda question: None
    await market.restart()
    await market.indexer.index_once()
    assert await market.shown() == await market.expected(tmp_path)


async def test_only_one_of_several_indexers_is_active(market: IndexedChain) -> None:
    other = market.new_indexer()
    assert await market.indexer.index_once()
    assert not await other.index_once()
    market.clock.advance(SHORT_LEASE_TIME.total_seconds() + 1)
    assert await other.index_once()
    assert not await market.indexer.index_once()


async def test_two_concurrent_indexers_apply_nothing_twice(
    market: IndexedChain, tmp_path: Path
) -> None:
    for _ in range(40):
        market.chain.mine(*market.publish(), *market.happen(Random(1)))
    other = market.new_indexer()
    # Both believe that they hold the lease, as if one process had been paused for a while.
    leases = [one._lease() for one in (market.indexer, other)]
    for lease in leases:
        market.clock.advance(SHORT_LEASE_TIME.total_seconds() + 1)
        assert await lease.take()
        lease._until = float("inf")
    for one in (market.indexer, other):
        one.reader.size = one.reader.ceiling = 3
    results = await asyncio.gather(
        market.indexer._read_to_head(leases[0]),
        other._read_to_head(leases[1]),
        return_exceptions=True,
    )
    assert all(each is True or isinstance(each, IndexMoved) for each in results)
    await other.index_once()
    assert await market.shown() == await market.expected(tmp_path)


async def test_a_stopped_indexer_releases_the_lease(market: IndexedChain) -> None:
    async def has_begun() -> bool:
        return await state_block(market) is not None

    async with running(60, market.indexer):
        await wait_until(has_begun)
    assert await market.new_indexer().index_once()


async def test_a_rebuild_takes_the_lease_over_from_a_running_service(
    market: IndexedChain, tmp_path: Path
) -> None:
    market.chain.mine(*market.publish())
    await market.indexer.index_once()
    seen: list[tuple[int, int]] = []
    command, elapsed = market.new_indexer(), market.clock.monotonic
    async with running(0.01, market.indexer):
        async with take_index(market.stores.leases, lambda _: None, elapsed=elapsed) as lease:
            assert not await market.indexer.index_once()
            reached = await command.rebuild(lease, lambda *place: seen.append(place))
        assert reached == market.chain.blocks[-1].ref
        assert seen == [(2, 2)]
    assert await market.shown() == await market.expected(tmp_path)


async def test_a_rebuild_gives_up_waiting_for_the_lease(market: IndexedChain) -> None:
    await market.stores.leases.take_lease(INDEXER_LEASE, "a process #1", timedelta(days=1))
    told: list[str] = []
    with pytest.raises(IndexBusy, match="a process has not stopped"):
        async with take_index(
            market.stores.leases, told.append, timedelta(0), market.clock.monotonic
        ):
            raise AssertionError
    assert told == []


async def test_only_one_command_at_a_time_rebuilds_the_index(market: IndexedChain) -> None:
    elapsed = market.clock.monotonic
    async with take_index(market.stores.leases, print, elapsed=elapsed):
        with pytest.raises(IndexBusy, match="Another command"):
            async with take_index(market.stores.leases, print, elapsed=elapsed):
                raise AssertionError


@pytest.mark.parametrize("fault", ["twice", "hashes"])
async def test_contradictory_logs_are_refused(market: IndexedChain, fault: str) -> None:
    market.chain.mine(*market.publish(), *market.publish())
    block = market.chain.blocks[-1]
    other = (
        block.logs[0]
        if fault == "twice"
        else replace(
            block.logs[0],
            place=replace(block.logs[0].place, block_hash="0x" + "9" * 64, log_index=7),
        )
    )
    object.__setattr__(block, "logs", (*block.logs, other))
    with pytest.raises(Unavailable):
        await market.indexer.index_once()
    assert await titles(market) == []
