"""The webhook sender, tested with a webhook that records deliveries."""

import asyncio
import contextlib
import hashlib
import hmac
import itertools
import json
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from imprint.devchain.webhooks import Destination, Provider, Sender

SECRETS = {Provider.A: "a" * 32, Provider.B: "b" * 32}


@dataclass(slots=True)
class Webhook:
    """Responds with the given statuses in turn, then with 200."""

    statuses: list[int] = field(default_factory=list)
    received: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    async def take(self, request: web.Request) -> web.Response:
        self.received.append((dict(request.headers), await request.read()))
        return web.Response(status=self.statuses.pop(0) if self.statuses else 200)


@dataclass(frozen=True, slots=True)
class Post:
    webhook: Webhook
    url: str


@pytest.fixture
async def post() -> AsyncIterator[Post]:
    webhook = Webhook()
    application = web.Application()
    application.router.add_post("/hook", webhook.take)
    async with TestServer(application) as server:
        yield Post(webhook, str(server.make_url("/hook")))


@pytest.fixture
def draw() -> Callable[[int], bytes]:
    counter = itertools.count(1)
    return lambda size: next(counter).to_bytes(size, "big")


@contextlib.asynccontextmanager
async def sending(
    bench: Any, marketplace: str, destinations: list[Destination], draw: Callable[[int], bytes]
) -> AsyncIterator[Sender]:
    sender = Sender(
        bench.chain, marketplace, destinations, clock=bench.watch, draw=draw, pauses=(0.0, 0.0)
    )
    task = asyncio.create_task(sender.run())
    await asyncio.sleep(0)
    try:
        yield sender
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def aim(post: Post, provider: Provider) -> Destination:
    return Destination(provider, post.url, SECRETS[provider])


async def test_a_block_is_delivered_as_provider_a_with_a_signed_body(
    bench: Any, marketplace: str, post: Post, draw: Any
) -> None:
    async with sending(bench, marketplace, [aim(post, Provider.A)], draw) as sender:
        bench.publish(marketplace)
        await sender.drain()
    ((headers, body),) = post.webhook.received
    signature = hmac.new(SECRETS[Provider.A].encode(), body, hashlib.sha256).hexdigest()
    assert headers["X-Alchemy-Signature"] == signature
    assert json.loads(body)["event"]["data"]["block"]["number"] == bench.chain.head.number


async def test_a_block_is_delivered_as_provider_b_with_a_signed_body(
    bench: Any, marketplace: str, post: Post, draw: Any
) -> None:
    async with sending(bench, marketplace, [aim(post, Provider.B)], draw) as sender:
        bench.publish(marketplace)
        await sender.drain()
    ((headers, body),) = post.webhook.received
    signed = headers["X-QN-Nonce"].encode() + headers["X-QN-Timestamp"].encode() + body
    signature = hmac.new(SECRETS[Provider.B].encode(), signed, hashlib.sha256).hexdigest()
    assert headers["X-QN-Signature"] == signature
    assert headers["X-QN-Timestamp"] == str(bench.watch.now)


async def test_blocks_without_logs_of_the_marketplace_are_not_delivered(
    bench: Any, marketplace: str, post: Post, draw: Any
) -> None:
    async with sending(bench, marketplace, [aim(post, Provider.A)], draw) as sender:
        bench.chain.mine()
        bench.send(to="0x" + "ab" * 20)
        await sender.drain()
    assert post.webhook.received == []


async def test_blocks_are_delivered_in_order_even_if_one_is_refused_at_first(
    bench: Any, marketplace: str, post: Post, draw: Any
) -> None:
    post.webhook.statuses = [503, 201]
    async with sending(bench, marketplace, [aim(post, Provider.A)], draw) as sender:
        bench.publish(marketplace, "one")
        bench.publish(marketplace, "two")
        await sender.drain()
    bodies = [json.loads(body) for _, body in post.webhook.received]
    heights = [body["event"]["data"]["block"]["number"] for body in bodies]
    assert heights == [2, 2, 2, 3]
    assert bodies[0] == bodies[1] == bodies[2]
    assert int(bodies[3]["event"]["sequenceNumber"]) > int(bodies[0]["event"]["sequenceNumber"])


async def test_provider_b_uses_a_new_nonce_for_each_attempt(
    bench: Any, marketplace: str, post: Post, draw: Any
) -> None:
    post.webhook.statuses = [500]
    async with sending(bench, marketplace, [aim(post, Provider.B)], draw) as sender:
        bench.publish(marketplace)
        await sender.drain()
    first, second = (headers["X-QN-Nonce"] for headers, _ in post.webhook.received)
    assert first != second


async def test_the_next_block_is_delivered_after_giving_up_on_one(
    bench: Any, marketplace: str, post: Post, draw: Any, caplog: pytest.LogCaptureFixture
) -> None:
    post.webhook.statuses = [500, 500, 500]
    with caplog.at_level(logging.WARNING):
        async with sending(bench, marketplace, [aim(post, Provider.A)], draw) as sender:
            bench.publish(marketplace, "one")
            bench.publish(marketplace, "two")
            await sender.drain()
    assert len(post.webhook.received) == 4
    assert "gave up delivering block 2" in caplog.text
    assert post.url not in caplog.text


async def test_an_unresponsive_webhook_does_not_delay_the_other(
    bench: Any, marketplace: str, post: Post, draw: Any
) -> None:
    dead = Destination(Provider.A, "http://127.0.0.1:9/", SECRETS[Provider.A])
    async with sending(bench, marketplace, [dead, aim(post, Provider.B)], draw) as sender:
        bench.publish(marketplace)
        await sender.drain()
    assert len(post.webhook.received) == 1


async def test_a_stopped_sender_delivers_no_further_blocks(
    bench: Any, marketplace: str, post: Post, draw: Any
) -> None:
    async with sending(bench, marketplace, [aim(post, Provider.A)], draw):
        pass
    bench.publish(marketplace)
    assert post.webhook.received == []


def test_the_repr_of_a_destination_does_not_show_its_secret() -> None:
    shown = repr(Destination(Provider.A, "http://127.0.0.1:9/hook", "hush"))
    assert "hush" not in shown
    assert "hook" not in shown
