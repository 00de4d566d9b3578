"""One client that holds bodies and responses open, while another one reads and writes."""

import asyncio
import io
import secrets
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from PIL import Image
from tests.processes import PLAIN, Service
from tests.world import MovableClock, Wallet, World

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(sys.platform != "linux", reason="needs 127.0.0.2 and /proc"),
]

MB = 1_000_000
ATTACKER, READER = "127.0.0.1", "127.0.0.2"


@dataclass(slots=True)
class Target:
    """A service in a process of its own, with default limits, and a reader at another address."""

    service: Service
    reader: httpx2.AsyncClient
    wallet: Wallet

    def memory(self, name: str) -> int:
        """A value of the process in bytes: `VmRSS` is now, `VmHWM` the most so far."""
        status = Path(f"/proc/{self.service.process.worker}/status").read_text("ascii")
        (line,) = (line for line in status.splitlines() if line.startswith(f"{name}:"))
        return int(line.split()[1]) * 1024

    def signed(self, action: str) -> dict[str, Any]:
        return Wallet(self.wallet.account, MovableClock()).sign(action)

    async def create(self) -> str:
        response = await self.reader.post(
            "/create/group", json=self.signed("create") | {"content": "Some words."}
        )
        assert response.status_code == 200, response.text
        cid: str = response.json()["updatedUpload"]["cid"]
        return cid

    async def publish(self, cid: str, image: bytes) -> str:
        envelope = self.signed("publish")
        fields = envelope | {"salt": httpx2.Request("POST", "/", json=envelope["salt"]).content}
        files = {"file": ("cover.png", image, "image/png")}
        response = await self.reader.post(
            "/publish/file", params={"cid": cid}, data=fields, files=files
        )
        assert response.status_code == 200, response.text
        thumbnail: str = response.json()["thumbnailCid"]
        return thumbnail

    async def use(self, during: Coroutine[Any, Any, None]) -> None:
        """Read and write from the other address, without a refusal, until the attack ends."""
        attack = asyncio.create_task(during)
        uses = 0
        while not attack.done() or uses < 3:
            assert (await self.reader.get("/filesMetaData")).status_code == 200
            await self.create()
            await asyncio.sleep(0.2)
            uses += 1
        await attack


@pytest.fixture
async def target(town: World, tmp_path: Path) -> AsyncIterator[Target]:
    given = {
        "CHAIN_RPC_URL": town.node.url,
        "CHAIN_ID": "31337",
        "MARKETPLACE_ADDRESS": town.marketplace,
        "JWT_SECRET": secrets.token_hex(32),
        "RATE_WRITES": "10000/60",
        "RATE_SIGNED": "10000/60",
    }
    service = Service(tmp_path, given)
    await asyncio.to_thread(service.start)
    transport = httpx2.AsyncHTTPTransport(local_address=READER, verify=PLAIN)
    try:
        async with httpx2.AsyncClient(
            transport=transport, base_url=service.url, timeout=60
        ) as reader:
            yield Target(service, reader, town.wallet(1))
    finally:
        service.kill()


@asynccontextmanager
async def _connections(target: Target, number: int) -> AsyncIterator[list[asyncio.StreamWriter]]:
    """Connections of the attacker, which reads nothing of what it is sent."""
    opened = []
    for _ in range(number):
        _, writer = await asyncio.open_connection(
            ATTACKER, target.service.port, local_addr=(ATTACKER, 0), limit=1
        )
        opened.append(writer)
    try:
        yield opened
    finally:
        for writer in opened:
            writer.transport.abort()


async def _send(writer: asyncio.StreamWriter, head: bytes, size: int) -> None:
    """Send a head and so much of a body, unless the service closes the connection before."""
    try:
        writer.write(head)
        for _ in range(size // 65_536):
            writer.write(bytes(65_536))
            async with asyncio.timeout(10):
                await writer.drain()
    except (OSError, TimeoutError):
        pass


async def test_bodies_that_are_held_open_leave_memory_and_others_alone(target: Target) -> None:
    before = target.memory("VmRSS")
    head = (
        b"POST /create/group HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n" % (20 * MB)
    )
    async with _connections(target, 60) as opened:

        async def attack() -> None:
            await asyncio.gather(*(_send(writer, head, 20 * MB - 65_536) for writer in opened))

        await target.use(attack())
    assert target.memory("VmHWM") - before < 200 * MB


def _noise() -> bytes:
    """A picture of almost five million bytes."""
    file = io.BytesIO()
    size = (1280, 1290)
    Image.frombytes("RGB", size, secrets.token_bytes(size[0] * size[1] * 3)).save(file, "PNG")
    return file.getvalue()


async def test_responses_that_nobody_reads_leave_memory_and_others_alone(target: Target) -> None:
    thumbnails = [await target.publish(await target.create(), _noise()) for _ in range(3)]
    before = target.memory("VmRSS")
    async with _connections(target, 200) as opened:

        async def attack() -> None:
            for number, writer in enumerate(opened):
                cid = thumbnails[number % len(thumbnails)].encode()
                await _send(writer, b"GET /ipfs/%s HTTP/1.1\r\nHost: a\r\n\r\n" % cid, 0)
            await asyncio.sleep(1)

        await target.use(attack())
        for cid in thumbnails:
            response = await target.reader.get(f"/ipfs/{cid}")
            assert (response.status_code, len(response.content) > 4 * MB) == (200, True)
    assert target.memory("VmHWM") - before < 200 * MB
