"""Deliveries from both providers in random order, with duplicates, poison and heartbeats."""

import asyncio
import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import aiohttp
from eth_abi.abi import encode
from eth_account.signers.local import LocalAccount
from eth_utils.address import to_checksum_address
from tests.anvil.deliveries import write_body_a, write_body_b
from tests.anvil.node import CHAIN_ID, GAS_PRICE, POST_CREATED, PRICE, Anvil, Receipt

from imprint.devchain.webhooks import SignedDelivery, sign_body_a, sign_body_b
from imprint.domain.formats.addresses import keccak256

POST = "(string,string,string,string,uint256,string[])"
POSTS_IN_A_BLOCK = 50
SENDERS = 16
"""The number of concurrent deliveries."""


def publish_all(anvil: Anvil, posts: Sequence[tuple[LocalAccount, str]]) -> list[Receipt]:
    """Publish the given CIDs, many per block, and return the receipts."""
    anvil.rpc("evm_setAutomine", False)
    selector = keccak256(f"createPost({POST})".encode())[:4]
    nonces: dict[str, int] = {}
    receipts: list[Receipt] = []
    for first in range(0, len(posts), POSTS_IN_A_BLOCK):
        for author, cid in posts[first : first + POSTS_IN_A_BLOCK]:
            nonce = nonces.get(author.address, 0)
            nonces[author.address] = nonce + 1
            post = (cid, "A title", "bafkreithumbnail", "", PRICE, [])
            signed = author.sign_transaction(
                {
                    "chainId": CHAIN_ID,
                    "nonce": nonce,
                    "gas": 500_000,
                    "gasPrice": GAS_PRICE,
                    "value": 0,
                    "data": selector + encode([POST], [post]),
                    "to": to_checksum_address(anvil.marketplace),
                }
            )
            anvil.rpc("eth_sendRawTransaction", signed.raw_transaction.to_0x_hex())
        anvil.mine()
        receipts += anvil.rpc("eth_getBlockReceipts", "latest")
    assert len(receipts) == len(posts)
    return receipts


@dataclass
class Storm:
    """Signs deliveries, sends each until it is accepted, and counts the outcomes."""

    url: str
    secret_a: str
    secret_b: str
    random: Random
    waits: list[float] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    resent: int = 0

    def sign(self, body: bytes, provider: str) -> tuple[str, SignedDelivery]:
        if provider == "a":
            return provider, sign_body_a(body, self.secret_a)
        nonce, compress = secrets.token_hex(16), self.random.random() < 0.3
        now = int(time.time())
        return provider, sign_body_b(
            body, self.secret_b, nonce=nonce, timestamp=now, compress=compress
        )

    def brew(self, receipts: Sequence[Receipt], count: int) -> list[tuple[str, SignedDelivery]]:
        """Build `count` deliveries: 30 % duplicates, 5 % poison, and 2 % heartbeats."""
        writers = {"a": write_body_a, "b": write_body_b}
        deliveries = [self.sign(writers[who](receipt), who) for receipt in receipts for who in "ab"]
        poison = [self.sign(*self._poison(receipts)) for _ in range(count // 20)]
        beats = [self.sign(b'{"event":{"data":{"block":{"logs":[]}}}}', "a")] * (count // 100)
        beats += [self.sign(b'{"data":[[]]}', "b") for _ in range(count // 100)]
        again = self.random.choices(deliveries, k=count * 3 // 10)
        brewed = deliveries + poison + beats + again
        while len(brewed) < count:
            who = self.random.choice("ab")
            brewed.append(self.sign(writers[who](self.random.choice(receipts)), who))
        self.random.shuffle(brewed)
        return brewed

    def _poison(self, receipts: Sequence[Receipt]) -> tuple[bytes, str]:
        receipt = json.loads(json.dumps(self.random.choice(receipts)))
        (log,) = (log for log in receipt["logs"] if log["topics"][0] == POST_CREATED)
        log["blockHash"] = receipt["blockHash"] = "0x" + secrets.token_hex(32)
        kind = self.random.randrange(4)
        if kind == 0:
            words = [b"T", b"\xff\xfe", b"t", 0]
            log["data"] = "0x" + encode(["bytes", "bytes", "bytes", "uint256"], words).hex()
        elif kind == 1:
            log["data"] = "0x" + "ff" * 320
        elif kind == 2:
            log["topics"] = log["topics"][:1]
        else:
            return b"[" * 5_000, "b"
        return write_body_b(receipt), "b"

    async def send_all(self, deliveries: Sequence[tuple[str, SignedDelivery]]) -> float:
        """Send the deliveries in order, a few at a time, and return the elapsed time."""
        began = time.monotonic()
        left = iter(deliveries)
        connector = aiohttp.TCPConnector(limit=SENDERS)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def work() -> None:
                for provider, signed in left:
                    await self._send(session, provider, signed)

            await asyncio.gather(*(work() for _ in range(SENDERS)))
        return time.monotonic() - began

    async def _send(
        self, session: aiohttp.ClientSession, provider: str, signed: SignedDelivery
    ) -> None:
        path = f"{self.url}/webhook/provider-{provider}/publish"
        while True:
            began = time.monotonic()
            try:
                async with session.post(path, data=signed.body, headers=signed.headers) as response:
                    said = await response.json(content_type=None)
                    assert response.status in (200, 503), said
                    if response.status == 200:
                        self.waits.append(time.monotonic() - began)
                        self.events += said["events"]
                        return
            except aiohttp.ClientError:
                pass
            # Like the providers: repeat until it is accepted.
            self.resent += 1
            await asyncio.sleep(0.1)
