"""When a client disconnects, at any moment, all resources held for it are released."""

import asyncio
import gc
import json
import random
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.world import Wallet, World, open_world, picture

from imprint.adapters.images.sandbox import SandboxedRecoder
from imprint.domain.rate_limits import Budget
from imprint.server.connection_limits import ConnectionLimits, OpenConnections
from imprint.server.http import HttpServer
from imprint.server.listeners import listen
from imprint.web.api.writes import WriteRoutes
from imprint.web.http.large_responses import ResponseBudget

CLIENTS, ROUNDS, SECONDS = 16, 6, 60
RESET = struct.pack("ii", 1, 0)


@dataclass(slots=True)
class Requests:
    """Requests of every type as bytes. Those with content are freshly signed."""

    wallet: Wallet
    draft: str
    thumbnail: str
    post: int

    def choose(self, chance: random.Random) -> bytes:
        """One or more consecutive requests, the last of which may be incomplete."""
        kinds = (
            lambda: _get(f"/ipfs/{self.thumbnail}"),
            lambda: _get(f"/ipfs/{self.thumbnail}?format=car"),
            lambda: _get(f"/freeFileByPostId?postId={self.post}"),
            lambda: _get("/filesMetaData"),
            lambda: _get("/filesMetaData", "Content-Length: 1000\r\n"),
            lambda: self.create(chance.choice([10, 1_000_000])),
            lambda: self.publish(chance.choice([picture(), b"\xff\xd8\xff" + bytes(100_000)])),
            lambda: _post("/webhook/provider-a/publish", bytes(200_000), _FORGED),
            lambda: _get("/healthz") + b"no HTTP\r\n\r\n",
        )
        sent = b"".join(chance.choice(kinds)() for _ in range(chance.choice([1, 1, 2, 20])))
        return sent[: chance.choice([len(sent), chance.randrange(len(sent))])]

    def create(self, size: int) -> bytes:
        body = json.dumps(self.wallet.sign("create") | {"content": "a" * size}).encode()
        return _post("/create/group", body, "Content-Type: application/json\r\n")

    def publish(self, image: bytes) -> bytes:
        signed = self.wallet.sign("publish")
        texts = signed | {"salt": json.dumps(signed["salt"])}
        fields = [_part(f'name="{name}"', text.encode()) for name, text in texts.items()]
        form = [*fields, _part('name="file"; filename="a"', image), b"--b--\r\n"]
        kind = "Content-Type: multipart/form-data; boundary=b\r\n"
        return _post(f"/publish/file?cid={self.draft}", b"".join(form), kind)


_FORGED = f"X-Alchemy-Signature: {'0' * 64}\r\n"


def _get(target: str, headers: str = "") -> bytes:
    return f"GET {target} HTTP/1.1\r\nHost: imprint.test\r\n{headers}\r\n".encode()


def _post(target: str, body: bytes, headers: str) -> bytes:
    lines = f"Host: imprint.test\r\n{headers}Content-Length: {len(body)}\r\n"
    return f"POST {target} HTTP/1.1\r\n{lines}\r\n".encode() + body


def _part(name: str, value: bytes) -> bytes:
    return f"--b\r\nContent-Disposition: form-data; {name}\r\n\r\n".encode() + value + b"\r\n"


async def _come_and_go(port: int, requests: Requests, chance: random.Random) -> None:
    loop = asyncio.get_running_loop()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        try:
            async with asyncio.timeout(chance.choice([0.01, 0.1, 0.5])):
                await loop.sock_connect(client, ("127.0.0.1", port))
                await loop.sock_sendall(client, requests.choose(chance))
                if chance.random() < 0.3:
                    client.shutdown(socket.SHUT_WR)
                for _ in range(chance.choice([0, 1, 1000])):
                    if not await loop.sock_recv(client, 65_536):
                        break
        except (OSError, TimeoutError):
            pass
        if chance.random() < 0.5:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


def _holders() -> list[object]:
    """All objects that can hold resources for a client, including those left by other tests."""
    kinds = Budget, ResponseBudget, OpenConnections, SandboxedRecoder, WriteRoutes
    return [each for each in gc.get_objects() if isinstance(each, kinds)]


def _held(others: list[object]) -> list[object]:
    """Return everything that is still reserved in a budget, queued, or counted as open, except
    what earlier tests left."""
    kept: list[object] = []
    left = {id(each) for each in others}
    for each in _holders():
        if id(each) in left:
            continue
        if isinstance(each, Budget) and (each.taken or each._held):
            kept.append((each.total, each._held))
        elif isinstance(each, ResponseBudget) and (each._waiters or each._shared):
            kept.append((each._waiters, list(each._shared)))
        elif isinstance(each, OpenConnections) and (each.count or each.by_client):
            kept.append((each.count, each.by_client))
        elif isinstance(each, SandboxedRecoder) and (each._jobs or each._turns):
            kept.append((each._jobs, each._turns))
        elif isinstance(each, WriteRoutes) and each._turns:
            kept.append(each._turns)
    return kept


async def _requests(world: World) -> Requests:
    alice = world.wallet(1)
    draft = (await world.create(alice))["cid"]
    image = picture(size=(1500, 1500))
    published = await world.send_publish(alice, draft, image=image)
    post, _ = await world.post(alice, "Words. " * 200_000, price=0)
    return Requests(alice, draft, published.json()["thumbnailCid"], post)


@pytest.mark.parametrize("seed", range(2))
async def test_a_disconnect_at_any_moment_releases_everything(tmp_path: Path, seed: int) -> None:
    others = _holders()
    async with open_world(tmp_path) as world:
        requests = await _requests(world)
        listener = listen("127.0.0.1", 0)
        limits = ConnectionLimits(per_address=CLIENTS, write_seconds=1)
        server = HttpServer(world.app, listener, limits=limits, shutdown_timeout=1)
        running = asyncio.create_task(server.run())
        chance = random.Random(seed)
        for _ in range(ROUNDS):
            port = listener.getsockname()[1]
            await asyncio.gather(*(_come_and_go(port, requests, chance) for _ in range(CLIENTS)))
        async with asyncio.timeout(SECONDS):
            while _held(others) or server._server.server_state.tasks:  # noqa: ASYNC110 - has no event
                await asyncio.sleep(0.1)
        assert (await world.client.get("/filesMetaData")).status_code == 200
        server.stop()
        await running
