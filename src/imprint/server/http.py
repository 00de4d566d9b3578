"""The HTTP server: limits on request heads, graceful shutdown, listening sockets.

uvicorn neither limits nor times the head of a request, which is the request line and the headers:
a client that never ends it would keep its connection, and what it sent in memory, forever.
"""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from imprint.domain.errors import CannotStart, Code, Refusal
from imprint.web.middleware import DRAIN_SECONDS, MAX_DRAINED
from imprint.web.problems import problem_response

# Connections

MAX_HEAD_BYTES = 64 * 1024
"""Bytes of a request line and its headers together; browsers send far less."""

HEAD_SECONDS = 10.0
"""How long a client may take from its connection, or its first byte, to the end of the headers."""

_HEADER_SEPARATORS = len(b": \r\n")


class _HeadTooLong(Exception):
    """The head of a request is longer than `MAX_HEAD_BYTES`."""


class BoundedHttpProtocol(HttpToolsProtocol):
    """A connection that is closed when the head of a request is too long or too slow."""

    head_seconds = HEAD_SECONDS

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._in_head = True
        self._refused = False
        self._received = 0
        self._head_size = 0
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        if self._refused:
            if self._received > MAX_DRAINED:
                self.transport.close()
            return
        super().data_received(data)
        if self.transport.is_closing() or self._refused or not self._in_head:
            return
        if self._received > MAX_HEAD_BYTES:
            # A header that has not ended yet has reached no callback that counts it.
            self.send_400_response("")
        elif self._deadline is None:
            self._start_deadline()

    def on_message_begin(self) -> None:
        self._head_size = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        # Also called for the trailers of a chunked body.
        self._count(len(name) + len(value) + _HEADER_SEPARATORS)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._cancel_deadline()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_head = True
        self._received = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if not self.pipeline and not self._in_head:
            # A client that has its response and still sends the body could send forever.
            self.transport.close()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that is not HTTP or too long, with the usual problem body."""
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            detail = "The request cannot be read."
            if max(self._received, self._head_size) > MAX_HEAD_BYTES:
                detail = f"The request line and headers have at most {MAX_HEAD_BYTES} bytes."
            self.transport.write(
                _serialize(problem_response(Refusal(Code.INVALID_REQUEST, detail)))
            )
        self._close_after_drain()

    def _close_after_drain(self) -> None:
        # A client that is still sending when the connection is closed never sees the response.
        self._refused = True
        self._cancel_deadline()
        self._deadline = self.loop.call_later(DRAIN_SECONDS, self.transport.close)
        if self.cycle is not None and not self.cycle.response_complete:
            # The application must not wait for the rest of this request.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.write_eof()

    def _count(self, size: int) -> None:
        self._head_size += size
        if self._head_size > MAX_HEAD_BYTES:
            raise _HeadTooLong

    def _start_deadline(self) -> None:
        self._deadline = self.loop.call_later(self.head_seconds, self._on_deadline)

    def _on_deadline(self) -> None:
        self._deadline = None
        if self.pipeline or (self.cycle is not None and not self.cycle.response_complete):
            # The client waits for the response to an earlier request.
            self._start_deadline()
        else:
            self.transport.close()

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _serialize(response: Response) -> bytes:
    lines = [name + b": " + value + b"\r\n" for name, value in response.raw_headers]
    head = STATUS_LINE[response.status_code] + b"".join(lines) + b"connection: close\r\n\r\n"
    return head + bytes(response.body)


# Servers

BACKLOG = 2048
"""Connections that may wait to be accepted."""

POLL_SECONDS = 0.05
"""How often a draining server checks whether its connections are closed."""


class _Server(uvicorn.Server):
    """A server that leaves the signals to `serve_all`, which runs several of them."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@dataclass(slots=True)
class _CloseOnShutdown:
    """A middleware that closes connections after their next response while `is_stopping`."""

    app: ASGIApp
    is_stopping: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_closing(message: Message) -> None:
            if self.is_stopping and message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"connection", b"close")]
            await send(message)

        await self.app(scope, receive, send_closing)


class HttpServer:
    """One application on one socket, with a graceful shutdown.

    A keep-alive client may be about to send on a connection that looks idle. So `drain` accepts no
    new connections, closes each connection after its next response, and waits `keep_alive` seconds
    for idle ones. Then `stop` ends the server after at most `shutdown_timeout` seconds for requests
    that are still running.
    """

    def __init__(
        self,
        app: ASGIApp,
        listener: socket.socket,
        *,
        keep_alive: int = 5,
        shutdown_timeout: int = 20,
        has_lifespan: bool = True,
    ) -> None:
        self._app = _CloseOnShutdown(app)
        self._listener = listener
        self._keep_alive = keep_alive
        config = uvicorn.Config(
            self._app,
            http=BoundedHttpProtocol,
            loop="none",
            lifespan="on" if has_lifespan else "off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=keep_alive,
            timeout_graceful_shutdown=shutdown_timeout,
            backlog=BACKLOG,
        )
        self._server = _Server(config)

    @property
    def started(self) -> bool:
        """Whether connections are being accepted."""
        return self._server.started

    async def run(self) -> None:
        """Serve until `stop` is called."""
        await self._server.serve([self._listener])

    async def drain(self) -> None:
        """Accept no new connections, and wait until the open ones are closed."""
        self._app.is_stopping = True
        for server in self._server.servers if self.started else ():
            server.close()
        for _ in range(int(self._keep_alive / POLL_SECONDS) + 1):
            if not self._server.server_state.connections:
                return
            await asyncio.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """End the server as soon as no request is running."""
        self._server.should_exit = True


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises `CannotStart` if the address is in use or not of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio disables Nagle's algorithm only on sockets whose protocol is named; with it, every
    # response on a keep-alive connection would wait 40 ms for the client's acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise CannotStart(f"Cannot listen on {host}:{port}: {error.strerror}.") from error
    return listener


async def serve_all(servers: Sequence[HttpServer], *, drain: bool = True) -> None:
    """Serve until SIGINT or SIGTERM, then stop the servers in order, draining each if `drain`."""
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stopping.set)
    signalled = asyncio.create_task(stopping.wait())
    runs = [asyncio.create_task(server.run()) for server in servers]
    await asyncio.wait([signalled, *runs], return_when=asyncio.FIRST_COMPLETED)
    for server, run in zip(servers, runs, strict=True):
        if drain:
            await server.drain()
        server.stop()
        await run
    signalled.cancel()
