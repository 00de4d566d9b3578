"""Reading blocks and logs over JSON-RPC: refused ranges, lagging nodes, and forks."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.adapters.chain.chain_node import (
    ChainNode,
    Responses,
    block_ref,
    change_result,
    run_chain_node,
)
from tests.world import World

from imprint.adapters.chain.chain_reader import JsonRpcChainReader
from imprint.adapters.chain.json_rpc import JsonRpc
from imprint.domain.errors import Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.marketplace import POST_CREATED
from imprint.domain.posts.posts import BlockRef, LogPosition
from imprint.services.chain.log_stream import LogReader, LogStream

TOPICS = (POST_CREATED,)
PLACE = LogPosition(31337, "0x" + "d" * 64, None, 0, None)


@pytest.fixture
async def node(town: World) -> AsyncIterator[ChainNode]:
    async with run_chain_node(town.chain) as node:
        yield node


@pytest.fixture
async def spare(town: World) -> AsyncIterator[ChainNode]:
    async with run_chain_node(town.chain) as node:
        yield node


@pytest.fixture
async def source(
    town: World, node: ChainNode, spare: ChainNode
) -> AsyncIterator[JsonRpcChainReader]:
    rpc = JsonRpc([node.address])
    yield JsonRpcChainReader(rpc, 31337, Address(town.marketplace.lower()), timeout=30)
    await rpc.close()


@pytest.fixture
async def source_of_two(
    town: World, node: ChainNode, spare: ChainNode
) -> AsyncIterator[JsonRpcChainReader]:
    rpc = JsonRpc([node.address, spare.address])
    yield JsonRpcChainReader(rpc, 31337, Address(town.marketplace.lower()), timeout=8)
    await rpc.close()


async def test_the_head_is_the_newest_block_with_its_timestamp(
    town: World, source: JsonRpcChainReader
) -> None:
    town.clock.advance(60)
    town.chain.mine()
    assert await source.head() == block_ref(town)
    assert await source.head_time() - town.clock.now() < timedelta(seconds=1)


async def test_a_range_contains_only_the_logs_of_the_marketplace(
    town: World, source: JsonRpcChainReader
) -> None:
    alice = town.wallet(1)
    town.create_post(alice, "one")
    block = town.create_post(alice, "two")
    logs = await source.logs(0, block.number, TOPICS, block_ref(town))
    created = [log for log in logs if log.topics[0] == POST_CREATED]
    assert [log.place.block_number for log in created] == [block.number - 1, block.number]
    assert created[1].place.block_hash == "0x" + block.hash.hex()
    assert await source.logs(0, 1, TOPICS, block_ref(town)) == []


async def test_blocks_are_found_by_height_and_by_hash(
    town: World, source: JsonRpcChainReader
) -> None:
    block = town.create_post(town.wallet(1), "one")
    head = block_ref(town)
    assert await source.block_at(1, head) == block_ref(town, 1)
    assert await source.block_at(head.number + 1, head) is None
    (log,) = await source.logs(block.number, block.number, TOPICS, head)
    assert await source.find_log(log.place, POST_CREATED, head) == log
    elsewhere = replace(log.place, block_hash="0x" + "e" * 64)
    assert await source.find_log(elsewhere, POST_CREATED, head) is None


async def test_a_lagging_node_is_unavailable(town: World, source: JsonRpcChainReader) -> None:
    head = block_ref(town)
    ahead = BlockRef(head.number + 1, "0x" + "e" * 64)
    with pytest.raises(Unavailable):
        await source.logs(0, ahead.number, TOPICS, ahead)
    with pytest.raises(Unavailable):
        await source.block_at(0, ahead)
    with pytest.raises(Unavailable):
        await source.find_log(PLACE, POST_CREATED, ahead)


async def test_a_node_on_another_fork_is_unavailable(
    town: World, source: JsonRpcChainReader
) -> None:
    name = town.chain.snapshot()
    town.chain.mine()
    head = block_ref(town)
    town.chain.restore(name)
    town.create_post(town.wallet(1), "one")
    with pytest.raises(Unavailable):
        await source.logs(0, head.number, TOPICS, head)


async def test_the_old_head_is_still_served_after_the_chain_has_grown(
    town: World, source: JsonRpcChainReader
) -> None:
    head = block_ref(town)
    town.chain.mine()
    assert await source.block_at(0, head) == block_ref(town, 0)


async def test_no_log_is_found_in_a_block_that_left_the_chain(
    town: World, node: ChainNode, source: JsonRpcChainReader
) -> None:
    block = town.create_post(town.wallet(1), "one")
    side = {"number": hex(block.number), "hash": "0x" + "e" * 64, "timestamp": "0x1"}
    node.change = change_result("eth_getBlockByHash", lambda result: side)
    place = replace(PLACE, block_hash="0x" + "e" * 64)
    assert await source.find_log(place, POST_CREATED, block_ref(town)) is None


async def test_the_next_node_is_used_when_the_first_is_behind(
    town: World, node: ChainNode, source_of_two: JsonRpcChainReader
) -> None:
    block = town.create_post(town.wallet(1), "one")
    node.change = change_result("eth_getBlockByNumber", lambda result: None)
    assert await source_of_two.logs(block.number, block.number, TOPICS, block_ref(town))


@pytest.mark.parametrize("fault", ["silence", "nonsense", "another chain", "a refusal"])
async def test_the_next_node_is_used_when_one_fails(
    town: World, node: ChainNode, spare: ChainNode, source_of_two: JsonRpcChainReader, fault: str
) -> None:
    block = town.create_post(town.wallet(1), "one")
    faults: dict[str, Callable[[list[dict[str, Any]], Responses], Responses | None]] = {
        "silence": lambda asked, sent: None,
        "nonsense": change_result("eth_getLogs", lambda result: "0x"),
        "another chain": change_result("eth_chainId", lambda result: "0x1"),
        "a refusal": lambda asked, sent: [
            {"jsonrpc": "2.0", "id": one["id"], "error": {"code": -32005}} for one in sent
        ],
    }
    node.change = faults[fault]
    assert await source_of_two.logs(block.number, block.number, TOPICS, block_ref(town))
    assert await source_of_two.head() == block_ref(town)


@pytest.mark.parametrize("limit", [1, 10, 100])
async def test_a_node_with_a_range_limit_is_read_in_smaller_block_ranges(
    town: World, node: ChainNode, source: JsonRpcChainReader, limit: int
) -> None:
    for number in range(5):
        town.create_post(town.wallet(1), f"cid-{number}")
        for _ in range(20):
            town.chain.mine()
    node.limit = limit
    head = block_ref(town)
    ranges = [each async for each in LogReader(LogStream(source)).read(0, head, receipts=False)]
    logs = [placed.log for each in ranges for placed in each.logs]
    assert sum(log.topics[0] == POST_CREATED for log in logs) == 5
    assert max(each.last.number - each.first + 1 for each in ranges) <= limit


def outside(logs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [log | {"blockNumber": "0x1"} for log in logs]


def elsewhere(logs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [log | {"blockHash": "0x" + "e" * 64} for log in logs]


@pytest.mark.parametrize(
    "lie",
    [
        lambda logs: None,
        lambda logs: {},
        lambda logs: [1],
        lambda logs: [{}],
        lambda logs: [log | {"topics": "0x"} for log in logs],
        lambda logs: [log | {"topics": ["0x1"]} for log in logs],
        lambda logs: [log | {"data": None} for log in logs],
        lambda logs: [log | {"blockHash": None} for log in logs],
        lambda logs: [log | {"logIndex": "0x"} for log in logs],
        lambda logs: [log | {"address": "0x1"} for log in logs],
        outside,
    ],
)
async def test_malformed_logs_raise_unavailable(
    town: World, node: ChainNode, source: JsonRpcChainReader, lie: Callable[[Any], Any]
) -> None:
    block = town.create_post(town.wallet(1), "one")
    node.change = change_result("eth_getLogs", lie)
    with pytest.raises(Unavailable):
        await source.logs(block.number, block.number, TOPICS, block_ref(town))


async def test_logs_of_another_block_raise_unavailable(
    town: World, node: ChainNode, source: JsonRpcChainReader
) -> None:
    block = town.create_post(town.wallet(1), "one")
    node.change = change_result("eth_getLogs", elsewhere)
    place = replace(PLACE, block_hash="0x" + block.hash.hex())
    with pytest.raises(Unavailable):
        await source.find_log(place, POST_CREATED, block_ref(town))


@pytest.mark.parametrize("change", [{"removed": True}, {"address": "0x" + "d" * 40}])
async def test_removed_logs_and_logs_of_other_contracts_are_skipped(
    town: World, node: ChainNode, source: JsonRpcChainReader, change: dict[str, Any]
) -> None:
    block = town.create_post(town.wallet(1), "one")
    node.change = change_result("eth_getLogs", lambda logs: [log | change for log in logs])
    assert await source.logs(block.number, block.number, TOPICS, block_ref(town)) == []


@pytest.mark.parametrize("block", [None, "0x1", {}, {"number": "0x1", "hash": "0x1"}])
async def test_a_malformed_head_raises_unavailable(
    node: ChainNode, source: JsonRpcChainReader, block: object
) -> None:
    node.change = change_result("eth_getBlockByNumber", lambda result: block)
    with pytest.raises(Unavailable):
        await source.head()


@pytest.mark.parametrize("time", [None, "0x", "0x" + "f" * 64])
async def test_a_malformed_timestamp_raises_unavailable(
    node: ChainNode, source: JsonRpcChainReader, time: object
) -> None:
    node.change = change_result("eth_getBlockByNumber", lambda block: block | {"timestamp": time})
    with pytest.raises(Unavailable):
        await source.head_time()
