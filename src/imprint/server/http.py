"""The HTTP server: start-up, graceful shutdown, and signal handling."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.lifespan.on import LifespanOn

from imprint.domain.errors import Code, Unavailable
from imprint.server.connection import HttpConnection
from imprint.server.connection_limits import ConnectionLimits, OpenConnections
from imprint.server.listeners import BACKLOG, accept_waiting, refuse_connections
from imprint.web.api.about import DRAINING

POLL_SECONDS = 0.05
"""Seconds between checks of a starting server, or of a stopping server's connections."""

DRAIN_IDLE_SECONDS = 5.0
"""Maximum seconds for which a stopping server waits for requests on idle connections."""

DRAIN_BODY_PAUSE_SECONDS = 2.0
"""Seconds that a client may pause while sending a body to a stopping server."""

DRAIN_BODY_SECONDS = 5.0
"""Seconds that a body may take to arrive at a stopping server."""

ACCEPT_SECONDS = 0.5
"""Seconds for which a stopping server accepts connections that clients began before it stopped.

This is longer than a round trip to a distant client, and shorter than the second after which a
client retransmits a dropped first packet.
"""


_TICK_SECONDS = 1.0
"""Seconds between updates of the `Date` header of responses."""


class NotStarted(Exception):
    """The application failed to start. The log says why."""


class _Server(uvicorn.Server):
    """A server that leaves signal handling to `serve_all`, which runs several servers."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ended = asyncio.Event()

    def end(self) -> None:
        """Stop the server as soon as no request is running."""
        self.should_exit = True
        self._ended.set()

    async def main_loop(self) -> None:
        """Update the date once a second until `end` is called.

        uvicorn's own loop runs ten times a second, which is most of the work of an idle
        process.
        """
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TICK_SECONDS):
                    await self._ended.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@dataclass(slots=True)
class _CurrentApp:
    """The current application, which can be replaced. `is_draining` marks its requests."""

    app: ASGIApp
    is_draining: bool = False

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if self.is_draining:
            scope[DRAINING] = True
        return self.app(scope, receive, send)


class HttpServer:
    """One application on one socket, with a graceful shutdown.

    A keep-alive client may be about to send on a connection that looks idle. Therefore `drain`
    accepts no new connections, closes each connection after its next response, and waits a few
    seconds for idle ones. Then `stop` ends the server, allowing at most `shutdown_timeout` seconds
    for requests that are still running. `limits` apply to the connections of this server. If the
    listener `is_shared`, the supervisor refuses new connections instead of this server. When this
    server stops, `others_serve` returns whether other processes continue to serve.
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
        is_shared: bool = False,
        others_serve: Callable[[], bool] = lambda: False,
    ) -> None:
        self._app = _CurrentApp(app)
        self._listener = listener
        self._keep_alive = keep_alive
        self._has_lifespan = has_lifespan
        self._is_shared = is_shared
        self._others_serve = others_serve
        self._lifespan: LifespanOn | None = None
        self._opened = OpenConnections(limits or ConnectionLimits())
        # uvicorn expects a class, but only calls it.
        connection = partial(HttpConnection, opened=self._opened)
        config = uvicorn.Config(
            self._app,
            http=cast(Any, connection),
            interface="asgi3",
            loop="none",
            lifespan="off",
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
        """Start the application, serve until `stop` is called, then shut the application down.

        Raises `NotStarted`.
        """
        if self._has_lifespan and self._lifespan is None:
            await self.replace_app(self._app.app)
        try:
            await self._server.serve([self._listener])
        finally:
            await self.close_app()

    async def replace_app(self, app: ASGIApp) -> None:
        """Start this application, then serve it in place of the current one.

        Open connections stay open. Raises `NotStarted`.
        """
        config = uvicorn.Config(app, lifespan="on", log_config=None, proxy_headers=False, ws="none")
        config.load()
        lifespan = LifespanOn(config)
        await lifespan.startup()
        if lifespan.should_exit:
            raise NotStarted
        self._lifespan = lifespan
        self._app.app = app

    async def close_app(self) -> None:
        """Shut the application down, if it is running."""
        lifespan, self._lifespan = self._lifespan, None
        if lifespan is not None:
            await lifespan.shutdown()

    async def drain(self) -> None:
        """Accept no new connections, and wait a limited time until the open ones are closed."""
        self._app.is_draining = not self._others_serve()
        self._opened.is_draining = True
        for connection in self._connections():
            connection.close_after_response()
        if self.started:
            await self._close_listener()
        await drain_connections(self._connections, self._keep_alive)

    def stop(self) -> None:
        """Stop the server as soon as no request is running."""
        self._server.end()

    def _connections(self) -> list[HttpConnection]:
        return [*cast("set[HttpConnection]", self._server.server_state.connections)]

    async def _close_listener(self) -> None:
        """Close the listening socket. Connections already made are served, not reset."""
        if not self._is_shared:
            refuse_connections(self._listener)
        # The client may consider the connection established before this system does.
        await asyncio.sleep(ACCEPT_SECONDS)
        accepted = accept_waiting(self._listener)
        for server in self._server.servers:
            server.close()
        loop = asyncio.get_running_loop()
        for peer in accepted:
            with contextlib.suppress(OSError):
                await loop.connect_accepted_socket(self._make_connection, peer)

    def _make_connection(self) -> asyncio.Protocol:
        config, state = self._server.config, self._server.server_state
        make: Callable[..., asyncio.Protocol] = config.http_protocol_class
        return make(config=config, server_state=state, app_state={}, _loop=None)


async def serve_all(
    servers: Sequence[HttpServer],
    *,
    drain: bool = True,
    start: Coroutine[Any, Any, None] | None = None,
    may_serve: asyncio.Event | None = None,
    on_ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGINT or SIGTERM, then stop the servers in order, draining each if `drain`.

    With `start`, connections are accepted once it has finished, or earlier if `may_serve` is set. A
    signal before that stops the servers at once. `on_ready` is called when `start` has finished and
    the first server is serving. Raises the same errors as `start`.
    """
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stopping.set)
    signalled = asyncio.create_task(stopping.wait())
    runs: list[asyncio.Task[None]] = []

    def begin() -> None:
        if not runs:
            runs.extend(asyncio.create_task(server.run()) for server in servers)

    is_ready = False
    try:
        if start is not None and not await _started(start, may_serve, signalled, begin, runs):
            return
        is_ready = True
        begin()
        await _first(_until_started(servers[0]), signalled, *runs)
        if servers[0].started:
            on_ready()
        await _first(signalled, *runs)
    finally:
        signalled.cancel()
        for server, run in zip(servers, runs, strict=False):
            if drain and is_ready:
                await server.drain()
            server.stop()
            await run


async def _started(
    start: Coroutine[Any, Any, None],
    may_serve: asyncio.Event | None,
    signalled: "asyncio.Task[bool]",
    begin: Callable[[], None],
    runs: "list[asyncio.Task[None]]",
) -> bool:
    """Return whether `start` finished before a signal. Serves meanwhile if `may_serve` is set."""
    starting = asyncio.create_task(start)
    try:
        if may_serve is not None:
            await _first(may_serve.wait(), starting, signalled)
            if may_serve.is_set() and not starting.done():
                begin()
        await _first(starting, signalled, *runs)
        if not starting.done():
            return False
        await starting
        return True
    finally:
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)


async def _until_started(server: HttpServer) -> None:
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(POLL_SECONDS)


async def _first(*awaited: Awaitable[Any]) -> None:
    """Wait until one awaitable has finished, then cancel those that were passed as coroutines."""
    tasks = [asyncio.ensure_future(each) for each in awaited]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task, each in zip(tasks, awaited, strict=True):
            if task is not each:
                task.cancel()


async def drain_connections(
    connections: Callable[[], Sequence[HttpConnection]], keep_alive: float
) -> None:
    """Wait until all connections are closed, or only those with a running request are left.

    Each connection is closed after its next response. Idle connections stay open for `keep_alive`
    seconds, but at most `DRAIN_IDLE_SECONDS`. Requests that have not arrived by then are refused
    instead of reset.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    idle_until = began + min(keep_alive, DRAIN_IDLE_SECONDS)
    progress: dict[HttpConnection, tuple[int, float]] = {}
    while open_now := connections():
        now = loop.time()
        receiving = [each for each in open_now if each.receives_body]
        for connection in receiving:
            count, since = progress.get(connection, (-1, now))
            if connection.received != count:
                since = now
            progress[connection] = connection.received, since
            if now - since >= DRAIN_BODY_PAUSE_SECONDS or now - began >= DRAIN_BODY_SECONDS:
                connection.refuse_rest(_stopping())
        if now >= idle_until and not receiving:
            break
        await asyncio.sleep(POLL_SECONDS)
    for connection in connections():
        if connection.receives_head:
            connection.refuse_rest(_stopping())


def _stopping() -> Unavailable:
    return Unavailable(Code.OVERLOADED, "The service is stopping.")
