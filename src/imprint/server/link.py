"""The link between a worker and its supervisor: messages over a socket pair.

The supervisor sends single bytes. A worker sends messages consisting of a length, a type
and a body.
"""

import asyncio
import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""Maximum message length in bytes. Workers that send longer messages are ignored."""

SEND_SECONDS = 2
"""Seconds that a worker waits for an unresponsive supervisor before it stops sending."""

_HEAD = struct.Struct("!Ic")

_SERVE = b"s"
_SAMPLE = b"m"
_LEAVE = b"l"


class Kind(Enum):
    """The type of a message that a worker sends."""

    WAITING = b"w"
    """The worker serves only readiness checks, because it is waiting for a dependency."""
    PREPARED = b"p"
    """The worker has opened everything and waits for permission to serve."""
    READY = b"r"
    """The worker is serving requests."""
    FAILED = b"f"
    """The worker is about to exit. The body gives the reason."""
    SAMPLES = b"m"
    """The body contains the values of the worker's metrics."""


class Link:
    """The worker's end of a link.

    A worker that `has_peers` need not accept connections before it is ready, because other workers
    serve. A worker that `is_gated` must not accept connections before the supervisor permits it.
    Any other worker `serves_early`, to report what it is waiting for. `collect` returns the values
    of the worker's metrics. A worker that `is_replaced` stops while others continue to serve.
    """

    def __init__(
        self,
        supervisor: socket.socket,
        *,
        has_peers: bool = False,
        is_gated: bool = False,
        collect: Callable[[], bytes] = bytes,
    ) -> None:
        self.serves_early = not has_peers and not is_gated
        self.is_replaced = False
        self._supervisor = supervisor
        self._is_gated = is_gated
        self._collect = collect
        self._sending = threading.Lock()
        self._permitted = threading.Event()
        self._on_permitted: Callable[[], object] = lambda: None
        # A supervisor that is suspended must not block its workers.
        timeout = struct.pack("ll", SEND_SECONDS, 0)
        supervisor.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeout)

    def report_ready(self) -> None:
        """Tell the supervisor that this worker is serving."""
        self._send(Kind.READY)

    def report_waiting(self) -> None:
        """Tell the supervisor that this worker is waiting for a dependency."""
        self._send(Kind.WAITING)

    def report_failure(self, reason: str) -> None:
        """Tell the supervisor why this worker is about to exit."""
        self._send(Kind.FAILED, reason.encode())

    def report_samples(self) -> None:
        """Send the values of all metrics to the supervisor. May also be called unprompted."""
        self._send(Kind.SAMPLES, self._collect())

    async def wait_for_permission(self) -> None:
        """Report that this worker is prepared, and wait until it may serve."""
        if not self._is_gated:
            return
        loop, granted = asyncio.get_running_loop(), asyncio.Event()
        self._on_permitted = lambda: loop.call_soon_threadsafe(granted.set)
        self._send(Kind.PREPARED)
        if not self._permitted.is_set():
            await granted.wait()

    def watch(self, stop_seconds: float) -> None:
        """Listen to the supervisor. When it exits, stop this process as SIGTERM would.

        Runs in a thread, because a process that is starting or hanging has no event loop that could
        listen.
        """
        watching = threading.Thread(target=self._stop_at_end, args=(stop_seconds,), daemon=True)
        watching.start()

    def _stop_at_end(self, stop_seconds: float) -> None:
        self.listen()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(stop_seconds)
        os._exit(1)

    def listen(self) -> None:
        """Carry out the supervisor's commands until it exits."""
        with suppress(OSError):
            while received := self._supervisor.recv(64):
                if _SERVE in received:
                    self._permitted.set()
                    # The loop may have been closed by now.
                    with suppress(RuntimeError):
                        self._on_permitted()
                if _SAMPLE in received:
                    self.report_samples()
                if _LEAVE in received:
                    self.is_replaced = True
                    os.kill(os.getpid(), signal.SIGTERM)

    def _send(self, kind: Kind, body: bytes = b"") -> None:
        with self._sending:
            try:
                self._supervisor.sendall(_HEAD.pack(len(body), kind.value) + body)
            except OSError:
                # Part of the message may have been sent, so nothing after it could be parsed.
                with suppress(OSError):
                    self._supervisor.shutdown(socket.SHUT_WR)


@dataclass(slots=True, eq=False)
class WorkerLink:
    """The supervisor's end of a link."""

    worker: socket.socket
    is_open: bool = True
    _received: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self.worker.setblocking(False)

    def fileno(self) -> int:
        """The file descriptor, for `select`."""
        return self.worker.fileno()

    def permit(self) -> None:
        """Permit the worker to serve."""
        self._send(_SERVE)

    def request_samples(self) -> None:
        """Request the values of the worker's metrics."""
        self._send(_SAMPLE)

    def dismiss(self) -> bool:
        """Tell the worker to stop because other workers have taken over.

        Returns False if the message cannot be sent.
        """
        return self._send(_LEAVE)

    def read(self) -> Iterator[tuple[Kind, bytes]]:
        """Return the messages that have arrived."""
        self._receive()
        while len(self._received) >= _HEAD.size:
            size, kind = _HEAD.unpack_from(self._received)
            if size > MAX_MESSAGE_BYTES:
                self._received.clear()
                self.is_open = False
                return
            end = _HEAD.size + size
            if len(self._received) < end:
                return
            body = bytes(self._received[_HEAD.size : end])
            del self._received[:end]
            yield Kind(kind), body

    def close(self) -> None:
        """Close the link. The worker stops if it is still running."""
        self.is_open = False
        self.worker.close()

    def _receive(self) -> None:
        try:
            while self.is_open:
                received = self.worker.recv(256 * 1024)
                self.is_open = bool(received)
                self._received += received
        except BlockingIOError:
            pass
        except OSError:
            self.is_open = False

    def _send(self, order: bytes) -> bool:
        try:
            self.worker.send(order)
        except OSError:
            return False
        return True


def open_link() -> tuple[WorkerLink, socket.socket]:
    """Create a link, and return the supervisor's end and the socket for the worker's end."""
    own, theirs = socket.socketpair()
    return WorkerLink(own), theirs
