"""Load generator: sends requests over persistent connections and times the responses."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

CONNECTIONS = 16
"""Number of concurrent connections, each with one request in flight."""


@dataclass(slots=True)
class Outcome:
    """Response statuses and latencies in seconds."""

    statuses: Counter[int] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds

    def percentile(self, share: float) -> float:
        """Return a latency percentile in milliseconds."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000


class _Connection(asyncio.Protocol):
    """Sends the next request as soon as the previous response has arrived."""

    def __init__(self, requests: Iterator[bytes], outcome: Outcome, done: asyncio.Future[None]):
        self._requests = requests
        self._outcome = outcome
        self._done = done
        self._data = bytearray()
        self._began = 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._next()

    def data_received(self, data: bytes) -> None:
        self._data += data
        end = self._data.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._data[:end]).lower()
        place = head.find(b"content-length:")
        length = int(head[place + 15 :].split(b"\r\n", 1)[0]) if place >= 0 else 0
        if len(self._data) < end + 4 + length:
            return
        self._outcome.latencies.append(time.perf_counter() - self._began)
        self._outcome.statuses[int(self._data[9:12])] += 1
        self._data.clear()
        self._next()

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(error or ConnectionError("The service closed a connection."))

    def _next(self) -> None:
        assert self._transport is not None
        request = next(self._requests, None)
        if request is None:
            if not self._done.done():
                self._done.set_result(None)
            self._transport.close()
            return
        self._began = time.perf_counter()
        self._transport.write(request)


async def send_load(port: int, requests: list[bytes], connections: int = CONNECTIONS) -> Outcome:
    """Send all requests to a local port and time the responses."""
    loop = asyncio.get_running_loop()
    outcome, waiting = Outcome(), iter(requests)
    done = [loop.create_future() for _ in range(min(connections, len(requests)))]
    began = time.perf_counter()
    for each in done:
        make = partial(_Connection, waiting, outcome, each)
        await loop.create_connection(make, "127.0.0.1", port)
    await asyncio.gather(*done)
    outcome.seconds = time.perf_counter() - began
    return outcome
