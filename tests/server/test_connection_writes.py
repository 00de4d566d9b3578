"""Connections whose clients read their responses slowly, or never."""

import asyncio
import gc
import weakref

import pytest
from starlette.types import Receive, Scope, Send
from tests.server.connections import (
    REQUEST,
    SECONDS,
    connected,
    connections,
    name_path,
    read_all,
    serving,
    until,
)

from imprint.metrics import CONNECTIONS_CLOSED
from imprint.server.connection import WRITE_CHECKS, _JoiningTransport
from imprint.server.connection_limits import ConnectionLimits

PIECE = 100_000
HURRIED = ConnectionLimits(write_seconds=0.4)
CLOSING = REQUEST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")


class Pieces:
    """An application that sends its response in pieces."""

    def __init__(self, count: int, size: int = PIECE) -> None:
        self.count = count
        self.size = size
        self.sent = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-length", b"%d" % (self.count * self.size))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for number in range(self.count):
            more = number + 1 < self.count
            await send({"type": "http.response.body", "body": bytes(self.size), "more_body": more})
            self.sent += 1


STALLED = {
    "in a response": (Pieces(50), REQUEST),
    "after a response": (Pieces(1, 5_000_000), REQUEST),
    "after the last response": (Pieces(1, 5_000_000), CLOSING),
    "in the last response": (Pieces(50), CLOSING),
}


@pytest.mark.parametrize(("app", "request_"), STALLED.values(), ids=STALLED.keys())
async def test_a_client_that_never_reads_is_aborted(app: Pieces, request_: bytes) -> None:
    counter = CONNECTIONS_CLOSED.labels("write_timeout")
    before = counter._value.get()
    async with serving(app, HURRIED) as place:
        client = await place.connect_deaf()
        with client:
            await asyncio.get_running_loop().sock_sendall(client, request_)
            await until(lambda: connections() != [])
            # The client does nothing meanwhile.
            await until(lambda: connections() == [])
            with pytest.raises(ConnectionError):
                client.send(b"a")
    assert counter._value.get() == before + 1


async def test_a_client_that_reads_slowly_keeps_its_connection() -> None:
    app = Pieces(1, 5_000_000)
    async with serving(app, ConnectionLimits(write_seconds=600)) as place:
        client = await place.connect_deaf()
        loop = asyncio.get_running_loop()
        with client:
            await loop.sock_sendall(client, REQUEST)
            await until(lambda: bool(connections()) and connections()[0].flow.write_paused)
            (connection,) = connections()
            async with asyncio.timeout(SECONDS):
                for _ in range(3 * WRITE_CHECKS):
                    unsent = connection._unsent
                    while connection.transport.get_write_buffer_size() >= unsent:
                        await loop.sock_recv(client, 65_536)
                    connection._check_progress()
            assert connections() == [connection]
            await asyncio.sleep(0)
            for _ in range(WRITE_CHECKS + 1):
                connection._check_progress()
            await until(lambda: connections() == [])


async def test_a_connection_buffers_one_piece_of_a_response_at_a_time() -> None:
    app = Pieces(1000)
    async with serving(app, ConnectionLimits()) as place:
        client = await place.connect_deaf()
        with client:
            await asyncio.get_running_loop().sock_sendall(client, REQUEST)
            await until(lambda: app.sent > 0 and connections()[0].flow.write_paused)
            (connection,) = connections()
            sent = app.sent
            for _ in range(10):
                await asyncio.sleep(0)
                assert connection.transport.get_write_buffer_size() <= PIECE
            assert app.sent == sent


async def test_small_responses_start_no_timer() -> None:
    async with connected() as (reader, writer):
        for _ in range(3):
            writer.write(REQUEST)
            await reader.readuntil(b"0 bytes")
            (connection,) = connections()
            assert connection._progress_check is None
        writer.write(CLOSING)
        await read_all(reader)


class Recorded(asyncio.Transport):
    """Records what is written in which calls."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def close(self) -> None:
        self.written.append(b"<closed>")


def joined() -> tuple[Recorded, _JoiningTransport]:
    inner = Recorded()
    return inner, _JoiningTransport(inner)


def test_the_head_of_a_response_is_written_together_with_the_start_of_the_body() -> None:
    inner, transport = joined()
    transport.write(b"head ")
    assert inner.written == []
    transport.write(b"body")
    transport.write(b"rest")
    assert inner.written == [b"head body", b"rest"]


def test_100_continue_does_not_wait_for_the_response() -> None:
    inner, transport = joined()
    transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    assert inner.written == [b"HTTP/1.1 100 Continue\r\n\r\n"]
    transport.write(b"head ")
    transport.write(b"body")
    assert inner.written[1:] == [b"head body"]


def test_the_head_of_a_response_that_fails_before_its_body_is_written_before_closing() -> None:
    inner, transport = joined()
    transport.write(b"head")
    transport.close()
    assert inner.written == [b"head", b"<closed>"]


class Watched:
    """A member of a scope to which a weak reference can be made."""


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_response_is_freed_without_the_garbage_collector(method: str) -> None:
    scopes: list[weakref.ref[Watched]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scope["watched"] = watched = Watched()
        scopes.append(weakref.ref(watched))
        await name_path(scope, receive, send)

    async with serving(app, ConnectionLimits()) as place:
        reader, writer = await place.connect()
        gc.disable()
        try:
            writer.write(REQUEST.replace(b"GET", method.encode(), 1))
            await reader.readuntil(b"\r\n\r\n")
            writer.write(CLOSING)
            await read_all(reader)
            await until(lambda: scopes[0]() is None)
        finally:
            gc.enable()
        writer.close()
