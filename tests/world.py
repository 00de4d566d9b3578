"""A complete service in the test process, with a real catalog, store, chain and signatures."""

import asyncio
import io
import json
import re
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
from aiohttp import web
from eth_abi.abi import encode
from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data
from eth_account.signers.local import LocalAccount
from PIL import Image
from starlette.types import ASGIApp
from tests.canaries import RPC_PATH, SIGNING, UNUSED, canaries_of
from tests.migrated_catalog import put_migrated_catalog
from tests.postgresql import records_of

from imprint.adapters.images.sandbox import SandboxedRecoder
from imprint.bootstrap import Adapters, build_indexer, build_service, open_adapters
from imprint.devchain.blocks import Block
from imprint.devchain.calls import Request, sign_request
from imprint.devchain.chain import Chain
from imprint.devchain.deployment import deploy_adapter, deploy_marketplace
from imprint.devchain.rpc import Dispatcher
from imprint.devchain.webhooks import build_body_a, build_body_b, sign_body_a, sign_body_b
from imprint.domain.formats.addresses import keccak256
from imprint.domain.formats.cids import Cid, cid_bytes
from imprint.ports import ContentStore
from imprint.services.drafts.garbage_collector import BATCH, GarbageCollector
from imprint.settings import DEVELOPMENT, Settings, read_settings
from imprint.web.docs.openapi import describe_interface

Account.enable_unaudited_hdwallet_features()

MNEMONIC = "test test test test test test test test test test test junk"
ORIGIN = "http://imprint.test"
DOMAIN = "imprint.test"
POST = "(string,string,string,string,uint256,string[])"
DEFAULT_PRICE = 10**16


@dataclass(slots=True)
class MovableClock:
    """A manual clock."""

    moment: datetime = field(default_factory=lambda: datetime.now(UTC))
    passed: float = 1000.0
    """Elapsed seconds, unaffected by setting the clock."""

    def now(self) -> datetime:
        return self.moment

    def __call__(self) -> datetime:
        return self.now()

    def advance(self, seconds: float) -> None:
        """Advance the clock. A negative number sets it back."""
        self.moment += timedelta(seconds=seconds)
        self.passed += max(0.0, seconds)

    def set_ahead(self, seconds: float) -> None:
        """Set the clock without letting time elapse."""
        self.moment += timedelta(seconds=seconds)

    def monotonic(self) -> float:
        return self.passed

    @property
    def seconds(self) -> int:
        return int(self.moment.timestamp())


@dataclass(slots=True)
class TickingClock(MovableClock):
    """A clock that advances by a microsecond each time it is read, like a real one."""

    def now(self) -> datetime:
        self.moment += timedelta(microseconds=1)
        return self.moment

    def __call__(self) -> datetime:
        return self.now()


@dataclass(frozen=True, slots=True)
class Wallet:
    """An account that signs logins and writes."""

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
        """Sign typed data, and return the fields that every signed body contains."""
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


Fault = Callable[[bytes], "bytes | None"]
"""Turns a node's correct response into a faulty one. None means that no response is sent."""


@dataclass(slots=True)
class Node:
    """The service's node. Its calls can be counted, and made to fail or hang."""

    chain: Chain
    fault: Fault | None = None
    lie: Callable[[bytes], bytes] | None = None
    """Replaces the node's truthful response with a false one, before any fault is applied."""
    asked: int = 0
    url: str = ""
    _server: web.Server | None = None
    _listener: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = web.Server(self._respond, access_log=None)
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(self._server, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._listener.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        if self._listener is not None and self._server is not None:
            self._listener.close()
            await self._server.shutdown(0.01)
            await self._listener.wait_closed()
            self._listener = None

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        said = await self.respond(await request.read())
        return web.Response(body=said, content_type="application/json")

    async def respond(self, asked: bytes) -> bytes:
        """Return the response to a request body, with the fault that is set."""
        self.asked += 1
        said = Dispatcher(self.chain).respond(asked) or b""
        if self.lie is not None:
            said = self.lie(said)
        if self.fault is not None:
            changed = self.fault(said)
            if changed is None:
                await asyncio.sleep(30)
            said = changed or b""
        return said


@dataclass(slots=True)
class World:
    """A service, its chain, and helpers for both."""

    chain: Chain
    node: Node
    marketplace: str
    settings: Settings
    adapters: Adapters
    app: ASGIApp
    client: httpx2.AsyncClient
    clock: MovableClock

    def wallet(self, index: int) -> Wallet:
        """One of the chain's funded accounts."""
        return Wallet(_account(index), self.clock)

    def stranger(self) -> Wallet:
        """A new, unfunded account."""
        return Wallet(Account.create(), self.clock)

    async def login(self, wallet: Wallet) -> dict[str, str]:
        """Log in and return the headers of the session."""
        body = wallet.sign_login(wallet.login_message())
        response = await self.client.post("/auth/login", json=body)
        assert response.status_code == 200, response.text
        return {"Authorization": f"Bearer {response.json()['token']}"}

    async def create(self, wallet: Wallet, content: str = "Some words.") -> dict[str, Any]:
        response = await self.send_create(wallet, content)
        assert response.status_code == 200, response.text
        file: dict[str, Any] = response.json()["updatedUpload"]
        return file

    async def send_create(
        self, wallet: Wallet, content: str = "Some words.", nonce: str | None = None
    ) -> httpx2.Response:
        body = wallet.sign("create", nonce) | {"content": content}
        return await self.client.post("/create/group", json=body)

    async def send_update(
        self, wallet: Wallet, cid: str, content: str = "Other words.", nonce: str | None = None
    ) -> httpx2.Response:
        body = wallet.sign("update", nonce) | {"content": content}
        return await self.client.post("/update/file", params={"cid": cid}, json=body)

    async def update(self, wallet: Wallet, cid: str, content: str) -> dict[str, Any]:
        response = await self.send_update(wallet, cid, content)
        assert response.status_code == 200, response.text
        file: dict[str, Any] = response.json()["upload"]
        return file

    async def send_publish(
        self,
        wallet: Wallet,
        cid: str,
        hashtags: str = "",
        image: bytes | None = None,
        nonce: str | None = None,
    ) -> httpx2.Response:
        fields = wallet.sign("publish", nonce) | {"hashtags": hashtags}
        fields["salt"] = json.dumps(fields["salt"])
        files = {"file": ("cover.png", picture() if image is None else image, "image/png")}
        return await self.client.post(
            "/publish/file", params={"cid": cid}, data=fields, files=files
        )

    async def publish(self, wallet: Wallet, cid: str, hashtags: str = "") -> str:
        response = await self.send_publish(wallet, cid, hashtags)
        assert response.status_code == 200, response.text
        thumbnail: str = response.json()["thumbnailCid"]
        return thumbnail

    async def send_delete(
        self, wallet: Wallet, cid: str, nonce: str | None = None
    ) -> httpx2.Response:
        body = wallet.sign("delete", nonce)
        return await self.client.post("/delete/file", params={"cid": cid}, json=body)

    def transact(self, wallet: Wallet, call: bytes, value: int = 0, to: str | None = None) -> Block:
        """Call the marketplace, or another contract."""
        to = to or self.marketplace.lower()
        request = Request(sender=wallet.address, to=to, data=call, value=value)
        return self.chain.submit(sign_request(self.chain, request))

    def create_post(self, wallet: Wallet, cid: str, price: int = DEFAULT_PRICE) -> Block:
        return self.create_post_with(wallet, (cid, "A title", "bafkreithumbnail", "", price, []))

    def create_post_with(self, wallet: Wallet, post: tuple[Any, ...]) -> Block:
        """Publish a post with any cid, title, thumbnail, description, price and hashtags."""
        return self.transact(wallet, _call(f"createPost({POST})", [POST], [post]))

    def buy(self, wallet: Wallet, post_id: int, price: int = DEFAULT_PRICE) -> Block:
        return self.transact(wallet, _call("subscribePost(uint256)", ["uint256"], [post_id]), price)

    def buy_through(
        self, adapter: str, payer: Wallet, post_ids: list[int], receiver: Wallet
    ) -> Block:
        """Buy posts for a receiver through a purchase adapter, at the default price."""
        kinds, values = ["uint256[]", "address"], [post_ids, receiver.address]
        call = _call("buyMany(uint256[],address)", kinds, values)
        return self.transact(payer, call, DEFAULT_PRICE * len(post_ids), adapter)

    def set_price(self, wallet: Wallet, post_id: int, price: int) -> Block:
        call = _call("updatePostPrice(uint256,uint256)", ["uint256"] * 2, [post_id, price])
        return self.transact(wallet, call)

    def transfer(self, wallet: Wallet, receiver: Wallet, post_id: int) -> Block:
        kinds = ["address", "uint256", "uint256"]
        call = _call("transfer(address,uint256,uint256)", kinds, [receiver.address, post_id, 1])
        return self.transact(wallet, call)

    async def index(self) -> None:
        """Let the index catch up with the chain."""
        indexer = build_indexer(self.settings, self.adapters)
        # All calls have the same holder, so that none waits for the lease of the previous call.
        indexer.holder = "world"
        assert await indexer.index_once()

    def collector(
        self,
        grace: timedelta = timedelta(hours=24),
        content: ContentStore | None = None,
        batch: int = BATCH,
    ) -> GarbageCollector:
        """A garbage collector, optionally with another content store."""
        stores = self.adapters.stores
        return GarbageCollector(
            stores.garbage,
            stores.leases,
            stores.installation,
            content or self.adapters.content,
            self.clock,
            grace,
            batch,
        )

    def body_a(self, block: Block) -> bytes:
        """The body of provider A's delivery of a block."""
        return build_body_a(
            block,
            self.marketplace,
            identifier=secrets.token_hex(8),
            sequence=1,
            created_at=self.clock.now(),
        )

    def body_b(self, block: Block) -> bytes:
        """The body of provider B's delivery of a block."""
        return build_body_b(block, self.marketplace)

    async def send_a(self, body: bytes) -> httpx2.Response:
        """Deliver any body, signed as provider A."""
        secret = self.settings.webhooks.a_secret
        assert secret is not None
        return await self.deliver("provider-a", body, sign_body_a(body, secret.reveal()).headers)

    async def send_b(
        self,
        body: bytes,
        nonce: str | None = None,
        timestamp: int | None = None,
        compress: bool = False,
    ) -> httpx2.Response:
        """Deliver any body, signed as provider B."""
        secret = self.settings.webhooks.b_secret
        assert secret is not None
        signed = sign_body_b(
            body,
            secret.reveal(),
            nonce=nonce or secrets.token_hex(16),
            timestamp=self.clock.seconds if timestamp is None else timestamp,
            compress=compress,
        )
        return await self.deliver("provider-b", signed.body, signed.headers)

    async def deliver_a(self, block: Block) -> httpx2.Response:
        return await self.send_a(self.body_a(block))

    async def deliver_b(self, block: Block, nonce: str | None = None) -> httpx2.Response:
        return await self.send_b(self.body_b(block), nonce)

    async def deliver(
        self, provider: str, body: bytes, headers: Mapping[str, str]
    ) -> httpx2.Response:
        """Deliver any body with any headers."""
        return await self.client.post(
            f"/webhook/{provider}/publish", content=body, headers=dict(headers)
        )

    async def read_post(
        self, wallet: Wallet, post_id: int | str, session: dict[str, str] | None = None
    ) -> httpx2.Response:
        """Read a post as this wallet, in a new session unless one is given."""
        headers = await self.login(wallet) if session is None else session
        wanted = {"user": wallet.address, "postId": str(post_id)}
        return await self.client.get("/fileByPostId", params=wanted, headers=headers)

    async def read_free(self, post_id: int | str) -> httpx2.Response:
        return await self.client.get("/freeFileByPostId", params={"postId": str(post_id)})

    async def read_draft(self, wallet: Wallet, cid: str) -> httpx2.Response:
        headers = await self.login(wallet)
        return await self.client.get("/fileByCid", params={"cid": cid}, headers=headers)

    async def metadata(self, cid: str) -> dict[str, Any]:
        """The public record of the file with this cid."""
        response = await self.client.get("/filesMetaData", params={"cid": cid})
        assert response.status_code == 200, response.text
        (file,) = response.json()["files"]
        return dict(file)

    async def post(
        self, wallet: Wallet, content: str = "Words for sale.", price: int = DEFAULT_PRICE
    ) -> tuple[int, dict[str, Any]]:
        """Create a file and publish it on the chain, and return its post id and record."""
        file = await self.create(wallet, content)
        block = self.create_post(wallet, file["cid"], price)
        response = await self.deliver_a(block)
        (event,) = response.json()["events"]
        assert event["status"] == "onchain", response.text
        return int(event["postId"]), file


@cache
def _account(index: int) -> LocalAccount:
    return Account.from_mnemonic(MNEMONIC, account_path=f"m/44'/60'/0'/0/{index}")


def _call(signature: str, kinds: list[str], values: list[Any]) -> bytes:
    return keccak256(signature.encode())[:4] + encode(kinds, values)


def problem(response: httpx2.Response) -> tuple[int, str]:
    """The status and code of a refusal, after checking that its body has the common format."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    body = response.json()
    withheld = {"statement", "since"}
    members = {
        "nonce_used": {"action", "file"},
        "signature_stale": {"now"},
        "withheld": withheld,
        "removed": withheld,
    }
    own = members.get(body["code"], set())
    usual = {"type", "title", "status", "detail", "code", "error"}
    assert body.keys() == usual | own
    assert body["status"] == response.status_code
    assert body["error"] == body["detail"]
    return response.status_code, body["code"]


def respell(cid: str) -> str:
    """The same cid in hexadecimal: a different text for the same bytes."""
    return "f" + cid_bytes(Cid(cid)).hex()


def picture(kind: str = "PNG", size: tuple[int, int] = (32, 18)) -> bytes:
    """A small image that is different every time."""
    image = Image.new("RGB", size, tuple(secrets.token_bytes(3)))
    image.paste(tuple(secrets.token_bytes(3)), (0, 0, size[0] // 2, size[1]))
    file = io.BytesIO()
    image.save(file, kind)
    return file.getvalue()


DESCRIBED = {
    (method, path): operation["responses"]
    for path, methods in describe_interface("1.0.0")["paths"].items()
    for method, operation in methods.items()
}
"""The described responses of every operation in the OpenAPI document."""


TEMPLATES = [
    (re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))), path)
    for _, path in DESCRIBED
    if "{" in path
]


def path_template(path: str) -> str:
    """The most specific path template in the description that matches this path."""
    found = [described for pattern, described in TEMPLATES if pattern.fullmatch(path)]
    return max(found, key=len, default=path)


async def check_described(response: httpx2.Response) -> None:
    """Fail if a response has a status or a code that its operation's description lacks."""
    path = response.request.url.path
    method = response.request.method.lower().replace("head", "get")
    described = DESCRIBED.get((method, path)) or DESCRIBED.get((method, path_template(path)))
    if described is None or response.status_code == 500:
        return
    place = f"{method} {path} {response.status_code}"
    assert str(response.status_code) in described, f"{place} is not described"
    body = await response.aread()
    if body and response.headers.get("content-type") == "application/problem+json":
        code = json.loads(body)["code"]
        assert code in described[str(response.status_code)]["x-codes"], f"{place} {code}"


class SharedRecoder(SandboxedRecoder):
    """A recoder for all worlds, because starting its process takes as long as a short test."""

    async def close(self) -> None:
        """Stay open for the next world."""


IMAGES = SharedRecoder()
"""The recoder of all worlds. It ends with the test process."""


@asynccontextmanager
async def open_world(
    folder: Path,
    *,
    clock: MovableClock | None = None,
    adapt: Callable[[Adapters], Adapters] | None = None,
    rpc_path: str = RPC_PATH,
    adapter: bool = False,
    **given: str,
) -> AsyncIterator[World]:
    """A world whose data is in `folder`. `given` are settings, named without their prefix.

    With `adapter`, its marketplace has a purchase adapter.

    `adapt` may replace the usual adapters. `rpc_path` is appended to the URL of the node,
    like the API keys of node providers.
    """
    clock = clock or MovableClock()
    chain = Chain.open(folder / "chain.jsonl", lambda: clock.seconds)
    marketplace = deploy_marketplace(chain)
    if adapter:
        given["ADAPTER_ADDRESS"] = deploy_adapter(chain)
    node = Node(chain)
    await node.start()
    records = await records_of(folder)
    if not records:
        put_migrated_catalog(folder / "imprint.db")
    environ = {
        **canaries_of(*SIGNING, *UNUSED),
        "IMPRINT_CHAIN_RPC_URL": node.url + rpc_path,
        "IMPRINT_DATA_DIR": str(folder),
        "IMPRINT_PUBLIC_URL": ORIGIN,
        "IMPRINT_JANITOR_SECONDS": "0",
        "IMPRINT_SCRUB_SECONDS": "0",
        **records,
    } | {f"IMPRINT_{name}": value for name, value in given.items()}
    defaults = {**DEVELOPMENT, "IMPRINT_MARKETPLACE_ADDRESS": marketplace}
    settings = read_settings(environ, defaults=defaults, check_secrets=False)
    adapters = replace(open_adapters(settings, clock, clock.monotonic), images=IMAGES)
    app = build_service(settings, adapters if adapt is None else adapt(adapters))
    transport = httpx2.ASGITransport(app)
    try:
        await adapters.claim.verify()
        hooks = {"response": [check_described]}
        async with httpx2.AsyncClient(
            transport=transport, base_url=ORIGIN, event_hooks=hooks
        ) as client:
            yield World(chain, node, marketplace, settings, adapters, app, client, clock)
    finally:
        await adapters.close()
        await node.stop()
        chain.close()
