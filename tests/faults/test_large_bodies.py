"""Fifty concurrent creates of four megabytes: memory is bounded, and every response is correct."""

import asyncio
import json
import socket
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.faults.scene import Replica, open_scene
from tests.world import Wallet

CREATES = 50
ADDRESSES = 10
WALLETS = 5

CONTENT = ("Words. " * (600 * 1024))[: 4 * 1024 * 1024 - 64]

GROWTH = 250
"""Megabytes by which the memory of the service may grow.

All bodies in flight take 128 MB. The measured growth was 170 to 200 MB with large documents
taking turns, and 320 to 400 MB without.
"""

RATES = ("RATE_READS", "RATE_SIGNED", "RATE_WRITES", "RATE_LOGINS", "RATE_BYTES")
UNLIMITED = dict.fromkeys(RATES, "1000000000/60")


def peak_megabytes(replica: Replica) -> int:
    """Return the peak memory of the service in megabytes."""
    status = Path(f"/proc/{replica.process.worker}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) // 1024


async def send_from(address: str, port: int, wallet: Wallet) -> tuple[int, dict[str, Any]]:
    """Create a large draft from this local address and return the status and body.

    A request that is refused early may be interrupted: the connection is reset after the
    response, which asyncio's streams would then not return.
    """
    signed = json.dumps(wallet.sign("create")).encode()
    body = signed[:-1] + b', "content": "' + CONTENT.encode() + b'"}'
    head = (
        b"POST /create/group HTTP/1.1\r\nHost: imprint.test\r\nConnection: close\r\n"
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    )
    loop, response = asyncio.get_running_loop(), b""
    with socket.socket() as connection:
        connection.setblocking(False)
        connection.bind((address, 0))
        await loop.sock_connect(connection, ("127.0.0.1", port))
        sending = asyncio.create_task(loop.sock_sendall(connection, head + body))
        with suppress(ConnectionResetError):
            while received := await loop.sock_recv(connection, 65536):
                response += received
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
    head, _, rest = response.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(rest)


async def test_large_creates_from_many_addresses_use_bounded_memory(tmp_path: Path):
    async with open_scene(tmp_path, RATE_LIMITS="on", **UNLIMITED) as scene:
        replica, world = scene.replica(), scene.world
        await replica.start()
        await world.create(world.wallet(0))
        before = peak_megabytes(replica)
        wallets = [world.wallet(number % WALLETS) for number in range(CREATES)]
        responses = await asyncio.gather(
            *(
                send_from(f"127.0.0.{2 + number % ADDRESSES}", replica.port, wallet)
                for number, wallet in enumerate(wallets)
            )
        )
        assert peak_megabytes(replica) - before < GROWTH
        refusals = Counter((status, body["code"]) for status, body in responses if status != 200)
        assert refusals.keys() <= {(503, "overloaded")}
        created = [
            (wallet, body["updatedUpload"]["cid"])
            for wallet, (status, body) in zip(wallets, responses, strict=True)
            if status == 200
        ]
        assert len(created) >= CREATES // 3
        sessions = {wallet.address: await world.login(wallet) for wallet in wallets[:WALLETS]}
        for wallet, cid in created:
            headers = sessions[wallet.address]
            read = await world.client.get("/fileByCid", params={"cid": cid}, headers=headers)
            assert read.json()["content"] == CONTENT
        again = await send_from("127.0.0.2", replica.port, world.wallet(0))
        assert again[0] == 200
