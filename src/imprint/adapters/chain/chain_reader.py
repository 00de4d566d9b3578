"""The chain's blocks and the marketplace's logs, read over JSON-RPC for the follower."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TypeVar

from imprint.adapters.chain.http_client import ChainMisconfigured, NodeFailure, check_chain_id
from imprint.adapters.chain.json_rpc import Call, JsonRpc
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
"""Seconds for one question: nobody waits for the follower, and logs of many blocks take a while."""

_TOPICS = ["0x" + topic.hex() for topic in (POST_CREATED, POST_SUBSCRIBED, POST_PRICE_UPDATED)]
_TOPICS.append("0x" + TRANSFER.hex())


class JsonRpcChainReader:
    """A `ChainReader` over JSON-RPC.

    Every exchange begins with the node's chain id and ends with its block at the height of the
    head in question: a node takes a batch in order, so what it said between held for that head.
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
        block = await self._ask(_block_call("latest"), _read_mark)
        if block is None:
            raise ChainMisconfigured("The node has no newest block.")
        return block

    async def head_time(self) -> datetime:
        """When the newest block says that it was made."""

        def read(result: object) -> datetime:
            return datetime.fromtimestamp(parse_hex_number(_members(result).get("timestamp")), UTC)

        return await self._ask(_block_call("latest"), read)

    async def block_at(self, number: int, head: BlockRef) -> BlockRef | None:
        """The block at this height; None above the newest one."""
        return await self._ask(_block_call(hex(number)), _read_mark, head)

    async def logs(self, first: int, last: int, head: BlockRef) -> list[Log]:
        """The marketplace's logs in these blocks, in order."""

        def read(result: object) -> list[Log]:
            logs = self._read_logs(result)
            if any(not first <= (log.place.block_number or 0) <= last for log in logs):
                raise NodeFailure("logs of other blocks")
            return logs

        wanted = {"fromBlock": hex(first), "toBlock": hex(last)}
        return await self._ask(self._logs_call(wanted), read, head)

    async def logs_of_block(self, block_hash: str, head: BlockRef) -> list[Log] | None:
        """The marketplace's logs in this block; None if it is not one of this chain."""
        known = Call("eth_getBlockByHash", (block_hash, False))
        found = await self._ask(known, _read_mark, head)
        # A node may know blocks that were never in its chain, or are no longer.
        if found is None or await self.block_at(found.number, head) != found:
            return None

        def read(result: object) -> list[Log]:
            logs = self._read_logs(result)
            if any(log.place.block_hash != found.block_hash for log in logs):
                raise NodeFailure("logs of other blocks")
            return logs

        return await self._ask(self._logs_call({"blockHash": block_hash}), read, head)

    def _logs_call(self, wanted: Mapping[str, object]) -> Call:
        question = {"address": self._marketplace, "topics": [_TOPICS], **wanted}
        return Call("eth_getLogs", (question,))

    async def _ask(
        self, call: Call, read: Callable[[object], Read], head: BlockRef | None = None
    ) -> Read:
        def read_batch(results: list[object]) -> Read:
            try:
                check_chain_id(parse_hex_number(results[0]), self._chain_id)
                if head is not None and _read_mark(results[2]) != head:
                    raise NodeFailure("another block where the head should be")
                return read(results[1])
            except (NotAnAddress, ValueError, OverflowError, OSError) as error:
                raise NodeFailure("a block or a log that is none") from error

        calls = [Call("eth_chainId"), call]
        if head is not None:
            calls.append(_block_call(hex(head.number)))
        deadline = asyncio.get_running_loop().time() + self._timeout
        return await self._rpc.exchange(calls, read_batch, deadline)

    def _read_logs(self, result: object) -> list[Log]:
        if not isinstance(result, list):
            raise NodeFailure("logs that are none")
        logs = [_read_log(log, self._chain_id) for log in result]
        return [log for log in logs if log.address == self._marketplace and not log.removed]


def _block_call(which: str) -> Call:
    return Call("eth_getBlockByNumber", (which, False))


def _read_mark(result: object) -> BlockRef | None:
    if result is None:
        return None
    block = _members(result)
    return BlockRef(parse_hex_number(block.get("number")), parse_hash(block.get("hash")))


def _read_log(result: object, chain_id: int) -> Log:
    log = _members(result)
    topics = log.get("topics")
    address = log.get("address")
    if not isinstance(topics, list) or not isinstance(address, str):
        raise NodeFailure("a log without topics or address")
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
        raise NodeFailure("a block or a log that is none")
    return result
