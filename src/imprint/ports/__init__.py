"""Ports: what the services need from outside; the docstrings are the contract of every adapter.

Every method may raise `Unavailable` with the code of its dependency. It raises nothing else that
its docstring does not name: adapters translate vendor errors once.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from imprint.ports.chain import ChainReader, MarketplaceReader, WebhookProvider
from imprint.ports.content import ContentStore, ImageRecoder

Clock = Callable[[], datetime]
"""Returns the time, in UTC."""

utc_now: Clock = partial(datetime.now, UTC)
"""The wall clock of this machine, which an operator or a time server may set."""

Monotonic = Callable[[], float]
"""Returns monotonic seconds: they only rise, even if the wall clock is set back."""

monotonic: Monotonic = partial(
    time.clock_gettime, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
)
"""Seconds since this machine booted, including sleep; the same in all its processes."""

Progress = Callable[[int, int], None]
"""Called with the amount done and the total."""

__all__ = [
    "ChainReader",
    "Clock",
    "ContentStore",
    "ImageRecoder",
    "MarketplaceReader",
    "Monotonic",
    "Progress",
    "WebhookProvider",
    "monotonic",
    "utc_now",
]
