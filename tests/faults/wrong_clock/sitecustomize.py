"""Lets processes with another clock sleep: with libfaketime, `time.sleep` fails with EINVAL.

Python runs this module at its start if its folder is in PYTHONPATH.
"""

import select
import time
from typing import SupportsIndex


def sleep(seconds: float | SupportsIndex, /) -> None:
    """Sleep as `time.sleep` does."""
    select.select([], [], [], float(seconds))


time.sleep = sleep
