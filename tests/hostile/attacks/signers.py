"""Attacks by wallets: too many wallets, bad signatures, endless drafts, expensive pictures."""

import json
import secrets
from dataclasses import replace

from tests.hostile.attacker import Attacker
from tests.hostile.pictures import image_bomb, progressive_jpeg
from tests.hostile.registry import Attack, Check, Observation
from tests.hostile.wallets import JSON

from imprint.auth.signatures import MAX_SIGNATURE_BYTES
from imprint.domain.formats.addresses import checksum_address, parse_address
from imprint.services.accounts.contract_wallets import MAX_CHECKS

MEBIBYTE = 1024 * 1024
LARGEST = "x" * (4 * MEBIBYTE)
"""Content of the maximum size."""

QUOTA_BYTES = 64 * MEBIBYTE
QUOTA_DRAFTS = 30
RATE_BYTES = 32 * MEBIBYTE

OTHER_BYTES = 24 * MEBIBYTE
"""Bytes stored besides the attacker's drafts: the honest client's data and database logs."""


ADDRESSES = ["127.0.0.1", *(f"127.0.0.{number}" for number in range(3, 10))]
"""The attacker's addresses: all except the honest client's."""

WALLET_CHECKS = 30
"""The default limit of node calls per client per minute."""

ROUNDING_SECONDS = 2
"""Allowance for rounding: the service counts whole seconds at the start and at the end."""

MARK = "6492" * 16


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


async def send_signatures_of_contracts(attacker: Attacker) -> None:
    began = await _service_time(attacker)
    bad = ["ab" * 65, "ab" * MAX_SIGNATURE_BYTES, f"{7:064x}{96:064x}{128:064x}" + "00" * 64 + MARK]

    async def send(number: int) -> None:
        # Nobody has the key of such an address, so the service asks the chain whether it has code.
        forged = {"address": f"0x{secrets.token_hex(20)}", "signature": f"0x{bad[number % 3]}"}
        wallet, source = await attacker.wallet(), ADDRESSES[number % len(ADDRESSES)]
        path, made = "/create/group", wallet.creation("x")
        if number % 2:
            path, made = "/auth/login", wallet.login()
            forged |= {"salt": _claim(json.loads(made)["salt"], forged["address"])}
        body = json.dumps(json.loads(made) | forged).encode()
        await attacker.ask("POST", path, JSON, body, source=source)

    await attacker.crowd(
        2 * len(ADDRESSES), lambda number: attacker.repeat(lambda: send(number), pause=0.02)
    )
    ended = await _service_time(attacker)
    attacker.tally.add("seconds", ended - began)


async def _service_time(attacker: Attacker) -> int:
    described = await attacker.ask("GET", "/.well-known/imprint.json")
    assert described is not None, attacker.tally
    return int(described.json()["now"])


def _claim(message: str, address: str) -> str:
    """Replace the address in a login message with another account's."""
    first, _, rest = message.split("\n", 2)
    return "\n".join([first, checksum_address(parse_address(address)), rest])


def wallets_asked_within_limits(seen: Observation) -> str:
    """Check that node calls stay within the limit per client."""
    seconds = seen.tally.figures.get("seconds", 0) + ROUNDING_SECONDS
    most = len(ADDRESSES) * (WALLET_CHECKS + seconds * WALLET_CHECKS / 60)
    asked = seen.asked("wallets")
    if not asked:
        return "The node received no request about a wallet."
    return (
        ""
        if asked <= most
        else f"The node received {asked} requests; at most {most:.0f} are allowed."
    )


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
    """Check that storage stays below a limit, and that excess writes are refused with `status`."""

    def check(seen: Observation) -> str:
        before, after = seen.stored
        if after - before > limit + OTHER_BYTES:
            return f"{(after - before) / MEBIBYTE:.0f} MiB were stored."
        return "" if seen.tally.count(status) else f"Nothing was refused with {status}."

    return check


CHURN = Attack(
    "draft-churn",
    "One wallet creates and deletes 25 drafts of 4 MiB each; another keeps 35 small drafts.",
    "`IMPRINT_QUOTA_BYTES` and `IMPRINT_QUOTA_DRAFTS`: 64 MiB and 30 in this test.",
    churn_drafts,
    lambda tally: tally.requests >= 30 and tally.figures.get("created", 0) >= 5,
    seconds=4,
    settings={"QUOTA_BYTES": str(QUOTA_BYTES), "QUOTA_DRAFTS": str(QUOTA_DRAFTS)},
    check=stored_below(QUOTA_BYTES, 413),
)

ATTACKS = (
    Attack(
        "bad-signatures",
        "Logins and drafts with invalid signatures or other people's, from 12 connections.",
        "`IMPRINT_RATE_SIGNED`, which is checked before the signature.",
        send_bad_signatures,
        lambda tally: tally.requests >= 300 and tally.refused >= 300 and tally.count(401) >= 50,
    ),
    Attack(
        "contract-wallets",
        "Invalid contract-wallet signatures of up to 16 KiB, from eight addresses.",
        "`IMPRINT_RATE_WALLET_CHECKS`: the node checks 30 signatures per address, then one every "
        "two seconds; at most 16 checks run at once.",
        send_signatures_of_contracts,
        lambda tally: tally.count(401) >= 80 and tally.count(429) >= 1,
        seconds=6,
        kept_open=MAX_CHECKS,
        check=wallets_asked_within_limits,
    ),
    Attack(
        "many-wallets",
        "One address sends drafts of 4 MiB, each signed by a different wallet.",
        "`IMPRINT_RATE_SIGNED` and `IMPRINT_RATE_BYTES`: 32 MiB an hour in this test.",
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
        "One wallet publishes a 124 KB JPEG with 1200 scans in 20 concurrent requests.",
        "One picture per signer is processed at a time; scans are counted before decoding.",
        publish_progressive_jpegs,
        lambda tally: tally.requests >= 15 and tally.refused >= 5,
        seconds=10,
    ),
    Attack(
        "image-bombs",
        "One wallet publishes a 47 KB PNG with 16 million pixels in 20 concurrent requests.",
        "One picture per signer is processed at a time.",
        publish_image_bombs,
        lambda tally: tally.requests >= 15,
        seconds=6,
    ),
)
