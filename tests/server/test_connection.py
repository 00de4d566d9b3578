"""Connections: request heads that are too long, too slow or invalid are refused or closed."""

import asyncio
import logging
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send
from tests.server.connections import (
    REQUEST,
    connected,
    connections,
    count_body,
    problem,
    read_all,
    split,
)
from tests.world import open_world

from imprint.domain.drafts.files import new_id
from imprint.metrics import RESPONSES
from imprint.server import connection
from imprint.server.connection import MAX_HEAD_BYTES, MAX_HEADERS
from imprint.server.connection_limits import ConnectionLimits
from imprint.web.http import middleware
from imprint.web.http.middleware import MAX_DRAINED, SECURITY_HEADERS

HURRIED = ConnectionLimits(head_seconds=0.5)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow plenty of time to drain the remaining input of a refused client."""
    for module in (connection, middleware):
        monkeypatch.setattr(module, "DRAIN_SECONDS", 60.0)


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


async def test_trailers_count_towards_the_head_limit() -> None:
    chunked = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"
    async with connected() as (reader, writer):
        writer.write(chunked + b"X: a\r\n" * MAX_HEAD_BYTES)
        assert str(MAX_HEAD_BYTES) in refusal(await read_all(reader))


@pytest.mark.usefixtures("patient")
async def test_a_client_that_sends_endless_headers_gets_the_refusal() -> None:
    async with connected() as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nX: ")
        for _ in range(200):
            writer.write(b"a" * 50_000)
            await writer.drain()
        assert str(MAX_HEAD_BYTES) in refusal(await read_all(reader))


async def test_a_connection_that_sends_endless_headers_is_closed() -> None:
    async with connected() as (_, writer):
        writer.write(b"GET / HTTP/1.1\r\nX: ")
        with pytest.raises(ConnectionError):
            await _pour(writer, 4 * MAX_DRAINED)


async def test_malformed_http_gets_problem_json() -> None:
    async with connected() as (reader, writer):
        writer.write(b"HELLO\r\n\r\n")
        assert refusal(await read_all(reader)) == "The request cannot be read."


async def test_the_head_limit_does_not_apply_to_a_body() -> None:
    size = 4 * MAX_HEAD_BYTES
    asked = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size + b"a" * size
    async with connected() as (reader, writer):
        for _ in range(2):
            writer.write(asked + REQUEST[:10])
            await reader.readuntil(b"%d bytes" % size)
            writer.write(REQUEST[10:])
            await reader.readuntil(b"0 bytes")


async def test_a_connection_without_a_request_is_closed() -> None:
    async with connected(limits=HURRIED) as (reader, _):
        assert await read_all(reader) == b""


@pytest.mark.parametrize("byte", [b"a", b"\r\n"], ids=["a letter", "an empty line"])
async def test_a_head_that_arrives_too_slowly_is_timed_out(byte: bytes) -> None:
    async with connected(limits=HURRIED) as (reader, writer):
        writer.write(REQUEST)
        await reader.readuntil(b"0 bytes")
        ended = asyncio.ensure_future(read_all(reader))
        for _ in range(1000):
            writer.write(byte)
            await asyncio.sleep(0.02)
            if ended.done():
                break
        assert ended.done()
        assert isinstance(ended.exception(), ConnectionError | None)


async def test_an_idle_keep_alive_connection_has_no_head_timeout() -> None:
    async with connected(limits=HURRIED) as (reader, writer):
        for _ in range(2):
            writer.write(REQUEST)
            await reader.readuntil(b"0 bytes")
            (opened,) = connections()
            assert opened._deadline is None
            await asyncio.sleep(2 * HURRIED.head_seconds)


async def test_a_partial_head_after_a_request_has_a_timeout_of_its_own() -> None:
    async with connected(limits=HURRIED) as (reader, writer):
        writer.write(REQUEST + REQUEST[:10])
        await reader.readuntil(b"0 bytes")
        (opened,) = connections()
        assert opened._deadline is not None
        assert await read_all(reader) == b""


async def test_the_head_timeout_does_not_apply_to_a_body() -> None:
    async with connected(limits=HURRIED) as (reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n")
        await asyncio.sleep(2 * HURRIED.head_seconds)
        writer.write(b"a")
        assert b"1 bytes" in await reader.readuntil(b"1 bytes")


@pytest.mark.usefixtures("patient")
async def test_a_client_that_sends_its_whole_body_first_gets_the_refusal(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world, connected(world.app) as (reader, writer):
        size = 20_000_000
        head = b"POST /create/group HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
        writer.write(head + b"Content-Length: %d\r\n\r\n" % size)
        for _ in range(size // 50_000):
            writer.write(bytes(50_000))
            await writer.drain()
        assert (await read_all(reader)).startswith(b"HTTP/1.1 415 ")


async def test_a_connection_that_sends_an_endless_body_is_closed(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world, connected(world.app) as (_, writer):
        writer.write(
            b"POST /create/group HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        with pytest.raises(ConnectionError):
            await _pour(writer, 4 * MAX_DRAINED)


async def test_a_body_that_becomes_malformed_is_refused_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    head = b"POST /create/group HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    async with open_world(tmp_path) as world, connected(world.app) as (reader, writer):
        writer.write(head + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
        await asyncio.sleep(0.05)
        writer.write(b"no length\r\n")
        assert refusal(await read_all(reader)) == "The request cannot be read."
    assert [line for line in caplog.messages if "xception" in line] == []


TOO_MANY = b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: a\r\n" * MAX_HEADERS + b"\r\n"

REFUSED = {
    "two hosts": (b"GET / HTTP/1.1\r\nHost: a\r\nHOST: a\r\n\r\n", "Host is repeated"),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", "Host is missing"),
    "two authorizations": (
        b"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n",
        "Authorization is repeated",
    ),
    "many headers": (TOO_MANY, str(MAX_HEADERS)),
    "an upgrade with a body": (
        b"POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\n"
        b"Content-Length: 40\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n12345",
        "cannot upgrade",
    ),
    "two lengths": (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
        "cannot be read",
    ),
    "a length and an encoding": (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"0\r\n\r\n",
        "cannot be read",
    ),
    "an encoding and a length": (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"
        b"0\r\n\r\n",
        "cannot be read",
    ),
    "lines without carriage returns": (b"GET / HTTP/1.1\nHost: a\n\n", "cannot be read"),
}


@pytest.mark.parametrize(("sent", "reason"), REFUSED.values(), ids=REFUSED.keys())
async def test_an_invalid_head_is_refused(sent: bytes, reason: str) -> None:
    async with connected() as (reader, writer):
        writer.write(sent)
        assert reason in refusal(await read_all(reader))


async def test_http_1_0_needs_no_host_header() -> None:
    async with connected() as (reader, writer):
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        ((status, _, _),) = split(await read_all(reader))
        assert status == 200


ENCODINGS = ["gzip, chunked", "gzip", "identity", "chunked;q=1", "x"]


@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_a_transfer_encoding_other_than_chunked_is_refused_as_unimplemented(
    encoding: str,
) -> None:
    async with connected() as (reader, writer):
        head = f"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: {encoding}\r\n\r\n"
        writer.write(head.encode() + b"0\r\n\r\n")
        assert problem(await read_all(reader))[:2] == (501, "not_implemented")


async def test_white_space_around_header_values_is_stripped() -> None:
    found: list[tuple[bytes, bytes]] = []

    async def keep_headers(scope: Scope, receive: Receive, send: Send) -> None:
        found.extend(scope["headers"])
        await count_body(scope, receive, send)

    async with connected(keep_headers) as (reader, writer):
        writer.write(
            b"POST / HTTP/1.1\r\nHost: \t imprint.test \t \r\nX-Inner:  a \t b  \r\nX-Empty:  \r\n"
            b"Transfer-Encoding: Chunked \r\nConnection: close\r\n\r\n1\r\na\r\n0\r\n\r\n"
        )
        assert b"1 bytes" in await read_all(reader)
    assert dict(found) == {
        b"host": b"imprint.test",
        b"x-inner": b"a \t b",
        b"x-empty": b"",
        b"transfer-encoding": b"Chunked",
        b"connection": b"close",
    }


async def test_trailers_are_not_added_to_the_headers() -> None:
    found: list[tuple[bytes, bytes]] = []

    async def keep_headers(scope: Scope, receive: Receive, send: Send) -> None:
        await count_body(scope, receive, send)
        found.extend(scope["headers"])

    async with connected(keep_headers) as (reader, writer):
        writer.write(
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            b"0\r\nAuthorization: Bearer a\r\n\r\n"
        )
        assert b"0 bytes" in await read_all(reader)
    assert [name for name, _ in found] == [b"host", b"transfer-encoding", b"connection"]


async def test_an_upgrade_request_gets_a_response_and_closes_the_connection() -> None:
    async with connected() as (reader, writer):
        upgrade = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"
        writer.write(upgrade + REQUEST)
        ((status, headers, _),) = split(await read_all(reader))
        assert (status, headers["connection"]) == (200, "close")


SPOKEN = {
    "no http": (b"HELLO\r\n\r\n", 400, "invalid_request"),
    "a head that is too long": (HEADS["a long target"], 400, "invalid_request"),
    "another encoding": (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: br\r\n\r\n",
        501,
        "not_implemented",
    ),
}


@pytest.mark.parametrize(("sent", "status", "code"), SPOKEN.values(), ids=SPOKEN.keys())
async def test_a_refusal_has_the_common_headers_and_is_counted_and_logged(
    sent: bytes, status: int, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    counter = RESPONSES.labels("other", status, code)
    before = counter._value.get()
    caplog.set_level(logging.INFO, "imprint.request")
    async with connected() as (reader, writer):
        writer.write(sent)
        ((found, headers, _),) = split(await read_all(reader))
    assert found == status
    assert {name.lower(): value.lower() for name, value in SECURITY_HEADERS.items()}.items() <= (
        headers.items()
    )
    assert len(headers["x-request-id"]) == len(new_id())
    assert headers["connection"] == "close"
    assert counter._value.get() == before + 1
    (record,) = [each for each in caplog.records if each.name == "imprint.request"]
    assert (vars(record)["status"], vars(record)["code"]) == (status, code)
