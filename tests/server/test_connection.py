"""Connections: request heads that are too long, too slow or not allowed are refused or closed."""

import asyncio
import logging
from pathlib import Path

import pytest
from tests.server.connections import REQUEST, connected, problem, read_all, split
from tests.world import open_world

from imprint.domain.files import new_id
from imprint.metrics import RESPONSES
from imprint.server.connection import MAX_HEAD_BYTES, MAX_HEADERS
from imprint.server.connection_limits import ConnectionLimits
from imprint.web.middleware import MAX_DRAINED, SECURITY_HEADERS

UNREADABLE = (400, "invalid_request", "The request cannot be read.")
HURRIED = ConnectionLimits(head_seconds=0.2)


def refusal(response: bytes) -> str:
    status, code, detail = problem(response)
    assert (status, code) == (400, "invalid_request")
    return detail


async def _pour(writer: asyncio.StreamWriter, size: int) -> None:
    for _ in range(size // 0x10000):
        writer.write(b"10000\r\n" + bytes(0x10000) + b"\r\n")
        await writer.drain()


HEADS = {
    "a long target": b"GET /" + b"a" * MAX_HEAD_BYTES + b" HTTP/1.1\r\n\r\n",
    "a long header": b"GET / HTTP/1.1\r\nX: " + b"a" * MAX_HEAD_BYTES + b"\r\n\r\n",
    "long headers": b"GET / HTTP/1.1\r\n" + (b"X: " + b"a" * 2000 + b"\r\n") * 40 + b"\r\n",
    "a header without an end": b"GET / HTTP/1.1\r\nX: " + b"a" * 2 * MAX_HEAD_BYTES,
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS.keys())
async def test_a_head_that_is_too_long_is_refused(head: bytes) -> None:
    async with connected() as (reader, writer):
        writer.write(head)
        assert str(MAX_HEAD_BYTES) in refusal(await read_all(reader))


async def test_headers_after_a_body_are_counted_too() -> None:
    chunked = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"
    async with connected() as (reader, writer):
        writer.write(chunked + b"X: a\r\n" * MAX_HEAD_BYTES)
        assert str(MAX_HEAD_BYTES) in refusal(await read_all(reader))


async def test_a_refusal_reaches_a_client_whose_headers_have_no_end() -> None:
    async with connected() as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nX: ")
        for _ in range(200):
            writer.write(b"a" * 50_000)
            await writer.drain()
        assert str(MAX_HEAD_BYTES) in refusal(await read_all(reader))


async def test_headers_without_an_end_end_with_their_connection() -> None:
    async with connected() as (_, writer):
        writer.write(b"GET / HTTP/1.1\r\nX: ")
        with pytest.raises(ConnectionError):
            await _pour(writer, 4 * MAX_DRAINED)


async def test_what_is_no_http_gets_the_body_of_all_refusals() -> None:
    async with connected() as (reader, writer):
        writer.write(b"HELLO\r\n\r\n")
        assert refusal(await read_all(reader)) == "The request cannot be read."


async def test_a_long_body_is_no_long_head() -> None:
    size = 4 * MAX_HEAD_BYTES
    asked = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size + b"a" * size
    async with connected() as (reader, writer):
        for _ in range(2):
            writer.write(asked + REQUEST[:10])
            await reader.readuntil(b"%d bytes" % size)
            writer.write(REQUEST[10:])
            await reader.readuntil(b"0 bytes")


async def test_a_connection_that_never_asks_anything_is_closed() -> None:
    async with connected(limits=HURRIED) as (reader, _):
        assert await read_all(reader) == b""


@pytest.mark.parametrize("byte", [b"a", b"\r\n"], ids=["a letter", "an empty line"])
async def test_a_head_that_trickles_is_given_up(byte: bytes) -> None:
    async with connected(limits=HURRIED) as (reader, writer):
        writer.write(REQUEST)
        await reader.readuntil(b"0 bytes")
        ended = asyncio.ensure_future(read_all(reader))
        for _ in range(100):
            writer.write(byte)
            await asyncio.sleep(0.02)
            if ended.done():
                break
        assert ended.done()
        assert isinstance(ended.exception(), ConnectionError | None)


async def test_a_request_that_came_in_time_gets_its_response_however_long_it_takes() -> None:
    async with connected(limits=HURRIED) as (reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n")
        await asyncio.sleep(0.5)
        writer.write(b"a")
        assert b"1 bytes" in await reader.readuntil(b"1 bytes")


async def test_a_refusal_reaches_a_client_that_sends_all_before_it_listens(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world, connected(world.app) as (reader, writer):
        size = 20_000_000
        head = b"POST /create/group HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
        writer.write(head % size)
        for _ in range(size // 50_000):
            writer.write(bytes(50_000))
            await writer.drain()
        assert (await read_all(reader)).startswith(b"HTTP/1.1 415 ")


async def test_a_body_without_an_end_ends_with_its_connection(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world, connected(world.app) as (_, writer):
        writer.write(
            b"POST /create/group HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        with pytest.raises(ConnectionError):
            await _pour(writer, 4 * MAX_DRAINED)


async def test_a_body_that_stops_being_http_is_refused_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    head = b"POST /create/group HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    async with open_world(tmp_path) as world, connected(world.app) as (reader, writer):
        writer.write(head + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
        await asyncio.sleep(0.05)
        writer.write(b"no length\r\n")
        assert refusal(await read_all(reader)) == "The request cannot be read."
    assert [line for line in caplog.messages if "xception" in line] == []
