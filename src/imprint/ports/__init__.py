"""What the flows need from outside; the docstrings are the contract that every adapter keeps.

Every method may raise `Unavailable` with the code of its dependency, and nothing else that is
not named here: adapters translate what their vendors raise, once. What requests need is named
here; `archives`, `inventory` and `sealing` hold what only few flows know of.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from imprint.ports.catalog import Catalog
from imprint.ports.chain import ChainReader, MarketplaceReader, WebhookProvider
from imprint.ports.content import ContentStore, ImageRecoder

Clock = Callable[[], datetime]
"""Tells the time, in UTC."""

utc_now: Clock = partial(datetime.now, UTC)
"""The clock of this machine."""

Progress = Callable[[int, int], None]
"""Hears how much is done, and of how much."""

__all__ = [
    "Catalog",
    "ChainReader",
    "Clock",
    "ContentStore",
    "WebhookProvider",
    "ImageRecoder",
    "MarketplaceReader",
    "Progress",
    "utc_now",
]
