"""The HTTP server: graceful shutdown and listening sockets."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from imprint.domain.errors import CannotStart
from imprint.server.connection import HttpConnection
from imprint.server.connection_limits import ConnectionLimits, OpenConnections

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
    that are still running. `limits` hold for the connections of this server.
    """

    def __init__(
        self,
        app: ASGIApp,
        listener: socket.socket,
        *,
        limits: ConnectionLimits | None = None,
        keep_alive: int = 5,
        shutdown_timeout: int = 20,
        has_lifespan: bool = True,
    ) -> None:
        self._app = _CloseOnShutdown(app)
        self._listener = listener
        self._keep_alive = keep_alive
        # uvicorn takes a class, and does nothing with it but call it.
        connection = partial(HttpConnection, opened=OpenConnections(limits or ConnectionLimits()))
        config = uvicorn.Config(
            self._app,
            http=cast(Any, connection),
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
