"""A shared log stream: all projections of a process share their requests to the node."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.chain.chain_node import Responses, block_ref, run_chain_node
from tests.adapters.stores.databases import SqliteFile
from tests.services.conftest import DEPTH, running, wait_until
from tests.services.indexed_chain import SOURCE, IndexedChain
from tests.services.scripted_chain import CHAIN
from tests.world import World

from imprint.adapters.chain.chain_reader import JsonRpcChainReader
from imprint.adapters.chain.json_rpc import JsonRpc
from imprint.bootstrap.background import build_follower, build_indexer
from imprint.domain.posts.marketplace import TRANSFER, Log
from imprint.domain.posts.posts import BlockRef, EventStatus
from imprint.ports.chain import BlockTopics
from imprint.services.access.entitlement import Entitlement, EntitlementWatcher
from imprint.services.chain import log_stream
from imprint.services.chain.log_stream import (
    FEW_BLOCKS,
    PROOFS_AT_ONCE,
    LogReader,
    LogStream,
)
from imprint.services.installation.readiness import Readiness
from imprint.services.posts.indexer import Indexer
from imprint.services.publication.chain_sync import Follower
from imprint.services.tasks.leases import SHORT_LEASE_TIME


@dataclass
class AskedBlocks:
    """Counts how often the logs of each block were requested at each head."""

    asked: Counter[tuple[int, int]] = field(default_factory=Counter)
    requests: Counter[int] = field(default_factory=Counter)

    def note(self, calls: list[dict[str, Any]], sent: Responses) -> Responses:
        for call in calls:
            if call["method"] == "eth_getLogs":
                blocks = call["params"][0]
                head = int(calls[-1]["params"][0], 16)
                first, last = int(blocks["fromBlock"], 16), int(blocks["toBlock"], 16)
                self.requests[head] += 1
                self.asked.update((head, number) for number in range(first, last + 1))
        return sent


async def test_the_logs_of_each_block_are_requested_once(world: World) -> None:
    asked = AskedBlocks()
    async with run_chain_node(world.chain) as node:
        node.change = asked.note
        rpc = JsonRpc([node.address])
        chain = JsonRpcChainReader(rpc, CHAIN, world.settings.chain.marketplace, timeout=30)
        adapters, stream = replace(world.adapters, chain=chain), LogStream(chain)
        follower = build_follower(world.settings, adapters, stream=stream)
        indexer = build_indexer(world.settings, adapters, stream=stream)
        entitlement = Entitlement(adapters.marketplace, adapters.monotonic, timedelta(0))
        watcher = EntitlementWatcher(stream, entitlement)

        async def is_read() -> bool:
            head, state = block_ref(world), await adapters.stores.index_writer.index_state()
            cursor = await adapters.stores.events.cursor(CHAIN)
            return cursor == head and state is not None and state.block == head

        author, reader = world.wallet(1), world.wallet(2)
        async with running(0.01, follower, indexer, watcher):
            for number in range(1, 13):
                world.create_post(author, (await world.create(author))["cid"])
                world.buy(reader, number)
                await wait_until(is_read)
        await rpc.close()
    assert set(asked.asked.values()) == {1}
    # The watcher requests only the newest block, and the projections request all blocks that a
    # reorg may replace.
    assert max(asked.requests.values()) <= 2
    assert len(await adapters.stores.index_reader.sales_of(author.address.lower(), None, 50)) == 12
    assert (await adapters.stores.events.report_events(1)).counts[EventStatus.ONCHAIN] == 12


@dataclass
class Projections:
    """A follower and an indexer of a scripted chain that share a stream, as in one process."""

    market: IndexedChain

    def __post_init__(self) -> None:
        self.chain = self.market.chain
        self.follower, self.indexer = self.in_another_process()

    def in_another_process(self) -> tuple[Follower, Indexer]:
        market = self.market
        stream = LogStream(self.chain, market.clock.monotonic)
        events, leases = market.stores.events, market.stores.leases
        follower = Follower(stream, events, leases, market.clock, CHAIN, 0, DEPTH)
        return follower, Indexer(stream, events, leases, market.indexer.writer, SOURCE, DEPTH)

    async def indexed(self) -> BlockRef | None:
        state = await self.indexer.writer.index_state()
        return state.block if state else None


@pytest.fixture
async def both(tmp_path: Path) -> AsyncIterator[Projections]:
    market = IndexedChain(SqliteFile.migrated(tmp_path / "catalog.db"))
    yield Projections(market)
    await market.stores.close()


async def test_all_projections_read_up_to_the_same_head_in_a_round(both: Projections) -> None:
    async def has_followed() -> bool:
        head = both.chain.blocks[-1].ref
        return await both.market.stores.events.cursor(CHAIN) == head == await both.indexed()

    stream = both.follower.stream
    async with running(0.01, both.follower, both.indexer):
        for _ in range(5):
            both.chain.mine()
            await wait_until(has_followed)
    # The last request may have been cancelled before it was sent.
    assert stream.rounds - both.chain.asked.count("head") in (0, 1)


async def test_history_is_read_once_even_if_the_head_has_moved_on(both: Projections) -> None:
    both.chain.mine(*both.market.publish(), blocks=500)
    both.follower.reader.size = both.follower.reader.ceiling = 100
    assert await both.follower.follow_once()
    assert both.chain.ranges == [100] * 5 + [1]
    both.chain.mine()
    assert await both.indexer.index_once()
    # The newest blocks are read again for each new head.
    assert both.chain.ranges[6:] == [2]
    assert await both.indexed() == both.chain.blocks[-1].ref


async def test_blocks_replaced_by_a_reorg_are_requested_again(
    both: Projections, tmp_path: Path
) -> None:
    both.chain.mine(*both.market.publish(), blocks=20)
    both.follower.reader.size = both.follower.reader.ceiling = 7
    assert await both.follower.follow_once()
    both.chain.fork(10)
    both.chain.mine(*both.market.publish(), blocks=12)
    both.chain.ranges.clear()
    assert await both.indexer.index_once()
    # Of the follower's ranges, only the first ends before the fork and can be reused.
    assert both.chain.ranges == [16]
    assert await both.market.shown() == await both.market.expected(tmp_path)


async def test_a_reader_never_gets_the_same_response_twice(both: Projections) -> None:
    stream = both.follower.stream
    one, other = LogReader(stream), LogReader(stream)
    head = both.chain.mine(blocks=3).ref
    for reader in (one, other, one, other):
        assert [each.last async for each in reader.read(0, head)] == [head]
    assert both.chain.ranges == [4, 4]


async def test_filling_the_index_does_not_delay_publication(both: Projections) -> None:
    both.chain.mine(blocks=FEW_BLOCKS)
    assert await both.follower.follow_once()
    head = both.chain.mine().ref
    let_go, read_logs = asyncio.Event(), both.chain.logs

    async def take_long(
        first: int, last: int, topics: Collection[bytes], head: BlockRef
    ) -> list[Log]:
        if last - first >= FEW_BLOCKS:
            await let_go.wait()
        return await read_logs(first, last, topics, head)

    both.chain.logs = take_long  # type: ignore[method-assign]
    filling = asyncio.create_task(both.indexer.index_once())

    async def is_filling() -> bool:
        return both.follower.stream.requests[-1].head == head

    await wait_until(is_filling)
    assert await both.follower.follow_once()
    assert await both.market.stores.events.cursor(CHAIN) == head
    let_go.set()
    assert await filling
    assert await both.indexed() == head


async def test_a_concurrent_reader_waits_for_the_running_request(both: Projections) -> None:
    both.chain.mine(*both.market.publish())
    await asyncio.gather(both.follower.follow_once(), both.indexer.index_once())
    assert both.chain.ranges == [2]


async def test_the_process_that_follows_the_chain_also_fills_the_index(both: Projections) -> None:
    assert await both.follower.follow_once()
    follower, indexer = both.in_another_process()
    assert await indexer.index_once()
    assert not await follower.follow_once()
    assert not await both.indexer.index_once()
    assert not await indexer.index_once()
    assert await both.indexer.index_once()
    both.market.clock.advance(SHORT_LEASE_TIME.total_seconds() + 1)
    assert await follower.follow_once()
    assert await indexer.index_once()


async def test_the_log_filter_of_each_recent_block_is_requested_only_once(
    both: Projections, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Counter[int]()
    read_topics = both.chain.block_topics

    async def note(
        first: int, last: int, topics: Collection[bytes], head: BlockRef
    ) -> list[BlockTopics]:
        asked.update(range(first, last + 1))
        return await read_topics(first, last, topics, head)

    both.chain.block_topics = note  # type: ignore[method-assign]
    monkeypatch.setattr(log_stream, "CHECKED_BLOCKS", 300)
    both.chain.mine(blocks=1_000)
    for _ in range(5):
        assert await both.follower.follow_once()
        assert await both.indexer.index_once()
        both.chain.mine(*both.market.publish())
    assert set(asked.values()) == {1}
    assert len(asked) == 300 + 4


async def test_a_few_blocks_are_proved_per_round_and_the_rest_later(both: Projections) -> None:
    stream, count = both.follower.stream, 2 * PROOFS_AT_ONCE + 1
    both.chain.mine(blocks=count)
    both.chain.seemingly = {number: {TRANSFER} for number in range(1, count + 1)}
    head, reader = both.chain.blocks[-1].ref, LogReader(stream)
    opened = []
    for _ in range(3):
        (blocks,) = [each async for each in reader.read(0, head)]
        opened.append(blocks.open_from)
    assert opened == [PROOFS_AT_ONCE + 1, 2 * PROOFS_AT_ONCE + 1, None]
    assert both.chain.asked.count("prove_logs") == count
    assert not stream.disputed


@pytest.mark.parametrize("hides", [1, 2])
async def test_nodes_that_hide_logs_degrade_the_service_until_one_is_honest(
    world: World, hides: int
) -> None:
    def hide(asked: list[dict[str, Any]], sent: Responses) -> Responses:
        for call, response in zip(asked, sent, strict=True):
            if call["method"] == "eth_getLogs":
                response["result"] = []
            elif call["method"] == "eth_getTransactionReceipt":
                response["result"]["logs"] = []
        return sent

    def tell_all(asked: list[dict[str, Any]], sent: Responses) -> Responses:
        return sent

    author = world.wallet(1)
    async with run_chain_node(world.chain) as one, run_chain_node(world.chain) as other:
        rpc = JsonRpc([one.address, other.address])
        chain = JsonRpcChainReader(rpc, CHAIN, world.settings.chain.marketplace, timeout=30)
        adapters, stream = replace(world.adapters, chain=chain), LogStream(chain)
        follower = build_follower(world.settings, adapters, stream=stream)
        indexer = build_indexer(world.settings, adapters, stream=stream)
        readiness = Readiness(
            adapters.stores.database,
            adapters.content,
            adapters.marketplace,
            world.clock.monotonic,
            adapters.disk,
            find_disputed=partial(adapters.stores.events.disputed_blocks, CHAIN),
        )

        async def look() -> tuple[str, int]:
            await follower.follow_once()
            await indexer.index_once()
            world.clock.advance(2)
            posts = await adapters.stores.index_reader.totals()
            return (await readiness.check()).status, posts.posts

        world.create_post(author, (await world.create(author))["cid"])
        assert await look() == ("ready", 1)
        for node in (one, other)[:hides]:
            node.change = hide
        world.create_post(author, (await world.create(author))["cid"])
        for _ in range(3):
            world.chain.mine()
            assert await look() == (("ready", 2) if hides == 1 else ("degraded", 1))
        other.change = tell_all
        assert await look() == ("ready", 2)
        await rpc.close()
    assert (await world.adapters.stores.events.report_events(1)).counts[EventStatus.ONCHAIN] == 2
