"""Responses of nodes: HTTP, JSON-RPC batches, blocks, logs, receipts and contract results."""

import asyncio
import atexit
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import msgspec

from imprint.adapters.chain.block_calls import BlockCalls
from imprint.adapters.chain.chain_reader import JsonRpcChainReader
from imprint.adapters.chain.http_client import NodeFailure, _Connection
from imprint.adapters.chain.json_rpc import Call, JsonRpc, _match_results
from imprint.adapters.chain.marketplace import JsonRpcMarketplace
from imprint.domain.errors import Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.marketplace import MARKET_TOPICS, POST_CREATED
from imprint.domain.posts.posts import BlockRef, LogPosition
from imprint.ports.chain import Unproved

NOW = datetime(2026, 11, 1, 12, 0, 0, tzinfo=UTC)
MARKET, ADAPTER = Address("0x" + "c3" * 20), Address("0x" + "ad" * 20)
READER = Address("0x" + "a1" * 20)
CID = Cid("bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e")
BLOCK_HASH, TX_HASH = "0x" + "d4" * 32, "0x" + "e5" * 32
HEAD = BlockRef(12, BLOCK_HASH)
PLACE = LogPosition(31337, BLOCK_HASH, 12, 3, TX_HASH)
MAX_RESPONSE = 64 * 1024
LOOP = asyncio.new_event_loop()
atexit.register(LOOP.close)


class LoopbackNode(JsonRpc):
    """A node that sends the lines of the input as its responses."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        super().__init__(["http://node.example"])
        self._lines = iter(lines)

    async def _send(
        self,
        node: int,
        calls: Sequence[Call],
        decoder: "msgspec.json.Decoder[Any]",
        max_response: int | None,
    ) -> list[Any]:
        line = next(self._lines, None)
        if line is None:
            raise NodeFailure("no connection")
        ids = [next(self._ids) for _ in calls]
        return _match_results(ids, bytearray(line), decoder)


async def _receipts(chain: JsonRpcChainReader) -> object:
    return [each async for each in chain.logs_by_receipts(12, MARKET_TOPICS, HEAD)]


CHAIN: tuple[Callable[[JsonRpcChainReader], Awaitable[object]], ...] = (
    lambda chain: chain.head(),
    lambda chain: chain.head_time(),
    lambda chain: chain.block_at(12, HEAD),
    lambda chain: chain.block_times([HEAD], HEAD),
    lambda chain: chain.logs(0, 12, MARKET_TOPICS, HEAD),
    lambda chain: chain.block_topics(12, 12, MARKET_TOPICS, HEAD),
    lambda chain: chain.prove_logs(HEAD, MARKET_TOPICS, HEAD),
    lambda chain: chain.find_log(PLACE, POST_CREATED, HEAD),
    _receipts,
)
MARKETPLACE: tuple[Callable[[JsonRpcMarketplace], Awaitable[object]], ...] = (
    lambda market: market.post_facts(9, READER),
    lambda market: market.post_facts(9, None),
    lambda market: market.entry_of_cid(CID),
    lambda market: market.find_purchase(TX_HASH, 9, READER),
    lambda market: market.probe(),
    lambda market: market.code(),
    lambda market: market.existed_at(12),
)


def check(data: bytes) -> None:
    """Every query of the chain returns, or says that the chain is not available.

    The first byte selects the query. Each line of the rest is the body of one response.
    """
    if not data:
        return
    which = data[0] % (len(CHAIN) + len(MARKETPLACE) + 1)
    if which == len(CHAIN) + len(MARKETPLACE):
        LOOP.run_until_complete(_exchange(data[1:]))
    else:
        LOOP.run_until_complete(_ask(which, data[1:].split(b"\n")))


async def _ask(which: int, lines: Sequence[bytes]) -> None:
    rpc = LoopbackNode(lines)
    with suppress(Unavailable, Unproved):
        if which < len(CHAIN):
            await CHAIN[which](JsonRpcChainReader(rpc, 31337, MARKET, ADAPTER))
        else:
            calls = BlockCalls(rpc, 31337, lambda: NOW)
            await MARKETPLACE[which - len(CHAIN)](JsonRpcMarketplace(calls, MARKET, ADAPTER))


class _Transport(asyncio.Transport):
    """A transport that sends nothing."""

    closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        pass

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True

    abort = close


async def _exchange(data: bytes) -> None:
    """Receive the input as the response to an HTTP request, in two pieces."""
    connection = _Connection()
    connection.connection_made(_Transport())
    sending = asyncio.ensure_future(connection.send(b"", MAX_RESPONSE))
    await asyncio.sleep(0)
    for piece in (data[: len(data) // 2], data[len(data) // 2 :]):
        if piece:
            connection.data_received(piece)
    connection.connection_lost(None)
    with suppress(NodeFailure, ConnectionError):
        assert len(await sending) <= MAX_RESPONSE
