"""A server on loopback, and connections to it."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from imprint.server.connection import HttpConnection
from imprint.server.connection_limits import ConnectionLimits
from imprint.server.http import HttpServer
from imprint.server.listeners import listen

REQUEST = b"GET /any HTTP/1.1\r\nHost: imprint.test\r\n\r\n"
SECONDS = 20

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def count_body(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond with the length of the body after a short delay."""
    size = len(await Request(scope, receive).body())
    await asyncio.sleep(0.05)
    await Response(f"{size} bytes")(scope, receive, send)


async def name_path(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond with the path, in a header and in the body."""
    await Response(scope["path"])(scope, receive, send)


@dataclass(frozen=True, slots=True)
class Place:
    """The address of a server."""

    port: int

    async def connect(self, source: str = "127.0.0.1") -> Streams:
        return await asyncio.open_connection("127.0.0.1", self.port, local_addr=(source, 0))

    async def connect_deaf(self) -> socket.socket:
        """A connection whose client does not read, with small system buffers."""
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", self.port))
        return client


@asynccontextmanager
async def serving_until_stopped(
    app: ASGIApp = count_body,
    limits: ConnectionLimits | None = None,
    keep_alive: int = 5,
    others_serve: bool = False,
) -> AsyncIterator[tuple[HttpServer, Place]]:
    """A server that the test may stop before the `with` block exits."""
    listener = listen("127.0.0.1", 0)
    # Unread bytes must not vanish in a buffer of the system.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    server = HttpServer(
        app,
        listener,
        limits=limits,
        shutdown_timeout=1,
        has_lifespan=False,
        keep_alive=keep_alive,
        others_serve=lambda: others_serve,
    )
    place = Place(listener.getsockname()[1])
    running = asyncio.create_task(server.run())
    _servers.append(server)
    try:
        yield server, place
    finally:
        _servers.remove(server)
        server.stop()
        await running


@asynccontextmanager
async def serving(
    app: ASGIApp = count_body, limits: ConnectionLimits | None = None, keep_alive: int = 5
) -> AsyncIterator[Place]:
    async with serving_until_stopped(app, limits, keep_alive) as (_, place):
        yield place


@asynccontextmanager
async def connected(
    app: ASGIApp = count_body, limits: ConnectionLimits | None = None
) -> AsyncIterator[Streams]:
    async with serving(app, limits) as place:
        reader, writer = await place.connect()
        try:
            yield reader, writer
        finally:
            writer.close()


_servers: list[HttpServer] = []


def connections() -> list[HttpConnection]:
    """The open connections on the server side."""
    found = [each for server in _servers for each in server._server.server_state.connections]
    return [each for each in found if isinstance(each, HttpConnection)]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not condition():  # noqa: ASYNC110 - most conditions have no event
            await asyncio.sleep(0.01)


async def read_all(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(SECONDS):
        return await reader.read()


def split(responses: bytes) -> list[tuple[int, dict[str, str], bytes]]:
    """The status, headers and body of each response, which must have a `Content-Length`."""
    found = []
    while responses:
        head, _, responses = responses.partition(b"\r\n\r\n")
        status, *lines = head.decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        size = int(headers["content-length"])
        found.append((int(status.split()[1]), headers, responses[:size]))
        responses = responses[size:]
    return found


def problem(response: bytes) -> tuple[int, str, str]:
    """The status, error code and detail of the only response."""
    ((status, headers, body),) = split(response)
    assert headers["content-type"] == "application/problem+json"
    content: dict[str, Any] = json.loads(body)
    return status, content["code"], content["detail"]
