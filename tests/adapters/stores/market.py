"""Random marketplace events, block by block, as on a chain."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

from imprint.domain.formats.addresses import ZERO_ADDRESS, Address
from imprint.domain.posts.market_events import (
    MarketEvent,
    Origin,
    PostPublished,
    PostPurchased,
    PriceChanged,
    TokensMoved,
    position_of,
)
from imprint.domain.posts.posts import BlockRef
from imprint.ports.post_index import AppliedLog

START = datetime(2026, 3, 1, tzinfo=UTC)

WALLETS = [Address("0x" + f"{number:02x}" * 20) for number in range(1, 7)]

ADAPTER = Address("0x" + "ad" * 20)

TAGS = ("poetry", "essay", "märchen", "law")


@dataclass
class RandomMarket:
    """A chain of blocks with events that a marketplace could emit."""

    random: Random
    blocks: list[list[MarketEvent]] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)

    @property
    def head(self) -> BlockRef:
        return BlockRef(len(self.hashes) - 1, self.hashes[-1])

    @property
    def events(self) -> list[MarketEvent]:
        return [event for block in self.blocks for event in block]

    def logs(self, above: int) -> list[AppliedLog]:
        """Return the logs of the blocks above a height."""
        return [
            AppliedLog(event.origin.place, event.origin.block.block_hash)
            for block in self.blocks[max(above, -1) + 1 :]
            for event in block
        ]

    def replace_blocks(self, count: int) -> None:
        """Drop the newest blocks, as in a reorg."""
        del self.blocks[len(self.blocks) - count :]
        del self.hashes[len(self.hashes) - count :]

    def mine(self) -> None:
        """Add a block with up to four transactions."""
        number = len(self.blocks)
        self.hashes.append("0x" + self.random.randbytes(32).hex())
        self.blocks.append([])
        for _ in range(self.random.randrange(5)):
            self._transact(number)

    def _transact(self, number: int) -> None:
        published = [event for event in self.events if isinstance(event, PostPublished)]
        kind = self.random.choice(["publish", "buy", "buy", "move", "move", "price"])
        tx_hash = "0x" + self.random.randbytes(32).hex()
        if kind == "publish" or not published:
            self._publish(number, tx_hash, len(published) + 1)
            return
        post_id = self.random.choice(published).post_id
        if kind == "price":
            price = self.random.choice([0, 0, 5, 10**18, 2**200])
            self._add(PriceChanged(self._origin(number, tx_hash), post_id, price))
        elif kind == "buy":
            self._buy(number, tx_hash, post_id)
        else:
            sender, receiver = self.random.choices([*WALLETS, ZERO_ADDRESS], k=2)
            amount = self.random.choice([0, 1, 1, 1, 2, 2**128])
            origin = self._origin(number, tx_hash)
            self._add(TokensMoved(origin, post_id, sender, receiver, amount))

    def _publish(self, number: int, tx_hash: str, post_id: int) -> None:
        tags = tuple(self.random.sample(TAGS, self.random.randrange(3)))
        self._add(
            PostPublished(
                self._origin(number, tx_hash),
                post_id,
                self.random.choice(WALLETS),
                b"bafy%d" % post_id,
                None,
                b"thumbnail",
                self.random.randbytes(8),
                self.random.choice([0, 7, 10**17]),
                b"about \0 \xff",
                tags,
            )
        )

    def _buy(self, number: int, tx_hash: str, post_id: int) -> None:
        buyer, price = self.random.choice(WALLETS), self.random.choice([0, 7, 10**17])
        adapter, receiver = None, None
        if self.random.random() < 0.3:
            adapter, receiver = ADAPTER, self.random.choice(WALLETS)

        def purchase() -> None:
            origin = self._origin(number, tx_hash)
            self._add(PostPurchased(origin, post_id, buyer, price, adapter, receiver))

        def mint() -> None:
            origin = self._origin(number, tx_hash)
            self._add(TokensMoved(origin, post_id, ZERO_ADDRESS, adapter or buyer, 1))

        steps = [purchase, mint]
        self.random.shuffle(steps)
        for step in steps:
            step()
        if receiver is not None:
            self._add(TokensMoved(self._origin(number, tx_hash), post_id, ADAPTER, receiver, 1))

    def _origin(self, number: int, tx_hash: str) -> Origin:
        place = position_of(number, len(self.blocks[number]))
        block = BlockRef(number, self.hashes[number])
        return Origin(place, block, tx_hash, START + timedelta(hours=number))

    def _add(self, event: MarketEvent) -> None:
        self.blocks[-1].append(event)
