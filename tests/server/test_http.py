"""The HTTP server: replacing an application, and startup that fails or is interrupted."""

import asyncio
import os
import signal
from dataclasses import dataclass, field

import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from tests.server.connections import REQUEST, Place, serving_until_stopped, until

from imprint.domain.errors import CannotStart
from imprint.server.http import HttpServer, NotStarted, serve_all
from imprint.server.listeners import listen


@dataclass(slots=True)
class Named:
    """An application that responds with its name, and records its startup and shutdown."""

    name: str
    fails: bool = False
    events: list[str] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            for stage in ("startup", "shutdown"):
                await receive()
                self.events.append(stage)
                await send({"type": f"lifespan.{stage}.{'failed' if self.fails else 'complete'}"})
            return
        await Response(f"I am {self.name}.")(scope, receive, send)


async def test_a_replacement_application_takes_over_open_connections() -> None:
    second = Named("second")
    async with serving_until_stopped(Named("first")) as (server, place):
        reader, writer = await place.connect()
        writer.write(REQUEST)
        await reader.readuntil(b"I am first.")
        await server.replace_app(second)
        assert second.events == ["startup"]
        writer.write(REQUEST)
        await reader.readuntil(b"I am second.")
        writer.close()
    assert second.events == ["startup", "shutdown"]


async def test_an_application_that_fails_to_start_does_not_take_over() -> None:
    async with serving_until_stopped(Named("first")) as (server, place):
        with pytest.raises(NotStarted):
            await server.replace_app(Named("second", fails=True))
        reader, writer = await place.connect()
        writer.write(REQUEST)
        await reader.readuntil(b"I am first.")
        writer.close()


def _server(app: Named) -> tuple[HttpServer, Place]:
    listener = listen("127.0.0.1", 0)
    server = HttpServer(app, listener, has_lifespan=False, shutdown_timeout=1)
    return server, Place(listener.getsockname()[1])


async def test_connections_wait_until_startup_has_finished() -> None:
    server, place = _server(Named("first"))
    opened = asyncio.Event()
    ready: list[bool] = []

    async def start() -> None:
        await opened.wait()
        await server.replace_app(Named("second"))

    serving = asyncio.create_task(
        serve_all([server], start=start(), on_ready=lambda: ready.append(server.started))
    )
    reader, writer = await place.connect()
    writer.write(REQUEST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    await asyncio.sleep(0.1)
    assert not server.started
    opened.set()
    await reader.readuntil(b"I am second.")
    writer.close()
    await until(lambda: ready == [True])
    os.kill(os.getpid(), signal.SIGTERM)
    await serving


async def test_a_server_serves_its_first_application_and_can_stop_during_startup() -> None:
    server, place = _server(Named("first"))
    may_serve = asyncio.Event()
    serving = asyncio.create_task(
        serve_all([server], start=asyncio.sleep(3600), may_serve=may_serve)
    )
    may_serve.set()
    reader, writer = await place.connect()
    writer.write(REQUEST)
    await reader.readuntil(b"I am first.")
    os.kill(os.getpid(), signal.SIGTERM)
    async with asyncio.timeout(20):
        await serving
    writer.close()


async def test_a_failed_startup_stops_the_server_with_its_reason() -> None:
    server, place = _server(Named("first"))
    may_serve = asyncio.Event()
    may_serve.set()

    async def start() -> None:
        reader, writer = await place.connect()
        writer.write(REQUEST)
        await reader.readuntil(b"I am first.")
        writer.close()
        raise CannotStart("The database has schema 9.")

    with pytest.raises(CannotStart):
        await serve_all([server], start=start(), may_serve=may_serve)
    with pytest.raises(ConnectionRefusedError):
        await place.connect()
