"""The chain's side of a simulation: posts and purchases, and a chain that reorganizes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from eth_abi.abi import decode, encode
from tests.world import MovableClock

from imprint.devchain.blocks import Block
from imprint.devchain.calls import Request, sign_request
from imprint.devchain.chain import Chain
from imprint.devchain.deployment import deploy_marketplace
from imprint.devchain.evm import Message
from imprint.devchain.transactions import TransactionRefused
from imprint.domain.addresses import keccak256

DEPTH = 64
"""How many blocks a reorg may replace, as the service is configured."""

CREATED = keccak256(b"PostCreated(uint256,string,string,string,address,uint256)")
POST = "(string,string,string,string,uint256,string[])"
POST_IN_BYTES = "(bytes,string,string,string,uint256,string[])"
ZERO = "0x" + "00" * 20


@dataclass(frozen=True)
class Created:
    """One PostCreated, read from the block without any help of the service."""

    post_id: int
    author: str
    spelled: bytes
    block: Block
    index: int


@dataclass
class Market:
    """A chain with the marketplace on it; every height can be returned to."""

    clock: MovableClock
    chain: Chain = field(init=False)
    address: str = field(init=False)
    highest: int = 0
    _heights: dict[int, int] = field(default_factory=dict)
    _created: dict[bytes, list[Created]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chain = Chain.open(None, lambda: self.clock.seconds)
        self.address = deploy_marketplace(self.chain)
        self._note()

    def mine(self, blocks: int = 1) -> None:
        for _ in range(blocks):
            self.chain.mine()
            self._note()

    def catch_up(self) -> None:
        """Grow past every block there ever was, as the branch that wins does in the end."""
        self.mine(max(1, self.highest + 1 - self.chain.head.number))

    def create(self, author: str, spelled: str | bytes, price: int) -> Block | None:
        kind = POST if isinstance(spelled, str) else POST_IN_BYTES
        post = (spelled, "A title", "bafkreithumbnail", "", price, [])
        return self._call(author, f"createPost({POST})", [kind], [post])

    def buy(self, reader: str, post_id: int) -> Block | None:
        _, price = self.entry(post_id)
        return self._call(reader, "subscribePost(uint256)", ["uint256"], [post_id], price)

    def transfer(self, holder: str, receiver: str, post_id: int) -> Block | None:
        kinds = ["address", "uint256", "uint256"]
        values = [receiver, post_id, 1]
        return self._call(holder, "transfer(address,uint256,uint256)", kinds, values)

    def set_price(self, author: str, post_id: int, price: int) -> Block | None:
        name, kinds = "updatePostPrice(uint256,uint256)", ["uint256"] * 2
        return self._call(author, name, kinds, [post_id, price])

    def reorganize(self, random: Random, depth: int) -> tuple[int, list[Block]]:
        """Replace the newest blocks: their transactions come back shuffled, late, or never.

        The depth it became, and the new blocks with a transaction.
        """
        head = self.chain.head.number
        fork = max(min(self._heights), self.highest - DEPTH, head - depth)
        gone = [block for n in range(fork + 1, head + 1) if (block := self.chain.block(n))]
        if not gone:
            return 0, []
        self.chain.restore(self._heights[fork])
        # The new blocks are made later than the old ones, or they would be the same again.
        ahead = self.chain.advance_clock(0)
        self.chain.advance_clock(max(0, gone[-1].timestamp + 1 - self.clock.seconds - ahead))
        self._heights = {h: name for h, name in self._heights.items() if h < fork}
        self._note()
        return len(gone), list(self._include(random, gone))

    def _include(self, random: Random, gone: list[Block]) -> Iterator[Block]:
        by_sender: dict[str, list[bytes]] = {}
        for block in gone:
            if block.receipt is not None:
                transaction = block.receipt.transaction
                by_sender.setdefault(transaction.sender, []).append(transaction.raw)
        keep = random.choice([0.0, 0.5, 0.9, 1.0])
        while by_sender:
            self.mine(random.choice([0, 0, 1, 3]))
            sender = random.choice(sorted(by_sender))
            raw = by_sender[sender].pop(0)
            if not by_sender[sender]:
                del by_sender[sender]
            if random.random() > keep:
                continue
            try:
                yield self._take(raw)
            except TransactionRefused:
                # One that came after a transaction which did not come back.
                continue

    def created(self) -> list[Created]:
        """Every PostCreated of the chain as it is now, in order."""
        blocks = (self.chain.block(n) for n in range(self.chain.head.number + 1))
        return [each for block in blocks if block for each in self.created_in(block)]

    def created_in(self, block: Block) -> list[Created]:
        if block.hash not in self._created:
            self._created[block.hash] = _read_created(block)
        return self._created[block.hash]

    def entry(self, post_id: int) -> tuple[str, int]:
        """Author and price of a post, as the contract says now."""
        kinds = ["(address,bytes,bytes,bytes,bytes,uint256)"]
        data = self._ask("getPostInfo(uint256)", ["uint256"], [post_id])
        ((author, _, _, _, _, price),) = decode(kinds, data)
        return author, price

    def balance(self, holder: str, post_id: int) -> int:
        kinds = ["address", "uint256"]
        data = self._ask("balanceOf(address,uint256)", kinds, [holder, post_id])
        return int.from_bytes(data)

    def admits(self, reader: str, post_id: int) -> bool:
        """Whether the chain lets this reader read this post now."""
        author, price = self.entry(post_id)
        if author == ZERO:
            return False
        return price == 0 or author == reader or self.balance(reader, post_id) > 0

    def _ask(self, signature: str, kinds: list[str], values: list[Any]) -> bytes:
        data = keccak256(signature.encode())[:4] + encode(kinds, values)
        sender = self.chain.wallet.addresses[9]
        message = Message(sender=sender, to=self.address.lower(), data=data, gas=1_000_000)
        return bytes(self.chain.run(message).output)

    def _call(
        self, sender: str, signature: str, kinds: list[str], values: list[Any], value: int = 0
    ) -> Block | None:
        data = keccak256(signature.encode())[:4] + encode(kinds, values)
        to = self.address.lower()
        request = Request(sender=sender, to=to, data=data, value=value, gas=3_000_000)
        try:
            return self._take(sign_request(self.chain, request))
        except TransactionRefused:
            return None

    def _take(self, raw: bytes) -> Block:
        block = self.chain.submit(raw)
        self._note()
        return block

    def _note(self) -> None:
        self._heights[self.chain.head.number] = self.chain.snapshot()
        self.highest = max(self.highest, self.chain.head.number)


def _read_created(block: Block) -> list[Created]:
    found = []
    for index, log in enumerate(block.receipt.logs if block.receipt else ()):
        if log.topics[0] == CREATED:
            _, spelled, _, _ = decode(["bytes", "bytes", "bytes", "uint256"], log.data)
            author = "0x" + log.topics[2][12:].hex()
            found.append(Created(int.from_bytes(log.topics[1]), author, spelled, block, index))
    return found
