"""The retrying HTTP client: when a request is retried, and when the deadline prevents it."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from imprint.adapters.content.http_retry import (
    HttpRequest,
    HttpResponse,
    RetryingClient,
    RetryPolicy,
    StoreFailure,
)

POLICY = RetryPolicy(timeout=50, pause=0.001)
SOON = 20
"""Seconds within which a request finishes even on a busy machine, unless it waits needlessly."""


class Service:
    """A service that responds 429 with each of these Retry-After headers in turn, and then 200."""

    def __init__(self, *retry_after: str) -> None:
        self.waiting = list(retry_after)
        self.received = 0

    async def respond(self, request: web.Request) -> web.Response:
        self.received += 1
        if not self.waiting:
            return web.Response(text="done")
        return web.Response(status=429, headers={"Retry-After": self.waiting.pop(0)})


@asynccontextmanager
async def served(service: Service) -> AsyncIterator[str]:
    application = web.Application()
    application.router.add_get("/", service.respond)
    server = TestServer(application)
    await server.start_server(access_log=None)
    try:
        yield f"http://127.0.0.1:{server.port}/"
    finally:
        await server.close()


async def send(service: Service, policy: RetryPolicy = POLICY, **options: bool) -> HttpResponse:
    client = RetryingClient("Test", frozenset({429}), policy)
    async with served(service) as url:
        deadline = asyncio.get_running_loop().time() + policy.timeout
        try:
            return await client.send(HttpRequest("GET", url, **options), deadline)
        finally:
            await client.close()


async def test_a_retry_after_in_seconds_is_honoured() -> None:
    began = time.monotonic()
    assert (await send(Service("1"))).body == b"done"
    assert time.monotonic() - began >= 1


@pytest.mark.parametrize("after", ["60", "999999999999", "Fri, 01 Jan 2100 00:00:00 GMT"])
async def test_a_retry_after_beyond_the_deadline_fails_immediately(after: str) -> None:
    began = time.monotonic()
    with pytest.raises(StoreFailure, match="status 429, and no time is left for another attempt"):
        await send(Service(after))
    assert time.monotonic() - began < SOON


MALFORMED = [
    "",
    "soon",
    "-1",
    "+60",
    "60.0",
    "6e1",
    "6_0",
    "60 seconds",
    "\N{ARABIC-INDIC DIGIT SIX}\N{ARABIC-INDIC DIGIT ZERO}",
    "Fri, 01 Jan 2100 00:00:00 -0000",
    "01 Jan 00:00:00 99999999999999",
]
"""Malformed `Retry-After` values, most of which a lenient parser reads as a minute or more."""


@pytest.mark.parametrize("after", MALFORMED)
async def test_a_malformed_retry_after_is_ignored(after: str) -> None:
    service = Service(after)
    began = time.monotonic()
    assert (await send(service)).body == b"done"
    assert time.monotonic() - began < SOON
    assert service.received == 2


@pytest.mark.parametrize("after", ["0", "Thu, 01 Jan 1970 00:00:00 GMT"])
async def test_a_retry_after_in_the_past_is_replaced_by_the_usual_pause(after: str) -> None:
    began = time.monotonic()
    assert (await send(Service(after), RetryPolicy(timeout=50, pause=0.2))).body == b"done"
    assert 0.2 <= time.monotonic() - began < SOON


async def test_the_last_attempt_returns_its_response_regardless_of_status() -> None:
    service = Service(*["0"] * 10)
    assert (await send(service)).status == 429
    assert service.received == POLICY.attempts


async def test_a_non_repeatable_request_is_sent_once() -> None:
    service = Service("0")
    assert (await send(service, repeatable=False)).status == 429
    assert service.received == 1
