"""Make `time.sleep` work under libfaketime, where it otherwise fails with EINVAL.

Python runs this module at startup if its folder is in PYTHONPATH.
"""

import select
import time
from typing import SupportsIndex


def sleep(seconds: float | SupportsIndex, /) -> None:
    """Sleep like `time.sleep`."""
    select.select([], [], [], float(seconds))


time.sleep = sleep
