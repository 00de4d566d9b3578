"""The metrics port, served by the supervisor alongside its other duties.

The server needs no event loop and no thread, so that the supervisor can fork at any time. It
responds even if no worker does, and implements only as much HTTP as a scraper needs: one request
per connection.
"""

import math
import socket
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec
from prometheus_client import REGISTRY, CollectorRegistry, Gauge, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from imprint.metrics import LEAST, SUMMED

MAX_CLIENTS = 16
"""Maximum number of open connections.

A further connection replaces the oldest connection that has sent no request, so that idle clients
cannot block scrapers.
"""

MAX_HEAD_BYTES = 8192
"""Maximum bytes of a request line and its headers together."""

CLIENT_SECONDS = 10.0
"""Seconds that a client may take to send its request, and then to read the response."""

OPENMETRICS = "application/openmetrics-text"
"""OpenMetrics, for clients that accept it. All other clients get the older Prometheus format."""

_OPENMETRICS = f"{OPENMETRICS}; version=1.0.0"


@dataclass(slots=True, eq=False)
class _Client:
    connection: socket.socket
    deadline: float
    received: bytearray = field(default_factory=bytearray)
    is_waiting: bool = False
    unsent: bytes = b""

    def fileno(self) -> int:
        return self.connection.fileno()


class MetricsServer:
    """Serves the metrics on `listener`. Without a listener, the server does nothing.

    The owner of the server selects on `readers` and `writers`, calls `on_readable` and
    `on_writable`, and calls `respond` when the values for the waiting clients have arrived.
    """

    def __init__(self, listener: socket.socket | None) -> None:
        self._clients: list[_Client] = []
        self._listener: socket.socket | None = None
        self.listen(listener)

    def listen(self, listener: socket.socket | None) -> None:
        """Accept connections on this listener instead of the previous one."""
        self._listener = listener
        if listener is not None:
            listener.setblocking(False)

    @property
    def has_waiting(self) -> bool:
        """Whether a client is waiting for a response."""
        return any(each.is_waiting for each in self._clients)

    @property
    def readers(self) -> Iterator["socket.socket | _Client"]:
        """Sockets to select for reading."""
        is_full = len(self._clients) >= MAX_CLIENTS
        if self._listener is not None and not (is_full and self._oldest_idle is None):
            yield self._listener
        yield from (each for each in self._clients if not each.is_waiting and not each.unsent)

    @property
    def writers(self) -> list[_Client]:
        """Sockets to select for writing."""
        return [each for each in self._clients if each.unsent]

    @property
    def due(self) -> float | None:
        """The time at which the next client times out."""
        return min((each.deadline for each in self._clients), default=None)

    def on_readable(self, found: Collection[object]) -> None:
        """Accept connections and read requests."""
        for client in [each for each in self._clients if each in found]:
            self._read(client)
        if self._listener is not None and self._listener in found:
            self._accept(self._listener)

    def on_writable(self, found: Collection[object]) -> None:
        """Write pending bytes to the clients."""
        for client in [each for each in self._clients if each in found]:
            self._write(client)

    def respond(self, values: Collector) -> None:
        """Send these values to every waiting client."""
        for client in [each for each in self._clients if each.is_waiting]:
            client.is_waiting = False
            client.deadline = time.monotonic() + CLIENT_SECONDS
            client.unsent = _respond(values, *_parse(client.received))
            self._write(client)

    def give_up(self) -> None:
        """Close the connections of clients that have timed out."""
        now = time.monotonic()
        for client in [each for each in self._clients if each.deadline <= now]:
            self._close(client)

    def close(self) -> None:
        """Close every connection."""
        for client in [*self._clients]:
            self._close(client)

    @property
    def _oldest_idle(self) -> _Client | None:
        """Return the oldest client that is not waiting for a response."""
        return next((each for each in self._clients if not each.is_waiting), None)

    def _accept(self, listener: socket.socket) -> None:
        if len(self._clients) >= MAX_CLIENTS:
            if self._oldest_idle is None:
                return
            self._close(self._oldest_idle)
        with suppress(OSError):
            connection, _ = listener.accept()
            connection.setblocking(False)
            self._clients.append(_Client(connection, time.monotonic() + CLIENT_SECONDS))

    def _read(self, client: _Client) -> None:
        try:
            received = client.connection.recv(MAX_HEAD_BYTES)
        except BlockingIOError:
            return
        except OSError:
            received = b""
        client.received += received
        if b"\r\n\r\n" in client.received:
            # The timeout starts anew, however late the request came. The values arrive in time.
            client.is_waiting, client.deadline = True, time.monotonic() + CLIENT_SECONDS
        if not received or (len(client.received) > MAX_HEAD_BYTES and not client.is_waiting):
            self._close(client)

    def _write(self, client: _Client) -> None:
        try:
            client.unsent = client.unsent[client.connection.send(client.unsent) :]
        except BlockingIOError:
            return
        except OSError:
            client.unsent = b""
        if not client.unsent:
            self._close(client)

    def _close(self, client: _Client) -> None:
        self._clients.remove(client)
        client.connection.close()


def _parse(head: bytes | bytearray) -> tuple[bytes, str]:
    """Return the method of a request and its `Accept` header."""
    request, *headers = bytes(head).split(b"\r\n\r\n")[0].split(b"\r\n")
    fields = (header.partition(b":") for header in headers)
    accept = [value.strip() for name, _, value in fields if name.strip().lower() == b"accept"]
    return request.partition(b" ")[0], b",".join(accept).decode("latin-1")


def _respond(values: Collector, method: bytes, accept: str) -> bytes:
    if method not in (b"GET", b"HEAD"):
        return _write_head("405 Method Not Allowed", "text/plain", 0, "Allow: GET, HEAD")
    # The library fails on versions that are not numbers, so it does not get the raw header.
    encode, content_type = choose_encoder(_OPENMETRICS if OPENMETRICS in accept else "")
    body = encode(values)
    head = _write_head("200 OK", content_type, len(body))
    return head if method == b"HEAD" else head + body


def _write_head(status: str, content_type: str, size: int, *more: str) -> bytes:
    lines = (
        f"HTTP/1.1 {status}",
        f"Content-Type: {content_type}",
        f"Content-Length: {size}",
        "Connection: close",
        *more,
    )
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


_ADDED = frozenset({"counter", "histogram", "summary"})
"""Metric types that are summed across all processes, past and present."""

_CREATED = "_created"
"""The suffix of samples with a counter's creation time, which is meaningless for a sum."""

Labels = tuple[tuple[str, str], ...]


class Family(msgspec.Struct, array_like=True, frozen=True):
    """A metric of one process with all its samples, each with a name, labels and a value."""

    name: str
    documentation: str
    type: str
    samples: list[tuple[str, dict[str, str], float]]


_families = msgspec.msgpack.Decoder(list[Family])


def read_samples(registry: CollectorRegistry = REGISTRY) -> list[Family]:
    """Return the current values of this process's metrics."""
    return [
        Family(
            each.name,
            each.documentation,
            each.type,
            [
                (sample.name, dict(sample.labels), sample.value)
                for sample in each.samples
                if not sample.name.endswith(_CREATED)
            ],
        )
        for each in registry.collect()
    ]


def set_value(gauge: Gauge, value: float) -> list[Family]:
    """Return a gauge without labels that is set here because no process reports its value."""
    return [
        Family(each.name, each.documentation, each.type, [(each.name, {}, value)])
        for each in gauge.describe()
    ]


def encode_samples() -> bytes:
    """Encode the metrics of this process for the supervisor."""
    return msgspec.msgpack.encode(read_samples())


def decode_samples(body: bytes) -> list[Family]:
    """Decode the output of `encode_samples`. Raises `msgspec.DecodeError`."""
    return _families.decode(body)


@dataclass(slots=True)
class MergedSamples(Collector):
    """Merges the metrics of several processes into one collector.

    Samples that are no longer `current`, because their process has exited or does not
    respond, count only in sums, so that a counter never decreases.
    """

    _metrics: dict[str, Metric] = field(default_factory=dict)
    _values: dict[str, dict[tuple[str, Labels], float]] = field(default_factory=dict)

    def add(self, families: Iterable[Family], *, current: bool = True) -> None:
        """Add the samples of one process."""
        for family in families:
            rule = _rule_of(family)
            if not current and rule is not _sum_of_all:
                continue
            if family.name not in self._metrics:
                metric = Metric(family.name, family.documentation, family.type)
                self._metrics[family.name], self._values[family.name] = metric, {}
            values = self._values[family.name]
            for name, labels, value in family.samples:
                if not math.isnan(value):
                    key = name, tuple(labels.items())
                    values[key] = rule(values[key], value) if key in values else value

    def families(self) -> list[Family]:
        """Return the merged samples in the form of a single process's samples."""
        return [
            Family(
                metric.name,
                metric.documentation,
                metric.type,
                [(name, dict(labels), value) for (name, labels), value in values.items()],
            )
            for metric, values in zip(self._metrics.values(), self._values.values(), strict=True)
        ]

    def collect(self) -> Iterator[Metric]:
        """Yield the merged metrics for a Prometheus encoder."""
        for name, metric in sorted(self._metrics.items()):
            metric.samples.clear()
            for (sample, labels), value in self._values[name].items():
                metric.add_sample(sample, dict(labels), value)
            if metric.samples or metric.type in _ADDED:
                yield metric


def _rule_of(family: Family) -> Callable[[float, float], float]:
    """Return the function that merges two values of this metric."""
    if family.type in _ADDED:
        return _sum_of_all
    if family.name in SUMMED:
        return _sum
    return min if family.name in LEAST else max


def _sum_of_all(one: float, other: float) -> float:
    return one + other


def _sum(one: float, other: float) -> float:
    return one + other
