"""The chain of a simulation: posts, purchases and reorgs."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from eth_abi.abi import decode, encode
from tests.contract_wallets import calldata, creation, deploy_on
from tests.world import MovableClock

from imprint.devchain.blocks import Block
from imprint.devchain.calls import Request, sign_request
from imprint.devchain.chain import Chain
from imprint.devchain.deployment import deploy_adapter, locate_marketplace
from imprint.devchain.evm import Message
from imprint.devchain.transactions import TransactionRefused
from imprint.domain.formats.addresses import Address, keccak256
from imprint.marketplace import adapter_artifact

DEPTH = 64
"""The maximum depth of a reorg, as configured in the service."""

CONTRACT_OWNER = 4
"""The account that owns the contract wallet."""

CREATED = keccak256(b"PostCreated(uint256,string,string,string,address,uint256)")
POST = "(string,string,string,string,uint256,string[])"
POST_IN_BYTES = "(bytes,bytes,bytes,bytes,uint256,bytes[])"
ZERO = "0x" + "00" * 20

CONTRACT = Path(__file__).with_name("OpenMarketplace.json")
"""The marketplace contract of the simulation, in which tokens can also be given away and burned."""


@dataclass(frozen=True)
class Texts:
    """The texts that an author enters for a post."""

    title: bytes = b"A title"
    description: bytes = b""
    hashtags: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Call:
    """A call to the marketplace, or to another contract."""

    data: bytes
    value: int = 0
    to: str | None = None


@dataclass(frozen=True)
class Created:
    """A PostCreated event, decoded without any code of the service."""

    post_id: int
    author: str
    spelled: bytes
    block: Block
    index: int


@dataclass(frozen=True)
class ChainBehind:
    """The chain as seen by a node that lacks its newest blocks."""

    chain: Chain
    last: int

    @property
    def head(self) -> Block:
        block = self.block(min(self.last, self.chain.head.number))
        assert block is not None
        return block

    def block(self, number: int) -> Block | None:
        return self.chain.block(number) if number <= self.last else None

    def block_by_hash(self, block_hash: bytes) -> Block | None:
        return self._known(self.chain.block_by_hash(block_hash))

    def block_of(self, transaction_hash: bytes) -> Block | None:
        return self._known(self.chain.block_of(transaction_hash))

    def _known(self, block: Block | None) -> Block | None:
        return block if block is not None and block.number <= self.last else None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.chain, name)


@dataclass(frozen=True)
class Lies:
    """How a node lies: it omits the logs of a fraction of all blocks and first topics.

    With `receipts`, receipts lack these logs too. With `until`, blocks that are at least
    this deep are returned unaltered.
    """

    chain: Chain
    share: float = 1.0
    receipts: bool = False
    until: int | None = None

    def change(self, said: bytes) -> bytes:
        """Replace a truthful response by the node's lie."""
        return json.dumps([self._change_one(each) for each in json.loads(said)]).encode()

    def _change_one(self, response: Any) -> Any:
        result = response.get("result")
        if isinstance(result, list):
            return {**response, "result": self._leave_out(result)}
        if self.receipts and isinstance(result, dict) and "logs" in result:
            return {**response, "result": {**result, "logs": self._leave_out(result["logs"])}}
        return response

    def _leave_out(self, logs: list[Any]) -> list[Any]:
        return [log for log in logs if not ("topics" in log and self._hides(log))]

    def _hides(self, log: Any) -> bool:
        after = self.chain.head.number - int(log["blockNumber"], 16)
        if self.until is not None and after >= self.until:
            return False
        chosen = keccak256((log["blockHash"] + log["topics"][0]).encode())
        return int.from_bytes(chosen[:4]) < self.share * 2**32


@dataclass
class Market:
    """A chain with the marketplace on it that can be rewound to any height."""

    clock: MovableClock
    chain: Chain = field(init=False)
    address: str = field(init=False)
    contract: Address = field(init=False)
    """A contract wallet that writes and publishes like an account."""
    adapter: str = field(init=False)
    """The purchase adapter that the service knows."""
    stranger: str = field(init=False)
    """Another purchase adapter, which the service does not know."""
    highest: int = 0
    _heights: dict[int, int] = field(default_factory=dict)
    _created: dict[bytes, list[Created]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chain = Chain.open(None, lambda: self.clock.seconds)
        self.address = locate_marketplace(self.chain)
        code = bytes.fromhex(json.loads(CONTRACT.read_text())["bytecode"][2:])
        deployer = self.chain.wallet.addresses[0]
        self.chain.submit(sign_request(self.chain, Request(sender=deployer, data=code)))
        # Before every block that a reorg may replace.
        self.contract = deploy_on(self.chain, creation("OwnedWallet", self._contract_owner))
        self.adapter = deploy_adapter(self.chain).lower()
        other = adapter_artifact().bytecode[2:] + self.address[2:].zfill(64)
        self.stranger = deploy_on(self.chain, bytes.fromhex(other))
        self._note()

    @property
    def _contract_owner(self) -> str:
        return self.chain.wallet.addresses[CONTRACT_OWNER]

    def mine(self, blocks: int = 1) -> None:
        for _ in range(blocks):
            self.chain.mine()
            self._note()

    def catch_up(self) -> None:
        """Grow past every earlier block, as the winning branch eventually does."""
        self.mine(max(1, self.highest + 1 - self.chain.head.number))

    def creation(self, spelled: str | bytes, price: int, texts: Texts) -> Call:
        cid = spelled.encode() if isinstance(spelled, str) else spelled
        tags = list(texts.hashtags)
        post = (cid, texts.title, b"bafkreithumbnail", texts.description, price, tags)
        return _call(f"createPost({POST})", [POST_IN_BYTES], [post])

    def purchase(self, post_id: int) -> Call:
        _, price = self.entry(post_id)
        return _call("subscribePost(uint256)", ["uint256"], [post_id], price)

    def purchase_through(self, adapter: str, post_ids: list[int], receiver: str) -> Call:
        """Buy posts for somebody through an adapter."""
        price = sum(self.entry(post_id)[1] for post_id in post_ids)
        kinds, values = ["uint256[]", "address"], [post_ids, receiver]
        bought = _call("buyMany(uint256[],address)", kinds, values, price)
        return replace(bought, to=adapter)

    def transfer(self, receiver: str, post_id: int, amount: int) -> Call:
        kinds = ["address", "uint256", "uint256"]
        return _call("transfer(address,uint256,uint256)", kinds, [receiver, post_id, amount])

    def gift(self, receiver: str, post_id: int, amount: int) -> Call:
        kinds = ["address", "uint256", "uint256"]
        return _call("give(address,uint256,uint256)", kinds, [receiver, post_id, amount])

    def burning(self, post_id: int, amount: int) -> Call:
        return _call("burn(uint256,uint256)", ["uint256"] * 2, [post_id, amount])

    def pricing(self, post_id: int, price: int) -> Call:
        return _call("updatePostPrice(uint256,uint256)", ["uint256"] * 2, [post_id, price])

    def batch(self, calls: list[Call]) -> Call:
        """Combine several calls in one transaction, which carries a single value for all of
        them."""
        data = [call.data for call in calls]
        return _call("batch(bytes[])", ["bytes[]"], [data], max(call.value for call in calls))

    def send(self, sender: str, call: Call) -> Block | None:
        """Send a transaction and return its block, or None if it was refused. It may have
        failed."""
        receiver, data = call.to or self.address.lower(), call.data
        if sender == self.contract:
            sender, receiver = self._contract_owner, self.contract
            to = call.to or self.address
            data = calldata("OwnedWallet", "execute", to, call.value, call.data)
            call = Call(data)
        request = Request(sender=sender, to=receiver, data=data, value=call.value, gas=6_000_000)
        try:
            return self._take(sign_request(self.chain, request))
        except TransactionRefused:
            return None

    def reorganize(self, random: Random, depth: int) -> tuple[int, list[Block]]:
        """Replace the newest blocks: their transactions come back shuffled, late, or never.

        Returns the actual depth, and the new blocks that contain transactions.
        """
        head = self.chain.head.number
        fork = max(min(self._heights), self.highest - DEPTH, head - depth)
        gone = [block for n in range(fork + 1, head + 1) if (block := self.chain.block(n))]
        if not gone:
            return 0, []
        self.chain.restore(self._heights[fork])
        # The new blocks are made later than the old ones, or they would be identical.
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
                # One that depended on a transaction which did not come back.
                continue

    def created(self) -> list[Created]:
        """Every PostCreated event on the current chain, in order."""
        return [each for block in self.blocks() for each in self.created_in(block)]

    def created_in(self, block: Block) -> list[Created]:
        if block.hash not in self._created:
            self._created[block.hash] = _read_created(block)
        return self._created[block.hash]

    def entry(self, post_id: int) -> tuple[str, int]:
        """The current author and price of a post according to the contract."""
        kinds = ["(address,bytes,bytes,bytes,bytes,uint256)"]
        data = self._ask("getPostInfo(uint256)", ["uint256"], [post_id])
        ((author, _, _, _, _, price),) = decode(kinds, data)
        return author, price

    def balance(self, holder: str, post_id: int) -> int:
        kinds = ["address", "uint256"]
        data = self._ask("balanceOf(address,uint256)", kinds, [holder, post_id])
        return int.from_bytes(data)

    def admits(self, reader: str, post_id: int) -> bool:
        """Whether the chain currently lets this reader read this post."""
        author, price = self.entry(post_id)
        if author == ZERO:
            return False
        return price == 0 or author == reader or self.balance(reader, post_id) > 0

    def description(self, post_id: int) -> bytes:
        kinds = ["(address,bytes,bytes,bytes,bytes,uint256)"]
        ((*_, description, _),) = decode(
            kinds, self._ask("getPostInfo(uint256)", ["uint256"], [post_id])
        )
        return description

    def blocks(self) -> Iterator[Block]:
        """Every block of the current chain."""
        for number in range(self.chain.head.number + 1):
            block = self.chain.block(number)
            assert block is not None
            yield block

    def _ask(self, signature: str, kinds: list[str], values: list[Any]) -> bytes:
        data = keccak256(signature.encode())[:4] + encode(kinds, values)
        sender = self.chain.wallet.addresses[9]
        message = Message(sender=sender, to=self.address.lower(), data=data, gas=1_000_000)
        return bytes(self.chain.run(message).output)

    def _take(self, raw: bytes) -> Block:
        block = self.chain.submit(raw)
        self._note()
        return block

    def _note(self) -> None:
        self._heights[self.chain.head.number] = self.chain.snapshot()
        self.highest = max(self.highest, self.chain.head.number)


def _call(signature: str, kinds: list[str], values: list[Any], value: int = 0) -> Call:
    return Call(keccak256(signature.encode())[:4] + encode(kinds, values), value)


def _read_created(block: Block) -> list[Created]:
    found = []
    for index, log in enumerate(block.receipt.logs if block.receipt else ()):
        if log.topics[0] == CREATED:
            _, spelled, _, _ = decode(["bytes", "bytes", "bytes", "uint256"], log.data)
            author = "0x" + log.topics[2][12:].hex()
            found.append(Created(int.from_bytes(log.topics[1]), author, spelled, block, index))
    return found
