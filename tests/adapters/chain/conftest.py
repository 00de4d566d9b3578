"""Fixtures: nodes on loopback, and marketplace clients that use them."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.adapters.chain.faulty_node import FaultyNode
from tests.world import MovableClock, World, open_world

from imprint.adapters.chain.block_calls import BlockCalls
from imprint.adapters.chain.json_rpc import JsonRpc
from imprint.adapters.chain.marketplace import JsonRpcMarketplace
from imprint.domain.formats.addresses import Address

MARKET = Address("0x" + "c3" * 20)


def fixed_clock() -> datetime:
    """The timestamp of the node's newest block."""
    return datetime.fromtimestamp(1_760_000_000, UTC)


@pytest.fixture
async def town(tmp_path: Path) -> AsyncIterator[World]:
    clock = MovableClock(datetime(2026, 1, 2, tzinfo=UTC))
    async with open_world(tmp_path, clock=clock) as opened:
        yield opened


@pytest.fixture
async def node() -> AsyncIterator[FaultyNode]:
    node = FaultyNode()
    await node.start()
    yield node
    await node.stop()


@pytest.fixture
async def spare_node() -> AsyncIterator[FaultyNode]:
    node = FaultyNode()
    await node.start()
    yield node
    await node.stop()


@pytest.fixture
async def market(node: FaultyNode) -> AsyncIterator[JsonRpcMarketplace]:
    rpc = JsonRpc([node.address], max_response=1_000_000)
    market = JsonRpcMarketplace(BlockCalls(rpc, 31337, fixed_clock, 600), MARKET)
    yield market
    await market.close()


@pytest.fixture
async def market_of_two(
    node: FaultyNode, spare_node: FaultyNode
) -> AsyncIterator[JsonRpcMarketplace]:
    rpc = JsonRpc([node.address, spare_node.address])
    # An unresponsive node uses up part of the timeout. The rest is enough on a busy machine.
    market = JsonRpcMarketplace(BlockCalls(rpc, 31337, fixed_clock, 600), MARKET, timeout=8)
    yield market
    await market.close()
