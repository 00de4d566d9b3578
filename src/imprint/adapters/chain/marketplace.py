"""Reads the marketplace contract over JSON-RPC. All values of a query come from one block."""

from collections.abc import Mapping, Sequence

from imprint.adapters.chain.block_calls import (
    BlockCalls,
    EthCall,
    SharedCalls,
    deadline_in,
    parse_result,
)
from imprint.adapters.chain.http_client import NodeFailure
from imprint.adapters.chain.json_rpc import MAX_LAG_BLOCKS, Call, ChainMisconfigured, check_chain_id
from imprint.domain.access import Access, decide_access
from imprint.domain.errors import Unavailable
from imprint.domain.formats.abi import NotAbi, Tuple, decode_address, decode_uint256, encode_call
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.formats.hexadecimal import parse_hash, parse_hex_bytes, parse_hex_number
from imprint.domain.posts.marketplace import (
    ADAPTER_FUNCTIONS,
    ADAPTER_MARKET,
    BALANCE_OF,
    GET_POST_INFO,
    POST_CID_TO_TOKEN_ID,
    POST_SUBSCRIBED,
    decode_post_info,
    missing_functions,
)
from imprint.domain.posts.posts import BlockRef, PostEntry, PostFacts, Purchase

TIMEOUT = 1.5
"""Timeout in seconds of one query, chosen so that a client waits at most two seconds."""

_IMPLEMENTATION_SLOT = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc"
"""Storage slot in which an ERC-1967 proxy keeps the address of its implementation."""


class JsonRpcMarketplace:
    """`MarketplaceReader` over JSON-RPC.

    Access to a post must be granted by `quorum` nodes, each at its own newest block.
    """

    def __init__(
        self,
        calls: BlockCalls,
        address: Address,
        adapter: Address | None = None,
        *,
        timeout: float = TIMEOUT,
        quorum: int = 1,
    ) -> None:
        self._calls = calls
        self._shared = SharedCalls(calls)
        self._rpc = calls.rpc
        self._chain_id = calls.chain_id
        self._address = address
        self._unproved_adapter = adapter
        self._timeout = timeout
        self._quorum = quorum

    async def post_facts(self, post_id: int, reader: Address | None) -> PostFacts:
        """The post's contract entry and the reader's balance (0 without a reader), from one block.

        If the quorum is above 1, the values come from a node that denies access, if any node does.
        """
        calls = [self._call(encode_call(GET_POST_INFO, post_id))]
        if reader is not None:
            calls.append(self._call(encode_call(BALANCE_OF, reader, post_id)))

        def read(returned: Sequence[bytes]) -> PostFacts:
            balance = decode_uint256(returned[1]) if reader is not None else 0
            return PostFacts(decode_post_info(returned[0]), balance)

        deadline = deadline_in(self._timeout)
        if self._quorum == 1:
            return await self._shared.ask(calls, read, deadline)
        found = await self._calls.ask_several(calls, read, deadline, self._quorum)
        for facts in found:
            if decide_access(facts, reader) is Access.DENIED:
                return facts
        if len({(facts.entry.author, facts.entry.cid) for facts in found}) > 1:
            # The nodes all grant access, but disagree about the author or the document.
            raise Unavailable.chain()
        return found[0]

    async def entry_of_cid(self, cid: Cid) -> PostEntry | None:
        """The contract entry that publishes this canonical cid, or None."""
        deadline = deadline_in(self._timeout)
        lookup = self._call(encode_call(POST_CID_TO_TOKEN_ID, cid.encode()))
        post_id = await self._calls.ask_one([lookup], _read_number, deadline)
        if post_id == 0:
            return None

        def read(returned: Sequence[bytes]) -> PostEntry:
            entry = decode_post_info(returned[0])
            if not entry.exists or entry.cid != cid:
                raise NodeFailure("the entry contradicts the cid lookup")
            return entry

        entry_call = self._call(encode_call(GET_POST_INFO, post_id))
        return await self._calls.ask_one([entry_call], read, deadline)

    async def find_purchase(self, tx_hash: str, post_id: int, buyer: Address) -> Purchase | None:
        """The purchase made by this transaction, or None if the transaction is not in a block yet.

        The receipt is not read, because a transaction may have any number of logs. Instead, the
        block is queried for the logs of this purchase. Then the transaction is looked up again,
        because some nodes return no logs for a block that a reorg has replaced.
        """
        topics = [POST_SUBSCRIBED, post_id.to_bytes(32), bytes(12) + bytes.fromhex(buyer[2:])]
        wanted = {"address": self._address, "topics": ["0x" + each.hex() for each in topics]}
        look_up = Call("eth_getTransactionByHash", (tx_hash,))

        async def attempt(node: int) -> Purchase | None:
            chain_id, found = await self._rpc.send(node, [Call("eth_chainId"), look_up])
            check_chain_id(chain_id, self._chain_id)
            block = _block_of(found)
            if block is None:
                return None
            find = Call("eth_getLogs", ({**wanted, "blockHash": block.block_hash},))
            logs, found, head = await self._rpc.send(node, [find, look_up, Call("eth_blockNumber")])
            if _block_of(found) != block:
                return None
            depth = parse_result(parse_hex_number, head) - block.number
            return Purchase(_amount_of(logs, tx_hash, wanted), depth <= MAX_LAG_BLOCKS)

        return await self._rpc.ask_one(attempt, deadline_in(self._timeout))

    async def probe(self) -> None:
        """Check that a node responds, is on the configured chain, and has the contracts.

        Raises `ChainMisconfigured` for another chain, a missing contract or an adapter of another
        marketplace, and a plain `Unavailable` if no node responds.
        """
        await self._find_code(self._address)
        if self._unproved_adapter is not None:
            await self._check_adapter(self._unproved_adapter)
            # Checked only once: neither the code nor the marketplace of an adapter can change.
            self._unproved_adapter = None

    async def _check_adapter(self, adapter: Address) -> None:
        # Only a node that has the code can distinguish a wrong contract from a missing one.
        if missing_functions(await self._find_code(adapter), ADAPTER_FUNCTIONS):
            raise ChainMisconfigured(f"The contract at {adapter} is not a purchase adapter.")
        call = {"to": adapter, "data": "0x" + ADAPTER_MARKET.hex()}

        def read(returned: Sequence[bytes]) -> None:
            market = decode_address(returned[0])
            if market != self._address:
                raise ChainMisconfigured(
                    f"The purchase adapter at {adapter} buys from {market}, not from "
                    f"{self._address}."
                )

        await self._calls.ask_one([call], read, deadline_in(self._timeout))

    async def _find_code(self, address: Address) -> bytes:
        """The code of a contract that must be on the configured chain."""
        calls = [Call("eth_chainId"), Call("eth_getCode", (address, "latest"))]

        def read(results: list[object]) -> bytes:
            check_chain_id(results[0], self._chain_id)
            code = parse_result(parse_hex_bytes, results[1])
            if not code:
                raise ChainMisconfigured(
                    f"There is no contract at {address} on chain {self._chain_id}."
                )
            return code

        return await self._rpc.exchange(calls, read, deadline_in(self._timeout))

    async def existed_at(self, number: int) -> bool:
        """Whether the contract existed at the end of this block."""
        return bool(await self._read_bytes("eth_getCode", self._address, block=hex(number)))

    async def code(self) -> bytes:
        """The contract's code, or the code of its implementation behind an ERC-1967 proxy."""
        slot = await self._read_bytes("eth_getStorageAt", self._address, _IMPLEMENTATION_SLOT)
        implementation = f"0x{slot[-20:].hex()}" if any(slot) else self._address
        return await self._read_bytes("eth_getCode", implementation)

    async def close(self) -> None:
        """Close all connections. Running and later queries raise `Unavailable`."""
        await self._rpc.close()

    async def _read_bytes(self, method: str, *params: str, block: str = "latest") -> bytes:
        """Return the result of a method whose last parameter is a block. Checks the chain id."""
        calls = [Call("eth_chainId"), Call(method, (*params, block))]

        def read(results: list[object]) -> bytes:
            check_chain_id(results[0], self._chain_id)
            return parse_result(parse_hex_bytes, results[1])

        return await self._rpc.exchange(calls, read, deadline_in(self._timeout))

    def _call(self, data: bytes) -> EthCall:
        return {"to": self._address, "data": "0x" + data.hex()}


def _read_number(returned: Sequence[bytes]) -> int:
    return decode_uint256(returned[0])


def _member(value: object, name: str) -> object:
    if not isinstance(value, dict):
        raise NodeFailure("a result is not an object")
    return value.get(name)


def _block_of(transaction: object) -> BlockRef | None:
    """Return the block of a transaction, or None if it is unknown or not in a block yet."""
    if transaction is None or (block_hash := _member(transaction, "blockHash")) is None:
        return None
    number = parse_result(parse_hex_number, _member(transaction, "blockNumber"))
    return BlockRef(number, parse_result(parse_hash, block_hash))


def _amount_of(logs: object, tx_hash: str, wanted: Mapping[str, object]) -> int | None:
    """Return the amount in this transaction's log, or None if the logs do not include it."""
    if not isinstance(logs, list):
        raise NodeFailure("the logs are not a list")
    for log in logs:
        address, topics = str(_member(log, "address")).lower(), _member(log, "topics")
        if (address, topics) != (wanted["address"], wanted["topics"]):
            raise NodeFailure("a log does not match the filter")
        if parse_result(parse_hash, _member(log, "transactionHash")) == tx_hash:
            data = parse_result(parse_hex_bytes, _member(log, "data"))
            try:
                return Tuple(data, 1).uint256(0)
            except NotAbi as error:
                raise NodeFailure("the log of a purchase is malformed") from error
    return None
