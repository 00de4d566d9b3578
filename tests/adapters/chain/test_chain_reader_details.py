"""Block times and post descriptions read over JSON-RPC, including from faulty nodes."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.adapters.chain.chain_node import ChainNode, block_ref, change_result, run_chain_node
from tests.contract_wallets import deploy_on
from tests.world import World

from imprint.adapters.chain.chain_reader import (
    BLOCKS_AT_ONCE,
    JsonRpcChainReader,
)
from imprint.adapters.chain.json_rpc import JsonRpc
from imprint.devchain.deployment import deploy_adapter
from imprint.domain.errors import Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.marketplace import BOUGHT, MARKET_TOPICS
from imprint.domain.posts.posts import BlockRef
from imprint.marketplace import adapter_artifact


@pytest.fixture
async def node(town: World) -> AsyncIterator[ChainNode]:
    async with run_chain_node(town.chain) as node:
        yield node


@pytest.fixture
async def source(town: World, node: ChainNode) -> AsyncIterator[JsonRpcChainReader]:
    rpc = JsonRpc([node.address])
    yield JsonRpcChainReader(rpc, 31337, Address(town.marketplace.lower()), timeout=30)
    await rpc.close()


def publish(town: World, count: int) -> list[str]:
    """Publish posts one after another and return their CIDs."""
    cids = [f"cid {number}" for number in range(count)]
    for cid in cids:
        town.create_post(town.wallet(1), cid)
    return cids


async def test_block_times_are_read_in_few_round_trips(
    town: World, node: ChainNode, source: JsonRpcChainReader
) -> None:
    publish(town, BLOCKS_AT_ONCE + 1)
    head = block_ref(town)
    blocks = [block_ref(town, number) for number in range(head.number + 1)]
    node.asked = 0
    times = await source.block_times(blocks, head)
    assert list(times) == blocks
    assert node.asked == -(-len(blocks) // BLOCKS_AT_ONCE)
    expected = town.chain.head.timestamp
    assert times[head] == datetime.fromtimestamp(expected, UTC)


async def test_a_block_time_reported_for_another_block_is_refused(
    town: World, source: JsonRpcChainReader
) -> None:
    publish(town, 1)
    head = block_ref(town)
    with pytest.raises(Unavailable):
        await source.block_times([BlockRef(0, "0x" + "d" * 64)], head)
    with pytest.raises(Unavailable):
        await source.block_times([BlockRef(head.number + 1, "0x" + "d" * 64)], head)


@pytest.mark.parametrize("time", ["0x" + "f" * 64, "0xfffffffffffffff", "soon", None, 5])
async def test_an_invalid_block_time_is_refused(
    town: World, node: ChainNode, source: JsonRpcChainReader, time: object
) -> None:
    publish(town, 1)
    first = block_ref(town, 0)

    def change(block: dict[str, Any]) -> dict[str, Any]:
        return block | {"timestamp": time} if block["hash"] == first.block_hash else block

    node.change = change_result("eth_getBlockByNumber", change)
    with pytest.raises(Unavailable):
        await source.block_times([first], block_ref(town))


@pytest.mark.parametrize(
    ("sent", "read"),
    [("0x65", 101), ("0x" + "f" * 64, None), ("soon", None), (7, None), (None, None)],
)
async def test_an_invalid_log_timestamp_is_ignored(
    town: World, node: ChainNode, source: JsonRpcChainReader, sent: object, read: int | None
) -> None:
    publish(town, 1)
    head = block_ref(town)
    node.change = change_result(
        "eth_getLogs", lambda logs: [log | {"blockTimestamp": sent} for log in logs]
    )
    logs = await source.logs(0, head.number, MARKET_TOPICS, head)
    assert [log.timestamp for log in logs] == [read] * len(logs)
    assert logs


async def test_post_descriptions_are_read_in_one_round_trip(
    town: World, node: ChainNode, source: JsonRpcChainReader
) -> None:
    cids = publish(town, 50)
    node.asked = 0
    found = await source.post_details(range(1, len(cids) + 1), block_ref(town))
    assert [each.spelled_cid.decode() for each in found] == cids
    assert {each.author for each in found} == {town.wallet(1).address.lower()}
    assert node.asked == 1


@pytest.mark.parametrize("returned", ["0x", "0x00", "0x" + "ff" * 320, "what", None, 7])
async def test_a_malformed_entry_is_refused(
    town: World, node: ChainNode, source: JsonRpcChainReader, returned: object
) -> None:
    publish(town, 1)
    node.change = change_result("eth_call", lambda _: returned)
    with pytest.raises(Unavailable):
        await source.post_details([1], block_ref(town))
    node.change = lambda asked, sent: sent
    assert len(await source.post_details([1], block_ref(town))) == 1


async def test_descriptions_are_read_at_the_given_head(
    town: World, source: JsonRpcChainReader
) -> None:
    publish(town, 1)
    head = block_ref(town)
    publish_another = town.create_post(town.wallet(2), "another")
    assert publish_another.number == head.number + 1
    # The development chain keeps only the state of its newest block, so this read fails.
    with pytest.raises(Unavailable):
        await source.post_details([1], head)


async def test_only_the_configured_adapter_reports_purchases(town: World, node: ChainNode) -> None:
    code = adapter_artifact().bytecode[2:] + town.marketplace[2:].zfill(64)
    known = Address(deploy_adapter(town.chain).lower())
    other = deploy_on(town.chain, bytes.fromhex(code))
    publish(town, 2)
    town.buy_through(known, town.wallet(2), [1], town.wallet(3))
    town.buy_through(other, town.wallet(2), [2], town.wallet(3))
    head, rpc = block_ref(town), JsonRpc([node.address])
    marketplace = Address(town.marketplace.lower())
    for adapter, expected in ((known, [known]), (None, [])):
        chain = JsonRpcChainReader(rpc, 31337, marketplace, adapter, timeout=30)
        logs = await chain.logs(0, head.number, MARKET_TOPICS, head)
        assert [log.address for log in logs if log.topics[0] == BOUGHT] == expected
        blocks = await chain.block_topics(0, head.number, MARKET_TOPICS, head)
        assert sum(BOUGHT in each.topics for each in blocks) == len(expected)
    await rpc.close()
