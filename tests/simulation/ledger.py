"""The expected index, computed from the chain's receipts and the contract's state.

Every sum is recomputed from single posts, purchases and holdings. No code of the service is
used.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from eth_abi.abi import decode
from tests.simulation.market import CREATED, MOVED, PRICED, ZERO, Market

from imprint.devchain.blocks import Receipt
from imprint.domain.formats.addresses import keccak256

TAGGED = keccak256(b"PostTagged(uint256,string)")
SUBSCRIBED = keccak256(b"PostSubscribed(uint256,address,uint256)")
BOUGHT = keccak256(b"Bought(uint256,address,address,uint256)")

SECOND = 1_000_000
DAY = 86_400 * SECOND
MOST_OF_A_CID = 512
"""Maximum number of bytes of a cid's text that are stored."""


@dataclass
class Post:
    """A post and its history."""

    place: int
    author: str
    spelled: bytes
    title: bytes
    first_price: int
    price: int
    at: int
    block_hash: str
    tx_hash: str
    hashtags: list[bytes] = field(default_factory=list)


@dataclass
class Purchase:
    """The purchase of a token."""

    post_id: int
    buyer: str
    price: int
    at: int
    receiver: str | None = None


@dataclass
class Holding:
    """The tokens that an address holds, and since when."""

    balance: int
    arrived: int
    at: int
    paid: int | None = None


@dataclass
class Account:
    """The activity of an address."""

    posts: int = 0
    first_post_at: int | None = None
    last_post_at: int | None = None
    sales: int = 0
    volume: int = 0
    worth: int = 0
    readers: int = 0
    purchases: int = 0
    spent: int = 0
    held: int = 0


@dataclass
class Ledger:
    """Everything that has happened on the market, in chain order."""

    posts: dict[int, Post] = field(default_factory=dict)
    purchases: dict[int, Purchase] = field(default_factory=dict)
    prices: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    holdings: dict[tuple[str, int], Holding] = field(default_factory=dict)
    given_away: dict[tuple[str, int], Holding] = field(default_factory=dict)
    """Holdings of buyers who passed on all their tokens of a post, by address and post id."""
    logs: dict[int, str] = field(default_factory=dict)

    def sales_of(self, post_id: int) -> tuple[int, int]:
        """The number and total price of a post's purchases."""
        paid = [each.price for each in self.purchases.values() if each.post_id == post_id]
        return len(paid), sum(paid)

    def holders_of(self, post_id: int) -> int:
        return sum(held == post_id for _, held in self.holdings)

    def readers_of(self) -> Counter[tuple[str, str]]:
        """For each author and reader, the number of the author's posts that the reader holds."""
        return Counter((self.posts[post_id].author, holder) for holder, post_id in self.holdings)

    def accounts(self) -> dict[str, Account]:
        found: dict[str, Account] = {}
        for post in self.posts.values():
            account = found.setdefault(post.author, Account())
            account.posts += 1
            account.worth += post.first_price
            account.first_post_at = account.first_post_at or post.at
            account.last_post_at = post.at
        for each in self.purchases.values():
            author = found[self.posts[each.post_id].author]
            author.sales += 1
            author.volume += each.price
            buyer = found.setdefault(each.buyer, Account())
            buyer.purchases += 1
            buyer.spent += each.price
        for holder, _ in self.holdings:
            found.setdefault(holder, Account()).held += 1
        for address, _ in self.readers_of():
            found[address].readers += 1
        return found

    def days(self) -> dict[int, tuple[int, int, int]]:
        """Posts, sales and volume of each day with any activity."""
        posts = Counter(post.at // DAY for post in self.posts.values())
        sales = Counter(each.at // DAY for each in self.purchases.values())
        volume: Counter[int] = Counter()
        for each in self.purchases.values():
            volume[each.at // DAY] += each.price
        return {day: (posts[day], sales[day], volume[day]) for day in posts.keys() | sales.keys()}

    def totals(self) -> dict[str, int]:
        accounts = self.accounts().values()
        return {
            "posts": len(self.posts),
            "authors": sum(each.posts > 0 for each in accounts),
            "readers": len({holder for holder, _ in self.holdings}),
            "users": len(accounts),
            "sales": len(self.purchases),
            "volume": sum(each.price for each in self.purchases.values()),
            "worth": sum(post.first_price for post in self.posts.values()),
        }


def read_ledger(market: Market) -> Ledger:
    """Read all receipts. Fails if they contradict the state of the contract."""
    ledger = Ledger()
    for block in market.blocks():
        if block.receipt is None or not block.receipt.success:
            continue
        mint: tuple[str, int] | None = None
        for index, log in _known_logs(market, block.receipt):
            place, at = block.number * 2**20 + index, block.timestamp * SECOND
            ledger.logs[place] = "0x" + block.hash.hex()
            if log.topics[0] == MOVED:
                mint = _move(ledger, log, place, at)
            elif log.topics[0] == SUBSCRIBED:
                post_id, buyer = int.from_bytes(log.topics[1]), _address(log.topics[2])
                (price,) = decode(["uint256"], log.data)
                ledger.purchases[place] = Purchase(post_id, buyer, price, at)
                # The contract mints the token just before it reports the purchase.
                assert mint == (buyer, post_id)
                if buyer != market.adapter:
                    balance = ledger.holdings[buyer, post_id].balance
                    ledger.holdings[buyer, post_id] = Holding(balance, place - 1, at, price)
            elif log.topics[0] == BOUGHT:
                _credit(ledger, log, place, at)
            elif log.topics[0] == PRICED:
                post_id = int.from_bytes(log.topics[1])
                _, price = decode(["uint256", "uint256"], log.data)
                ledger.prices[place] = (post_id, price, at)
                ledger.posts[post_id].price = price
            elif log.topics[0] == TAGGED:
                (spelled,) = decode(["bytes"], log.data)
                ledger.posts[int.from_bytes(log.topics[1])].hashtags.append(spelled)
            elif log.topics[0] == CREATED:
                title, cid, _, price = decode(["bytes", "bytes", "bytes", "uint256"], log.data)
                ledger.posts[int.from_bytes(log.topics[1])] = Post(
                    place,
                    _address(log.topics[2]),
                    cid[:MOST_OF_A_CID],
                    title,
                    price,
                    price,
                    at,
                    "0x" + block.hash.hex(),
                    "0x" + block.receipt.transaction.hash.hex(),
                )
    market.check_contract()
    for post_id, post in ledger.posts.items():
        assert market.entry(post_id) == (post.author, post.price)
    for (holder, post_id), holding in ledger.holdings.items():
        assert market.balance(holder, post_id) == holding.balance
    return ledger


def _known_logs(market: Market, receipt: Receipt) -> Iterator[tuple[int, Any]]:
    """The logs of the contracts that the service knows, with their indexes."""
    for index, log in enumerate(receipt.logs):
        known = market.adapter if log.topics[0] == BOUGHT else market.address.lower()
        if log.address == known:
            yield index, log


def _credit(ledger: Ledger, log: Any, place: int, at: int) -> None:
    """Apply a purchase, which the adapter reports after it has passed on the token."""
    post_id, payer, receiver = int.from_bytes(log.topics[1]), *map(_address, log.topics[2:])
    purchase = ledger.purchases[place - 2]
    assert purchase.post_id == post_id
    purchase.buyer = payer
    if payer == receiver:
        balance = ledger.holdings[receiver, post_id].balance
        ledger.holdings[receiver, post_id] = Holding(balance, place - 1, at, purchase.price)
    else:
        purchase.receiver = receiver


def _move(ledger: Ledger, log: Any, place: int, at: int) -> tuple[str, int] | None:
    """Apply a transfer, and return the holder and post of a minted token, if any."""
    sender, receiver = _address(log.topics[1]), _address(log.topics[2])
    post_id = int.from_bytes(log.topics[3])
    _, amount = decode(["address", "uint256"], log.data)
    if amount and sender != receiver:
        if sender != ZERO:
            ledger.holdings[sender, post_id].balance -= amount
            if not ledger.holdings[sender, post_id].balance:
                given = ledger.holdings.pop((sender, post_id))
                if given.paid is not None and receiver != ZERO:
                    ledger.given_away[sender, post_id] = given
        if receiver != ZERO:
            given = ledger.given_away.pop((receiver, post_id), None)
            new = Holding(0, place, at) if given is None or sender == ZERO else given
            ledger.holdings.setdefault((receiver, post_id), new).balance += amount
    return (receiver, post_id) if sender == ZERO else None


def _address(topic: bytes) -> str:
    return "0x" + topic[12:].hex()
