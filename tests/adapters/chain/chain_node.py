"""The development chain behind a node whose responses a test can change."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer
from tests.world import World

from imprint.devchain.chain import Chain
from imprint.devchain.rpc import Dispatcher
from imprint.domain.posts.posts import BlockRef

Responses = list[dict[str, Any]]


@dataclass
class ChainNode:
    """The development chain over HTTP, with limited block ranges and overridable responses."""

    chain: Chain
    limit: int | None = None
    change: Callable[[list[dict[str, Any]], Responses], Responses | None] = lambda asked, sent: sent
    asked: int = 0
    server: TestServer = field(init=False)

    async def start(self) -> None:
        application = web.Application()
        application.router.add_post("/", self.respond)
        self.server = TestServer(application)
        await self.server.start_server(access_log=None)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.port}/"

    async def respond(self, request: web.Request) -> web.Response:
        self.asked += 1
        body = await request.read()
        sent = json.loads(Dispatcher(self.chain, self.limit).respond(body) or b"[]")
        changed = self.change(json.loads(body), sent)
        if changed is None:
            await asyncio.sleep(30)
        return web.json_response(changed)


@asynccontextmanager
async def run_chain_node(chain: Chain) -> AsyncIterator[ChainNode]:
    """Run a node for `chain` until the context exits."""
    node = ChainNode(chain)
    await node.start()
    yield node
    await node.server.close()


def block_ref(town: World, number: int = -1) -> BlockRef:
    block = town.chain.head if number < 0 else town.chain.block(number)
    assert block is not None
    return BlockRef(block.number, "0x" + block.hash.hex())


def change_result(
    method: str, change: Callable[[Any], Any]
) -> Callable[[list[dict[str, Any]], Responses], Responses]:
    """Return a function that changes one method's results in otherwise correct responses."""

    def apply(asked: list[dict[str, Any]], sent: Responses) -> Responses:
        for call, response in zip(asked, sent, strict=True):
            if call["method"] == method:
                response["result"] = change(response["result"])
        return sent

    return apply
