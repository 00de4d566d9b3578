"""A JSON-RPC node on loopback with a small marketplace and injectable faults."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer
from eth_abi.abi import decode, encode

from imprint.domain.formats.addresses import ZERO_ADDRESS, Address

Fault = Callable[["FaultyNode", web.Request, list[Any]], Awaitable[web.StreamResponse]]


@dataclass
class FaultyNode:
    """The state that the node reports, its current fault, and the batches it received."""

    chain_id: int = 31337
    code: str = "0x6080"
    number: int = 100
    timestamp: int = 1_760_000_000
    entries: dict[int, tuple[Address, bytes, int]] = field(default_factory=dict)
    balances: dict[tuple[Address, int], int] = field(default_factory=dict)
    transactions: dict[str, object] = field(default_factory=dict)
    logs: object = field(default_factory=list)
    fault: Fault | None = None
    tamper: Callable[[dict[str, Any], dict[str, Any]], None] = lambda request, response: None
    batches: list[list[Any]] = field(default_factory=list)
    received: asyncio.Event = field(default_factory=asyncio.Event)
    server: TestServer | None = None

    async def start(self) -> None:
        application = web.Application()
        application.router.add_post("/{path:.*}", self.receive)
        self.server = TestServer(application)
        await self.server.start_server(access_log=None)

    async def stop(self) -> None:
        if self.server is not None:
            await self.server.close()

    @property
    def address(self) -> str:
        assert self.server is not None
        return f"http://127.0.0.1:{self.server.port}/"

    async def receive(self, request: web.Request) -> web.StreamResponse:
        batch = await request.json()
        self.batches.append(batch)
        self.received.set()
        if self.fault is not None:
            return await self.fault(self, request, batch)
        return web.json_response(self.respond(batch))

    def respond(self, batch: list[Any]) -> list[Any]:
        responses = []
        for request in batch:
            result = self.result(request["method"], request["params"])
            response = {"jsonrpc": "2.0", "id": request["id"], "result": result}
            self.tamper(request, response)
            responses.append(response)
        return responses

    def result(self, method: str, params: list[Any]) -> object:
        if method == "eth_chainId":
            return hex(self.chain_id)
        if method == "eth_blockNumber":
            return hex(self.number)
        if method == "eth_getBlockByNumber":
            number, timestamp = hex(self.number), hex(self.timestamp)
            return {"hash": self.block_hash, "number": number, "timestamp": timestamp}
        if method == "eth_getCode":
            return self.code
        if method == "eth_getTransactionByHash":
            return self.transactions.get(params[0])
        if method == "eth_getLogs":
            return self.logs
        assert method == "eth_call", method
        return "0x" + self.run(bytes.fromhex(params[0]["data"][2:])).hex()

    @property
    def block_hash(self) -> str:
        return f"0x{self.number:064x}"

    def run(self, data: bytes) -> bytes:
        selector, arguments = data[:4].hex(), data[4:]
        if selector == "eba1e3b3":
            (post_id,) = decode(["uint256"], arguments)
            author, cid, price = self.entries.get(post_id, (ZERO_ADDRESS, b"", 0))
            types = "(address,bytes,bytes,bytes,bytes,uint256)"
            return encode([types], [(author, cid, b"title", b"thumb", b"", price)])
        if selector == "00fdd58e":
            holder, post_id = decode(["address", "uint256"], arguments)
            return encode(["uint256"], [self.balances.get((holder, post_id), 0)])
        assert selector == "e8be2748", selector
        (cid,) = decode(["bytes"], arguments)
        found = [post_id for post_id, entry in self.entries.items() if entry[1] == cid]
        return encode(["uint256"], [found[0] if found else 0])


def respond_with_status(status: int) -> Fault:
    """A fault: the correct response is sent with a different status."""

    async def fault(node: FaultyNode, request: web.Request, batch: list[Any]) -> web.Response:
        return web.json_response(node.respond(batch), status=status)

    return fault


def respond_with_body(body: bytes | str) -> Fault:
    """A fault: the node always returns the same body."""

    async def fault(node: FaultyNode, request: web.Request, batch: list[Any]) -> web.Response:
        raw = body.encode() if isinstance(body, str) else body
        return web.Response(body=raw, content_type="application/json")

    return fault


def respond_changed(change: Callable[[list[Any]], object]) -> Fault:
    """A fault: the correct responses are sent with modifications."""

    async def fault(node: FaultyNode, request: web.Request, batch: list[Any]) -> web.Response:
        return web.json_response(change(node.respond(batch)))

    return fault


async def stay_silent(
    node: FaultyNode, request: web.Request, batch: list[Any]
) -> web.StreamResponse:
    """A fault: the correct response is sent only after every timeout has expired."""
    await asyncio.sleep(30)
    return web.json_response(node.respond(batch))


async def drip(node: FaultyNode, request: web.Request, batch: list[Any]) -> web.StreamResponse:
    """A fault: white space is sent for half a minute, and then the correct response."""
    response = web.StreamResponse()
    await response.prepare(request)
    for _ in range(300):
        await response.write(b" ")
        await asyncio.sleep(0.1)
    await response.write(json.dumps(node.respond(batch)).encode())
    return response


async def reset(node: FaultyNode, request: web.Request, batch: list[Any]) -> web.StreamResponse:
    """A fault: the connection is reset without a response."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def cut_off(node: FaultyNode, request: web.Request, batch: list[Any]) -> web.StreamResponse:
    """A fault: the connection closes in the middle of the correct response."""
    body = json.dumps(node.respond(batch)).encode()
    response = web.StreamResponse(headers={"Content-Length": str(len(body))})
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    assert request.transport is not None
    request.transport.close()
    return response


async def flood(node: FaultyNode, request: web.Request, batch: list[Any]) -> web.StreamResponse:
    """A fault: the response never ends."""
    response = web.StreamResponse()
    await response.prepare(request)
    for _ in range(10_000):
        await response.write(b" " * 65_536)
    return response


async def redirect(node: FaultyNode, request: web.Request, batch: list[Any]) -> web.Response:
    """A fault: the node redirects to the correct response."""
    if request.path == "/elsewhere":
        return web.json_response(node.respond(batch))
    return web.Response(status=307, headers={"Location": node.address + "elsewhere"})
