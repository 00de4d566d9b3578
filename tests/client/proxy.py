"""A proxy that loses or refuses requests between a client and the service, on demand."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web

from imprint.client import Imprint

LOSE = "lose"
"""Forward the request and drop the response."""

PASS = "pass"
"""Forward the request and return its response."""

Fault = web.Response | str


@dataclass(slots=True)
class Proxy:
    """Applies the next of `faults` to each request. `seen` has the bodies of all requests."""

    target: str
    http: aiohttp.ClientSession
    faults: list[Fault] = field(default_factory=list)
    seen: list[bytes] = field(default_factory=list)
    url: str = ""

    async def respond(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.seen.append(body)
        fault = self.faults.pop(0) if self.faults else PASS
        if isinstance(fault, web.Response):
            return fault
        kept = {"Content-Type": request.headers["Content-Type"]} if body else {}
        address = f"{self.target}{request.path_qs}"
        async with self.http.request(
            request.method, address, data=body or None, headers=kept
        ) as passed:
            response = web.Response(status=passed.status, body=await passed.read())
        if fault == LOSE and request.transport is not None:
            request.transport.close()
        return response


@asynccontextmanager
async def open_proxy(imprint: Imprint) -> AsyncIterator[tuple[Proxy, Imprint]]:
    """Run a proxy in front of a client's service, with another client that uses the proxy."""
    proxy = Proxy(imprint.url, imprint.http)
    runner = web.ServerRunner(web.Server(proxy.respond))
    await runner.setup()
    try:
        server = await asyncio.get_running_loop().create_server(runner.server, "127.0.0.1", 0)
        async with server:
            proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            async with Imprint(proxy.url, imprint.facts) as client:
                yield proxy, client
    finally:
        await runner.cleanup()
