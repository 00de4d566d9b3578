"""A chain controlled by a test, with logs, forks, refused requests and lagging nodes."""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count

from eth_abi.abi import encode
from tests.world import MovableClock

from imprint.domain.errors import Unavailable
from imprint.domain.formats.addresses import ZERO_ADDRESS, Address
from imprint.domain.posts.market_events import PostPublished
from imprint.domain.posts.marketplace import (
    BOUGHT,
    POST_CREATED,
    POST_PRICE_UPDATED,
    POST_SUBSCRIBED,
    POST_TAGGED,
    TRANSFER,
    Log,
    Undecodable,
    decode_market_event,
)
from imprint.domain.posts.posts import BlockRef, LogPosition, PostDetails
from imprint.ports.chain import BlockTopics, ReceiptLogs, Unproved

MARKET = Address("0x" + "c3" * 20)
ADAPTER = Address("0x" + "ad" * 20)
CHAIN = 31337

Said = tuple[tuple[bytes, ...], bytes]
"""The topics and the data of a log."""


def topic_of(value: int | str) -> bytes:
    number = int(value, 16) if isinstance(value, str) else value
    return number.to_bytes(32, "big")


def say_created(post_id: int, author: str, cid: str | bytes) -> Said:
    spelled = cid.encode() if isinstance(cid, str) else cid
    data = encode(["bytes", "bytes", "bytes", "uint256"], [b"Title", spelled, b"thumb", 5])
    return (POST_CREATED, topic_of(post_id), topic_of(author)), data


def say_transferred(sender: str, receiver: str, post_id: int) -> Said:
    topics = (TRANSFER, topic_of(sender), topic_of(receiver), topic_of(post_id))
    return topics, encode(["address", "uint256"], [sender, 1])


def say_bought(reader: str, post_id: int) -> Said:
    topics = (POST_SUBSCRIBED, topic_of(post_id), topic_of(reader))
    return topics, encode(["uint256"], [5])


def say_bought_through(post_id: int, payer: str, receiver: str) -> list[Said]:
    """The logs of a purchase through the adapter, all from one transaction."""
    topics = (BOUGHT, topic_of(post_id), topic_of(payer), topic_of(receiver))
    return [
        say_transferred(ZERO_ADDRESS, ADAPTER, post_id),
        say_bought(ADAPTER, post_id),
        say_transferred(ADAPTER, receiver, post_id),
        (topics, encode(["uint256"], [5])),
    ]


def say_tagged(post_id: int, hashtag: bytes) -> Said:
    return (POST_TAGGED, topic_of(post_id)), encode(["bytes"], [hashtag])


def say_priced(post_id: int, price: int) -> Said:
    return (POST_PRICE_UPDATED, topic_of(post_id)), encode(["uint256"] * 2, [5, price])


def tx_hash_of(index: int) -> str:
    """The hash of the transaction that emitted the log with this index."""
    return f"0x{index:064x}".replace("0x0", "0x7")


@dataclass(frozen=True)
class ScriptedBlock:
    ref: BlockRef
    logs: tuple[Log, ...]
    made_at: datetime


@dataclass
class ScriptedChain:
    """An in-memory `ChainReader`. Like a real node, it remembers blocks that left the chain.

    `most` is the largest block range it searches at once, and `oversized` are blocks whose
    logs it never returns. `hidden` blocks have no logs, and no receipts that explain their
    bloom filters. `seemingly` maps blocks to topics that their filters match although no log
    has them. The receipts of `unreadable` transactions and the entries of `undescribed` posts
    are refused. `fault` is called with the name of each request and may raise.
    """

    clock: MovableClock
    most: int = 10**9
    oversized: set[int] = field(default_factory=set)
    hidden: set[int] = field(default_factory=set)
    seemingly: dict[int, set[bytes]] = field(default_factory=dict)
    unreadable: set[str] = field(default_factory=set)
    undescribed: set[int] = field(default_factory=set)
    descriptions: dict[int, bytes] = field(default_factory=dict)
    fault: Callable[[str], None] = lambda question: None
    asked: list[str] = field(default_factory=list)
    ranges: list[int] = field(default_factory=list)
    blocks: list[ScriptedBlock] = field(default_factory=list)
    ever: dict[str, ScriptedBlock] = field(default_factory=dict)
    highest: int = -1
    other: "ScriptedChain | None" = None
    _hashes: "count[int]" = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.mine()

    def mine(self, *said: Said, blocks: int = 1) -> ScriptedBlock:
        """Mine blocks. The last one contains the logs."""
        for left in range(blocks, 0, -1):
            block = self._make(said if left == 1 else ())
            self.blocks.append(block)
            self.ever[block.ref.block_hash] = block
        return self.blocks[-1]

    def fork(self, depth: int) -> list[ScriptedBlock]:
        """Remove the newest `depth` blocks and return them."""
        gone = self.blocks[-depth:]
        del self.blocks[-depth:]
        return gone

    def _make(self, said: Sequence[Said]) -> ScriptedBlock:
        name = f"0x{next(self._hashes):064x}".replace("0x0", "0xf")
        ref = BlockRef(len(self.blocks), name)
        # A hashtag is in the transaction of its post, and all logs of a purchase through the
        # adapter are in one transaction.
        first = list[int]()
        for index, (topics, _) in enumerate(said):
            first.append(first[-1] if first and topics[0] == POST_TAGGED else index)
            if topics[0] == BOUGHT:
                first[-4:] = [index - 3] * 4
        logs = tuple(
            Log(
                ADAPTER if topics[0] == BOUGHT else MARKET,
                topics,
                data,
                LogPosition(CHAIN, name, ref.number, index, tx_hash_of(begin)),
            )
            for index, ((topics, data), begin) in enumerate(zip(said, first, strict=True))
        )
        return ScriptedBlock(ref, logs, self.clock.now())

    async def head(self) -> BlockRef:
        self._ask("head")
        head = self.blocks[-1].ref
        self.highest = max(self.highest, head.number)
        return head

    def highest_shown(self) -> int:
        return self.highest

    async def head_time(self) -> datetime:
        self._ask("head_time")
        return self.blocks[-1].made_at

    async def block_at(self, number: int, head: BlockRef) -> BlockRef | None:
        self._ask("block_at", head)
        return self.blocks[number].ref if number < len(self.blocks) else None

    async def block_times(
        self, blocks: Sequence[BlockRef], head: BlockRef
    ) -> dict[BlockRef, datetime]:
        self._ask("block_times", head)
        times = {block.ref: block.made_at for block in self.blocks}
        if any(block not in times for block in blocks):
            raise Unavailable.chain()
        return {block: times[block] for block in blocks}

    async def post_details(self, post_ids: Sequence[int], head: BlockRef) -> list[PostDetails]:
        self._ask("post_details", head)
        if self.undescribed & set(post_ids):
            raise Unavailable.chain()
        known = {}
        for log in (log for block in self.blocks[: head.number + 1] for log in block.logs):
            with suppress(Undecodable):
                event = decode_market_event(log, self.clock.now())
                if isinstance(event, PostPublished):
                    known[event.post_id] = event
        nothing = PostDetails(ZERO_ADDRESS, b"", b"")
        return [
            PostDetails(
                known[each].author, known[each].spelled_cid, self.descriptions.get(each, b"Text")
            )
            if each in known
            else nothing
            for each in post_ids
        ]

    async def logs(
        self, first: int, last: int, topics: Collection[bytes], head: BlockRef
    ) -> list[Log]:
        self._ask("logs", head)
        self.ranges.append(last - first + 1)
        if last - first + 1 > self.most or self.oversized & set(range(first, last + 1)):
            raise Unavailable.chain()
        shown = [block for block in self.blocks[first : last + 1] if not self._is_hidden(block)]
        return [log for block in shown for log in block.logs if log.topics[0] in topics]

    async def other_logs(
        self, first: int, last: int, topics: Collection[bytes], head: BlockRef
    ) -> list[Log]:
        if self.other is None:
            raise Unavailable.chain()
        return await self.other.logs(first, last, topics, head)

    async def logs_by_receipts(
        self, number: int, topics: Collection[bytes], head: BlockRef
    ) -> AsyncIterator[ReceiptLogs]:
        self._ask("logs_by_receipts", head)
        for log in self.blocks[number].logs:
            tx_hash = log.place.tx_hash
            if tx_hash in self.unreadable:
                yield ReceiptLogs([], tx_hash)
            elif log.topics[0] in topics:
                yield ReceiptLogs([log])

    async def block_topics(
        self, first: int, last: int, topics: Collection[bytes], head: BlockRef
    ) -> list[BlockTopics]:
        self._ask("block_topics", head)
        found = list[BlockTopics]()
        for number in range(first, last + 1):
            block = self.blocks[number]
            parent = self.blocks[number - 1].ref.block_hash if number else ""
            named = {log.topics[0] for log in block.logs} | self.seemingly.get(number, set())
            found.append(BlockTopics(block.ref, parent, frozenset(named.intersection(topics))))
        return found

    async def prove_logs(
        self, block: BlockRef, topics: Collection[bytes], head: BlockRef
    ) -> list[Log]:
        self._ask("prove_logs", head)
        found = self.blocks[block.number]
        if found.ref != block:
            raise Unavailable.chain()
        if self._is_hidden(found):
            raise Unproved
        return [log for log in found.logs if log.topics[0] in topics]

    async def find_log(self, place: LogPosition, topic: bytes, head: BlockRef) -> Log | None:
        self._ask("find_log", head)
        block = self.ever.get(place.block_hash)
        if block is None or block not in self.blocks:
            return None
        if self._is_hidden(block):
            raise Unproved
        for log in block.logs:
            if log.place.log_index == place.log_index and log.topics[0] == topic:
                return log
        return None

    def _is_hidden(self, block: ScriptedBlock) -> bool:
        return block.ref.number in self.hidden

    def _ask(self, question: str, head: BlockRef | None = None) -> None:
        self.asked.append(question)
        self.fault(question)
        if head is not None and head not in [block.ref for block in self.blocks[-200:]]:
            raise Unavailable.chain()


def copy_chain(chain: ScriptedChain, blocks: int) -> ScriptedChain:
    """Another node of the same chain that has only the first `blocks` blocks."""
    copy = ScriptedChain(chain.clock, _hashes=count(1_000_000))
    copy.blocks, copy.ever = chain.blocks[:blocks], dict(chain.ever)
    return copy


@dataclass
class SeveralNodes:
    """A `ChainReader` over several nodes. `turns` picks the node for each request."""

    nodes: Sequence[ScriptedChain]
    turns: Callable[[str], int] = lambda question: 0

    async def head(self) -> BlockRef:
        return await self._node("head").head()

    def highest_shown(self) -> int:
        return self._node("head").highest_shown()

    async def head_time(self) -> datetime:
        return await self._node("head_time").head_time()

    async def block_at(self, number: int, head: BlockRef) -> BlockRef | None:
        return await self._node("block_at").block_at(number, head)

    async def block_times(
        self, blocks: Sequence[BlockRef], head: BlockRef
    ) -> dict[BlockRef, datetime]:
        return await self._node("block_times").block_times(blocks, head)

    async def post_details(self, post_ids: Sequence[int], head: BlockRef) -> list[PostDetails]:
        return await self._node("post_details").post_details(post_ids, head)

    async def logs(
        self, first: int, last: int, topics: Collection[bytes], head: BlockRef
    ) -> list[Log]:
        return await self._node("logs").logs(first, last, topics, head)

    async def other_logs(
        self, first: int, last: int, topics: Collection[bytes], head: BlockRef
    ) -> list[Log]:
        return await self._node("logs").other_logs(first, last, topics, head)

    def logs_by_receipts(
        self, number: int, topics: Collection[bytes], head: BlockRef
    ) -> AsyncIterator[ReceiptLogs]:
        return self._node("logs_by_receipts").logs_by_receipts(number, topics, head)

    async def block_topics(
        self, first: int, last: int, topics: Collection[bytes], head: BlockRef
    ) -> list[BlockTopics]:
        return await self._node("block_topics").block_topics(first, last, topics, head)

    async def prove_logs(
        self, block: BlockRef, topics: Collection[bytes], head: BlockRef
    ) -> list[Log]:
        return await self._node("prove_logs").prove_logs(block, topics, head)

    async def find_log(self, place: LogPosition, topic: bytes, head: BlockRef) -> Log | None:
        return await self._node("find_log").find_log(place, topic, head)

    def _node(self, question: str) -> ScriptedChain:
        return self.nodes[self.turns(question)]
