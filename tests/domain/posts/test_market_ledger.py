"""How events change the rows of the ledger, in error-prone cases."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from imprint.domain.formats.addresses import ZERO_ADDRESS, Address
from imprint.domain.posts.market_events import (
    Origin,
    PostPublished,
    PostPurchased,
    PriceChanged,
    TokensMoved,
    position_of,
)
from imprint.domain.posts.market_ledger import (
    AccountRow,
    DayRow,
    Ledger,
    PostRow,
    TotalsRow,
    day_of,
)
from imprint.domain.posts.posts import BlockRef

AUTHOR, READER, OTHER = (Address("0x" + digits * 20) for digits in ("a1", "b2", "c3"))
START = datetime(2026, 1, 1, tzinfo=UTC)


def at(number: int, tx_hash: str | None = None) -> Origin:
    moment = START + timedelta(days=number)
    return Origin(
        position_of(number, 0), BlockRef(number, "0x00"), tx_hash or f"0x{number}", moment
    )


def publish(number: int, post_id: int = 1, price: int = 5) -> PostPublished:
    return PostPublished(at(number), post_id, AUTHOR, b"cid", None, b"thumb", b"title", price)


def mint(number: int, receiver: Address, amount: int = 1) -> TokensMoved:
    return TokensMoved(at(number), 1, ZERO_ADDRESS, receiver, amount)


def move(number: int, sender: Address, receiver: Address, amount: int = 1) -> TokensMoved:
    return TokensMoved(at(number), 1, sender, receiver, amount)


@pytest.fixture
def ledger() -> Ledger:
    ledger = Ledger()
    ledger.apply([publish(0)])
    return ledger


def test_posts_are_counted_per_author_per_day_and_in_total(ledger):
    ledger.apply([publish(0, 2, price=7), publish(3, 3, price=11)])
    account = ledger.accounts.get(AUTHOR)
    assert (account.posts, account.worth) == (3, 23)
    assert (account.first_post_at, account.last_post_at) == (at(0).at, at(3).at)
    assert ledger.totals.get(1) == TotalsRow(posts=3, authors=1, users=1, worth=23)
    assert [ledger.days.get(day_of(at(day).at)) for day in (0, 3)] == [DayRow(2), DayRow(1)]
    assert [event.post_id for event in ledger.published] == [1, 2, 3]


def test_purchases_are_counted_per_post_per_author_per_reader_per_day_and_in_total(ledger):
    ledger.apply([PostPurchased(at(1), 1, READER, 5), PostPurchased(at(2), 1, READER, 7)])
    assert ledger.posts.get(1) == PostRow(at(0).place, AUTHOR, 5, sales=2, volume=12)
    author = ledger.accounts.get(AUTHOR)
    assert (author.sales, author.volume, author.readers) == (2, 12, 0)
    assert ledger.accounts.get(READER) == AccountRow(purchases=2, spent=12)
    assert ledger.totals.get(1) == TotalsRow(
        posts=1, authors=1, users=2, sales=2, volume=12, worth=5
    )
    days = [ledger.days.get(day_of(at(day).at)) for day in (1, 2)]
    assert days == [DayRow(0, 1, 5), DayRow(0, 1, 7)]
    assert [author for _, author in ledger.purchased] == [AUTHOR, AUTHOR]


def test_a_reader_of_two_posts_of_one_author_is_one_reader(ledger):
    ledger.apply([publish(0, 2), mint(1, READER), replace(mint(2, READER), post_id=2)])
    assert ledger.accounts.get(AUTHOR).readers == 1
    assert ledger.accounts.get(READER).held == 2
    assert ledger.totals.get(1).readers == 1
    ledger.apply([move(3, READER, ZERO_ADDRESS)])
    assert ledger.accounts.get(AUTHOR).readers == 1
    ledger.apply([replace(move(4, READER, ZERO_ADDRESS), post_id=2)])
    assert ledger.accounts.get(AUTHOR).readers == 0
    assert ledger.author_readers.get((AUTHOR, READER)) is None
    assert ledger.totals.get(1).readers == 0


def test_a_token_minted_before_its_post_is_created_is_counted(ledger):
    early = Ledger()
    early.apply([mint(0, READER), publish(0)])
    post = early.posts.get(1)
    assert post is not None
    assert post.holders == 1


def test_a_holder_who_transfers_every_token_is_no_longer_a_reader(ledger):
    ledger.apply([mint(1, READER, 2), move(2, READER, OTHER), move(3, READER, OTHER)])
    assert ledger.holdings.get((READER, 1)) is None
    assert ledger.accounts.get(AUTHOR).readers == 1
    assert ledger.accounts.get(READER) == AccountRow()
    assert ledger.totals.get(1) == TotalsRow(posts=1, authors=1, readers=1, users=2, worth=5)


@pytest.mark.parametrize("event", [move(2, READER, READER, 3), move(2, READER, OTHER, 0)])
def test_a_transfer_to_oneself_or_of_zero_tokens_changes_nothing(ledger, event):
    ledger.apply([mint(1, READER)])
    before = ledger.holdings.get((READER, 1))
    ledger.apply([event])
    assert ledger.holdings.get((READER, 1)) == before
    assert ledger.holdings.get((OTHER, 1)) is None


@pytest.mark.parametrize(
    "event", [move(3, ZERO_ADDRESS, READER, 0), move(3, READER, ZERO_ADDRESS, 0)]
)
def test_a_mint_or_burn_of_zero_tokens_keeps_the_price_of_a_token_that_was_given_away(
    ledger, event
):
    ledger.apply([mint(1, READER), PostPurchased(at(1), 1, READER, 5), move(2, READER, OTHER)])
    ledger.apply([event, move(4, OTHER, READER)])
    assert ledger.holdings.get((READER, 1)).paid == 5


def test_a_burnt_token_has_no_holder(ledger):
    ledger.apply([mint(1, READER), move(2, READER, ZERO_ADDRESS)])
    assert ledger.posts.get(1).holders == 0


def test_a_mint_covers_an_earlier_transfer_of_unknown_tokens(ledger):
    ledger.apply([move(1, READER, OTHER), mint(2, READER)])
    assert ledger.holdings.get((READER, 1)) is None
    assert ledger.holdings.get((OTHER, 1)).balance == 1
    assert ledger.posts.get(1).holders == 1


def test_a_second_transfer_of_unknown_tokens_does_not_change_the_arrival_time(ledger):
    ledger.apply([move(1, READER, OTHER), move(2, READER, OTHER)])
    holding = ledger.holdings.get((READER, 1))
    assert (holding.balance, holding.arrived) == (-2, at(1).place)


def test_buying_again_after_selling_restarts_the_holding(ledger):
    first = [mint(1, READER), PostPurchased(at(1), 1, READER, 5), move(2, READER, OTHER)]
    ledger.apply([*first, PostPurchased(at(3), 1, READER, 7), mint(3, READER)])
    holding = ledger.holdings.get((READER, 1))
    assert (holding.paid, holding.arrived) == (7, at(3).place)
    assert ledger.holdings.get((OTHER, 1)).paid is None


def test_buying_a_post_after_receiving_it_as_a_gift_restarts_the_holding(ledger):
    ledger.apply([mint(1, READER), mint(2, READER), PostPurchased(at(2), 1, READER, 7)])
    holding = ledger.holdings.get((READER, 1))
    assert (holding.balance, holding.arrived, holding.paid) == (2, at(2).place, 7)


@pytest.mark.parametrize(("payer", "paid"), [(READER, 5), (OTHER, None)])
def test_an_adapter_purchase_has_a_price_only_if_the_holder_paid_it(ledger, payer, paid):
    adapter = Address("0x" + "ad" * 20)
    steps = [mint(1, adapter), PostPurchased(at(1), 1, payer, 5, adapter, READER)]
    passed_on = move(2, adapter, READER)
    ledger.apply([*steps, replace(passed_on, origin=replace(passed_on.origin, tx_hash="0x1"))])
    assert ledger.holdings.get((READER, 1)).paid == paid
    assert ledger.holdings.get((adapter, 1)) is None
    assert (ledger.accounts.get(payer).purchases, ledger.posts.get(1).sales) == (1, 1)
    assert ledger.accounts.get(adapter) == AccountRow()
    assert ledger.totals.get(1).readers == 1


def test_the_price_of_a_gift_is_not_the_price_of_another_token_of_its_buyer(ledger):
    adapter = Address("0x" + "ad" * 20)
    gift = PostPurchased(at(1), 1, OTHER, 5, adapter, READER)
    passed_on = move(2, adapter, OTHER)
    passed_on = replace(passed_on, origin=replace(passed_on.origin, tx_hash="0x1"))
    ledger.apply([mint(1, adapter, 2), gift, passed_on])
    assert ledger.holdings.get((OTHER, 1)).paid is None


def test_a_bought_token_that_is_given_away_and_returned_keeps_its_price(ledger):
    ledger.apply([mint(1, READER), PostPurchased(at(1), 1, READER, 5)])
    bought = ledger.holdings.get((READER, 1))
    ledger.apply([move(2, READER, OTHER)])
    assert ledger.holdings.get((READER, 1)) == replace(bought, balance=0)
    assert ledger.accounts.get(READER).held == 0
    ledger.apply([move(3, OTHER, READER)])
    assert ledger.holdings.get((READER, 1)) == bought
    assert ledger.holdings.get((OTHER, 1)) is None
    assert ledger.accounts.get(READER).held == 1
    assert ledger.posts.get(1).holders == 1


def test_a_token_minted_after_a_bought_one_was_given_away_does_not_have_its_price(ledger):
    bought = [mint(1, READER), PostPurchased(at(1), 1, READER, 5)]
    ledger.apply([*bought, move(2, READER, OTHER), mint(3, READER)])
    holding = ledger.holdings.get((READER, 1))
    assert (holding.arrived, holding.paid) == (at(3).place, None)


def test_a_gift_that_is_given_away_and_returned_gets_a_new_arrival_time(ledger):
    ledger.apply([mint(1, READER), move(2, READER, OTHER), move(3, OTHER, READER)])
    holding = ledger.holdings.get((READER, 1))
    assert (holding.arrived, holding.paid) == (at(3).place, None)


def test_a_second_token_of_the_same_post_does_not_change_the_arrival_time(ledger):
    ledger.apply([mint(1, READER), mint(2, READER)])
    holding = ledger.holdings.get((READER, 1))
    assert (holding.balance, holding.arrived) == (2, at(1).place)


def test_total_worth_is_the_sum_of_initial_prices(ledger):
    ledger.apply([PriceChanged(at(1), 1, 100)])
    assert ledger.posts.get(1).price == 100
    assert ledger.totals.get(1).worth == 5


def test_an_author_earns_the_amounts_paid_regardless_of_the_current_price(ledger):
    bought = [PostPurchased(at(1), 1, READER, 5), PostPurchased(at(3), 1, OTHER, 7)]
    ledger.apply([bought[0], PriceChanged(at(2), 1, 100), bought[1]])
    account, post = ledger.accounts.get(AUTHOR), ledger.posts.get(1)
    assert (account.sales, account.volume) == (post.sales, post.volume) == (2, 12)


def test_a_purchase_of_an_unknown_post_counts_towards_the_volume(ledger):
    ledger.apply([PostPurchased(at(1), 77, READER, 9)])
    assert ledger.totals.get(1).volume == 9
    assert ledger.accounts.get(READER).spent == 9
    assert ledger.purchased[-1][1] is None


def test_an_event_about_an_unknown_post_changes_no_post(ledger):
    unknown = replace(mint(1, READER), post_id=77)
    ledger.apply([PriceChanged(at(1), 77, 9), unknown])
    assert ledger.posts.get(77) is None
    assert ledger.price_changes[-1].post_id == 77
    assert ledger.accounts.get(READER).held == 1
    assert ledger.totals.get(1).readers == 1


def test_a_post_id_belongs_to_the_first_post_that_has_it(ledger):
    ledger.apply([publish(1, price=99)])
    assert ledger.posts.get(1) == PostRow(at(0).place, AUTHOR, 5)
    assert ledger.totals.get(1).posts == 1


def test_take_before_returns_the_old_rows_once(ledger):
    ledger.posts.take_before()
    ledger.apply([PriceChanged(at(1), 1, 6), PriceChanged(at(2), 1, 7)])
    assert ledger.posts.take_before() == {1: PostRow(at(0).place, AUTHOR, 5)}
    assert ledger.posts.take_before() == {}


def test_a_gift_in_the_same_transaction_as_a_purchase_is_not_counted_as_bought(ledger):
    def in_one(index: int) -> Origin:
        return Origin(position_of(1, index), BlockRef(1, "0x00"), "0x1", START)

    ledger.apply(
        [
            TokensMoved(in_one(0), 1, ZERO_ADDRESS, READER, 1),
            PostPurchased(in_one(1), 1, READER, 5),
            TokensMoved(in_one(2), 1, ZERO_ADDRESS, READER, 1),
        ]
    )
    bought = ledger.holdings.get((READER, 1))
    assert (bought.balance, bought.arrived, bought.paid) == (2, position_of(1, 0), 5)
    ledger.apply(
        [
            TokensMoved(in_one(3), 1, READER, ZERO_ADDRESS, 2),
            TokensMoved(in_one(4), 1, ZERO_ADDRESS, READER, 1),
        ]
    )
    assert ledger.holdings.get((READER, 1)).paid is None


@pytest.mark.parametrize(
    ("moment", "day"),
    [(datetime(1970, 1, 1, 23, 59, 59, tzinfo=UTC), 0), (datetime(1970, 1, 2, tzinfo=UTC), 1)],
)
def test_a_day_begins_at_midnight_in_utc(moment, day):
    assert day_of(moment) == day
