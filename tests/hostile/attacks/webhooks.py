"""Attacks on the webhook paths, which must stay reachable for providers."""

import gzip
import secrets
import time

from tests.hostile.attacker import Attacker
from tests.hostile.connection import request
from tests.hostile.registry import Attack, Observation

PATH_A = "/webhook/provider-a/publish"
PATH_B = "/webhook/provider-b/publish"
FORGED_A = {"Content-Type": "application/json", "X-Alchemy-Signature": "ab" * 32}

GZIP_BOMB = gzip.compress(b" " * (16 * 1024 * 1024 - 1), mtime=0)
"""16 KB that inflate to the largest permitted webhook delivery."""


async def withhold_bodies(attacker: Attacker) -> None:
    head = request("POST", PATH_A, {**FORGED_A, "Content-Length": "1000"})

    async def withhold(number: int) -> None:
        while attacker.goes_on:
            connection = await attacker.connect()
            if connection is not None and await attacker.send(connection, head, requests=1):
                await attacker.response(connection)
            await attacker.pause(0.5)

    await attacker.crowd(520, withhold)


async def send_gzip_bombs(attacker: Attacker) -> None:
    async def send() -> None:
        headers = {
            "Content-Type": "application/json",
            "Content-Encoding": "gzip",
            "X-QN-Nonce": secrets.token_hex(8),
            "X-QN-Timestamp": str(int(time.time())),
            "X-QN-Signature": "cd" * 32,
        }
        await attacker.ask("POST", PATH_B, headers, GZIP_BOMB)

    await attacker.crowd(110, lambda number: attacker.repeat(send))


async def send_large_forgeries(attacker: Attacker) -> None:
    body = b"[" + b"[]," * 5_000_000 + b"[]]"

    async def send() -> None:
        await attacker.ask("POST", PATH_A, FORGED_A, body)

    await attacker.crowd(12, lambda number: attacker.repeat(send, pause=0.1))


def check_refusals(seen: Observation) -> str:
    limited = seen.tally.count(429) + seen.tally.count(503)
    return "" if limited else "Forged deliveries are not limited."


ATTACKS = (
    Attack(
        "bodiless-webhooks",
        "520 connections send the head of a forged delivery but never its body.",
        "A request takes a slot only once its body has arrived; deliveries have a separate pool.",
        withhold_bodies,
        lambda tally: tally.connections >= 520 and tally.requests >= 100,
    ),
    Attack(
        "gzip-bomb",
        "Forged deliveries of 16 KB that inflate to 16 MB, from 110 connections.",
        "`IMPRINT_RATE_WEBHOOKS` and `IMPRINT_MAX_CONCURRENT_WEBHOOKS`.",
        send_gzip_bombs,
        lambda tally: tally.requests >= 100,
        check=check_refusals,
    ),
    Attack(
        "large-forgeries",
        "Forged deliveries of 15 MB of empty arrays, from 12 connections.",
        "The same, and `IMPRINT_MAX_BODY_BYTES_IN_FLIGHT`.",
        send_large_forgeries,
        lambda tally: tally.requests >= 10,
    ),
)
