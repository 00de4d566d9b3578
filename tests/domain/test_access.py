"""Who may read a post: every combination of author, price, reader and balance."""

from itertools import product

import pytest

from imprint.domain.access import Access, decide_access
from imprint.domain.formats.addresses import ZERO_ADDRESS, Address
from imprint.domain.posts.posts import PostEntry, PostFacts

AUTHOR, READER = Address("0x" + "a1" * 20), Address("0x" + "b2" * 20)
AUTHORS = (AUTHOR, ZERO_ADDRESS)
PRICES = (0, 1, 2**256 - 1)
READERS = (None, READER, AUTHOR, ZERO_ADDRESS)
BALANCES = (0, 1, 2**256 - 1)


def decide(author: Address, price: int, reader: Address | None, balance: int) -> Access:
    return decide_access(PostFacts(PostEntry(author, None, price), balance), reader)


@pytest.mark.parametrize(
    ("price", "reader", "balance", "access"),
    [
        (0, None, 0, Access.FREE),
        (0, READER, 0, Access.FREE),
        (0, AUTHOR, 1, Access.FREE),
        (5, None, 0, Access.DENIED),
        (5, None, 1, Access.DENIED),
        (5, READER, 0, Access.DENIED),
        (5, READER, 1, Access.HOLDER),
        (5, READER, 2**256 - 1, Access.HOLDER),
        (5, AUTHOR, 0, Access.AUTHOR),
        (5, AUTHOR, 1, Access.AUTHOR),
        (5, ZERO_ADDRESS, 0, Access.DENIED),
    ],
)
def test_access_depends_on_price_author_and_balance(
    price: int, reader: Address | None, balance: int, access: Access
) -> None:
    assert decide(AUTHOR, price, reader, balance) is access


@pytest.mark.parametrize(("price", "reader", "balance"), list(product(PRICES, READERS, BALANCES)))
def test_access_to_a_missing_post_is_denied(
    price: int, reader: Address | None, balance: int
) -> None:
    assert decide(ZERO_ADDRESS, price, reader, balance) is Access.DENIED


@pytest.mark.parametrize(
    ("author", "price", "reader", "balance"), list(product(AUTHORS, PRICES, READERS, BALANCES))
)
def test_access_is_granted_only_for_free_posts_authors_and_holders(
    author: Address, price: int, reader: Address | None, balance: int
) -> None:
    granted = author != ZERO_ADDRESS and (
        price == 0 or (reader is not None and (reader == author or balance > 0))
    )
    assert (decide(author, price, reader, balance) is not Access.DENIED) is granted
