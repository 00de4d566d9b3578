"""Messages to systemd: ready, reloading, stopping, and signs of life for its watchdog.

The protocol is one datagram per message (`sd_notify(3)`), so no library is needed.
"""

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress


class ServiceNotifier:
    """Notifies the service manager about this process; does nothing if there is none."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._address = environ.get("NOTIFY_SOCKET", "")
        if self._address.startswith("@"):
            # A name in the abstract namespace of Linux.
            self._address = "\0" + self._address[1:]
        self._interval = _watchdog_interval(environ) if self._address else None
        self._next_sign = 0.0

    def ready(self, status: str) -> None:
        """The service has started, or has finished a reload."""
        self._send("READY=1", f"MAINPID={os.getpid()}", f"STATUS={status}")

    def reloading(self) -> None:
        """A reload begins; it ends with `ready`."""
        microseconds = time.monotonic_ns() // 1000
        self._send("RELOADING=1", f"MONOTONIC_USEC={microseconds}", "STATUS=reloading")

    def stopping(self) -> None:
        """The service stops."""
        self._send("STOPPING=1", "STATUS=stopping")

    @property
    def due(self) -> float | None:
        """When the watchdog expects the next notification at the latest; None without a
        watchdog."""
        return None if self._interval is None else self._next_sign

    def sign_of_life(self) -> None:
        """Notify the watchdog that this process is alive, if it is time."""
        now = time.monotonic()
        if self._interval is not None and now >= self._next_sign:
            self._next_sign = now + self._interval
            self._send("WATCHDOG=1")

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.sendto("\n".join(lines).encode(), self._address)


def _watchdog_interval(environ: Mapping[str, str]) -> float | None:
    """Seconds between two notifications: half of the watchdog's timeout."""
    microseconds, pid = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    if not microseconds.isdecimal() or pid not in ("", str(os.getpid())):
        return None
    return int(microseconds) / 2 / 1_000_000
