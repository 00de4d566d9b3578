"""Draining a server: running requests are served, and late ones are refused."""

import asyncio
from contextlib import suppress

import pytest
from starlette.types import Receive, Scope, Send
from tests.server.connections import (
    REQUEST,
    connections,
    count_body,
    name_path,
    problem,
    read_all,
    serving_until_stopped,
    until,
)

from imprint.server.http import DRAIN_BODY_PAUSE_SECONDS, DRAIN_IDLE_SECONDS
from imprint.web.api.about import DRAINING

UPLOAD = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n"


async def test_waiting_connections_are_served_and_later_ones_refused() -> None:
    async with serving_until_stopped(name_path) as (server, place):
        waiting = [await place.connect() for _ in range(5)]
        for _, writer in waiting:
            writer.write(REQUEST)
        draining = asyncio.create_task(server.drain())
        for reader, writer in waiting:
            assert b"200 OK" in await reader.readuntil(b"/any")
            writer.close()
        async with asyncio.timeout(20):
            await draining
        with suppress(ConnectionRefusedError):
            await place.connect()
            raise AssertionError("the socket is still open")


async def test_an_idle_connection_is_closed_after_its_next_response() -> None:
    async with serving_until_stopped(name_path) as (server, place):
        reader, writer = await place.connect()
        writer.write(REQUEST)
        await reader.readuntil(b"/any")
        draining = asyncio.create_task(server.drain())
        await asyncio.sleep(0.3)
        writer.write(REQUEST)
        assert b"connection: close" in await read_all(reader)
        writer.close()
        await draining


@pytest.mark.parametrize(
    ("others_serve", "told"), [(False, b"stopping/any"), (True, b"serving/any")]
)
async def test_the_application_is_notified_that_the_service_is_stopping(
    others_serve: bool, told: bytes
) -> None:
    async def tell(scope: Scope, receive: Receive, send: Send) -> None:
        word = b"stopping/any" if DRAINING in scope else b"serving/any"
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": word})

    async with serving_until_stopped(tell, others_serve=others_serve) as (server, place):
        reader, writer = await place.connect()
        writer.write(REQUEST)
        assert b"serving/any" in await reader.readuntil(b"/any")
        draining = asyncio.create_task(server.drain())
        await asyncio.sleep(0)
        writer.write(REQUEST)
        assert told in await read_all(reader)
        writer.close()
        await draining


async def test_a_connection_with_a_running_request_is_closed_after_its_response() -> None:
    may_respond = asyncio.Event()

    async def wait(scope: Scope, receive: Receive, send: Send) -> None:
        await may_respond.wait()
        await name_path(scope, receive, send)

    async with serving_until_stopped(wait, keep_alive=600) as (server, place):
        reader, writer = await place.connect()
        writer.write(REQUEST)
        await until(lambda: any(each._is_busy for each in connections()))
        draining = asyncio.create_task(server.drain())
        await asyncio.sleep(0)
        may_respond.set()
        assert b"connection: close" in await read_all(reader)
        writer.close()
        await draining


async def test_a_long_keep_alive_does_not_delay_the_drain() -> None:
    async with serving_until_stopped(name_path, keep_alive=600) as (server, place):
        reader, writer = await place.connect()
        writer.write(REQUEST)
        await reader.readuntil(b"/any")
        async with asyncio.timeout(10 * DRAIN_IDLE_SECONDS):
            await server.drain()
        server.stop()
        assert await read_all(reader) == b""
        writer.close()


async def test_a_body_that_stops_arriving_is_refused() -> None:
    async with serving_until_stopped(count_body) as (server, place):
        reader, writer = await place.connect()
        writer.write(UPLOAD + b"ab")
        await until(lambda: any(each.receives_body for each in connections()))
        draining = asyncio.create_task(server.drain())
        assert problem(await read_all(reader))[:2] == (503, "overloaded")
        writer.close()
        await draining


async def test_a_body_that_keeps_arriving_is_served() -> None:
    async with serving_until_stopped(count_body) as (server, place):
        reader, writer = await place.connect()
        writer.write(UPLOAD)
        await until(lambda: any(each.receives_body for each in connections()))
        draining = asyncio.create_task(server.drain())
        for _ in range(4):
            await asyncio.sleep(DRAIN_BODY_PAUSE_SECONDS / 4)
            writer.write(b"a")
        assert b"4 bytes" in await read_all(reader)
        writer.close()
        await draining


async def test_an_endless_body_is_refused_eventually() -> None:
    async with serving_until_stopped(count_body) as (server, place):
        reader, writer = await place.connect()
        writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n")
        await until(lambda: any(each.receives_body for each in connections()))
        draining = asyncio.create_task(server.drain())
        ended = asyncio.create_task(read_all(reader))
        while not ended.done():
            writer.write(b"a")
            await asyncio.sleep(0.1)
        assert problem(ended.result())[:2] == (503, "overloaded")
        writer.close()
        await draining


async def test_a_head_that_never_arrives_is_refused() -> None:
    async with serving_until_stopped(name_path, keep_alive=1) as (server, place):
        reader, writer = await place.connect()
        writer.write(REQUEST[:10])
        await until(lambda: any(each.receives_head for each in connections()))
        await server.drain()
        assert problem(await read_all(reader))[:2] == (503, "overloaded")
        writer.close()
