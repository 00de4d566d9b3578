"""Servers: applications behind sockets, started and stopped together."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Iterator, Sequence

import uvicorn
from starlette.types import ASGIApp

from imprint.bootstrap import CannotStart

BACKLOG = 2048
"""How many connections may wait to be accepted."""


class _Server(uvicorn.Server):
    """A server that leaves the signals of the process to whoever runs several of them."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises `CannotStart` if the address is taken or not ours."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise CannotStart(f"Cannot listen on {host}:{port}: {error.strerror}.") from error
    return listener


def make_server(
    app: ASGIApp, keep_alive: int = 5, patience: int = 20, has_lifespan: bool = True
) -> uvicorn.Server:
    """A server for this application; `patience` is how long it waits for running requests."""
    config = uvicorn.Config(
        app,
        http="httptools",
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
    return _Server(config)


async def serve_all(servers: Sequence[tuple[uvicorn.Server, socket.socket]]) -> None:
    """Serve until SIGINT or SIGTERM, then finish what runs: the first server first."""
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stopping.set)
    tasks = [asyncio.create_task(server.serve([listener])) for server, listener in servers]
    ended = [asyncio.create_task(stopping.wait()), *tasks]
    await asyncio.wait(ended, return_when=asyncio.FIRST_COMPLETED)
    for (server, _), task in zip(servers, tasks, strict=True):
        server.should_exit = True
        await task
    ended[0].cancel()
