"""Load generators: send requests over persistent connections and time the responses.

`send_load` sends a request as soon as the previous response has arrived. `send_paced` sends each
request when it is due, however slow the responses are, as independent readers do.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

CONNECTIONS = 16
"""Number of concurrent connections, each with one request in flight."""

PACED_CONNECTIONS = 64
"""Number of connections over which paced requests are sent. If all are in use, requests wait."""

TICK_SECONDS = 0.001
"""Seconds between two looks at which requests are due."""


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


Take = Callable[["_Connection"], tuple[float, bytes] | None]
"""Returns the next request of a connection and when it began, or None if it has to wait."""


class _Connection(asyncio.Protocol):
    """Takes its next request as soon as the previous response has arrived."""

    def __init__(self, take: Take, outcome: Outcome, done: asyncio.Future[None]):
        self._take = take
        self._outcome = outcome
        self._done = done
        self._data = bytearray()
        self._began = 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.go_on()

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
        self.go_on()

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(error or ConnectionError("The service closed a connection."))

    def go_on(self) -> None:
        """Send the next request, if there is one."""
        assert self._transport is not None
        taken = self._take(self)
        if taken is not None:
            self._began, request = taken
            self._transport.write(request)

    def close(self) -> None:
        """End the connection, which has no request left."""
        assert self._transport is not None
        if not self._done.done():
            self._done.set_result(None)
        self._transport.close()


async def send_load(port: int, requests: list[bytes], connections: int = CONNECTIONS) -> Outcome:
    """Send all requests to a local port and time the responses."""
    waiting = iter(requests)

    def take(connection: _Connection) -> tuple[float, bytes] | None:
        request = next(waiting, None)
        if request is None:
            connection.close()
            return None
        return time.perf_counter(), request

    return await _send(port, take, min(connections, len(requests)))


async def send_paced(port: int, requests: Sequence[bytes], rate: float) -> Outcome:
    """Send this many requests a second, and time each response from when its request was due."""
    idle: list[_Connection] = []
    due = deque[tuple[float, bytes]]()

    def take(connection: _Connection) -> tuple[float, bytes] | None:
        if due:
            return due.popleft()
        if sending.done():
            connection.close()
        else:
            idle.append(connection)
        return None

    async def fall_due() -> None:
        began, left = time.perf_counter(), deque(requests)
        while left:
            now = time.perf_counter()
            while left and (at := began + (len(requests) - len(left)) / rate) <= now:
                due.append((at, left.popleft()))
                if idle:
                    idle.pop().go_on()
            await asyncio.sleep(TICK_SECONDS)

    def finish(_: asyncio.Future[None]) -> None:
        while idle:
            idle.pop().close()

    sending = asyncio.create_task(fall_due())
    sending.add_done_callback(finish)
    return await _send(port, take, PACED_CONNECTIONS)


async def _send(port: int, take: Take, connections: int) -> Outcome:
    loop, outcome = asyncio.get_running_loop(), Outcome()
    done = [loop.create_future() for _ in range(connections)]
    began = time.perf_counter()
    for each in done:
        make = partial(_Connection, take, outcome, each)
        await loop.create_connection(make, "127.0.0.1", port)
    await asyncio.gather(*done)
    outcome.seconds = time.perf_counter() - began
    return outcome
