"""Servers: applications behind sockets, started and stopped together, dropping nobody."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from imprint.bootstrap import CannotStart
from imprint.cli.connections import BoundedConnection

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


class Serving:
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
            http=BoundedConnection,
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


async def serve_all(servings: Sequence[Serving], *, in_haste: bool = False) -> None:
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
