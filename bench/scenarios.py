"""Scenarios, and the requests that each scenario sends to a service."""

from collections.abc import Callable
from functools import partial

from bench.fixture import Fixture
from bench.loads import CONNECTIONS
from bench.wallets import get_request

Requests = Callable[[int], list[bytes]]
"""Builds the given number of requests. Signed requests are valid for 60 seconds."""

WITHOUT_CACHE = {"IMPRINT_CHAIN_CACHE_SECONDS": "0"}
"""Service settings for cold reads."""

BOUND_UPDATE = "update by wallet, imprint-2"
SESSION_UPDATE = "update by session key"
CONTRACT_LOGIN = "login by a contract wallet"
"""Names of the scenarios that run only if the service has the feature they need."""

PREPARED = ("signed update", BOUND_UPDATE, SESSION_UPDATE, "webhook delivery")
"""Scenarios whose drafts are created one by one beforehand."""

_FULL_PAGE = 13
"""Number of posts and drafts that fill the first page of every list."""


def writes(fixture: Fixture) -> dict[str, Requests]:
    """Return those logins, signed writes and webhook deliveries that the service supports."""
    forms, features = fixture.facts["signing_forms"], fixture.facts["features"]
    scenarios: dict[str, Requests] = {
        "login": fixture.logins,
        "signed create": fixture.creates,
        "signed update": fixture.updates,
        "webhook delivery": fixture.deliveries,
    }
    if "imprint-2" in forms:
        scenarios[BOUND_UPDATE] = fixture.bound_updates
    if "writing-sessions" in features:
        scenarios[SESSION_UPDATE] = fixture.session_updates
    if "contract-wallets" in features:
        scenarios[CONTRACT_LOGIN] = fixture.contract_logins
    return scenarios


def warm_reads(fixture: Fixture) -> dict[str, Requests]:
    """Return cached gated reads and lists, after creating the posts and drafts they read."""
    paid, free = fixture.publish(1), fixture.publish(0)
    for _ in range(_FULL_PAGE):
        fixture.publish(0)
        fixture.create()
    session, address = fixture.session(fixture.alice), fixture.alice.address
    requests = {
        "gated read, access cached": get_request(
            f"/fileByPostId?user={address}&postId={paid}", session
        ),
        "free read": get_request(f"/freeFileByPostId?postId={free}"),
        "list of the newest posts": get_request("/filesMetaData"),
        "list of own drafts": get_request(f"/pendingFilesByOwner?owner={address}", session),
    }
    return {name: partial(_repeat, [request]) for name, request in requests.items()}


def cold_reads(fixture: Fixture) -> dict[str, Requests]:
    """Return gated reads that each query the chain, for a service run `WITHOUT_CACHE`."""
    session, address = fixture.session(fixture.alice), fixture.alice.address
    # One post for each connection: concurrent reads of one post would share a chain read.
    posts = [fixture.publish(1) for _ in range(CONNECTIONS)]
    requests = [
        get_request(f"/fileByPostId?user={address}&postId={post_id}", session) for post_id in posts
    ]
    return {"gated read, access from the chain": partial(_repeat, requests)}


def _repeat(requests: list[bytes], number: int) -> list[bytes]:
    return [requests[n % len(requests)] for n in range(number)]
