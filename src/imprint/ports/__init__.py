"""Ports: interfaces that the services call. The docstrings are the contract for adapters.

Every method may raise `Unavailable` with the code of its dependency. Otherwise, it raises only the
errors named in its docstring, because adapters translate vendor errors in one place.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from imprint.ports.chain import ChainReader, MarketplaceReader, WebhookProvider
from imprint.ports.content import ContentStore, ImageRecoder

Clock = Callable[[], datetime]
"""Returns the current time in UTC."""

utc_now: Clock = partial(datetime.now, UTC)
"""The wall clock of this machine, which an operator or a time server may change."""

Monotonic = Callable[[], float]
"""Returns monotonic seconds, which never decrease even if the wall clock is set back."""

monotonic: Monotonic = partial(
    time.clock_gettime, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
)
"""Seconds since this machine booted, including sleep. Equal for all of its processes."""

Progress = Callable[[int, int], None]
"""Progress callback, called with the amount done and the total."""

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
