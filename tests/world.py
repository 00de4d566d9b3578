"""A whole service in the test's process: real catalog, store, chain and signatures."""

import asyncio
import io
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from eth_abi.abi import encode
from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data
from eth_account.signers.local import LocalAccount
from PIL import Image
from starlette.types import ASGIApp

from imprint.bootstrap import Parts, build_service, open_parts
from imprint.cli.servers import listen, make_server
from imprint.devchain.blocks import Block
from imprint.devchain.chain import Chain
from imprint.devchain.deployment import deploy_marketplace
from imprint.devchain.payloads import build_body_a, build_body_b, sign_body_a, sign_body_b
from imprint.devchain.requests import Request, sign_request
from imprint.devchain.server import rpc_app
from imprint.domain.keccak import keccak256
from imprint.settings import DEVELOPMENT, Settings, read_settings

Account.enable_unaudited_hdwallet_features()

MNEMONIC = "test test test test test test test test test test test junk"
ORIGIN = "http://imprint.test"
DOMAIN = "imprint.test"
POST = "(string,string,string,string,uint256,string[])"
DEFAULT_PRICE = 10**16


@dataclass(slots=True)
class MovableClock:
    """A clock that goes on only when it is told to."""

    moment: datetime = field(default_factory=lambda: datetime.now(UTC))

    def now(self) -> datetime:
        return self.moment

    def advance(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)

    @property
    def seconds(self) -> int:
        return int(self.moment.timestamp())


@dataclass(frozen=True, slots=True)
class Wallet:
    """Somebody who signs."""

    account: LocalAccount
    clock: MovableClock

    @property
    def address(self) -> str:
        return str(self.account.address.lower())

    def envelope(
        self, action: str, nonce: str | None = None, timestamp: str | None = None
    ) -> dict[str, Any]:
        members = [{"name": name, "type": "string"} for name in ("action", "nonce", "timestamp")]
        kind = f"{action.capitalize()}File"
        return {
            "domain": {"name": "Imprint", "version": "1", "chainId": 31337},
            "types": {kind: members},
            "primaryType": kind,
            "message": {
                "action": action,
                "nonce": nonce or f"{self.address}_{secrets.token_hex(8)}",
                "timestamp": timestamp or str(self.clock.seconds),
            },
        }

    def sign_envelope(self, envelope: dict[str, Any]) -> dict[str, Any]:
        """The members that every signed body has."""
        signed = self.account.sign_message(
            encode_typed_data(envelope["domain"], envelope["types"], envelope["message"])
        )
        signature = signed.signature.to_0x_hex()
        return {"salt": envelope, "address": self.account.address, "signature": signature}

    def sign(self, action: str, nonce: str | None = None) -> dict[str, Any]:
        return self.sign_envelope(self.envelope(action, nonce))

    def login_message(self, domain: str = DOMAIN, chain_id: int = 31337, **lines: str) -> str:
        issued = self.clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return (
            f"{domain} wants you to sign in with your Ethereum account:\n{self.account.address}\n\n"
            f"Welcome back\n\nURI: http://{domain}/\nVersion: 1\nChain ID: {chain_id}\n"
            f"Nonce: {lines.get('nonce', secrets.token_hex(8))}\n"
            f"Issued At: {lines.get('issued', issued)}"
        )

    def sign_login(self, message: str) -> dict[str, Any]:
        signed = self.account.sign_message(encode_defunct(text=message))
        return {
            "salt": message,
            "address": self.account.address,
            "signature": signed.signature.to_0x_hex(),
        }


@dataclass(slots=True)
class World:
    """A service, its chain, and short ways to use both."""

    chain: Chain
    marketplace: str
    settings: Settings
    parts: Parts
    app: ASGIApp
    client: httpx.AsyncClient
    clock: MovableClock

    def wallet(self, index: int) -> Wallet:
        path = f"m/44'/60'/0'/0/{index}"
        return Wallet(Account.from_mnemonic(MNEMONIC, account_path=path), self.clock)

    async def login(self, wallet: Wallet) -> dict[str, str]:
        """The headers of a session."""
        body = wallet.sign_login(wallet.login_message())
        answer = await self.client.post("/auth/login", json=body)
        assert answer.status_code == 200, answer.text
        return {"Authorization": f"Bearer {answer.json()['token']}"}

    async def create(self, wallet: Wallet, content: str = "Some words.") -> dict[str, Any]:
        body = wallet.sign("create") | {"content": content}
        answer = await self.client.post("/create/group", json=body)
        assert answer.status_code == 200, answer.text
        file: dict[str, Any] = answer.json()["updatedUpload"]
        return file

    async def update(self, wallet: Wallet, cid: str, content: str) -> dict[str, Any]:
        body = wallet.sign("update") | {"content": content}
        answer = await self.client.post("/update/file", params={"cid": cid}, json=body)
        assert answer.status_code == 200, answer.text
        file: dict[str, Any] = answer.json()["upload"]
        return file

    async def send_publish(
        self, wallet: Wallet, cid: str, hashtags: str = "", image: bytes | None = None
    ) -> httpx.Response:
        fields = wallet.sign("publish") | {"hashtags": hashtags}
        fields["salt"] = json.dumps(fields["salt"])
        files = {"file": ("cover.png", image or picture(), "image/png")}
        return await self.client.post(
            "/publish/file", params={"cid": cid}, data=fields, files=files
        )

    async def publish(self, wallet: Wallet, cid: str, hashtags: str = "") -> str:
        answer = await self.send_publish(wallet, cid, hashtags)
        assert answer.status_code == 200, answer.text
        thumbnail: str = answer.json()["thumbnailCid"]
        return thumbnail

    async def send_delete(self, wallet: Wallet, cid: str) -> httpx.Response:
        body = wallet.sign("delete")
        return await self.client.post("/delete/file", params={"cid": cid}, json=body)

    def transact(self, wallet: Wallet, call: bytes, value: int = 0) -> Block:
        request = Request(
            sender=wallet.address, to=self.marketplace.lower(), data=call, value=value
        )
        return self.chain.submit(sign_request(self.chain, request))

    def create_post(self, wallet: Wallet, cid: str, price: int = DEFAULT_PRICE) -> Block:
        post = (cid, "A title", "bafkreithumbnail", "", price, [])
        return self.transact(wallet, _call(f"createPost({POST})", [POST], [post]))

    def buy(self, wallet: Wallet, post_id: int, price: int = DEFAULT_PRICE) -> Block:
        return self.transact(wallet, _call("subscribePost(uint256)", ["uint256"], [post_id]), price)

    def set_price(self, wallet: Wallet, post_id: int, price: int) -> Block:
        call = _call("updatePostPrice(uint256,uint256)", ["uint256"] * 2, [post_id, price])
        return self.transact(wallet, call)

    def transfer(self, wallet: Wallet, receiver: Wallet, post_id: int) -> Block:
        kinds = ["address", "uint256", "uint256"]
        call = _call("transfer(address,uint256,uint256)", kinds, [receiver.address, post_id, 1])
        return self.transact(wallet, call)

    async def deliver_a(self, block: Block) -> httpx.Response:
        body = build_body_a(
            block,
            self.marketplace,
            identifier=secrets.token_hex(8),
            sequence=1,
            created_at=self.clock.now(),
        )
        secret = self.settings.webhooks.a_secret
        assert secret is not None
        signed = sign_body_a(body, secret.reveal())
        return await self._deliver("provider-a", signed.body, signed.headers)

    async def deliver_b(self, block: Block, nonce: str | None = None) -> httpx.Response:
        body = build_body_b(block, self.marketplace)
        secret = self.settings.webhooks.b_secret
        assert secret is not None
        signed = sign_body_b(
            body,
            secret.reveal(),
            nonce=nonce or secrets.token_hex(16),
            timestamp=self.clock.seconds,
        )
        return await self._deliver("provider-b", signed.body, signed.headers)

    async def _deliver(self, path: str, body: bytes, headers: Any) -> httpx.Response:
        return await self.client.post(f"/webhook/{path}/publish", content=body, headers=headers)

    async def post(
        self, wallet: Wallet, content: str = "Words for sale.", price: int = DEFAULT_PRICE
    ) -> tuple[int, dict[str, Any]]:
        """A file that is published on the chain, and its post id."""
        file = await self.create(wallet, content)
        block = self.create_post(wallet, file["cid"], price)
        answer = await self.deliver_a(block)
        (event,) = answer.json()["events"]
        assert event["status"] == "onchain", answer.text
        return int(event["postId"]), file


def _call(signature: str, kinds: list[str], values: list[Any]) -> bytes:
    return keccak256(signature.encode())[:4] + encode(kinds, values)


def picture(kind: str = "PNG", size: tuple[int, int] = (32, 18)) -> bytes:
    """A small image, different every time."""
    color = tuple(secrets.token_bytes(3))
    file = io.BytesIO()
    Image.new("RGB", size, color).save(file, kind)
    return file.getvalue()


@asynccontextmanager
async def open_world(folder: Path, **given: str) -> AsyncIterator[World]:
    """A world whose data is in `folder`; `given` are settings by their names without the prefix."""
    clock = MovableClock()
    chain = Chain.open(folder / "chain.jsonl", lambda: clock.seconds)
    marketplace = deploy_marketplace(chain)
    listener = listen("127.0.0.1", 0)
    node = make_server(rpc_app(chain), patience=1)
    serving = asyncio.create_task(node.serve([listener]))
    environ = {
        "IMPRINT_CHAIN_RPC_URL": f"http://127.0.0.1:{listener.getsockname()[1]}",
        "IMPRINT_DATA_DIR": str(folder),
        "IMPRINT_PUBLIC_URL": ORIGIN,
        "IMPRINT_JANITOR_SECONDS": "0",
    } | {f"IMPRINT_{name}": value for name, value in given.items()}
    defaults = {**DEVELOPMENT, "IMPRINT_MARKETPLACE_ADDRESS": marketplace}
    settings = read_settings(environ, defaults=defaults)
    parts = open_parts(settings, clock)
    app = build_service(settings, parts)
    transport = httpx.ASGITransport(app)
    try:
        async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as client:
            yield World(chain, marketplace, settings, parts, app, client, clock)
    finally:
        await parts.close()
        node.should_exit = True
        await serving
        chain.close()
