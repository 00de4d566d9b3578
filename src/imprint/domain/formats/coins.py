"""Amounts of the chain's coin, as people write them; the pages, the feeds and the client do."""

DECIMALS = 18
"""Digits of a coin after the point."""


def format_coin(wei: int) -> str:
    """An amount in coins, exactly: `0.01`."""
    whole, rest = divmod(wei, 10**DECIMALS)
    digits = f"{rest:0{DECIMALS}d}".rstrip("0")
    return f"{whole}.{digits}" if digits else f"{whole}"


def format_ether(wei: int) -> str:
    """An amount with the name of the coin: `0.01 ETH`."""
    return f"{format_coin(wei)} ETH"
