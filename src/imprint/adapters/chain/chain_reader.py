"""Reads the chain's blocks and the marketplace's logs over JSON-RPC.

Results arrive undecoded. A list of logs is split first, and each log is decoded separately. A
response of many megabytes is thus never held twice, and unrelated logs are never decoded.
"""

import asyncio
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import TypeVar

import msgspec

from imprint.adapters.chain.http_client import NodeFailure, NodeRefusal
from imprint.adapters.chain.json_rpc import Attempt, Call, JsonRpc, check_chain_id
from imprint.domain.errors import Unavailable
from imprint.domain.formats.abi import NotAbi, encode_call
from imprint.domain.formats.addresses import Address, NotAnAddress, keccak256, parse_address
from imprint.domain.formats.hexadecimal import (
    NotHexadecimal,
    parse_hash,
    parse_hex_bytes,
    parse_hex_number,
)
from imprint.domain.posts.marketplace import BOUGHT, GET_POST_INFO, Log, decode_post_details
from imprint.domain.posts.posts import BlockRef, LogPosition, PostDetails
from imprint.metrics import NODE_CONTRADICTIONS
from imprint.ports.chain import BlockTopics, ReceiptLogs, Unproved
from imprint.ports.installation import NodeStatus

Read = TypeVar("Read")

TIMEOUT = 10.0
"""Timeout in seconds of one exchange: long, because fetching many logs takes time, and no client is
waiting."""

OTHER_TIMEOUT = 2.0
"""Timeout in seconds for logs that are fetched from another node only for comparison."""

PROOF_TIMEOUT = 60.0
"""Seconds allowed for proving a log absent, which may require all receipts of a block."""

MAX_LOGS_RESPONSE = 4 * 1024 * 1024
"""Size limit in bytes for a response with logs or blocks: enough for the logs of thousands of
posts."""

MAX_RECEIPTS_RESPONSE = 16 * 1024 * 1024
"""Size limit in bytes for a response with receipts. One transaction can fill a block with logs."""

SMALL_RESULTS = 256 * 1024
"""Results with more bytes than this are decoded in a thread, because decoding thousands of logs
would block the event loop for tenths of a second."""

RECEIPTS_AT_ONCE = 20
"""Number of receipts per exchange."""

BLOCKS_AT_ONCE = 20
"""Number of blocks per exchange. Each block lists its transactions."""

NODES_FOR_ABSENCE = 2
"""Number of nodes that must agree that a log is absent, if that many are configured."""

BLOOM_BITS = 2048
"""Number of bits in a block header's bloom filter."""

ALL_BITS = 2**BLOOM_BITS - 1
"""A bloom filter with every bit set."""

FULL_BLOOM = BLOOM_BITS // 2
"""A bloom filter with more bits set than this is treated as saturated. With half of the bits set,
one block in 64 falsely matches a given log. With three quarters set, which is common on busy
chains, one block in six matches falsely."""

MASKED_VALUES = 4_096
"""Number of addresses and topics whose filter bits are cached."""

LATEST_TIME = 253_402_300_799
"""Unix time of the end of the year 9999, the last year that Python can represent."""

Reader = Callable[[Sequence[msgspec.Raw]], Read]
"""Decodes the results of a batch."""


class Contradiction(NodeRefusal):
    """A node contradicts itself about the logs of a block, so it proves nothing about them."""


class OtherBranch(NodeRefusal):
    """The node lacks the requested head: it is slightly behind, or on a fork."""


class _BlockHeader(msgspec.Struct):
    number: str
    hash: str
    timestamp: str = "0x0"
    parent_hash: str | None = msgspec.field(name="parentHash", default=None)
    logs_bloom: str | None = msgspec.field(name="logsBloom", default=None)


class _WholeBlock(_BlockHeader):
    transactions: list[str] = []


class _LogHead(msgspec.Struct):
    address: str
    topics: list[str]


class _WholeLog(_LogHead, rename="camel"):
    data: str
    block_hash: str
    block_number: str
    log_index: str
    transaction_hash: str
    removed: bool | None = None
    block_timestamp: object = None


class _Receipt(msgspec.Struct, rename="camel"):
    transaction_hash: str
    block_hash: str
    logs: list[msgspec.Raw]


_HEADERS = msgspec.json.Decoder(_BlockHeader | None)
_BLOCKS = msgspec.json.Decoder(_WholeBlock | None)
_LISTS = msgspec.json.Decoder(list[msgspec.Raw])
_LOG_HEADS = msgspec.json.Decoder(_LogHead)
_LOGS = msgspec.json.Decoder(_WholeLog)
_RECEIPTS = msgspec.json.Decoder(_Receipt)


@dataclass(frozen=True, slots=True)
class Block:
    """A block with its time, transactions and bloom filter (None if the node sent no filter)."""

    ref: BlockRef
    timestamp: int
    bloom: int | None
    parent_hash: str | None = None
    transactions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Selects logs by contract and first topic. Each topic matches logs of only one contract."""

    chain_id: int
    emitters: Mapping[bytes, Address]

    def read_logs(self, result: msgspec.Raw) -> list[Log]:
        """Decode the matching logs in a list. Raises `ValueError` and `MsgspecError`."""
        return list(self._select(_LISTS.decode(result)))

    def read_receipt(self, result: msgspec.Raw, tx_hash: str, block_hash: str) -> list[Log]:
        """Decode the matching logs in a transaction's receipt, which must belong to this block.

        Raises `NodeFailure`, `ValueError` and `MsgspecError`.
        """
        receipt = _RECEIPTS.decode(result)
        place = parse_hash(receipt.transaction_hash), parse_hash(receipt.block_hash)
        if place != (tx_hash, block_hash):
            raise NodeFailure("a receipt is for another transaction or block")
        return list(self._select(receipt.logs))

    def may_match(self, bloom: int | None) -> bool:
        """Whether a block with this bloom filter may contain a matching log. If False, it has
        none."""
        return bloom is None or any(self._find_named(bloom))

    def name_topics(self, block: Block) -> BlockTopics:
        """The topics that match a block's bloom filter. Raises `ValueError`."""
        bloom = block.bloom or 0
        named = self._find_named(bloom) if bloom.bit_count() <= FULL_BLOOM else ()
        return BlockTopics(block.ref, parse_hash(block.parent_hash), frozenset(named))

    def _find_named(self, bloom: int) -> Iterator[bytes]:
        for topic, address in self.emitters.items():
            mask = bloom_mask(bytes.fromhex(address[2:])) | bloom_mask(topic)
            if bloom & mask == mask:
                yield topic

    def _select(self, logs: list[msgspec.Raw]) -> Iterator[Log]:
        for each in logs:
            head = _LOG_HEADS.decode(each)
            # Parsed before the comparison, because a malformed value is a failure of the node.
            address = parse_address(head.address.lower())
            if address not in self.emitters.values() or not head.topics:
                continue
            if self.emitters.get(parse_hex_bytes(head.topics[0])) != address:
                continue
            log = self._read_log(address, _LOGS.decode(each))
            if not log.removed:
                yield log

    def _read_log(self, address: Address, log: _WholeLog) -> Log:
        place = LogPosition(
            self.chain_id,
            parse_hash(log.block_hash),
            parse_hex_number(log.block_number),
            parse_hex_number(log.log_index),
            parse_hash(log.transaction_hash),
        )
        topics = tuple(parse_hex_bytes(topic) for topic in log.topics)
        data, time = parse_hex_bytes(log.data), _time_or_none(log.block_timestamp)
        return Log(address, topics, data, place, log.removed is True, time)


class JsonRpcChainReader:
    """`ChainReader` over JSON-RPC.

    Every batch begins with the node's chain id and ends with its block at the given head's height.
    A node executes a batch in order, so the results in between are valid for that head.
    """

    def __init__(
        self,
        rpc: JsonRpc,
        chain_id: int,
        marketplace: Address,
        adapter: Address | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        self._rpc = rpc
        self._chain_id = chain_id
        self._marketplace = marketplace
        self._adapter = adapter
        self._timeout = timeout
        self._serving = self._told_logs = 0

    async def head(self) -> BlockRef:
        """The newest block of the most preferred node that is not far behind another node."""
        heads = await self._rpc.learn_heads(self._chain_id, self._deadline())
        self._serving, head = min(heads.items())
        return BlockRef(head.number, head.hash)

    def highest_shown(self) -> int:
        """Highest block number reported since start-up by the node that the last `head` call
        used."""
        return self._rpc.heads.highest.get(self._serving, -1)

    def nodes(self) -> list[NodeStatus]:
        """The state of each node, in order of preference."""
        return self._rpc.report_nodes()

    async def head_time(self) -> datetime:
        """The timestamp of the newest block."""

        def read(results: Sequence[msgspec.Raw]) -> datetime:
            block = read_block(results[0])
            if block is None:
                raise NodeFailure("the node has no newest block")
            return datetime.fromtimestamp(block.timestamp, UTC)

        return await self._query([_block_call("latest")], read)

    async def block_at(self, number: int, head: BlockRef) -> BlockRef | None:
        """The block at this height, or None if the height is above the newest block."""
        return await self._query([_block_call(hex(number))], _read_ref, head)

    async def block_times(
        self, blocks: Sequence[BlockRef], head: BlockRef
    ) -> dict[BlockRef, datetime]:
        """The timestamps of these blocks. A node with different blocks at these heights counts as
        failed."""
        times = dict[BlockRef, datetime]()
        for start in range(0, len(blocks), BLOCKS_AT_ONCE):
            some = blocks[start : start + BLOCKS_AT_ONCE]

            def read(
                results: Sequence[msgspec.Raw], some: Sequence[BlockRef] = some
            ) -> list[datetime]:
                found = [read_block(result) for result in results]
                return [_time_of(block, ref) for block, ref in zip(found, some, strict=True)]

            calls = [_block_call(hex(block.number)) for block in some]
            found = await self._query(calls, read, head, MAX_RECEIPTS_RESPONSE)
            times.update(zip(some, found, strict=True))
        return times

    async def post_details(self, post_ids: Sequence[int], head: BlockRef) -> list[PostDetails]:
        """The descriptions of these posts, read from their contract entries at the head."""
        pinned = {"blockHash": head.block_hash}
        calls = [
            Call("eth_call", ({"to": self._marketplace, "data": "0x" + data.hex()}, pinned))
            for data in (encode_call(GET_POST_INFO, post_id) for post_id in post_ids)
        ]
        return await self._query(calls, _read_details, head)

    async def logs(
        self, first: int, last: int, topics: Collection[bytes], head: BlockRef
    ) -> list[Log]:
        """The marketplace's logs with these first topics in a range of blocks, in order."""

        async def attempt(node: int) -> list[Log]:
            logs = await self._logs_of(node, first, last, topics, head)
            self._told_logs = node
            return logs

        return await self._rpc.ask_one(attempt, self._deadline())

    async def other_logs(
        self, first: int, last: int, topics: Collection[bytes], head: BlockRef
    ) -> list[Log]:
        """Like `logs`, but from a node other than the one that `logs` last used, if one responds in
        time."""

        async def attempt(node: int) -> list[Log]:
            return await self._logs_of(node, first, last, topics, head)

        deadline = asyncio.get_running_loop().time() + min(OTHER_TIMEOUT, self._timeout)
        return await self._rpc.ask_another(self._told_logs, attempt, deadline)

    async def _logs_of(
        self, node: int, first: int, last: int, topics: Collection[bytes], head: BlockRef
    ) -> list[Log]:
        wanted = self._filter(topics)

        def read(results: Sequence[msgspec.Raw]) -> list[Log]:
            logs = wanted.read_logs(results[0])
            if any(not first <= (log.place.block_number or 0) <= last for log in logs):
                raise NodeFailure("the logs are from other blocks")
            return logs

        blocks = {"fromBlock": hex(first), "toBlock": hex(last)}
        return await self._send(node, [_logs_call(wanted, blocks)], read, head)

    async def logs_by_receipts(
        self, number: int, topics: Collection[bytes], head: BlockRef
    ) -> AsyncIterator[ReceiptLogs]:
        """Like `logs` for one block, but read from its receipts, a few at a time."""
        wanted = self._filter(topics)

        def read(results: Sequence[msgspec.Raw]) -> Block | None:
            return read_whole_block(results[0])

        block = await self._query([_block_call(hex(number))], read, head)
        if block is None:
            raise Unavailable.chain()
        if not wanted.may_match(block.bloom):
            return
        hashes = block.transactions
        for start in range(0, len(hashes), RECEIPTS_AT_ONCE):
            some = hashes[start : start + RECEIPTS_AT_ONCE]
            logs = await self._try_receipts(wanted, some, block.ref, head)
            if logs is not None:
                yield ReceiptLogs(logs)
                continue
            for tx_hash in some:
                logs = await self._try_receipts(wanted, [tx_hash], block.ref, head)
                yield ReceiptLogs([], tx_hash) if logs is None else ReceiptLogs(logs)

    async def block_topics(
        self, first: int, last: int, topics: Collection[bytes], head: BlockRef
    ) -> list[BlockTopics]:
        """The blocks in order, with the topics that match their bloom filters."""
        wanted = self._filter(topics)
        found = list[BlockTopics]()
        for start in range(first, last + 1, BLOCKS_AT_ONCE):
            numbers = range(start, min(start + BLOCKS_AT_ONCE, last + 1))

            def read(results: Sequence[msgspec.Raw], numbers: range = numbers) -> list[BlockTopics]:
                blocks = [block for block in map(read_block, results) if block is not None]
                if [block.ref.number for block in blocks] != [*numbers]:
                    raise NodeFailure("a block is missing or has the wrong height")
                return [wanted.name_topics(block) for block in blocks]

            calls = [_block_call(hex(number)) for number in numbers]
            found += await self._query(calls, read, head, MAX_RECEIPTS_RESPONSE)
        return found

    async def prove_logs(
        self, block: BlockRef, topics: Collection[bytes], head: BlockRef
    ) -> list[Log]:
        """The logs of one block, from receipts that account for every bit of the block's bloom
        filter."""
        wanted = self._filter(topics)

        async def attempt(node: int) -> list[Log]:
            return await self._prove(node, wanted, block, head)

        found = await self._ask_witnesses(attempt)
        if any(logs != found[0] for logs in found):
            NODE_CONTRADICTIONS.inc()
            raise Unproved
        return found[0]

    async def find_log(self, place: LogPosition, topic: bytes, head: BlockRef) -> Log | None:
        """The marketplace's log at this position, or None if nodes prove that it is absent.

        A node proves absence by returning a different block at that height, the block's bloom
        filter, or its receipts. If several nodes are configured, two must agree.
        """
        wanted = self._filter((topic,))

        async def attempt(node: int) -> Log | None:
            return await self._look_up(node, wanted, place, head)

        found = await self._ask_witnesses(attempt)
        if None in found and any(log is not None for log in found):
            NODE_CONTRADICTIONS.inc()
            raise Unproved
        return found[0]

    async def _ask_witnesses(self, attempt: Attempt[Read]) -> list[Read]:
        """The results of nodes that do not contradict themselves.

        Raises `Unproved` if at least one node contradicts itself and no other node responds.
        """
        contradicted = False

        async def ask(node: int) -> Read:
            nonlocal contradicted
            try:
                return await attempt(node)
            except Contradiction:
                contradicted = True
                NODE_CONTRADICTIONS.inc()
                raise

        deadline = asyncio.get_running_loop().time() + max(PROOF_TIMEOUT, self._timeout)
        try:
            return await self._rpc.ask_several(ask, deadline, NODES_FOR_ABSENCE)
        except Unavailable:
            if contradicted:
                raise Unproved from None
            raise

    async def _prove(
        self, node: int, wanted: LogFilter, ref: BlockRef, head: BlockRef
    ) -> list[Log]:
        def read(results: Sequence[msgspec.Raw]) -> Block | None:
            return read_whole_block(results[0])

        block = await self._send(node, [_block_call(hex(ref.number))], read, head)
        if block is None or block.ref != ref:
            raise OtherBranch("the node has replaced a block that it returned before")
        if not wanted.may_match(block.bloom):
            return []
        logs, explained = await self._prove_receipts(node, wanted, block.transactions, ref, head)
        if block.bloom is not None and block.bloom & ~explained:
            raise Contradiction("the receipts of a block lack logs that its bloom filter names")
        return logs

    async def _look_up(
        self, node: int, wanted: LogFilter, place: LogPosition, head: BlockRef
    ) -> Log | None:
        block = await self._find_canonical(node, place, head)
        if block is None or not wanted.may_match(block.bloom):
            return None
        logs = await self._block_logs(node, wanted, block.ref, head)
        for log in logs or ():
            if log.place.log_index == place.log_index:
                return log
        if not logs:
            proved = await self._prove(node, wanted, block.ref, head)
        elif place.tx_hash is not None and place.tx_hash not in block.transactions:
            # The bloom filter and the logs agree, and the transaction is not in this block.
            return None
        else:
            hashes = (place.tx_hash,) if place.tx_hash is not None else block.transactions
            proved, _ = await self._prove_receipts(node, wanted, hashes, block.ref, head)
        for log in proved:
            if logs is not None and log not in logs:
                raise Contradiction("a receipt has a log that is not among the logs")
            if log.place.log_index == place.log_index:
                return log
        return None

    async def _find_canonical(self, node: int, place: LogPosition, head: BlockRef) -> Block | None:
        """The block at this position, or None if it is not on the node's chain."""

        def read(results: Sequence[msgspec.Raw]) -> list[Block | None]:
            return [read_whole_block(results[0]), *map(read_block, results[1:])]

        calls = [Call("eth_getBlockByHash", (place.block_hash, False))]
        if place.block_number is not None:
            calls.append(_block_call(hex(place.block_number)))
        block, *at_height = await self._send(node, calls, read, head)
        if block is None:
            if any(other and other.ref.block_hash == place.block_hash for other in at_height):
                raise Contradiction("a block returned by height cannot be found by its hash")
            return None
        if block.ref.block_hash != place.block_hash:
            raise NodeFailure("the block is a different one")
        if block.ref.number != place.block_number:
            at_height = await self._send(node, [_block_call(hex(block.ref.number))], read, head)
        # A node may know blocks that have left its chain, or were never on it.
        is_canonical = any(other and other.ref == block.ref for other in at_height)
        return block if is_canonical else None

    async def _block_logs(
        self, node: int, wanted: LogFilter, block: BlockRef, head: BlockRef
    ) -> list[Log] | None:
        """The logs of one block, or None if the node refuses the query."""

        def read(results: Sequence[msgspec.Raw]) -> list[Log]:
            logs = wanted.read_logs(results[0])
            if any(log.place.block_hash != block.block_hash for log in logs):
                raise NodeFailure("the logs are from other blocks")
            return logs

        try:
            call = _logs_call(wanted, {"blockHash": block.block_hash})
            return await self._send(node, [call], read, head)
        except OtherBranch:
            raise
        except NodeRefusal:
            return None

    async def _try_receipts(
        self, wanted: LogFilter, hashes: Sequence[str], block: BlockRef, head: BlockRef
    ) -> list[Log] | None:
        """The logs in these receipts, or None if a node has the block but none returns the
        receipts."""

        async def attempt(node: int) -> list[Log]:
            logs, _ = await self._receipt_logs(node, wanted, hashes, block, head)
            return logs

        try:
            return await self._rpc.ask_one(attempt, self._deadline())
        except Unavailable:
            await self.block_at(block.number, head)
            return None

    async def _prove_receipts(
        self, node: int, wanted: LogFilter, hashes: Sequence[str], block: BlockRef, head: BlockRef
    ) -> tuple[list[Log], int]:
        """Like `_try_receipts`, for a node that has the block. A node that has the block but not
        its receipts contradicts itself."""
        try:
            return await self._receipt_logs(node, wanted, hashes, block, head)
        except OtherBranch:
            raise
        except NodeFailure as failure:
            raise Contradiction("the receipts of a block cannot be read") from failure

    async def _receipt_logs(
        self,
        node: int,
        wanted: LogFilter,
        hashes: Sequence[str],
        block: BlockRef,
        head: BlockRef,
    ) -> tuple[list[Log], int]:
        """The logs in these receipts, and the bloom-filter bits they set."""
        logs, bloom = list[Log](), 0
        for start in range(0, len(hashes), RECEIPTS_AT_ONCE):
            some = hashes[start : start + RECEIPTS_AT_ONCE]

            def read(
                results: Sequence[msgspec.Raw], some: Sequence[str] = some
            ) -> list[tuple[list[Log], int]]:
                return [
                    (wanted.read_receipt(each, tx_hash, block.block_hash), read_bloom(each))
                    for each, tx_hash in zip(results, some, strict=True)
                ]

            calls = [Call("eth_getTransactionReceipt", (tx_hash,)) for tx_hash in some]
            for receipt_logs, bits in await self._send(
                node, calls, read, head, MAX_RECEIPTS_RESPONSE
            ):
                logs += receipt_logs
                bloom |= bits
        return logs, bloom

    async def _query(
        self,
        calls: Sequence[Call],
        read: Reader[Read],
        head: BlockRef | None = None,
        max_response: int = MAX_LOGS_RESPONSE,
    ) -> Read:
        async def attempt(node: int) -> Read:
            return await self._send(node, calls, read, head, max_response)

        return await self._rpc.ask_one(attempt, self._deadline())

    async def _send(
        self,
        node: int,
        calls: Sequence[Call],
        read: Reader[Read],
        head: BlockRef | None,
        max_response: int = MAX_LOGS_RESPONSE,
    ) -> Read:
        """Decode one node's results with `read`. Raises `NodeFailure`."""
        batch = [Call("eth_chainId"), *calls]
        if head is not None:
            batch.append(_block_call(hex(head.number)))
        results = await self._rpc.send_raw(node, batch, max_response)
        wanted = results[1 : 1 + len(calls)]
        try:
            check_chain_id(msgspec.json.decode(results[0]), self._chain_id)
            if head is not None and _read_ref(results[-1:]) != head:
                raise OtherBranch("the node has another block at the height of the head")
            if sum(len(memoryview(each)) for each in wanted) > SMALL_RESULTS:
                return await asyncio.to_thread(read, wanted)
            return read(wanted)
        except (
            msgspec.MsgspecError,
            NotAnAddress,
            ValueError,
            OverflowError,
            OSError,
            RecursionError,
        ) as error:
            raise NodeFailure("a block or log is malformed") from error

    def _filter(self, topics: Collection[bytes]) -> LogFilter:
        """The filter for these topics. The configured adapter emits the logs of purchases made
        through it, and the marketplace emits all others."""
        emitters = {topic: self._marketplace for topic in topics if topic != BOUGHT}
        if self._adapter is not None and BOUGHT in topics:
            emitters[BOUGHT] = self._adapter
        return LogFilter(self._chain_id, emitters)

    def _deadline(self) -> float:
        return asyncio.get_running_loop().time() + self._timeout


def _block_call(number_or_tag: str) -> Call:
    return Call("eth_getBlockByNumber", (number_or_tag, False))


def _logs_call(wanted: LogFilter, blocks: Mapping[str, object]) -> Call:
    topics = ["0x" + topic.hex() for topic in wanted.emitters]
    addresses = [*dict.fromkeys(wanted.emitters.values())]
    address = addresses[0] if len(addresses) == 1 else addresses
    return Call("eth_getLogs", ({"address": address, "topics": [topics], **blocks},))


def _read_ref(results: Sequence[msgspec.Raw]) -> BlockRef | None:
    block = read_block(results[0])
    return None if block is None else block.ref


def _time_of(block: Block | None, ref: BlockRef) -> datetime:
    if block is None or block.ref != ref:
        raise OtherBranch("the node has replaced a block that it returned before")
    if block.timestamp > LATEST_TIME:
        raise NodeFailure("the time of a block is too high")
    return datetime.fromtimestamp(block.timestamp, UTC)


def _read_details(results: Sequence[msgspec.Raw]) -> list[PostDetails]:
    try:
        return [
            decode_post_details(parse_hex_bytes(msgspec.json.decode(result))) for result in results
        ]
    except NotAbi as error:
        # The contract may have caused the error, so the node is not skipped.
        raise NodeRefusal("the entry of a post is malformed") from error


def read_block(result: msgspec.Raw) -> Block | None:
    """Decode a block without its transactions. Returns None for null.

    Raises `ValueError` and `MsgspecError`.
    """
    return _block_of(_HEADERS.decode(result), ())


def read_whole_block(result: msgspec.Raw) -> Block | None:
    """Decode a block with its transaction hashes. Returns None for null."""
    block = _BLOCKS.decode(result)
    return _block_of(block, () if block is None else map(parse_hash, block.transactions))


def read_bloom(receipt: msgspec.Raw) -> int:
    """Bloom-filter bits set by a receipt's logs. Raises `ValueError` and `MsgspecError`."""
    bloom = 0
    for each in map(_LOG_HEADS.decode, _RECEIPTS.decode(receipt).logs):
        for value in (each.address, *each.topics):
            bloom |= bloom_mask(parse_hex_bytes(value))
    return bloom


@lru_cache(MASKED_VALUES)
def bloom_mask(value: bytes) -> int:
    """Bits that a value sets in a bloom filter."""
    digest = keccak256(value)
    mask = 0
    for start in (0, 2, 4):
        mask |= 1 << (int.from_bytes(digest[start : start + 2], "big") % BLOOM_BITS)
    return mask


def _time_or_none(value: object) -> int | None:
    """The timestamp in a log, or None if the node sends none or sends it in another form."""
    try:
        seconds = parse_hex_number(value)
    except NotHexadecimal:
        return None
    return seconds if seconds <= LATEST_TIME else None


def _block_of(block: _BlockHeader | None, transactions: Iterable[str]) -> Block | None:
    if block is None:
        return None
    ref = BlockRef(parse_hex_number(block.number), parse_hash(block.hash))
    hashes = tuple(transactions)
    bloom = None
    if block.logs_bloom is not None and len(block.logs_bloom) == 2 + BLOOM_BITS // 4:
        bloom = int.from_bytes(parse_hex_bytes(block.logs_bloom), "big")
        if bloom == ALL_BITS or (hashes and not bloom):
            # Nodes of chains without bloom filters send one with no bits set or all bits set.
            bloom = None
    return Block(ref, parse_hex_number(block.timestamp), bloom, block.parent_hash, hashes)
