"""The chain of a simulation: posts, purchases and reorgs."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from eth_abi.abi import decode, encode
from tests.contract_wallets import calldata, creation, deploy_on
from tests.simulation.rewindable_chain import SimulatedChain, selector
from tests.world import MovableClock

from imprint.devchain.blocks import Block
from imprint.devchain.calls import Request, sign_request
from imprint.devchain.chain import Chain
from imprint.devchain.deployment import deploy_adapter, locate_marketplace
from imprint.devchain.evm import Log, Message
from imprint.devchain.transactions import TransactionRefused
from imprint.domain.formats.addresses import Address, keccak256
from imprint.marketplace import adapter_artifact

DEPTH = 64
"""The maximum depth of a reorg, as configured in the service."""

CONTRACT_OWNER = 4
"""The account that owns the contract wallet."""

MOVED = keccak256(b"Transfer(address,address,address,uint256,uint256)")
PRICED = keccak256(b"PostPriceUpdated(uint256,uint256,uint256)")
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
    """How a node lies: for a `share` of the pairs of block and first topic, it omits the logs.

    With `receipts`, receipts lack these logs too. With `until`, blocks that are at least
    this deep are returned unaltered.
    """

    chain: Chain
    share: float = 1.0
    receipts: bool = False
    until: int | None = None

    def change(self, said: bytes) -> bytes:
        """Replace a truthful response with the node's lie."""
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


@dataclass(frozen=True)
class Holdings:
    """What the logs say about the contract's state: authors and prices of posts, and balances."""

    entries: dict[int, tuple[str, int]] = field(default_factory=dict)
    balances: dict[tuple[str, int], int] = field(default_factory=dict)

    def after(self, logs: Sequence[Log]) -> "Holdings":
        entries, balances = dict(self.entries), dict(self.balances)
        for log in logs:
            kind = log.topics[0]
            if kind == CREATED:
                (price,) = decode(["uint256"], log.data[96:128])
                entries[int.from_bytes(log.topics[1])] = _address(log.topics[2]), price
            elif kind == PRICED:
                post_id = int.from_bytes(log.topics[1])
                entries[post_id] = entries[post_id][0], int.from_bytes(log.data[32:64])
            elif kind == MOVED:
                post_id, amount = int.from_bytes(log.topics[3]), int.from_bytes(log.data[32:64])
                for holder, change in ((log.topics[1], -amount), (log.topics[2], amount)):
                    key = _address(holder), post_id
                    balances[key] = balances.get(key, 0) + change
        return Holdings(entries, balances)


@dataclass(frozen=True)
class Deployment:
    """A chain with all contracts, from which every run starts."""

    chain: Chain
    address: str
    contract: Address
    adapter: str
    stranger: str


@cache
def deploy_contracts(start: int) -> Deployment:
    """Deploy the marketplace, a contract wallet and two purchase adapters at this time."""
    chain = Chain.open(None, lambda: start)
    address = locate_marketplace(chain)
    code = bytes.fromhex(json.loads(CONTRACT.read_text())["bytecode"][2:])
    deployer, owner = chain.wallet.addresses[0], chain.wallet.addresses[CONTRACT_OWNER]
    chain.submit(sign_request(chain, Request(sender=deployer, data=code)))
    contract = deploy_on(chain, creation("OwnedWallet", owner))
    adapter = deploy_adapter(chain).lower()
    other = adapter_artifact().bytecode[2:] + address[2:].zfill(64)
    stranger = deploy_on(chain, bytes.fromhex(other))
    return Deployment(chain, address, contract, adapter, stranger)


@dataclass
class Market:
    """A chain with the marketplace on it that can be rewound to any height above its start."""

    clock: MovableClock
    chain: SimulatedChain = field(init=False)
    address: str = field(init=False)
    contract: Address = field(init=False)
    """A contract wallet that writes and publishes like an account."""
    adapter: str = field(init=False)
    """The purchase adapter that the service knows."""
    stranger: str = field(init=False)
    """Another purchase adapter, which the service does not know."""
    lowest: int = field(init=False)
    highest: int = 0
    _holdings: dict[bytes, Holdings] = field(default_factory=dict)
    _created: dict[bytes, list[Created]] = field(default_factory=dict)
    _all_created: tuple[bytes, list[Created]] = field(default_factory=lambda: (b"", []))
    _descriptions: dict[tuple[bytes, int], bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        deployed = deploy_contracts(self.clock.seconds)
        self.chain = SimulatedChain.copy(deployed.chain, lambda: self.clock.seconds)
        self.address, self.contract = deployed.address, deployed.contract
        self.adapter, self.stranger = deployed.adapter, deployed.stranger
        self.lowest = self.chain.head.number
        self._holdings[self.chain.head.hash] = Holdings()
        self._note()

    @property
    def _contract_owner(self) -> str:
        return self.chain.wallet.addresses[CONTRACT_OWNER]

    def mine(self, blocks: int = 1) -> None:
        for _ in range(blocks):
            self.chain.mine()
            self._note()

    @property
    def is_short(self) -> bool:
        """Whether the chain was higher before a reorg, so that nodes seem to be behind."""
        return self.chain.head.number < self.highest

    def catch_up(self) -> None:
        """Extend the chain beyond every earlier height, as the winning branch eventually does."""
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
        """Send a transaction and return its block, or None if it was refused. A transaction in a
        block may have failed."""
        receiver, data = call.to or self.address.lower(), call.data
        if sender == self.contract:
            sender, receiver = self._contract_owner, self.contract
            to = call.to or self.address
            data = calldata("OwnedWallet", "execute", to, call.value, call.data)
            call = Call(data)
        try:
            block = self.chain.send(sender, receiver, data, call.value)
        except TransactionRefused:
            return None
        self._note()
        return block

    def reorganize(self, random: Random, depth: int) -> tuple[int, list[Block]]:
        """Replace the newest blocks: their transactions come back shuffled, late, or never.

        Returns the actual depth, and the new blocks that contain transactions.
        """
        head = self.chain.head.number
        fork = max(self.lowest, self.highest - DEPTH, head - depth)
        gone = [block for n in range(fork + 1, head + 1) if (block := self.chain.block(n))]
        if not gone:
            return 0, []
        self.chain.rewind(fork)
        # The new blocks are made later than the old ones, or they would be identical.
        ahead = self.chain.advance_clock(0)
        self.chain.advance_clock(max(0, gone[-1].timestamp + 1 - self.clock.seconds - ahead))
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
                # The transaction depended on one that did not come back.
                continue

    def created(self) -> list[Created]:
        """Every PostCreated event on the current chain, in order."""
        head = self.chain.head.hash
        if self._all_created[0] != head:
            found = [each for block in self.blocks() for each in self.created_in(block)]
            self._all_created = head, found
        return self._all_created[1]

    def created_in(self, block: Block) -> list[Created]:
        if block.hash not in self._created:
            self._created[block.hash] = _read_created(block)
        return self._created[block.hash]

    @property
    def holdings(self) -> Holdings:
        """The state of the contract, according to the logs of the current chain."""
        return self._holdings[self.chain.head.hash]

    def entry(self, post_id: int) -> tuple[str, int]:
        """The current author and price of a post."""
        return self.holdings.entries.get(post_id, (ZERO, 0))

    def balance(self, holder: str, post_id: int) -> int:
        return self.holdings.balances.get((holder, post_id), 0)

    def check_contract(self) -> None:
        """Fail if the state of the contract is not what its logs say."""
        for post_id, entry in self.holdings.entries.items():
            kinds = ["(address,bytes,bytes,bytes,bytes,uint256)"]
            data = self._ask("getPostInfo(uint256)", ["uint256"], [post_id])
            ((author, _, _, _, _, price),) = decode(kinds, data)
            assert (author, price) == entry
        for (holder, post_id), balance in self.holdings.balances.items():
            if holder != ZERO:
                kinds = ["address", "uint256"]
                data = self._ask("balanceOf(address,uint256)", kinds, [holder, post_id])
                assert int.from_bytes(data) == balance

    def admits(self, reader: str, post_id: int) -> bool:
        """Whether the chain currently lets this reader read this post."""
        author, price = self.entry(post_id)
        if author == ZERO:
            return False
        return price == 0 or author == reader or self.balance(reader, post_id) > 0

    def description(self, post_id: int) -> bytes:
        """The description of a post, which no log contains and which never changes."""
        (event,) = (each for each in self.created() if each.post_id == post_id)
        key = event.block.hash, post_id
        if key not in self._descriptions:
            kinds = ["(address,bytes,bytes,bytes,bytes,uint256)"]
            data = self._ask("getPostInfo(uint256)", ["uint256"], [post_id])
            ((*_, description, _),) = decode(kinds, data)
            self._descriptions[key] = description
        return self._descriptions[key]

    def blocks(self) -> Iterator[Block]:
        """Every block of the current chain since the start of the run."""
        for number in range(self.lowest, self.chain.head.number + 1):
            block = self.chain.block(number)
            assert block is not None
            yield block

    def _ask(self, signature: str, kinds: list[str], values: list[Any]) -> bytes:
        data = selector(signature) + encode(kinds, values)
        sender = self.chain.wallet.addresses[9]
        message = Message(sender=sender, to=self.address.lower(), data=data, gas=1_000_000)
        return bytes(self.chain.run(message).output)

    def _take(self, raw: bytes) -> Block:
        block = self.chain.submit(raw)
        self._note()
        return block

    def _note(self) -> None:
        head = self.chain.head
        self.highest = max(self.highest, head.number)
        if head.hash not in self._holdings:
            before, receipt = self._holdings[head.parent_hash], head.receipt
            logs = [] if receipt is None else receipt.logs
            ours = [log for log in logs if log.address == self.address.lower()]
            self._holdings[head.hash] = before.after(ours) if ours else before


def _call(signature: str, kinds: list[str], values: list[Any], value: int = 0) -> Call:
    return Call(selector(signature) + encode(kinds, values), value)


def _read_created(block: Block) -> list[Created]:
    found = []
    for index, log in enumerate(block.receipt.logs if block.receipt else ()):
        if log.topics[0] == CREATED:
            _, spelled, _, _ = decode(["bytes", "bytes", "bytes", "uint256"], log.data)
            author = _address(log.topics[2])
            found.append(Created(int.from_bytes(log.topics[1]), author, spelled, block, index))
    return found


def _address(topic: bytes) -> str:
    return "0x" + topic[12:].hex()
