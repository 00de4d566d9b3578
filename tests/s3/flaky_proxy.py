"""An HTTP proxy that makes a fraction of all requests to an object store fail."""

import asyncio
import random
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

SLOW_DOWN = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>SlowDown</Code>'
    b"<Message>Reduce your request rate.</Message></Error>"
)
FAULTS = ("reset", "error", "slow down", "silence", "truncation", "lost response")
"""The ways in which a request can fail. Only the last two reach the object store."""

SILENCE = 10.0
"""Seconds without a response, longer than any client waits for a small document."""


@dataclass(slots=True)
class FlakyProxy:
    """A proxy in which a fraction `share` of the requests fails, each with one of `faults`."""

    target: int
    share: float = 0.0
    faults: tuple[str, ...] = FAULTS
    chance: random.Random = field(default_factory=lambda: random.Random(11))
    seen: Counter[str] = field(default_factory=Counter)
    port: int = 0
    _connections: set["asyncio.Task[None]"] = field(default_factory=set)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one request on one connection."""
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            # The streams of asyncio complain about a task that is cancelled.
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._forward(await _read_message(reader), writer)
        finally:
            self._connections.discard(task)
            writer.close()

    async def end(self) -> None:
        """Cancel the requests that are still held back."""
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _forward(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        fate = self.chance.choice(self.faults) if self.chance.random() < self.share else "none"
        self.seen[fate] += 1
        if fate == "reset":
            _reset(writer)
            return
        if fate == "silence":
            await asyncio.sleep(SILENCE)
            return
        if fate in ("error", "slow down"):
            status = b"500 Internal Server Error" if fate == "error" else b"503 Slow Down"
            length = b"%d" % len(SLOW_DOWN)
            head = b"HTTP/1.1 %s\r\nContent-Length: %s\r\nConnection: close\r\n\r\n"
            writer.write(head % (status, length) + SLOW_DOWN)
            await writer.drain()
            return
        response = await self._ask(request)
        if fate == "lost response":
            _reset(writer)
        elif fate == "truncation":
            writer.write(response[: self.chance.randrange(len(response))])
            await writer.drain()
            _reset(writer)
        else:
            writer.write(response)
            await writer.drain()

    async def _ask(self, request: bytes) -> bytes:
        """Forward a request to the object store and return the whole response."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.target)
        try:
            head, _, body = request.partition(b"\r\n\r\n")
            writer.write(head + b"\r\nConnection: close\r\n\r\n" + body)
            response = await reader.read()
            head, _, body = response.partition(b"\r\n\r\n")
            return head + b"\r\nConnection: close\r\n\r\n" + body
        finally:
            writer.close()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close a connection with RST, as when a process is killed."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def _read_message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return head + await reader.readexactly(int(line.partition(b":")[2]))
    return head


@asynccontextmanager
async def open_proxy(target: int, share: float = 0.0) -> AsyncIterator[FlakyProxy]:
    """Run a proxy on its own port."""
    proxy = FlakyProxy(target, share)
    listener = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = listener.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listener.close()
        await proxy.end()
