"""Amounts of the chain's coin in decimal notation."""

import re

from imprint.domain.formats import coins
from imprint.domain.formats.coins import DECIMALS
from imprint.interface.values import Wei

_AMOUNT = re.compile(rf"([0-9]+)?(?:\.([0-9]{{1,{DECIMALS}}}))?", re.ASCII)
_LIMIT = 2**256


def format_coin(wei: int | str) -> str:
    """Write an amount of wei in coins, exactly.

    >>> format_coin(10**16)
    '0.01'
    """
    amount = int(wei)
    if amount < 0:
        raise ValueError("An amount is not negative.")
    return coins.format_coin(amount)


def parse_coin(text: str) -> Wei:
    """Read an amount of coins, exactly. Raises ValueError with a sentence for people.

    >>> parse_coin("0.01")
    10000000000000000
    """
    found = _AMOUNT.fullmatch(text.strip())
    if found is None or found[0] == "":
        raise ValueError(f"Write the amount as a number with at most {DECIMALS} decimals: 0.01")
    whole, digits = found[1] or "0", (found[2] or "").ljust(DECIMALS, "0")
    amount = Wei(whole + digits)
    if amount >= _LIMIT:
        raise ValueError("The amount is larger than the chain can count.")
    return amount
