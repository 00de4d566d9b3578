"""Sales tables contain no spreadsheet formulas, and show amounts in wei and in coins."""

import csv
import io
from datetime import UTC, datetime

import pytest

from imprint.domain.formats.addresses import Address
from imprint.domain.posts.indexed_posts import Sale
from imprint.domain.posts.posts import BlockRef
from imprint.web.api.post_records import sales_table


def row_of(title: str | None, price: int = 7) -> dict[str, str]:
    block = BlockRef(1, f"0x{1:064x}")
    at = datetime(2026, 11, 18, tzinfo=UTC)
    sale = Sale(1, 5, Address(f"0x{2:040x}"), price, at, block, f"0x{3:064x}", title)
    [row] = csv.DictReader(io.StringIO(sales_table([sale], "XDAI").decode(), newline=""))
    return row


@pytest.mark.parametrize(
    ("title", "cell"),
    [
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("\n=1", "'\n=1"),
        ('He said "a, b"\nand left', 'He said "a, b"\nand left'),
        (None, ""),
    ],
)
def test_a_title_in_a_sales_table_is_never_a_spreadsheet_formula(
    title: str | None, cell: str
) -> None:
    assert row_of(title)["title"] == cell


def test_a_sales_table_shows_amounts_in_wei_and_in_coins() -> None:
    row = row_of("Sold", 5 * 10**16)
    assert (row["price"], row["amount"], row["coin"]) == ("50000000000000000", "0.05", "XDAI")
