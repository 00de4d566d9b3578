"""The marketplace ledger: how each event changes posts, holdings, accounts and totals.

The ledger works on the rows that its caller has loaded for the events. It records the changed rows
with their previous values.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from typing import Generic, TypeVar

from imprint.domain.formats.addresses import ZERO_ADDRESS, Address
from imprint.domain.posts.market_events import (
    MarketEvent,
    PostPublished,
    PostPurchased,
    PriceChanged,
    TokensMoved,
)

K = TypeVar("K")
R = TypeVar("R")

HoldingKey = tuple[Address, int]
"""The key of a holding: a holder and a post ID."""

ReaderKey = tuple[Address, Address]
"""The key of a reader row: an author and a reader."""

SECONDS_PER_DAY = 86_400


@dataclass(frozen=True, slots=True)
class PostRow:
    """A post's author, and the fields that change after publication."""

    place: int
    author: Address
    price: int
    sales: int = 0
    volume: int = 0
    holders: int = 0


@dataclass(frozen=True, slots=True)
class HoldingRow:
    """The number of a post's tokens that an address holds.

    `arrived` is the position of the transfer that started the holding. `paid` is None
    unless the token was bought. When a bought token is given away, the row stays with a
    balance of zero, so that `paid` applies again if the token returns. The balance is
    negative if the address sent tokens that were minted before the first indexed block.
    """

    balance: int
    arrived: int
    arrived_at: datetime
    paid: int | None


@dataclass(frozen=True, slots=True)
class AccountRow:
    """The activity of an address as an author and as a reader."""

    posts: int = 0
    first_post_at: datetime | None = None
    last_post_at: datetime | None = None
    sales: int = 0
    volume: int = 0
    worth: int = 0
    readers: int = 0
    purchases: int = 0
    spent: int = 0
    held: int = 0

    @property
    def is_user(self) -> bool:
        return bool(self.posts or self.purchases or self.held)


@dataclass(frozen=True, slots=True)
class DayRow:
    """The activity of one day."""

    posts: int = 0
    sales: int = 0
    volume: int = 0


@dataclass(frozen=True, slots=True)
class TotalsRow:
    """The totals of the marketplace."""

    posts: int = 0
    authors: int = 0
    readers: int = 0
    users: int = 0
    sales: int = 0
    volume: int = 0
    worth: int = 0


class Table(Generic[K, R]):
    """Loaded rows by key. A row that was not loaded counts as nonexistent."""

    def __init__(self, rows: Iterable[tuple[K, R]] = ()) -> None:
        self._rows: dict[K, R] = dict(rows)
        self._loaded: dict[K, R | None] = {}
        self._before: dict[K, R | None] = {}

    def get(self, key: K) -> R | None:
        """Return the row with this key."""
        return self._rows.get(key)

    def put(self, key: K, row: R | None) -> None:
        """Set a row. None removes it."""
        before = self._rows.get(key)
        self._loaded.setdefault(key, before)
        self._before.setdefault(key, before)
        if row is None:
            self._rows.pop(key, None)
        else:
            self._rows[key] = row

    def changes(self) -> Iterable[tuple[K, R | None, R | None]]:
        """Return every changed key with the row that was loaded and the current row."""
        for key, loaded in self._loaded.items():
            now = self._rows.get(key)
            if now != loaded:
                yield key, loaded, now

    def take_before(self) -> dict[K, R | None]:
        """Return the rows changed since the last call, with the values they had then."""
        before, self._before = self._before, {}
        return before


@dataclass(slots=True)
class Ledger:
    """Applies events to the rows of the tables. The lists collect the rows that events add."""

    posts: Table[int, PostRow] = field(default_factory=Table)
    holdings: Table[HoldingKey, HoldingRow] = field(default_factory=Table)
    accounts: Table[Address, AccountRow] = field(default_factory=Table)
    author_readers: Table[ReaderKey, int] = field(default_factory=Table)
    days: Table[int, DayRow] = field(default_factory=Table)
    totals: Table[int, TotalsRow] = field(default_factory=Table)
    published: list[PostPublished] = field(default_factory=list)
    purchased: list[tuple[PostPurchased, Address | None]] = field(default_factory=list)
    price_changes: list[PriceChanged] = field(default_factory=list)

    def apply(self, events: Sequence[MarketEvent]) -> None:
        """Apply all events of one or more whole blocks, in order."""
        for _, group in groupby(events, key=lambda event: event.origin.tx_hash):
            self._apply_transaction(list(group))

    def _apply_transaction(self, events: Sequence[MarketEvent]) -> None:
        paid = _payments(events)
        for event in events:
            # Posts come first, because a contract may mint a token before it reports the post.
            if isinstance(event, PostPublished):
                self._publish(event)
        for event in events:
            if isinstance(event, TokensMoved):
                self._move(event, paid.get(event.origin.place))
            elif isinstance(event, PostPurchased):
                self._purchase(event)
            elif isinstance(event, PriceChanged):
                self._change_price(event)

    def _publish(self, event: PostPublished) -> None:
        if self.posts.get(event.post_id) is not None:
            # No correct marketplace assigns an id twice. If one does, the first post keeps it.
            return
        self.published.append(event)
        self.posts.put(event.post_id, PostRow(event.origin.place, event.author, event.price))
        account, at = self._account(event.author), event.origin.at
        self._put_account(
            event.author,
            replace(
                account,
                posts=account.posts + 1,
                first_post_at=account.first_post_at or at,
                last_post_at=at,
                worth=account.worth + event.price,
            ),
        )
        totals = self._totals()
        self.totals.put(
            1,
            replace(
                totals,
                posts=totals.posts + 1,
                authors=totals.authors + (account.posts == 0),
                worth=totals.worth + event.price,
            ),
        )
        day, today = self._day(at)
        self.days.put(day, replace(today, posts=today.posts + 1))

    def _purchase(self, event: PostPurchased) -> None:
        post, paid = self.posts.get(event.post_id), event.price
        self.purchased.append((event, None if post is None else post.author))
        if post is not None:
            self.posts.put(
                event.post_id,
                replace(post, sales=post.sales + 1, volume=post.volume + paid),
            )
            author = self._account(post.author)
            self._put_account(
                post.author,
                replace(author, sales=author.sales + 1, volume=author.volume + paid),
            )
        buyer = self._account(event.buyer)
        self._put_account(
            event.buyer,
            replace(buyer, purchases=buyer.purchases + 1, spent=buyer.spent + paid),
        )
        totals = self._totals()
        self.totals.put(1, replace(totals, sales=totals.sales + 1, volume=totals.volume + paid))
        day, today = self._day(event.origin.at)
        self.days.put(day, replace(today, sales=today.sales + 1, volume=today.volume + paid))

    def _change_price(self, event: PriceChanged) -> None:
        self.price_changes.append(event)
        post = self.posts.get(event.post_id)
        if post is not None:
            self.posts.put(event.post_id, replace(post, price=event.price))

    def _move(self, event: TokensMoved, paid: int | None) -> None:
        if event.sender == event.receiver or not event.amount:
            return
        if event.sender != ZERO_ADDRESS:
            self._change_balance((event.sender, event.post_id), -event.amount, event, None)
        if event.receiver != ZERO_ADDRESS:
            key = (event.receiver, event.post_id)
            self._change_balance(key, event.amount, event, paid)

    def _change_balance(
        self, key: HoldingKey, amount: int, event: TokensMoved, paid: int | None
    ) -> None:
        before, origin = self.holdings.get(key), event.origin
        held = before is not None and before.balance > 0
        bought = before is not None and before.paid is not None
        # A burnt token does not return: a token minted later is a different one.
        may_return = bought and ZERO_ADDRESS not in (event.sender, event.receiver)
        balance = amount + (before.balance if before is not None else 0)
        if not balance and not may_return:
            self.holdings.put(key, None)
        elif before is None or (amount > 0 and (not (held or may_return) or paid is not None)):
            self.holdings.put(key, HoldingRow(balance, origin.place, origin.at, paid))
        else:
            self.holdings.put(key, replace(before, balance=balance))
        if held != (balance > 0):
            self._count_holder(*key, 1 if balance > 0 else -1)

    def _count_holder(self, holder: Address, post_id: int, change: int) -> None:
        post = self.posts.get(post_id)
        if post is not None:
            self.posts.put(post_id, replace(post, holders=post.holders + change))
            self._count_reader(post.author, holder, change)
        account = self._account(holder)
        now = replace(account, held=account.held + change)
        self._put_account(holder, now)
        if (account.held > 0) != (now.held > 0):
            totals = self._totals()
            self.totals.put(1, replace(totals, readers=totals.readers + change))

    def _count_reader(self, author: Address, reader: Address, change: int) -> None:
        before = self.author_readers.get((author, reader)) or 0
        now = before + change
        self.author_readers.put((author, reader), now or None)
        if (before > 0) != (now > 0):
            account = self._account(author)
            self._put_account(author, replace(account, readers=account.readers + change))

    def _put_account(self, address: Address, row: AccountRow) -> None:
        was_user = self._account(address).is_user
        self.accounts.put(address, row)
        if was_user != row.is_user:
            totals = self._totals()
            change = 1 if row.is_user else -1
            self.totals.put(1, replace(totals, users=totals.users + change))

    def _account(self, address: Address) -> AccountRow:
        return self.accounts.get(address) or AccountRow()

    def _totals(self) -> TotalsRow:
        return self.totals.get(1) or TotalsRow()

    def _day(self, at: datetime) -> tuple[int, DayRow]:
        day = day_of(at)
        return day, self.days.get(day) or DayRow()


def _payments(events: Sequence[MarketEvent]) -> dict[int, int]:
    """Return the amount paid for each token in one transaction, by the position of its transfer.

    A purchase mints its token just before or after its event, or an adapter passes the token on to
    the buyer. All other transfers are gifts.
    """
    paid: dict[int, int] = {}
    moved: dict[tuple[Address, Address, int], int] = {}
    owed: dict[tuple[Address, Address, int], int] = {}
    for event in events:
        if isinstance(event, TokensMoved):
            key = (event.sender, event.receiver, event.post_id)
            if key in owed:
                paid[event.origin.place] = owed.pop(key)
            else:
                moved[key] = event.origin.place
        elif isinstance(event, PostPurchased) and not event.is_gift:
            key = (event.adapter or ZERO_ADDRESS, event.buyer, event.post_id)
            if key in moved:
                paid[moved.pop(key)] = event.price
            else:
                owed[key] = event.price
    return paid


def day_of(at: datetime) -> int:
    """Return the UTC day of a time, as days since 1970-01-01."""
    return int(at.timestamp()) // SECONDS_PER_DAY
