"""Connections: a bound on how long the head of a request may be, and how long it may take.

The head is the request line and the headers. The server below neither counts nor times it: a
client that never ends it would be listened to for ever, and everything it sends would be kept.
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

MAX_HEAD_BYTES = 64 * 1024
"""How long a request line and its headers may be together; what browsers send is far below."""

HEAD_SECONDS = 10.0
"""How long a client may take from its first byte, or its connection, to the end of the headers."""

_AROUND_HEADER = len(b": \r\n")


class _HeadTooLong(Exception):
    """The head of a request has more bytes than are read."""


class BoundedHttpProtocol(HttpToolsProtocol):
    """A connection whose requests begin within bounds, or it is closed."""

    head_seconds = HEAD_SECONDS

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._is_in_head = True
        self._is_refused = False
        self._taken = 0
        self._told = 0
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._taken += len(data)
        if self._is_refused:
            if self._taken > MAX_DRAINED:
                self.transport.close()
            return
        super().data_received(data)
        if self.transport.is_closing() or self._is_refused or not self._is_in_head:
            return
        if self._taken > MAX_HEAD_BYTES:
            # A header that has not ended yet is counted nowhere else.
            self.send_400_response("")
        elif self._deadline is None:
            self._await_head()

    def on_message_begin(self) -> None:
        self._told = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        # Also those that follow a body in chunks.
        self._count(len(name) + len(value) + _AROUND_HEADER)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._cancel_deadline()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_in_head = True
        self._taken = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if not self.pipeline and not self._is_in_head:
            # Who has its answer and goes on sending the same body would be listened to for ever.
            self.transport.close()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Tell a client that its request cannot be read, in the body that all refusals have."""
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            detail = "The request cannot be read."
            if max(self._taken, self._told) > MAX_HEAD_BYTES:
                detail = f"The request line and headers have at most {MAX_HEAD_BYTES} bytes."
            self.transport.write(_spell(problem_response(Refusal(Code.INVALID_REQUEST, detail))))
        self._let_go()

    def _let_go(self) -> None:
        # Closed while the client still sends, the answer would be lost: its system discards it.
        self._is_refused = True
        self._cancel_deadline()
        self._deadline = self.loop.call_later(DRAIN_SECONDS, self.transport.close)
        if self.cycle is not None and not self.cycle.response_complete:
            # Whoever answers this request has nobody to answer to any more.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.write_eof()

    def _count(self, size: int) -> None:
        self._told += size
        if self._told > MAX_HEAD_BYTES:
            raise _HeadTooLong

    def _await_head(self) -> None:
        self._deadline = self.loop.call_later(self.head_seconds, self._give_up)

    def _give_up(self) -> None:
        self._deadline = None
        if self.pipeline or (self.cycle is not None and not self.cycle.response_complete):
            # An earlier request is still being answered, and its client is waiting for that.
            self._await_head()
        else:
            self.transport.close()

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _spell(answer: Response) -> bytes:
    lines = [name + b": " + value + b"\r\n" for name, value in answer.raw_headers]
    head = STATUS_LINE[answer.status_code] + b"".join(lines) + b"connection: close\r\n\r\n"
    return head + bytes(answer.body)


BACKLOG = 2048
"""How many connections may wait to be accepted."""

POLL_SECONDS = 0.05
"""How often a server that is stopping looks whether its connections are gone."""


class _Server(uvicorn.Server):
    """A server that leaves the signals of the process to whoever runs several of them."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@dataclass(slots=True)
class _Farewell:
    """Around an application: once `leaving`, every answer ends its connection."""

    app: ASGIApp
    leaving: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_farewell(message: Message) -> None:
            if self.leaving and message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"connection", b"close")]
            await send(message)

        await self.app(scope, receive, send_farewell)


class HttpServer:
    """One application on one socket.

    Keep-alive makes stopping a matter of manners: a client may be about to send on a connection
    that looks idle. So a server that stops first takes no new connections and ends each one with
    its next answer; those that stay idle go after `keep_alive` seconds, as they would anyway; and
    only then it stops, and waits up to `patience` seconds for what is still being answered.
    """

    def __init__(
        self,
        app: ASGIApp,
        listener: socket.socket,
        *,
        keep_alive: int = 5,
        patience: int = 20,
        has_lifespan: bool = True,
    ) -> None:
        self._farewell = _Farewell(app)
        self._listener = listener
        self._keep_alive = keep_alive
        config = uvicorn.Config(
            self._farewell,
            http=BoundedHttpProtocol,
            loop="none",
            lifespan="on" if has_lifespan else "off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=keep_alive,
            timeout_graceful_shutdown=patience,
            backlog=BACKLOG,
        )
        self._server = _Server(config)

    @property
    def started(self) -> bool:
        """Whether connections are being accepted."""
        return self._server.started

    async def run(self) -> None:
        """Serve until told to stop."""
        await self._server.serve([self._listener])

    async def drain(self) -> None:
        """Take no new connections, and let go of those there are, one by one."""
        self._farewell.leaving = True
        for server in getattr(self._server, "servers", []):
            server.close()
        for _ in range(int(self._keep_alive / POLL_SECONDS) + 1):
            if not self._server.server_state.connections:
                return
            await asyncio.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """End the serving as soon as nothing is being answered."""
        self._server.should_exit = True


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises `CannotStart` if the address is taken or not ours."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named, because asyncio switches off Nagle's delay only where it is: without,
    # every answer on a connection that stays open would wait 40 ms for the client's receipt.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise CannotStart(f"Cannot listen on {host}:{port}: {error.strerror}.") from error
    return listener


async def serve_all(servings: Sequence[HttpServer], *, in_haste: bool = False) -> None:
    """Serve until SIGINT or SIGTERM, then stop, the first one first; `in_haste` drains nothing."""
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stopping.set)
    told = asyncio.create_task(stopping.wait())
    runs = [asyncio.create_task(serving.run()) for serving in servings]
    await asyncio.wait([told, *runs], return_when=asyncio.FIRST_COMPLETED)
    for serving, run in zip(servings, runs, strict=True):
        if not in_haste:
            await serving.drain()
        serving.stop()
        await run
    told.cancel()
