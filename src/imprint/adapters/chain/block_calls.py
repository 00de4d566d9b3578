"""Contract calls over JSON-RPC, all executed on one block of one node.

Every batch begins with the node's chain id and newest block, and ends with the number of its newest
block. A node executes a batch in order, so if the number has not changed, all calls in between ran
on that block. Otherwise the batch is sent again with every call pinned to the block's hash. A query
thus usually takes one exchange and never mixes results from two blocks. A node counts as failed if
it is on another chain, or if its newest block is too old or far behind another node's.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from imprint.adapters.chain.http_client import NodeFailure
from imprint.adapters.chain.json_rpc import Call, Head, JsonRpc, check_chain_id, read_head
from imprint.domain.errors import Unavailable
from imprint.domain.formats.abi import NotAbi
from imprint.domain.formats.hexadecimal import NotHexadecimal, parse_hex_bytes, parse_hex_number
from imprint.ports import Clock

Read = TypeVar("Read")

EthCall = Mapping[str, str]
"""The first parameter of `eth_call`: the contract address and the call data."""

Reader = Callable[[Sequence[bytes]], Read]
"""Decodes the results of a query's calls. May raise `NodeFailure` and `NotAbi`."""


Send = Callable[[int, Sequence[Call]], Awaitable[list[Any]]]
"""Sends a batch to a node and returns its results."""

MAX_SHARED_CALLS = 16
"""Maximum number of contract calls in a batch that several queries share."""


@dataclass(frozen=True, slots=True)
class BlockCalls:
    """Contract queries. With `max_head_age` 0, a node's newest block may have any age.

    Every method takes a deadline in loop time, and raises `Unavailable` if no node has responded
    properly by then.
    """

    rpc: JsonRpc
    chain_id: int
    clock: Clock
    max_head_age: float = 0.0

    async def ask_one(self, calls: Sequence[EthCall], read: Reader[Read], deadline: float) -> Read:
        """Return the result of `read` from the first node that works."""
        await self._compare_nodes(deadline)

        async def attempt(node: int) -> Read:
            return await self._ask(node, calls, read)

        return await self.rpc.ask_one(attempt, deadline)

    async def ask_several(
        self, calls: Sequence[EthCall], read: Reader[Read], deadline: float, quorum: int
    ) -> list[Read]:
        """Return the results of `read` from a quorum of nodes, each at its own newest block."""
        await self._compare_nodes(deadline)

        async def attempt(node: int) -> Read:
            return await self._ask(node, calls, read)

        return await self.rpc.ask_several(attempt, deadline, wanted=quorum, least=quorum)

    async def ask_each(self, calls: Sequence[EthCall], deadline: float) -> list[bytes | None]:
        """Return the result of each call, or None if a call was refused or is malformed.

        All results are from the first node that works.
        """
        await self._compare_nodes(deadline)

        async def attempt(node: int) -> list[bytes | None]:
            results = await self._call(node, calls, self.rpc.send_each)
            return [_bytes_or_none(one) for one in results]

        return await self.rpc.ask_one(attempt, deadline)

    async def _ask(self, node: int, calls: Sequence[EthCall], read: Reader[Read]) -> Read:
        results = await self._call(node, calls, self.rpc.send)
        try:
            return read([parse_result(parse_hex_bytes, one) for one in results])
        except NotAbi as error:
            raise NodeFailure("the contract returned malformed data") from error

    async def _call(self, node: int, calls: Sequence[EthCall], send: Send) -> list[object]:
        """Return the results of calls that all ran on the node's newest block."""
        results = await send(node, _build_batch(calls, "latest"))
        head = self._check_head(node, results[0], results[1])
        if parse_result(parse_hex_number, results[-1]) != head.number:
            pinned = _build_batch(calls, {"blockHash": head.hash})
            results = await send(node, pinned)
            self._check_head(node, results[0], results[1])
        return results[2:-1]

    async def _compare_nodes(self, deadline: float) -> None:
        if self.rpc.needs_heads():
            await self.rpc.refresh_heads(self.chain_id, deadline)

    def _check_head(self, node: int, chain_id: object, block: object) -> Head:
        check_chain_id(chain_id, self.chain_id)
        head = read_head(block)
        age = self.clock().timestamp() - head.timestamp
        if self.max_head_age and age > self.max_head_age:
            raise NodeFailure(f"the newest block is {age:.0f} seconds old")
        self.rpc.check_head(node, head)
        return head


@dataclass(frozen=True, slots=True)
class _Waiting:
    """The calls of a query, and the bytes they returned, or None if the query must ask alone."""

    calls: Sequence[EthCall]
    deadline: float
    returned: asyncio.Future[list[bytes] | None]


@dataclass(slots=True)
class SharedCalls:
    """Sends the queries that callers make in the same turn of the event loop in one batch.

    Most of the cost of a query is the exchange with the node. A query asks alone if the node
    refuses one of its calls or the whole batch, or if its values are malformed, so no query fails
    because of another.
    """

    calls: BlockCalls
    _waiting: list[_Waiting] = field(default_factory=list, init=False)
    _running: set[asyncio.Task[None]] = field(default_factory=set, init=False)

    async def ask(self, calls: Sequence[EthCall], read: Reader[Read], deadline: float) -> Read:
        """Return the result of `read`, as `BlockCalls.ask_one` does."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting(calls, deadline, loop.create_future())
        if not self._waiting:
            loop.call_soon(self._send)
        self._waiting.append(waiting)
        returned = await waiting.returned
        if returned is not None:
            # Another node may respond with proper values.
            with suppress(NotAbi, NodeFailure):
                return read(returned)
        elif loop.time() >= deadline:
            raise Unavailable.chain()
        return await self.calls.ask_one(calls, read, deadline)

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, []
        while waiting:
            size, together = 0, list[_Waiting]()
            while waiting and (not together or size + len(waiting[0].calls) <= MAX_SHARED_CALLS):
                together.append(waiting.pop(0))
                size += len(together[-1].calls)
            if len(together) == 1:
                _hand_out(together, ())
                continue
            task = asyncio.create_task(self._ask_together(together))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _ask_together(self, queries: Sequence[_Waiting]) -> None:
        calls = [call for query in queries for call in query.calls]
        returned: list[bytes | None] = []
        try:
            with suppress(Unavailable):
                deadline = min(query.deadline for query in queries)
                returned = await self.calls.ask_each(calls, deadline)
        finally:
            _hand_out(queries, returned)


def _hand_out(queries: Sequence[_Waiting], returned: Sequence[bytes | None]) -> None:
    start = 0
    for query in queries:
        end = start + len(query.calls)
        found = [each for each in returned[start:end] if each is not None]
        # A caller that was cancelled does not wait any more.
        if not query.returned.done():
            query.returned.set_result(found if len(found) == len(query.calls) else None)
        start = end


def _bytes_or_none(result: object) -> bytes | None:
    try:
        return parse_hex_bytes(result)
    except NotHexadecimal:
        return None


def deadline_in(seconds: float) -> float:
    """Convert a number of seconds from now to a deadline in loop time."""
    return asyncio.get_running_loop().time() + seconds


def parse_result(parse: Callable[[object], Read], result: object) -> Read:
    """Parse one result. Raises `NodeFailure` if it is not hexadecimal."""
    try:
        return parse(result)
    except NotHexadecimal as error:
        raise NodeFailure("a result is not hexadecimal") from error


def _build_batch(calls: Sequence[EthCall], block: object) -> list[Call]:
    head = Call("eth_getBlockByNumber", ("latest", False))
    contract_calls = (Call("eth_call", (each, block)) for each in calls)
    return [Call("eth_chainId"), head, *contract_calls, Call("eth_blockNumber")]
