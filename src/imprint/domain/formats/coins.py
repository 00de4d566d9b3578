"""Amounts of the chain's coin in decimal notation, for pages, feeds and the client."""

DECIMALS = 18
"""Number of decimal places in an amount of coins."""


def format_coin(wei: int) -> str:
    """Format an exact amount in coins, such as `0.01`."""
    whole, rest = divmod(wei, 10**DECIMALS)
    digits = f"{rest:0{DECIMALS}d}".rstrip("0")
    return f"{whole}.{digits}" if digits else f"{whole}"


def format_amount(wei: int, symbol: str) -> str:
    """Format an amount with the symbol of the coin, such as `0.01 ETH`."""
    return f"{format_coin(wei)} {symbol}"
