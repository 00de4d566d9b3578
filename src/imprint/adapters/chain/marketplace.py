"""Reader of the marketplace contract over JSON-RPC; all values of a query are from one block.

Every batch begins with the node's chain id and newest block, and ends with its block number. A
node executes a batch in order, so if the number is still that of the block, all calls between were
executed on it. If not, the batch is sent again with every call pinned to the block by its hash. So
a query usually takes one exchange, and never combines an entry of one block with a balance of
another. A node on another chain, or one whose newest block is too old or far behind that of
another node, has failed.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from imprint.adapters.chain.http_client import NodeFailure
from imprint.adapters.chain.json_rpc import (
    Call,
    ChainMisconfigured,
    JsonRpc,
    check_chain_id,
    read_head,
)
from imprint.adapters.chain.node_heads import Head
from imprint.domain.abi import NotAbi, decode_uint256, encode_call
from imprint.domain.access import Access, decide_access
from imprint.domain.addresses import Address
from imprint.domain.cids import Cid
from imprint.domain.errors import Unavailable
from imprint.domain.hexadecimal import NotHexadecimal, parse_hex_bytes, parse_hex_number
from imprint.domain.marketplace import (
    BALANCE_OF,
    GET_POST_INFO,
    POST_CID_TO_TOKEN_ID,
    decode_post_info,
)
from imprint.domain.posts import PostEntry, PostFacts
from imprint.ports import Clock

Read = TypeVar("Read")

TIMEOUT = 1.5
"""Seconds for one query, so that a client waits no longer than two."""


class JsonRpcMarketplace:
    """`MarketplaceReader` over JSON-RPC; with `max_head_age` 0, a head of any age is accepted.

    `quorum` is how many nodes must grant access to a post, each at its own newest block.
    """

    def __init__(
        self,
        rpc: JsonRpc,
        chain_id: int,
        address: Address,
        clock: Clock,
        *,
        timeout: float = TIMEOUT,
        max_head_age: float = 0.0,
        quorum: int = 1,
    ) -> None:
        self._rpc = rpc
        self._chain_id = chain_id
        self._address = address
        self._clock = clock
        self._timeout = timeout
        self._max_head_age = max_head_age
        self._quorum = quorum

    async def post_facts(self, post_id: int, reader: Address | None) -> PostFacts:
        """The entry and the reader's balance (0 without a reader), from one block.

        With a quorum, they are those of a node that denies access, if there is one.
        """
        calls = [encode_call(GET_POST_INFO, post_id)]
        if reader is not None:
            calls.append(encode_call(BALANCE_OF, reader, post_id))

        def read(returned: Sequence[bytes]) -> PostFacts:
            balance = decode_uint256(returned[1]) if reader is not None else 0
            return PostFacts(decode_post_info(returned[0]), balance)

        deadline = self._deadline()
        if self._quorum == 1:
            return await self._query(calls, read, deadline)
        found = await self._query_several(calls, read, deadline)
        for facts in found:
            if decide_access(facts, reader) is Access.DENIED:
                return facts
        if len({(facts.entry.author, facts.entry.cid) for facts in found}) > 1:
            # Each grants access to another post.
            raise Unavailable.chain()
        return found[0]

    async def entry_of_cid(self, cid: Cid) -> PostEntry | None:
        """The entry under which this cid, in its canonical spelling, is published, or None."""
        deadline = self._deadline()
        lookup = encode_call(POST_CID_TO_TOKEN_ID, cid.encode())
        post_id = await self._query([lookup], _read_number, deadline)
        if post_id == 0:
            return None

        def read(returned: Sequence[bytes]) -> PostEntry:
            entry = decode_post_info(returned[0])
            if not entry.exists or entry.cid != cid:
                raise NodeFailure("the entry contradicts the index of cids")
            return entry

        return await self._query([encode_call(GET_POST_INFO, post_id)], read, deadline)

    async def probe(self) -> None:
        """Return if a node responds, is on the configured chain, and has the contract.

        Raises `ChainMisconfigured` for another chain or a missing contract, and another
        `Unavailable` if no node responds.
        """
        calls = [Call("eth_chainId"), Call("eth_getCode", (self._address, "latest"))]

        def read(results: list[object]) -> None:
            check_chain_id(results[0], self._chain_id)
            if not _parse(parse_hex_bytes, results[1]):
                raise ChainMisconfigured(
                    f"There is no contract at {self._address} on chain {self._chain_id}."
                )

        await self._rpc.exchange(calls, read, self._deadline())

    async def existed_at(self, number: int) -> bool:
        """Whether the contract was there at the end of this block."""
        calls = [Call("eth_chainId"), Call("eth_getCode", (self._address, hex(number)))]

        def read(results: list[object]) -> bool:
            check_chain_id(results[0], self._chain_id)
            return bool(_parse(parse_hex_bytes, results[1]))

        return await self._rpc.exchange(calls, read, self._deadline())

    async def close(self) -> None:
        """Close connections; running and later queries are `Unavailable`."""
        await self._rpc.close()

    async def _query(
        self, calls: Sequence[bytes], read: Callable[[Sequence[bytes]], Read], deadline: float
    ) -> Read:
        await self._compare_nodes(deadline)

        async def attempt(node: int) -> Read:
            return await self._ask(node, calls, read)

        return await self._rpc.ask_one(attempt, deadline)

    async def _query_several(
        self, calls: Sequence[bytes], read: Callable[[Sequence[bytes]], Read], deadline: float
    ) -> list[Read]:
        await self._compare_nodes(deadline)

        async def attempt(node: int) -> Read:
            return await self._ask(node, calls, read)

        quorum = self._quorum
        return await self._rpc.ask_several(attempt, deadline, wanted=quorum, least=quorum)

    async def _ask(
        self, node: int, calls: Sequence[bytes], read: Callable[[Sequence[bytes]], Read]
    ) -> Read:
        results = await self._rpc.send(node, self._build_batch(calls, "latest"))
        head = self._check_head(node, results[0], results[1])
        if _parse(parse_hex_number, results[-1]) != head.number:
            pinned = self._build_batch(calls, {"blockHash": head.hash})
            results = await self._rpc.send(node, pinned)
            self._check_head(node, results[0], results[1])
        try:
            return read([_parse(parse_hex_bytes, one) for one in results[2:-1]])
        except NotAbi as error:
            raise NodeFailure("the contract returned malformed data") from error

    async def _compare_nodes(self, deadline: float) -> None:
        if self._rpc.needs_heads():
            await self._rpc.refresh_heads(self._chain_id, deadline)

    def _build_batch(self, calls: Sequence[bytes], block: object) -> list[Call]:
        contract_calls = [
            Call("eth_call", ({"to": self._address, "data": "0x" + data.hex()}, block))
            for data in calls
        ]
        head = Call("eth_getBlockByNumber", ("latest", False))
        return [Call("eth_chainId"), head, *contract_calls, Call("eth_blockNumber")]

    def _check_head(self, node: int, chain_id: object, block: object) -> Head:
        check_chain_id(chain_id, self._chain_id)
        head = read_head(block)
        age = self._clock().timestamp() - head.timestamp
        if self._max_head_age and age > self._max_head_age:
            raise NodeFailure(f"the newest block is {age:.0f} seconds old")
        self._rpc.check_head(node, head)
        return head

    def _deadline(self) -> float:
        return asyncio.get_running_loop().time() + self._timeout


def _read_number(returned: Sequence[bytes]) -> int:
    return decode_uint256(returned[0])


def _parse(parse: Callable[[object], Read], result: object) -> Read:
    try:
        return parse(result)
    except NotHexadecimal as error:
        raise NodeFailure("a result is not hexadecimal") from error
