"""Coin amounts in decimal notation."""

import pytest

from imprint.domain.formats.coins import format_amount, format_coin


@pytest.mark.parametrize(
    ("wei", "text"),
    [
        (0, "0"),
        (1, "0.000000000000000001"),
        (10**16, "0.01"),
        (10**18, "1"),
        (25 * 10**17, "2.5"),
        (10**20, "100"),
        (2**256 - 1, f"{(2**256 - 1) // 10**18}.584007913129639935"),
    ],
)
def test_an_amount_is_formatted_exactly(wei: int, text: str) -> None:
    assert format_coin(wei) == text
    assert format_amount(wei, "ETH") == f"{text} ETH"
