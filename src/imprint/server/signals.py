"""Signals of the supervisor: they arrive on a socket, so that none interrupts a decision."""

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)
"""The signals that wake the supervisor."""


@contextmanager
def signal_socket() -> Iterator[socket.socket]:
    """A socket on which the numbers of signals arrive, until the end of the block."""
    reader, writer = socket.socketpair()
    with reader, writer:
        writer.setblocking(False)
        signal.set_wakeup_fd(writer.fileno())
        previous = {each: signal.signal(each, _ignore) for each in SIGNALS}
        try:
            yield reader
        finally:
            for each, handler in previous.items():
                signal.signal(each, handler)
            signal.set_wakeup_fd(-1)


def _ignore(number: int, frame: FrameType | None) -> None:
    """Do nothing: Python writes to the socket only for signals that have a handler."""


def reset_signals() -> None:
    """Undo the supervisor's handlers in a worker. SIGHUP is ignored: it is for the supervisor."""
    signal.set_wakeup_fd(-1)
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN if each == signal.SIGHUP else signal.SIG_DFL)
