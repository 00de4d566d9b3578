"""Connections whose clients read their responses slowly, or never."""

import asyncio
from typing import cast

import pytest
from starlette.types import Receive, Scope, Send
from tests.server.connections import (
    REQUEST,
    SECONDS,
    connected,
    connections,
    read_all,
    serving,
    until,
)
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

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


class Cycle:
    """As much of uvicorn's cycle as the transport of a response reads."""

    def __init__(self, method: str) -> None:
        self.response_started = False
        self.scope = {"method": method}


def joined(method: str = "GET") -> tuple[Recorded, Cycle, _JoiningTransport]:
    inner, cycle = Recorded(), Cycle(method)
    return inner, cycle, _JoiningTransport(inner, cast(RequestResponseCycle, cycle))


def test_the_head_of_a_response_is_written_together_with_the_start_of_the_body() -> None:
    inner, cycle, transport = joined()
    cycle.response_started = True
    transport.write(b"head ")
    assert inner.written == []
    transport.write(b"body")
    transport.write(b"rest")
    assert inner.written == [b"head body", b"rest"]


def test_a_response_without_a_body_is_written_at_once() -> None:
    inner, cycle, transport = joined("HEAD")
    cycle.response_started = True
    transport.write(b"head")
    assert inner.written == [b"head"]


def test_100_continue_does_not_wait_for_the_response() -> None:
    inner, cycle, transport = joined()
    transport.write(b"continue")
    assert inner.written == [b"continue"]
    cycle.response_started = True
    transport.write(b"head ")
    transport.write(b"body")
    assert inner.written == [b"continue", b"head body"]


def test_the_head_of_a_response_that_fails_before_its_body_is_written_before_closing() -> None:
    inner, cycle, transport = joined()
    cycle.response_started = True
    transport.write(b"head")
    transport.close()
    assert inner.written == [b"head", b"<closed>"]
