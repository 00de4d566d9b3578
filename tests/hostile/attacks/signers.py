"""Attacks by wallets: many of them, wrong signatures, endless drafts, pictures that cost much."""

import json
from dataclasses import replace

from tests.hostile.attacker import Attacker
from tests.hostile.pictures import image_bomb, progressive_jpeg
from tests.hostile.registry import Attack, Check, Observation
from tests.hostile.wallets import JSON

MEBIBYTE = 1024 * 1024
LARGEST = "x" * (4 * MEBIBYTE)
"""The largest content."""

QUOTA_BYTES = 64 * MEBIBYTE
QUOTA_DRAFTS = 30
RATE_BYTES = 32 * MEBIBYTE

OTHER_BYTES = 24 * MEBIBYTE
"""What is stored beside the attacker's drafts: the honest client's, logs of the database."""


async def send_bad_signatures(attacker: Attacker) -> None:
    wallet, other = await attacker.wallet(), await attacker.wallet()
    stolen = json.loads(wallet.creation("x")) | {"address": other.address}
    broken = json.loads(wallet.creation("x")) | {"signature": "0x" + "ff" * 65}
    login = json.loads(wallet.login()) | {"address": other.address}
    requests = [
        ("/create/group", json.dumps(stolen).encode()),
        ("/create/group", json.dumps(broken).encode()),
        ("/auth/login", json.dumps(login).encode()),
    ]

    async def send(number: int) -> None:
        path, body = requests[number % len(requests)]
        await attacker.ask("POST", path, JSON, body)

    await attacker.crowd(12, lambda number: attacker.repeat(lambda: send(number)))


async def come_with_many_wallets(attacker: Attacker) -> None:
    async def create(number: int) -> None:
        wallet = await attacker.wallet()
        await attacker.create(wallet, LARGEST)
        await attacker.pause(0.05)

    await attacker.crowd(4, lambda number: attacker.repeat(lambda: create(number)))


async def churn_drafts(attacker: Attacker) -> None:
    wallet = await attacker.wallet()
    for _ in range(25):
        cid = await attacker.create(wallet, LARGEST)
        if cid is not None:
            attacker.tally.add("created")
            await attacker.ask("POST", f"/delete/file?cid={cid}", JSON, wallet.deletion())
    hoarder = await attacker.wallet()
    for _ in range(QUOTA_DRAFTS + 5):
        await attacker.create(hoarder, "x")
    await attacker.rest()


async def publish_progressive_jpegs(attacker: Attacker) -> None:
    await _publish_often(attacker, progressive_jpeg())


async def publish_image_bombs(attacker: Attacker) -> None:
    await _publish_often(attacker, image_bomb())


async def _publish_often(attacker: Attacker, image: bytes) -> None:
    wallet = await attacker.wallet()
    cid = await attacker.create(wallet, "Words.")
    assert cid is not None, attacker.tally

    async def publish() -> None:
        await attacker.publish(wallet, cid, image)

    await attacker.crowd(20, lambda number: attacker.repeat(publish, pause=0.5))


def stored_below(limit: int, status: int) -> Check:
    """What is stored stays below a limit, and what exceeds it is refused with this status."""

    def check(seen: Observation) -> str:
        before, after = seen.stored
        if after - before > limit + OTHER_BYTES:
            return f"{(after - before) / MEBIBYTE:.0f} MiB were stored."
        return "" if seen.tally.count(status) else f"Nothing was refused with {status}."

    return check


CHURN = Attack(
    "draft-churn",
    "A wallet creates 25 drafts of 4 MiB and deletes each; another one keeps 35 small drafts.",
    "`IMPRINT_QUOTA_BYTES` and `IMPRINT_QUOTA_DRAFTS`: here 64 MiB and 30.",
    churn_drafts,
    lambda tally: tally.requests >= 30 and tally.figures.get("created", 0) >= 5,
    seconds=4,
    settings={"QUOTA_BYTES": str(QUOTA_BYTES), "QUOTA_DRAFTS": str(QUOTA_DRAFTS)},
    check=stored_below(QUOTA_BYTES, 413),
)

ATTACKS = (
    Attack(
        "bad-signatures",
        "Logins and drafts with other people's and broken signatures, from 12 connections.",
        "`IMPRINT_RATE_SIGNED`, which is checked before a signature is.",
        send_bad_signatures,
        lambda tally: tally.requests >= 300 and tally.refused >= 300 and tally.count(401) >= 50,
    ),
    Attack(
        "many-wallets",
        "One address sends drafts of 4 MiB, each signed by another wallet.",
        "`IMPRINT_RATE_SIGNED` and `IMPRINT_RATE_BYTES`: here 32 MiB an hour.",
        come_with_many_wallets,
        lambda tally: tally.requests >= 12 and tally.count(200) >= 5,
        seconds=6,
        settings={"RATE_BYTES": f"{RATE_BYTES}/3600"},
        check=stored_below(RATE_BYTES, 429),
    ),
    CHURN,
    replace(CHURN, name="draft-churn-postgresql", postgresql=True),
    Attack(
        "progressive-jpegs",
        "One wallet publishes a JPEG of 124 KB with 1200 scans, 20 times at once.",
        "One picture of a signer at a time; scans are counted before a picture is decoded.",
        publish_progressive_jpegs,
        lambda tally: tally.requests >= 15 and tally.refused >= 5,
        seconds=10,
    ),
    Attack(
        "image-bombs",
        "One wallet publishes a PNG of 47 KB with 16 million pixels, 20 times at once.",
        "One picture of a signer at a time.",
        publish_image_bombs,
        lambda tally: tally.requests >= 15,
        seconds=6,
    ),
)
