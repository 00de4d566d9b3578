"""Ports: what the services need from outside; the docstrings are the contract of every adapter.

Every method may raise `Unavailable` with the code of its dependency, and nothing else that its
docstring does not name: adapters translate the errors of their vendors once.
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
"""The clock of this machine, which an operator or a time server may set."""

Monotonic = Callable[[], float]
"""Returns seconds since some moment; they only rise, whatever a clock is set to."""

monotonic: Monotonic = partial(
    time.clock_gettime, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
)
"""Seconds since this machine was started, the same in all its processes, sleep included."""

Progress = Callable[[int, int], None]
"""Called with how much is done, and of how much."""

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
