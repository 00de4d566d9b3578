"""Attacks with connections: endless requests, unread responses, and sockets held open."""

from tests.hostile.attacker import Attacker
from tests.hostile.connection import Connection, request
from tests.hostile.registry import Attack
from tests.hostile.wallets import picture

PIPELINED = request("GET", "/healthz") * 512
MOST_PIPELINED_BYTES = 40_000_000

THUMBNAIL_SIDE = 1280
"""Side in pixels at which a square PNG of noise is just under 5 MB."""

SMALL_BUFFER = 4096
"""Bytes that the attacker's kernel buffers before the service has to stop sending."""

MOST_RESETS = 8_000


async def pipelined_requests(attacker: Attacker) -> None:
    async def flood(number: int) -> None:
        while attacker.goes_on and attacker.tally.sent < MOST_PIPELINED_BYTES:
            connection = await attacker.connect(receive_buffer=SMALL_BUFFER)
            if connection is None:
                continue
            connection.stop_reading()
            while attacker.tally.sent < MOST_PIPELINED_BYTES:
                if not await attacker.send(connection, PIPELINED, requests=512):
                    break
        await attacker.rest()

    await attacker.crowd(1, flood)


async def pipelined_reads(attacker: Attacker) -> None:
    many = request("GET", "/filesMetaData") * 32

    async def read(number: int) -> None:
        while attacker.goes_on:
            connection = await attacker.connect()
            while connection is not None and await attacker.send(connection, many, requests=32):
                if not all([await attacker.response(connection) for _ in range(32)]):
                    break

    await attacker.crowd(4, read)


async def unread_thumbnails(attacker: Attacker) -> None:
    wallet = await attacker.wallet()
    cid = await attacker.create(wallet, "Words.")
    assert cid is not None, attacker.tally
    thumbnail = await attacker.publish(wallet, cid, picture(THUMBNAIL_SIDE))
    assert thumbnail is not None, attacker.tally
    await attacker.crowd(515, lambda number: _ask_and_not_read(attacker, f"/ipfs/{thumbnail}", 2))


async def unread_responses(attacker: Attacker) -> None:
    await attacker.crowd(300, lambda number: _ask_and_not_read(attacker, "/openapi.json", 4))


async def _ask_and_not_read(attacker: Attacker, path: str, times: int) -> None:
    connection = await attacker.connect(receive_buffer=SMALL_BUFFER)
    if connection is not None:
        connection.stop_reading()
        await attacker.send(connection, request("GET", path) * times, requests=times)
        await attacker.rest()


async def _hold(attacker: Attacker, connection: Connection | None) -> None:
    """Hold a connection open until the service closes it."""
    if connection is not None:
        try:
            await connection.ended()
        except OSError:
            attacker.tally.turned_away += 1
    await attacker.pause(0.5)


async def idle_sockets(attacker: Attacker) -> None:
    async def idle(number: int) -> None:
        while attacker.goes_on:
            await _hold(attacker, await attacker.connect())

    await attacker.crowd(1100, idle)


async def half_open_connections(attacker: Attacker) -> None:
    head = request("POST", "/create/group", {"Content-Length": "100"})

    async def send_half(number: int) -> None:
        while attacker.goes_on:
            connection = await attacker.connect()
            if connection is not None:
                half = head if number % 2 else head[: len(head) // 2]
                if await attacker.send(connection, half, requests=1) and number % 3:
                    connection.writer.write_eof()
            await _hold(attacker, connection)

    await attacker.crowd(400, send_half)


async def slow_heads(attacker: Attacker) -> None:
    async def crawl(number: int) -> None:
        while attacker.goes_on:
            connection = await attacker.connect()
            if connection is None:
                await attacker.pause(0.5)
                continue
            attacker.tally.requests += 1
            data = b"GET /filesMetaData HTTP/1.1\r\nX-Slow: "
            while await attacker.send(connection, data):
                await attacker.pause(0.3)
                data = b"x"

    await attacker.crowd(400, crawl)


async def huge_headers(attacker: Attacker) -> None:
    shapes = [
        request("GET", "/filesMetaData", {"X-Large": "x" * 1_000_000}),
        request("GET", "/filesMetaData", {f"X-{n}": "x" for n in range(20_000)}),
        request("GET", "/" + "x" * 1_000_000),
        request("GET", "/filesMetaData", {"X-Endless": "x" * 60_000})[:-4],
    ]

    async def send(number: int) -> None:
        while attacker.goes_on:
            connection = await attacker.connect()
            if connection is not None:
                shape = shapes[number % len(shapes)]
                await attacker.send(connection, shape, requests=1)
                await attacker.response(connection)
                connection.abort()
            await attacker.pause(0.4)

    await attacker.crowd(120, send)


async def connection_churn(attacker: Attacker) -> None:
    part = request("POST", "/webhook/provider-a/publish", {"Content-Length": "100"})

    async def churn(number: int) -> None:
        while attacker.goes_on and attacker.tally.connections < MOST_RESETS:
            connection = await attacker.connect()
            if connection is not None:
                if number % 2:
                    await attacker.send(connection, part, requests=1)
                connection.reset()
            await attacker.pause(0.01)

    await attacker.crowd(16, churn)
    await attacker.rest()


ATTACKS = (
    Attack(
        "pipelined-requests",
        "One connection sends tiny requests endlessly and never reads a response.",
        "Each connection may queue 16 requests; beyond that, the service stops reading from it.",
        pipelined_requests,
        lambda tally: tally.requests >= 1000,
    ),
    Attack(
        "pipelined-reads",
        "Four connections send 32 requests at a time, and read the responses.",
        "The same queue, and `IMPRINT_RATE_READS`.",
        pipelined_reads,
        lambda tally: tally.requests >= 1500 and tally.count(429) >= 100,
    ),
    Attack(
        "unread-thumbnails",
        "515 connections each request a 5 MB thumbnail twice and never read the responses.",
        "`IMPRINT_MAX_CONNECTIONS_PER_ADDRESS`, `IMPRINT_MAX_RESPONSE_BYTES_IN_FLIGHT`,"
        " `IMPRINT_WRITE_TIMEOUT_SECONDS`.",
        unread_thumbnails,
        lambda tally: tally.connections >= 515 and tally.requests >= 200,
        seconds=7,
    ),
    Attack(
        "unread-responses",
        "300 connections each request the OpenAPI description four times and never read the "
        "responses.",
        "The same.",
        unread_responses,
        lambda tally: tally.connections >= 300 and tally.requests >= 400,
    ),
    Attack(
        "idle-sockets",
        "1100 sockets send nothing to a process that may open 1024 files.",
        "`IMPRINT_MAX_CONNECTIONS`, kept below the limit on open files, "
        "`IMPRINT_MAX_CONNECTIONS_PER_ADDRESS`, and a 10-second limit for the request head.",
        idle_sockets,
        lambda tally: tally.connections >= 1100,
        open_files=1024,
    ),
    Attack(
        "half-open-connections",
        "400 connections send half a request; most of them then close their sending side.",
        "The same, and `IMPRINT_BODY_TIMEOUT_SECONDS`.",
        half_open_connections,
        lambda tally: tally.connections >= 400 and tally.requests >= 100,
    ),
    Attack(
        "slow-heads",
        "400 connections send a header one byte every 0.3 seconds.",
        "A 10-second limit for the request head.",
        slow_heads,
        lambda tally: tally.connections >= 400 and tally.requests >= 100,
    ),
    Attack(
        "huge-headers",
        "120 connections send 1 MB request lines and headers, or 20 000 headers.",
        "A limit of 64 KiB for the request head.",
        huge_headers,
        lambda tally: tally.connections >= 240 and tally.refused >= 120,
    ),
    Attack(
        "connection-churn",
        "Up to 1600 connections a second are opened and reset, some after half a request.",
        "All state of a connection is freed when it closes.",
        connection_churn,
        lambda tally: tally.connections >= 1000,
    ),
)
