"""Pipelined connections, which send requests before earlier responses have arrived."""

import asyncio
import json
from pathlib import Path

import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from tests.server.connections import (
    REQUEST,
    SECONDS,
    Streams,
    connected,
    connections,
    name_path,
    read_all,
    serving,
    split,
    until,
)
from tests.world import open_world

from imprint.server.connection import MAX_QUEUED, MAX_UNPARSED_BYTES
from imprint.server.connection_limits import ConnectionLimits

LAST = b"GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
TINY = b"GET / HTTP/1.1\r\nHost:\r\n\r\n"


def get(number: int) -> bytes:
    return f"GET /{number} HTTP/1.1\r\nHost: a\r\n\r\n".encode()


def post(number: int, body: bytes) -> bytes:
    head = f"POST /{number} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Gate:
    """An application that responds only once the gate is opened."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.paths: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.paths.append(scope["path"])
        await self.opened.wait()
        await name_path(scope, receive, send)


@pytest.mark.parametrize("count", [2, 16, 17, 50, 500])
async def test_pipelined_requests_get_responses_in_order(count: int) -> None:
    async with connected(name_path) as (reader, writer):
        writer.write(b"".join(get(number) for number in range(count)) + LAST)
        bodies = [body for _, _, body in split(await read_all(reader))]
    assert bodies == [b"/%d" % number for number in range(count)] + [b"/last"]


async def test_pipelined_bodies_reach_their_own_requests() -> None:
    async def echo(scope: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        await Response(body)(scope, receive, send)

    # Bodies that look like requests, cut where reads and slices end differently each time.
    bodies = [TINY * number + b"\r\n\r\n" * number for number in range(40)]
    chunked = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    sent = b"".join(
        post(number, body) + chunked + b"%x\r\n" % (len(body) + 1) + body + b"a\r\n0\r\n\r\n"
        for number, body in enumerate(bodies)
    )
    assert len(sent) < MAX_UNPARSED_BYTES * 2
    async with connected(echo) as (reader, writer):
        for start in range(0, len(sent), 20_000):
            writer.write(sent[start : start + 20_000])
            await asyncio.sleep(0.01)
        writer.write(LAST)
        responses = [body for _, _, body in split(await read_all(reader))]
    assert responses[:-1] == [each for body in bodies for each in (body, body + b"a")]


@pytest.mark.parametrize("separate", [False, True], ids=["in one write", "one by one"])
async def test_the_pipeline_queue_has_a_limit(separate: bool) -> None:
    gate = Gate()
    async with connected(gate) as (reader, writer):
        for start in range(0, 100, 1 if separate else 100):
            writer.write(b"".join(map(get, range(start, start + (1 if separate else 100)))))
            await asyncio.sleep(0)
        writer.write(LAST)
        await until(lambda: gate.paths == ["/0"])
        (connection,) = connections()
        await until(lambda: connection.flow.read_paused)
        assert 1 <= len(connection.pipeline) <= MAX_QUEUED
        gate.opened.set()
        assert len(split(await read_all(reader))) == 101
    assert len(gate.paths) == 101


async def test_the_bytes_beyond_a_full_pipeline_queue_are_limited() -> None:
    gate = Gate()
    async with connected(gate) as (reader, writer):
        writer.write(TINY * 100_000)
        await until(lambda: bool(gate.paths))
        (connection,) = connections()
        await until(lambda: connection.flow.read_paused)
        assert len(connection.pipeline) <= MAX_QUEUED
        assert len(connection._unparsed) <= MAX_UNPARSED_BYTES
        gate.opened.set()
        # Either all got responses, or the connection was closed after some of them.
        responses = await read_or_reset(reader)
        assert responses.startswith(b"HTTP/1.1 200 ")


async def read_or_reset(reader: asyncio.StreamReader) -> bytes:
    """Read until the connection is closed or reset, and return the received bytes."""
    found = b""
    async with asyncio.timeout(SECONDS):
        try:
            while data := await reader.read(65_536):
                found += data
        except ConnectionError:
            pass
    return found


async def test_a_client_that_pipelines_and_never_reads_is_aborted() -> None:
    async with serving(name_path, ConnectionLimits(write_seconds=0.4)) as place:
        client = await place.connect_deaf()
        loop = asyncio.get_running_loop()
        with client, pytest.raises(ConnectionError):
            await asyncio.wait_for(loop.sock_sendall(client, TINY * 1_000_000), SECONDS)
        await until(lambda: connections() == [])


async def test_the_next_request_starts_once_the_previous_response_is_read() -> None:
    started: list[str] = []

    async def respond_at_length(scope: Scope, receive: Receive, send: Send) -> None:
        started.append(scope["path"])
        await Response(bytes(500_000))(scope, receive, send)

    async with serving(respond_at_length) as place:
        # If the client read at once, its system could buffer a whole response before the check.
        client = await place.connect_deaf()
        await asyncio.get_running_loop().sock_sendall(client, get(0) + get(1) + LAST)
        await until(lambda: bool(connections()) and connections()[0].flow.write_paused)
        assert started == ["/0"]
        reader, writer = await asyncio.open_connection(sock=client)
        assert len(split(await read_all(reader))) == 3
        writer.close()
    assert started == ["/0", "/1", "/last"]


async def test_a_disconnect_is_reported_to_the_running_request() -> None:
    ended = asyncio.Event()

    async def wait_for_the_end(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        ended.set()

    async with serving(wait_for_the_end) as place:
        _, writer = await place.connect()
        writer.write(get(0) + get(1))
        await until(lambda: any(each.pipeline for each in connections()))
        (connection,) = connections()
        connection.transport.abort()
        async with asyncio.timeout(SECONDS):
            await ended.wait()
        writer.close()


# The end of what a client sends


@pytest.mark.parametrize("separate", [False, True], ids=["in one read", "in the next read"])
async def test_a_write_gets_its_response_before_a_later_malformed_request_fails(
    separate: bool, tmp_path: Path
) -> None:
    async with open_world(tmp_path) as world, serving(world.app) as place:
        reader, writer = await place.connect()
        body = json.dumps(world.wallet(1).sign("create") | {"content": "Words."}).encode()
        head = b"POST /create/group HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        writer.write(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        if separate:
            await asyncio.sleep(0.01)
        writer.write(b"no http at all\r\n\r\n")
        first, second = split(await read_all(reader))
        writer.close()
    assert first[0] == 200
    assert json.loads(first[2])["updatedUpload"]["cid"]
    assert second[0] == 400
    assert b"The request cannot be read." in second[2]


@pytest.mark.parametrize("waiting", [0, 1, 5])
async def test_a_refusal_is_sent_after_every_earlier_response(waiting: int) -> None:
    gate = Gate()
    async with connected(gate) as (reader, writer):
        writer.write(b"".join(get(number) for number in range(waiting + 1)))
        await until(lambda: bool(gate.paths))
        writer.write(b"HELLO\r\n\r\n" + get(7))
        await asyncio.sleep(0.05)
        gate.opened.set()
        *responses, last = split(await read_all(reader))
    assert [body for _, _, body in responses] == [b"/%d" % each for each in range(waiting + 1)]
    assert last[0] == 400
    assert len(gate.paths) == waiting + 1


@pytest.mark.parametrize("count", [MAX_QUEUED, MAX_QUEUED + 1, 50])
async def test_malformed_http_beyond_a_full_queue_is_refused_last(count: int) -> None:
    async with connected(Gated()) as (reader, writer):
        writer.write(b"".join(get(number) for number in range(count)) + b"HELLO\r\n\r\n" + get(7))
        *responses, last = split(await read_all(reader))
    assert [body for _, _, body in responses] == [b"/%d" % number for number in range(count)]
    assert last[0] == 400


async def test_a_malformed_body_fails_only_its_own_request() -> None:
    gate = Gate()
    async with connected(gate) as (reader, writer):
        chunked = b"POST /1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(get(0) + chunked + b"no length\r\n")
        await until(lambda: bool(gate.paths))
        gate.opened.set()
        first, second = split(await read_all(reader))
    assert (first[2], second[0], gate.paths) == (b"/0", 400, ["/0"])


async def test_bytes_after_the_last_request_on_a_connection_are_ignored() -> None:
    async with connected(name_path) as (reader, writer):
        writer.write(LAST + b"HELLO\r\n\r\n")
        ((status, _, body),) = split(await read_all(reader))
        assert (status, body) == (200, b"/last")


async def half_close(streams: Streams, sent: bytes) -> bytes:
    reader, writer = streams
    writer.write(sent)
    writer.write_eof()
    return await read_all(reader)


@pytest.mark.parametrize("count", [1, 3, 40])
async def test_complete_requests_get_responses_after_a_half_close(count: int) -> None:
    async with connected(Gated()) as streams:
        sent = b"".join(post(number, b"body") for number in range(count))
        responses = split(await half_close(streams, sent))
    assert [body for _, _, body in responses] == [b"/%d" % number for number in range(count)]


class Gated:
    """An application that responds only after the server has seen the end of the input."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(0.01)
        await name_path(scope, receive, send)


INCOMPLETE = {
    "a part of a head": b"GET /1 HTTP/1.1\r\nHos",
    "a part of a body": b"POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc",
    "a part of a chunk": (
        b"POST /1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"
    ),
}


@pytest.mark.parametrize("rest", INCOMPLETE.values(), ids=INCOMPLETE.keys())
async def test_an_incomplete_request_before_a_half_close_is_dropped(rest: bytes) -> None:
    async with connected(Gated()) as streams:
        responses = split(await half_close(streams, get(0) + rest))
    assert [body for _, _, body in responses] == [b"/0"]


@pytest.mark.parametrize("rest", INCOMPLETE.values(), ids=INCOMPLETE.keys())
async def test_a_single_incomplete_request_gets_no_response(rest: bytes) -> None:
    async with connected() as streams:
        assert await half_close(streams, rest) == b""


async def test_an_endless_request_queued_behind_a_running_one_is_refused() -> None:
    gate = Gate()
    async with connected(gate) as (reader, writer):
        writer.write(REQUEST)
        await until(lambda: bool(gate.paths))
        writer.write(b"GET / HTTP/1.1\r\nX: " + b"a" * 1_000_000)
        (connection,) = connections()
        await until(lambda: connection.flow.read_paused)
        gate.opened.set()
        first, second = split(await read_or_reset(reader))
        assert (first[0], second[0]) == (200, 400)
