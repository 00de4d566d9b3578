"""Reader of the chain's blocks and the marketplace's logs, over JSON-RPC."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TypeVar

from imprint.adapters.chain.http_client import NodeFailure
from imprint.adapters.chain.json_rpc import Call, ChainMisconfigured, JsonRpc, check_chain_id
from imprint.domain.addresses import Address, NotAnAddress, parse_address
from imprint.domain.hexadecimal import parse_hash, parse_hex_bytes, parse_hex_number
from imprint.domain.marketplace import (
    POST_CREATED,
    POST_PRICE_UPDATED,
    POST_SUBSCRIBED,
    TRANSFER,
    Log,
)
from imprint.domain.posts import BlockRef, LogPlace

Read = TypeVar("Read")

TIMEOUT = 10.0
"""Seconds for one exchange: no client waits for it, and the logs of many blocks take a while."""

_TOPICS = ["0x" + topic.hex() for topic in (POST_CREATED, POST_SUBSCRIBED, POST_PRICE_UPDATED)]
_TOPICS.append("0x" + TRANSFER.hex())


class JsonRpcChainReader:
    """`ChainReader` over JSON-RPC.

    Every batch begins with the node's chain id and ends with its block at the height of the given
    head. A node executes a batch in order, so the results between hold for that head.
    """

    def __init__(
        self, rpc: JsonRpc, chain_id: int, marketplace: Address, timeout: float = TIMEOUT
    ) -> None:
        self._rpc = rpc
        self._chain_id = chain_id
        self._marketplace = marketplace
        self._timeout = timeout

    async def head(self) -> BlockRef:
        """The newest block."""
        block = await self._query(_block_call("latest"), _read_block)
        if block is None:
            raise ChainMisconfigured("The node has no newest block.")
        return block

    async def head_time(self) -> datetime:
        """The timestamp of the newest block."""

        def read(result: object) -> datetime:
            return datetime.fromtimestamp(parse_hex_number(_members(result).get("timestamp")), UTC)

        return await self._query(_block_call("latest"), read)

    async def block_at(self, number: int, head: BlockRef) -> BlockRef | None:
        """The block at this height, or None above the newest block."""
        return await self._query(_block_call(hex(number)), _read_block, head)

    async def logs(self, first: int, last: int, head: BlockRef) -> list[Log]:
        """The marketplace's logs in these blocks, in order."""

        def read(result: object) -> list[Log]:
            logs = self._read_logs(result)
            if any(not first <= (log.place.block_number or 0) <= last for log in logs):
                raise NodeFailure("the logs are of other blocks")
            return logs

        blocks = {"fromBlock": hex(first), "toBlock": hex(last)}
        return await self._query(self._logs_call(blocks), read, head)

    async def logs_of_block(self, block_hash: str, head: BlockRef) -> list[Log] | None:
        """The marketplace's logs in this block, or None if it is not in this chain."""
        by_hash = Call("eth_getBlockByHash", (block_hash, False))
        found = await self._query(by_hash, _read_block, head)
        # A node may know blocks that have left its chain, or were never in it.
        if found is None or await self.block_at(found.number, head) != found:
            return None

        def read(result: object) -> list[Log]:
            logs = self._read_logs(result)
            if any(log.place.block_hash != found.block_hash for log in logs):
                raise NodeFailure("the logs are of other blocks")
            return logs

        return await self._query(self._logs_call({"blockHash": block_hash}), read, head)

    def _logs_call(self, blocks: Mapping[str, object]) -> Call:
        return Call("eth_getLogs", ({"address": self._marketplace, "topics": [_TOPICS], **blocks},))

    async def _query(
        self, call: Call, read: Callable[[object], Read], head: BlockRef | None = None
    ) -> Read:
        def read_batch(results: list[object]) -> Read:
            try:
                check_chain_id(parse_hex_number(results[0]), self._chain_id)
                if head is not None and _read_block(results[2]) != head:
                    raise NodeFailure("the node has another block at the height of the head")
                return read(results[1])
            except (NotAnAddress, ValueError, OverflowError, OSError) as error:
                raise NodeFailure("a block or log is malformed") from error

        calls = [Call("eth_chainId"), call]
        if head is not None:
            calls.append(_block_call(hex(head.number)))
        deadline = asyncio.get_running_loop().time() + self._timeout
        return await self._rpc.exchange(calls, read_batch, deadline)

    def _read_logs(self, result: object) -> list[Log]:
        if not isinstance(result, list):
            raise NodeFailure("the logs are not a list")
        logs = [_read_log(log, self._chain_id) for log in result]
        return [log for log in logs if log.address == self._marketplace and not log.removed]


def _block_call(number_or_tag: str) -> Call:
    return Call("eth_getBlockByNumber", (number_or_tag, False))


def _read_block(result: object) -> BlockRef | None:
    if result is None:
        return None
    block = _members(result)
    return BlockRef(parse_hex_number(block.get("number")), parse_hash(block.get("hash")))


def _read_log(result: object, chain_id: int) -> Log:
    log = _members(result)
    topics = log.get("topics")
    address = log.get("address")
    if not isinstance(topics, list) or not isinstance(address, str):
        raise NodeFailure("a log has no topics or no address")
    place = LogPlace(
        chain_id,
        parse_hash(log.get("blockHash")),
        parse_hex_number(log.get("blockNumber")),
        parse_hex_number(log.get("logIndex")),
        parse_hash(log.get("transactionHash")),
    )
    return Log(
        parse_address(address.lower()),
        tuple(parse_hex_bytes(topic) for topic in topics),
        parse_hex_bytes(log.get("data")),
        place,
        log.get("removed") is True,
    )


def _members(result: object) -> dict[str, object]:
    if not isinstance(result, dict):
        raise NodeFailure("a block or log is malformed")
    return result
