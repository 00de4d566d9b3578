"""WebSub notifications to a hub over HTTP."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from imprint.adapters.websub import HttpHub


@asynccontextmanager
async def serving(status: int, bodies: list[str], location: str = "") -> AsyncIterator[str]:
    """Run a hub with the given response status and yield its URL."""

    async def respond(request: web.BaseRequest) -> web.StreamResponse:
        bodies.append(await request.text())
        return web.Response(status=status, headers={"Location": location} if location else None)

    server = web.Server(respond, access_log=None)
    listener = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/hub"
    finally:
        listener.close()
        await server.shutdown(0.01)
        await listener.wait_closed()


@pytest.mark.parametrize(("status", "accepted"), [(204, True), (200, True), (400, False)])
async def test_a_notification_names_every_feed(status: int, accepted: bool) -> None:
    bodies: list[str] = []
    async with serving(status, bodies) as address:
        told = await HttpHub(address).publish(["https://a.example/x?y", "https://b.example"])
    assert told is accepted
    assert bodies == [
        "hub.mode=publish&hub.url=https%3A%2F%2Fa.example%2Fx%3Fy&hub.url=https%3A%2F%2Fb.example"
    ]


async def test_a_redirect_is_not_followed() -> None:
    inner: list[str] = []
    async with serving(204, inner) as secret, serving(307, [], secret) as address:
        assert not await HttpHub(address).publish(["https://a.example"])
    assert inner == []


async def test_an_unreachable_hub_is_not_an_error() -> None:
    async with serving(204, []) as address:
        pass
    assert not await HttpHub(address).publish(["https://a.example"])
