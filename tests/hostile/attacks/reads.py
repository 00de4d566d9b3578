"""Attacks with reads: above the rate limit, bypassing the cache, or with absurd parameters."""

import ipaddress
import json
import random
import secrets
from base64 import b64decode
from collections.abc import Callable

from tests.hostile.attacker import Attacker, Tally
from tests.hostile.attacks.signers import ADDRESSES
from tests.hostile.connection import Connection
from tests.hostile.registry import Attack, Observation
from tests.hostile.wallets import JSON
from tests.payments import PAYMENT, encode_header

from imprint.adapters.chain.http_client import MAX_EXCHANGES
from imprint.services.access.payments import MAX_WAITS

# The addresses that a proxy reports

BURST = 120
"""The burst that `IMPRINT_RATE_SIGNED` allows. Two more requests are allowed every second."""

TRIES = 240
"""Number of requests that one client sends while it pretends to have many addresses."""

SLACK = 40
"""Number of requests allowed beyond the burst while the attack lasts."""

UNTRUSTED = "127.0.0.3"


def _any_address() -> str:
    return str(ipaddress.IPv4Address(random.getrandbits(32)))


def _spelling() -> str:
    """A random spelling of one IPv6 address."""
    groups = ["2001", "db8", "1", "0", "0", "0", "0", "1"]
    spelled = [group.zfill(random.randint(len(group), 4)) for group in groups]
    text = ":".join(random.choice((group.upper(), group)) for group in spelled)
    text = random.choice((text, "2001:db8:1::1", "2001:DB8:1:0::1"))
    return random.choice((text, f"[{text}]", f"[{text}]:{random.randint(1, 65_535)}"))


DISGUISES: dict[str, Callable[[], dict[str, str]]] = {
    "two lines": lambda: {"X-Forwarded-For": _any_address(), "x-forwarded-for": "203.0.113.1"},
    "one line": lambda: {"X-Forwarded-For": f"{_any_address()}, 203.0.113.2"},
    "ports": lambda: {"X-Forwarded-For": f"203.0.113.3:{random.randint(1, 65_535)}"},
    "spellings": lambda: {"X-Forwarded-For": _spelling()},
    "network": lambda: {"X-Forwarded-For": f"2001:db8:2::{random.getrandbits(16):x}"},
    "mapped": lambda: {
        "X-Forwarded-For": random.choice(
            ("203.0.113.4", "::ffff:203.0.113.4", "::FFFF:cb00:7104", "0:0:0:0:0:ffff:203.0.113.4")
        )
    },
    "untrusted": lambda: {"X-Forwarded-For": _any_address()},
}
"""Headers with which one client, directly or through a proxy, pretends to be many."""


async def pretend_addresses(attacker: Attacker) -> None:
    names = list(DISGUISES)

    async def pretend(number: int) -> None:
        name = names[number]
        source = UNTRUSTED if name == "untrusted" else ""
        for _ in range(TRIES):
            headers = {**JSON, **DISGUISES[name]()}
            response = await attacker.ask("POST", "/auth/login", headers, b"{}", source=source)
            attacker.tally.add(f"{name} tried")
            if response is not None and response.status != 429:
                attacker.tally.add(f"{name} admitted")

    await attacker.crowd(len(names), pretend)
    await attacker.rest()


def pretended(tally: Tally) -> bool:
    """Whether all requests were sent, and at least one was refused."""
    all_tried = all(tally.figures.get(f"{name} tried", 0) >= TRIES for name in DISGUISES)
    return all_tried and tally.count(429) >= 1


def check_admitted(seen: Observation) -> str:
    figures = seen.tally.figures
    avoided = {
        name: admitted
        for name in DISGUISES
        if (admitted := figures.get(f"{name} admitted", 0)) > BURST + SLACK
    }
    return f"One client was counted as several: {avoided}." if avoided else ""


# Queries of the chain

MOST_BATCHES = 60
"""Maximum number of access queries to the node in an attack, including the honest reader's."""


async def find_posts(attacker: Attacker) -> list[int]:
    """Find posts whose text the attacker cannot read."""
    found = []
    for post in range(1, 20):
        response = await attacker.ask("GET", f"/freeFileByPostId?postId={post}")
        if response is None or response.status == 404:
            break
        if response.status != 200:
            found.append(post)
    return found


async def ask_for_paid_posts(attacker: Attacker) -> None:
    post = (await find_posts(attacker))[0]

    async def ask(number: int) -> None:
        connection: Connection | None = None
        for turn in range(130):
            wanted = post if turn % 13 else 10**6 + number * 1000 + turn
            connection = connection or await attacker.connect()
            path = f"/freeFileByPostId?postId={wanted}"
            if connection is None or not await attacker.ask("GET", path, connection=connection):
                connection = None
            await attacker.pause(attacker.seconds / 200)

    await attacker.crowd(8, ask)
    await attacker.rest()


def check_batches(seen: Observation) -> str:
    asked = seen.asked("facts")
    return f"The node received {asked} requests." if asked > MOST_BATCHES else ""


async def read_through_a_huge_node(attacker: Attacker) -> None:
    post = (await find_posts(attacker))[-1]
    readers = []
    for _ in range(64):
        wallet = await attacker.wallet()
        if session := await attacker.session(wallet):
            readers.append((wallet.address, session))

    async def read(number: int) -> None:
        address, session = readers[number]
        for _ in range(10):
            await attacker.ask("GET", f"/fileByPostId?user={address}&postId={post}", session)
            await attacker.pause(0.2)

    await attacker.crowd(len(readers), read)
    await attacker.rest()


def check_huge(seen: Observation) -> str:
    asked = seen.asked("huge")
    return "" if asked >= 5 else f"The node sent only {asked} huge responses."


# Purchases

MOST_LOOKUPS = 12
"""Maximum number of queries sent to the node for one waiting read."""


async def name_invented_purchases(attacker: Attacker) -> None:
    path = f"/posts/{(await find_posts(attacker))[0]}/content"
    # Request the description of the service once, before the concurrent requests begin.
    await attacker.wallet()

    async def name(number: int) -> None:
        source = ADDRESSES[number % len(ADDRESSES)]
        offered = await attacker.ask("GET", path, source=source)
        if offered is None or offered.status != 402:
            return
        offer = json.loads(b64decode(offered.headers["payment-required"]))
        extension, terms = offer["extensions"]["sign-in-with-x"], offer["accepts"][0]
        challenge = {**extension["info"], **extension["supportedChains"][0]}
        invented = {
            "transaction": f"0x{secrets.token_hex(32)}",
            "signIn": (await attacker.wallet()).proof(challenge),
        }
        payment = {"x402Version": 2, "accepted": terms, "payload": invented}
        attacker.tally.add("named")
        headers = {PAYMENT: encode_header(payment)}
        response = await attacker.ask("GET", path, headers, source=source)
        if response is not None and response.status == 402:
            attacker.tally.add("pending", "retry-after" in response.headers)

    await attacker.crowd(
        12 * len(ADDRESSES), lambda number: attacker.repeat(lambda: name(number), pause=0.02)
    )


def check_lookups(seen: Observation) -> str:
    asked, named = seen.asked("purchases"), seen.tally.figures.get("named", 0)
    most = named + MOST_LOOKUPS * MAX_WAITS
    return f"The node received {asked} queries; at most {most} are allowed." if asked > most else ""


# Parameters


async def send_absurd_parameters(attacker: Attacker) -> None:
    long = "9" * 60_000
    token = {"Authorization": "Bearer " + "a." * 30_000}
    wanted: list[tuple[str, dict[str, str]]] = [
        (f"/freeFileByPostId?postId={long}", {}),
        (f"/filesMetaData?cid=z{long}", {}),
        (f"/filesMetaData?cid=f01551220{long}", {}),
        (f"/ipfs/z{long}", {}),
        (f"/ipfs/bafkqaaa{long}?format=car&dag-scope=all", {}),
        (f"/filesByTags?tags={'a,' * 30_000}", {}),
        (f"/filesByTags?tags={'a,' * 4_000}a", {}),
        (f"/filesByTags?tags={'%E2%84%A2' * 6_000}", {}),
        (f"/filesByNextPageToken?next_page_token={'A' * 60_000}", {}),
        ("/filesMetaData?" + "a&" * 30_000, {}),
        ("/filesMetaData?" + "a&" * 4_000, {}),
        (f"/fileByPostId?user=0x{'11' * 20}&postId=1", token),
        ("/filesMetaData", {"Accept": "a/b," * 15_000, "If-None-Match": '"a",' * 1_000}),
    ]

    async def send(number: int) -> None:
        path, headers = wanted[number % len(wanted)]
        await attacker.ask("GET", path, headers)

    await attacker.crowd(110, lambda number: attacker.repeat(lambda: send(number), pause=0.1))


ATTACKS = (
    Attack(
        "forwarded-addresses",
        "One client behind a trusted proxy keeps changing its apparent address: two "
        "`X-Forwarded-For` lines, ports, different spellings of an IPv6 address, addresses in "
        "one /64.",
        "Rate limits apply to the last address in the chain that is not a trusted proxy, after "
        "parsing; an IPv6 /64 counts as one address.",
        pretend_addresses,
        pretended,
        seconds=10,
        settings={"TRUSTED_PROXIES": "127.0.0.1"},
        check=check_admitted,
    ),
    Attack(
        "not-free-storm",
        "A thousand anonymous reads of a paid post and of posts that do not exist.",
        "The result that a post is not free is cached until the next block, for at most one "
        "second.",
        ask_for_paid_posts,
        lambda tally: tally.count(403) >= 500,
        check=check_batches,
    ),
    Attack(
        "huge-node-responses",
        "64 readers request a post for which the node returns 12 MB.",
        "A node's response about a post is limited to 1 MiB, and its memory is released.",
        read_through_a_huge_node,
        lambda tally: tally.count(503) >= 64,
        seconds=8,
        node_bytes=12_000_000,
        check=check_huge,
    ),
    Attack(
        "invented-purchases",
        "New wallets prove their addresses and name invented purchases of a paid post, from 96 "
        "connections and eight addresses.",
        "`IMPRINT_RATE_SIGNED`; at most 32 reads wait for a purchase, 8 of one client, for 15 "
        "seconds and with growing pauses. All others query the chain once.",
        name_invented_purchases,
        lambda tally: tally.figures.get("pending", 0) >= 30,
        seconds=6,
        # Idle connections to the node, and the clients of reads that still wait.
        kept_open=MAX_EXCHANGES + MAX_WAITS,
        check=check_lookups,
    ),
    Attack(
        "absurd-parameters",
        "Post ids, cids, hashtags, page tokens and sessions that are 60 KB long.",
        "Lengths are checked before values; a query string is limited to 8 KiB.",
        send_absurd_parameters,
        lambda tally: tally.requests >= 200 and tally.refused >= 150,
    ),
)
