"""A development chain in a separate process that counts requests and can return false data.

It mines a block every two seconds, like a real chain. `GET /counts` returns how many batches it
received, and how many of them were about access, a purchase or a contract wallet.
`POST /huge?post=7&bytes=9000000` enlarges its responses about post 7 to this size.
"""

import asyncio
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import uvloop
from aiohttp import web

from imprint.adapters.chain.contract_wallets import CALLER
from imprint.devchain.chain import Chain
from imprint.devchain.deployment import deploy_marketplace
from imprint.devchain.rpc import Dispatcher

BLOCK_SECONDS = 2.0
PIECE = b" " * (256 * 1024)

_MINE = b'{"jsonrpc":"2.0","id":1,"method":"evm_mine"}'


@dataclass(slots=True)
class Node:
    """The HTTP interface of a chain. `huge` maps posts to the size of their oversized responses."""

    chain: Chain
    counts: Counter[str] = field(default_factory=Counter)
    huge: dict[int, int] = field(default_factory=dict)

    async def respond(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/counts":
            return web.json_response(dict(self.counts))
        if request.path == "/huge":
            self.huge = {int(request.query["post"]): int(request.query["bytes"])}
            return web.json_response({})
        body = await request.read()
        self.counts["batches"] += 1
        self.counts["facts"] += b'"eth_call"' in body
        self.counts["purchases"] += b'"eth_getTransactionByHash"' in body
        self.counts["wallets"] += CALLER.encode() in body
        for post, size in self.huge.items():
            if size and f"{post:064x}".encode() in body:
                self.counts["huge"] += 1
                return await self._respond_hugely(request, size)
        said = Dispatcher(self.chain).respond(body) or b""
        return web.Response(body=said, content_type="application/json")

    async def _respond_hugely(self, request: web.BaseRequest, size: int) -> web.StreamResponse:
        """Send white space in pieces, so that other requests are served in between."""
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.content_length = size
        await response.prepare(request)
        for start in range(0, size, len(PIECE)):
            await response.write(PIECE[: size - start])
        return response

    async def mine(self) -> None:
        while True:
            await asyncio.sleep(BLOCK_SECONDS)
            Dispatcher(self.chain).respond(_MINE)


async def serve(port: int, journal: Path) -> None:
    chain = Chain.open(journal, lambda: int(time.time()))
    marketplace = deploy_marketplace(chain)
    node = Node(chain)
    server = web.Server(node.respond, access_log=None)
    await asyncio.get_running_loop().create_server(server, "127.0.0.1", port)
    sys.stdout.write(msgspec.json.encode({"marketplace": marketplace}).decode() + "\n")
    sys.stdout.flush()
    await node.mine()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), Path(sys.argv[2])))
