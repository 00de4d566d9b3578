"""Proofs that a log is absent, and reading the logs of large blocks."""

import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from tests.adapters.chain.chain_node import (
    ChainNode,
    Responses,
    block_ref,
    change_result,
    run_chain_node,
)
from tests.world import World

from imprint.adapters.chain.chain_reader import (
    MAX_LOGS_RESPONSE,
    MAX_RECEIPTS_RESPONSE,
    JsonRpcChainReader,
    LogFilter,
)
from imprint.adapters.chain.json_rpc import JsonRpc
from imprint.domain.errors import Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.marketplace import MARKET_TOPICS, POST_CREATED, TRANSFER, Log
from imprint.domain.posts.posts import BlockRef, LogPosition
from imprint.ports.chain import ReceiptLogs, Unproved
from imprint.services.chain.log_stream import LogReader, LogStream

TOPICS = (POST_CREATED,)
NO_LOGS = change_result("eth_getLogs", lambda logs: [])
FULL_BLOOM = "0x" + "ff" * 256

Change = Callable[[list[dict[str, Any]], Responses], Responses]


@pytest.fixture
async def node(town: World) -> AsyncIterator[ChainNode]:
    async with run_chain_node(town.chain) as node:
        yield node


@pytest.fixture
async def spare(town: World) -> AsyncIterator[ChainNode]:
    async with run_chain_node(town.chain) as node:
        yield node


@pytest.fixture
async def source(town: World, node: ChainNode) -> AsyncIterator[JsonRpcChainReader]:
    rpc = JsonRpc([node.address])
    yield JsonRpcChainReader(rpc, 31337, Address(town.marketplace.lower()), timeout=5)
    await rpc.close()


@pytest.fixture
async def source_of_two(
    town: World, node: ChainNode, spare: ChainNode
) -> AsyncIterator[JsonRpcChainReader]:
    rpc = JsonRpc([node.address, spare.address])
    yield JsonRpcChainReader(rpc, 31337, Address(town.marketplace.lower()), timeout=5)
    await rpc.close()


@pytest.fixture
async def post(town: World, source: JsonRpcChainReader) -> Log:
    """The log of a post, with one more block mined after it."""
    block = town.create_post(town.wallet(1), "one")
    town.chain.mine()
    (log,) = await source.logs(block.number, block.number, TOPICS, block_ref(town))
    return log


async def find(source: JsonRpcChainReader, town: World, place: LogPosition) -> Log | None:
    return await source.find_log(place, POST_CREATED, block_ref(town))


def several(*changes: Change) -> Change:
    def apply(asked: list[dict[str, Any]], sent: Responses) -> Responses:
        for change in changes:
            sent = change(asked, sent)
        return sent

    return apply


def in_blocks(**members: object) -> Change:
    """Change the given members of every returned block."""

    def change(block: Any) -> Any:
        return block and block | members

    return several(
        change_result("eth_getBlockByHash", change), change_result("eth_getBlockByNumber", change)
    )


async def test_an_empty_log_list_does_not_prove_that_a_post_is_absent(
    town: World, node: ChainNode, source: JsonRpcChainReader, post: Log
) -> None:
    node.change = NO_LOGS
    with pytest.raises(Unproved):
        await find(source, town, post.place)


async def test_the_next_node_is_used_when_one_contradicts_itself(
    town: World, node: ChainNode, source_of_two: JsonRpcChainReader, post: Log
) -> None:
    node.change = NO_LOGS
    assert await find(source_of_two, town, post.place) == post


async def test_a_second_node_that_has_the_log_contradicts_a_proof_of_absence(
    town: World, node: ChainNode, source_of_two: JsonRpcChainReader, post: Log
) -> None:
    node.change = several(NO_LOGS, in_blocks(logsBloom="0x" + "00" * 255 + "01"))
    with pytest.raises(Unproved):
        await find(source_of_two, town, post.place)


async def test_a_failing_second_node_does_not_invalidate_a_proof(
    town: World, spare: ChainNode, source_of_two: JsonRpcChainReader, post: Log
) -> None:
    spare.change = change_result("eth_chainId", lambda result: "0x1")
    forged = replace(post.place, block_hash="0x" + "e" * 64)
    assert await find(source_of_two, town, forged) is None
    assert await find(source_of_two, town, post.place) == post


async def test_a_bloom_filter_without_the_log_proves_its_absence(
    town: World, node: ChainNode, source: JsonRpcChainReader, post: Log
) -> None:
    empty = block_ref(town)
    place = replace(post.place, block_hash=empty.block_hash, block_number=empty.number)
    asked: list[str] = []

    def note(calls: list[dict[str, Any]], sent: Responses) -> Responses:
        asked.extend(call["method"] for call in calls)
        return sent

    node.change = note
    assert await find(source, town, place) is None
    assert "eth_getLogs" not in asked


@pytest.mark.parametrize(
    "bloom",
    [FULL_BLOOM, "0x" + "00" * 256, None, "0x"],
    ids=["full", "without bits", "none", "malformed"],
)
async def test_receipts_prove_a_log_absent_even_without_a_usable_bloom_filter(
    town: World, node: ChainNode, source: JsonRpcChainReader, post: Log, bloom: object
) -> None:
    node.change = in_blocks(logsBloom=bloom)
    empty = block_ref(town)
    place = replace(post.place, block_hash=empty.block_hash, block_number=empty.number)
    assert await find(source, town, place) is None
    assert await find(source, town, replace(post.place, log_index=7)) is None
    assert await find(source, town, replace(post.place, log_index=7, tx_hash=None)) is None
    assert await find(source, town, post.place) == post


async def test_a_receipt_that_names_another_block_contradicts_the_empty_log_list(
    town: World, node: ChainNode, source: JsonRpcChainReader, post: Log
) -> None:
    other = {"blockHash": "0x" + "e" * 64}
    node.change = several(
        NO_LOGS, change_result("eth_getTransactionReceipt", lambda receipt: receipt | other)
    )
    with pytest.raises(Unproved):
        await find(source, town, post.place)


@pytest.mark.parametrize("receipt", [None, {}, {"logs": 1}], ids=str)
async def test_a_missing_receipt_proves_nothing(
    town: World, node: ChainNode, source: JsonRpcChainReader, post: Log, receipt: object
) -> None:
    node.change = several(NO_LOGS, change_result("eth_getTransactionReceipt", lambda _: receipt))
    with pytest.raises(Unproved):
        await find(source, town, post.place)


async def test_receipts_refute_an_empty_log_list_even_without_a_transaction_hash(
    town: World, node: ChainNode, source: JsonRpcChainReader, post: Log
) -> None:
    node.change = NO_LOGS
    with pytest.raises(Unproved):
        await find(source, town, replace(post.place, tx_hash=None))


async def test_receipts_refute_a_list_of_other_logs_even_without_a_transaction_hash(
    town: World, node: ChainNode, source: JsonRpcChainReader, post: Log
) -> None:
    node.change = change_result(
        "eth_getLogs", lambda logs: [log | {"logIndex": "0x7"} for log in logs]
    )
    with pytest.raises(Unproved):
        await find(source, town, replace(post.place, tx_hash=None))


async def test_a_block_found_by_height_but_not_by_hash_proves_nothing(
    town: World, node: ChainNode, source: JsonRpcChainReader, post: Log
) -> None:
    node.change = change_result("eth_getBlockByHash", lambda block: None)
    with pytest.raises(Unproved):
        await find(source, town, post.place)


async def test_a_different_block_at_the_same_height_proves_the_log_absent(
    town: World, source: JsonRpcChainReader
) -> None:
    name = town.chain.snapshot()
    block = town.create_post(town.wallet(1), "one")
    (log,) = await source.logs(block.number, block.number, TOPICS, block_ref(town))
    town.chain.restore(name)
    town.create_post(town.wallet(1), "two")
    assert await find(source, town, log.place) is None


async def test_a_found_log_has_the_position_reported_by_the_chain(
    town: World, source: JsonRpcChainReader, post: Log
) -> None:
    vague = replace(post.place, block_number=None, tx_hash=None)
    assert await find(source, town, vague) == post
    wrong = replace(post.place, block_number=10**6, tx_hash="0x" + "e" * 64)
    assert await find(source, town, wrong) == post


def refuse_logs(asked: list[dict[str, Any]], sent: Responses) -> Responses:
    for call, response in zip(asked, sent, strict=True):
        if call["method"] == "eth_getLogs":
            response["result"] = "0x" + "0" * MAX_LOGS_RESPONSE
    return sent


async def read_receipts(source: JsonRpcChainReader, town: World, number: int) -> list[ReceiptLogs]:
    return [each async for each in source.logs_by_receipts(number, TOPICS, block_ref(town))]


async def test_the_logs_of_an_oversized_block_are_read_from_its_receipts(
    town: World, node: ChainNode, source: JsonRpcChainReader, post: Log
) -> None:
    node.change = refuse_logs
    head, number = block_ref(town), post.place.block_number or 0
    ranges = [
        each async for each in LogReader(LogStream(source)).read(number, head, receipts=False)
    ]
    assert ranges[0].refused
    assert await read_receipts(source, town, number) == [ReceiptLogs([post])]
    assert await find(source, town, post.place) == post
    assert await find(source, town, replace(post.place, log_index=9)) is None


async def test_an_empty_bloom_filter_does_not_hide_the_logs_of_a_block(
    town: World, node: ChainNode, source: JsonRpcChainReader, post: Log
) -> None:
    node.change = in_blocks(logsBloom="0x" + "00" * 256)
    assert await read_receipts(source, town, post.place.block_number or 0) == [ReceiptLogs([post])]
    node.change = several(NO_LOGS, node.change)
    with pytest.raises(Unproved):
        await find(source, town, post.place)


async def test_receipts_are_not_read_if_the_bloom_filter_excludes_the_logs(
    town: World, node: ChainNode, source: JsonRpcChainReader, post: Log
) -> None:
    before = node.asked
    assert await read_receipts(source, town, block_ref(town).number) == []
    assert node.asked == before + 1


@pytest.mark.parametrize("result", [None, {"logs": "0x" + "0" * MAX_RECEIPTS_RESPONSE}])
async def test_an_unreadable_receipt_is_reported(
    town: World, node: ChainNode, source: JsonRpcChainReader, post: Log, result: object
) -> None:
    node.change = change_result("eth_getTransactionReceipt", lambda receipt: result)
    number = post.place.block_number or 0
    assert await read_receipts(source, town, number) == [ReceiptLogs([], post.place.tx_hash)]


async def test_reading_receipts_raises_unavailable_if_the_node_stops_responding(
    town: World, node: ChainNode, source: JsonRpcChainReader, post: Log
) -> None:
    def go_away(asked: list[dict[str, Any]], sent: Responses) -> Responses:
        if any(call["method"] == "eth_getTransactionReceipt" for call in asked):
            node.change = lambda asked, sent: [{}]
            return [{}]
        return sent

    node.change = go_away
    with pytest.raises(Unavailable):
        await read_receipts(source, town, post.place.block_number or 0)


NO_RECEIPT_LOGS = change_result(
    "eth_getTransactionReceipt", lambda receipt: receipt and receipt | {"logs": []}
)


def block_of(post: Log) -> BlockRef:
    return BlockRef(post.place.block_number or 0, post.place.block_hash)


async def test_a_bloom_filter_yields_the_topics_of_its_block(
    town: World, source: JsonRpcChainReader, post: Log
) -> None:
    head = block_ref(town)
    blocks = await source.block_topics(0, head.number, MARKET_TOPICS, head)
    assert {each.ref.number: each.topics for each in blocks if each.topics} == {
        post.place.block_number: {POST_CREATED}
    }
    hashes = [each.ref.block_hash for each in blocks]
    assert [each.parent_hash for each in blocks[1:]] == hashes[:-1]
    assert hashes[-1] == head.block_hash


@pytest.mark.parametrize(
    "bloom", [FULL_BLOOM, "0x" + "00" * 256, None], ids=["full", "without bits", "none"]
)
async def test_an_unusable_bloom_filter_yields_no_topics(
    town: World, node: ChainNode, source: JsonRpcChainReader, post: Log, bloom: str | None
) -> None:
    node.change = in_blocks(logsBloom=bloom)
    head, number = block_ref(town), post.place.block_number or 0
    (block,) = await source.block_topics(number, number, MARKET_TOPICS, head)
    assert block.topics == frozenset()


async def test_the_logs_of_a_block_are_proven_by_its_receipts(
    town: World, node: ChainNode, source: JsonRpcChainReader, post: Log
) -> None:
    node.change = NO_LOGS
    head = block_ref(town)
    assert await source.prove_logs(block_of(post), MARKET_TOPICS, head) == [post]
    assert await source.prove_logs(head, MARKET_TOPICS, head) == []


@pytest.mark.parametrize(
    "change",
    [
        NO_RECEIPT_LOGS,
        change_result("eth_getTransactionReceipt", lambda receipt: None),
        in_blocks(logsBloom=FULL_BLOOM[:-1] + "7"),
    ],
    ids=["receipts without logs", "no receipts", "a filter with more bits"],
)
async def test_receipts_inconsistent_with_the_bloom_filter_prove_nothing(
    town: World, node: ChainNode, source: JsonRpcChainReader, post: Log, change: Change
) -> None:
    node.change = several(NO_LOGS, change)
    with pytest.raises(Unproved):
        await source.prove_logs(block_of(post), MARKET_TOPICS, block_ref(town))
    with pytest.raises(Unproved):
        await find(source, town, post.place)


async def test_logs_hidden_by_one_node_are_proven_by_the_next(
    town: World, node: ChainNode, source_of_two: JsonRpcChainReader, post: Log
) -> None:
    node.change = several(NO_LOGS, NO_RECEIPT_LOGS)
    found = await source_of_two.prove_logs(block_of(post), MARKET_TOPICS, block_ref(town))
    assert found == [post]
    assert await find(source_of_two, town, post.place) == post


async def test_nodes_that_prove_different_logs_prove_nothing(
    town: World, node: ChainNode, source_of_two: JsonRpcChainReader, post: Log
) -> None:
    node.change = several(NO_RECEIPT_LOGS, in_blocks(logsBloom=None))
    with pytest.raises(Unproved):
        await source_of_two.prove_logs(block_of(post), MARKET_TOPICS, block_ref(town))


async def test_another_node_returns_the_logs_that_the_first_one_hides(
    town: World, node: ChainNode, source_of_two: JsonRpcChainReader, post: Log
) -> None:
    node.change = NO_LOGS
    head = block_ref(town)
    assert await source_of_two.logs(0, head.number, TOPICS, head) == []
    assert await source_of_two.other_logs(0, head.number, TOPICS, head) == [post]


async def test_reading_another_nodes_logs_needs_a_working_second_node(
    town: World, spare: ChainNode, source: JsonRpcChainReader, source_of_two: JsonRpcChainReader
) -> None:
    head = block_ref(town)
    spare.change = change_result("eth_chainId", lambda result: "0x1")
    for each in (source, source_of_two):
        with pytest.raises(Unavailable):
            await each.other_logs(0, head.number, TOPICS, head)


async def test_logs_of_a_replaced_block_are_not_proven(
    town: World, source: JsonRpcChainReader, post: Log
) -> None:
    replaced = replace(block_of(post), block_hash="0x" + "e" * 64)
    with pytest.raises(Unavailable) as caught:
        await source.prove_logs(replaced, MARKET_TOPICS, block_ref(town))
    assert not isinstance(caught.value, Unproved)


async def test_only_logs_with_the_requested_topics_are_read(
    town: World, source: JsonRpcChainReader, post: Log
) -> None:
    head = block_ref(town)
    assert await source.logs(0, head.number, (TRANSFER,), head) == []
    assert await source.logs(0, head.number, (TRANSFER, POST_CREATED), head) == [post]


@pytest.mark.parametrize("many", [False, True])
async def test_logs_are_parsed_in_a_worker_thread_only_if_there_are_many(
    town: World,
    node: ChainNode,
    source: JsonRpcChainReader,
    post: Log,
    *,
    many: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = 1_000 if many else 1
    threads, read_logs = list[threading.Thread](), LogFilter.read_logs

    def note_thread(wanted: LogFilter, result: msgspec.Raw) -> list[Log]:
        threads.append(threading.current_thread())
        return read_logs(wanted, result)

    monkeypatch.setattr(LogFilter, "read_logs", note_thread)
    node.change = change_result(
        "eth_getLogs", lambda logs: [logs[0] | {"logIndex": hex(index)} for index in range(count)]
    )
    head, number = block_ref(town), post.place.block_number or 0
    logs = await source.logs(number, number, TOPICS, head)
    assert [log.place.log_index for log in logs] == list(range(count))
    assert (threading.main_thread() in threads) is not many


async def test_the_highest_block_reported_by_a_node_is_remembered(
    town: World, source: JsonRpcChainReader, post: Log
) -> None:
    assert source.highest_shown() == -1
    name = town.chain.snapshot()
    town.chain.mine()
    highest = (await source.head()).number
    town.chain.restore(name)
    assert (await source.head()).number == highest - 1
    assert source.highest_shown() == highest


async def test_a_node_far_behind_does_not_determine_the_head(
    town: World, node: ChainNode, source_of_two: JsonRpcChainReader
) -> None:
    for _ in range(50):
        town.chain.mine()
    old = {"number": "0x1", "hash": "0x" + "e" * 64}
    node.change = change_result("eth_getBlockByNumber", lambda block: block | old)
    assert await source_of_two.head() == block_ref(town)
