"""Attacks with bodies: too many at once, too slow, or expensive to parse."""

import json

from tests.hostile.attacker import Attacker
from tests.hostile.connection import request
from tests.hostile.registry import Attack
from tests.hostile.wallets import FORM, JSON, form

MEGABYTE = 1_000_000
ADDRESS = "0x" + "11" * 20
SIGNATURE = "0x" + "22" * 64 + "1b"
CID = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"

HELD_INTERVAL = 0.04
"""Seconds between the starts of two held bodies. Together, they arrive at 4 Gbit/s."""

MOST_ENDLESS_BYTES = 1000 * MEGABYTE


def unsigned(**given: object) -> bytes:
    """A well-formed draft with an invalid signature."""
    body = {"salt": {}, "address": ADDRESS, "signature": SIGNATURE, "content": "x"}
    return json.dumps(body | given).encode()


def arrays(size: int) -> bytes:
    """A JSON array of empty arrays, about `size` bytes long."""
    return b"[" + b"[]," * (size // 3) + b"[]]"


async def send_array_bombs(attacker: Attacker) -> None:
    bomb = arrays(24 * MEGABYTE)
    bombs = [
        unsigned().replace(b'"salt": {}', b'"salt":' + bomb),
        unsigned().replace(b'"content": "x"', b'"content":' + bomb),
        unsigned().replace(b'"content": "x"', b'"content":"x","more":' + bomb),
        bomb,
    ]

    async def send(number: int) -> None:
        await attacker.ask("POST", "/create/group", JSON, bombs[number])
        await attacker.pause(0.2)

    await send(0)
    await attacker.crowd(4, lambda number: attacker.repeat(lambda: send(number)))


async def send_form_bombs(attacker: Attacker) -> None:
    texts = {"address": ADDRESS, "signature": SIGNATURE, "hashtags": "," * 60_000}
    salt = arrays(900_000).decode()
    bombs = [
        form({**texts, "salt": salt}, b""),
        form({**texts, "salt": salt}, b"x" * 4 * MEGABYTE),
        form({**texts, "salt": "[" * 900_000}, b""),
        form({str(number): "" for number in range(20_000)}, b""),
        form({"salt": "{}", **texts}, b"\r\n--" * 900_000),
    ]

    async def send(number: int) -> None:
        bomb = bombs[number % len(bombs)]
        await attacker.ask("POST", f"/publish/file?cid={CID}", FORM, bomb)
        await attacker.pause(0.05)

    await attacker.crowd(8, lambda number: attacker.repeat(lambda: send(number)))


async def send_deep_json(attacker: Attacker) -> None:
    deep = [
        ("/create/group", b"[" * (20 * MEGABYTE)),
        ("/create/group", b'{"salt":' + b'{"a":' * MEGABYTE),
        ("/create/group", unsigned().replace(b"{}", b"[" * 30_000 + b"]" * 30_000)),
        ("/auth/login", b"[" * 60_000),
        (f"/delete/file?cid={CID}", b'{"salt":' + b"[" * 60_000),
        ("/create/group", b'{"salt":{},"content":"' + b"\\ud800" * MEGABYTE + b'"}'),
        ("/create/group", b'{"salt":' + b"9" * MEGABYTE + b"}"),
        ("/create/group", b"{" + b",".join(b'"%d":0' % n for n in range(MEGABYTE)) + b"}"),
    ]

    async def send(number: int) -> None:
        path, body = deep[number % len(deep)]
        await attacker.ask("POST", path, JSON, body)
        await attacker.pause(0.2)

    await attacker.crowd(8, lambda number: attacker.repeat(lambda: send(number)))


async def hold_bodies(attacker: Attacker) -> None:
    body = b'{"content":"' + b"x" * (20 * MEGABYTE)
    data = request("POST", "/create/group", {**JSON, "Content-Length": str(len(body) + 1)}, body)

    async def hold(number: int) -> None:
        await attacker.pause(number * HELD_INTERVAL)
        connection = await attacker.connect()
        if connection is not None:
            await attacker.send(connection, data, requests=1)
            await attacker.response(connection)

    await attacker.crowd(60, hold)
    await attacker.rest()


async def send_slowly(attacker: Attacker) -> None:
    lengths = {"Content-Length": "60000"}, {"Transfer-Encoding": "chunked"}
    expecting = {"Content-Length": "60000", "Expect": "100-continue"}
    heads = [
        request("POST", "/create/group", {**JSON, **lengths[0]}),
        request("POST", "/auth/login", {**JSON, **lengths[1]}),
        request("POST", f"/publish/file?cid={CID}", {**FORM, **expecting}),
        request("GET", "/filesMetaData", lengths[0]),
    ]

    async def crawl(number: int) -> None:
        while attacker.goes_on:
            connection = await attacker.connect()
            if connection is None:
                await attacker.pause(0.5)
                continue
            attacker.tally.requests += 1
            data, byte = heads[number % len(heads)], b"1\r\n{\r\n" if number % 4 == 1 else b" "
            while await attacker.send(connection, data):
                await attacker.pause(0.3)
                data = byte

    await attacker.crowd(400, crawl)


async def send_endless_chunks(attacker: Attacker) -> None:
    piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    chunked = {"Transfer-Encoding": "chunked"}
    heads = [
        request("POST", "/create/group", {**JSON, **chunked}),
        request(
            "POST", "/webhook/provider-a/publish", {"X-Alchemy-Signature": "ab" * 32, **chunked}
        ),
        request("GET", "/filesMetaData", chunked),
        request("POST", "/nowhere", chunked),
    ]

    async def stream(number: int) -> None:
        while attacker.goes_on and attacker.tally.sent < MOST_ENDLESS_BYTES:
            connection = await attacker.connect()
            data = heads[number % len(heads)]
            attacker.tally.requests += 1
            while connection is not None and attacker.tally.sent < MOST_ENDLESS_BYTES:
                if not await attacker.send(connection, data):
                    break
                data = piece
            await attacker.pause(0.05)

    await attacker.crowd(24, stream)
    await attacker.rest()


ATTACKS = (
    Attack(
        "array-bomb",
        "Unsigned drafts with 24 MB of empty arrays in the envelope, in the content, or in an "
        "unknown member.",
        "An envelope is limited to 64 KiB; nothing large is parsed before the signer is "
        "identified.",
        send_array_bombs,
        lambda tally: tally.sent >= 24 * MEGABYTE,
        seconds=8,
    ),
    Attack(
        "form-bombs",
        "Forms whose envelope is 900 KB of arrays, with 20 000 fields, or full of boundaries.",
        "The same, and a limit of 8 fields.",
        send_form_bombs,
        lambda tally: tally.requests >= 40 and tally.refused >= 30,
    ),
    Attack(
        "deep-json",
        "Bodies with deeply nested arrays and objects, a million lone surrogates, a number of a "
        "million digits, or a million members.",
        "The same.",
        send_deep_json,
        lambda tally: tally.requests >= 8 and tally.refused >= 8,
        seconds=6,
    ),
    Attack(
        "held-bodies",
        "60 connections each send a 20 MB body except for its last byte.",
        "`IMPRINT_MAX_BODY_BYTES_IN_FLIGHT`; one address may use at most a quarter of it.",
        hold_bodies,
        lambda tally: tally.connections >= 60 and tally.sent >= 20 * MEGABYTE,
        seconds=8,
    ),
    Attack(
        "slow-bodies",
        "400 connections send their bodies one byte every 0.3 seconds.",
        "`IMPRINT_BODY_TIMEOUT_SECONDS`; a request takes a slot only once its body has arrived.",
        send_slowly,
        lambda tally: tally.connections >= 400 and tally.requests >= 100,
    ),
    Attack(
        "endless-chunks",
        "24 connections send chunked bodies that never end.",
        "Each path's body limit, and a limit on the bytes that are drained after a refusal.",
        send_endless_chunks,
        lambda tally: tally.sent >= 20 * MEGABYTE,
    ),
)
