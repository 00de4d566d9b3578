"""The stage of a measurement: people, drafts and posts that a load can act upon."""

import hashlib
import hmac
import json
import secrets
import urllib.request
from dataclasses import dataclass, field
from typing import Any

from coincurve import PrivateKey
from eth_abi.abi import encode

from bench.processes import MARKETPLACE, WEBHOOK_SECRET, Measured
from bench.wallets import Wallet, post_request
from imprint.auth.typed_data import SigningDomain
from imprint.domain.addresses import keccak256
from imprint.domain.files import Action
from imprint.domain.marketplace import POST_CREATED

ALICE_KEY = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
"""The key of the second development account, which everybody knows."""

AUTHORS = 64
"""How many people write at the same time."""

CONTENT = "x" * 4096
"""The text of every draft: 4 KiB."""

_POST = "(string,string,string,string,uint256,string[])"


@dataclass(slots=True)
class Stage:
    """A service, its chain, and an author."""

    service: Measured
    rpc_url: str
    domain: SigningDomain = field(default_factory=lambda: SigningDomain("Imprint", "1", 31337))
    alice: Wallet = field(init=False)
    authors: list[Wallet] = field(init=False)

    def __post_init__(self) -> None:
        self.alice = Wallet(self.domain, PrivateKey(bytes.fromhex(ALICE_KEY)))
        self.authors = [Wallet(self.domain) for _ in range(AUTHORS)]

    @property
    def authority(self) -> str:
        return f"127.0.0.1:{self.service.port}"

    def logins(self, count: int) -> list[bytes]:
        wallets = [Wallet(self.domain) for _ in range(count)]
        return [post_request("/auth/login", each.sign_login(self.authority)) for each in wallets]

    def creates(self, count: int) -> list[bytes]:
        """New drafts of many authors."""
        return [post_request("/create/group", _draft_by(self._author(n))) for n in range(count)]

    def updates(self, count: int) -> list[bytes]:
        """New versions of drafts of many authors."""
        authors = [self._author(number) for number in range(count)]
        return [
            post_request(
                f"/update/file?cid={self.create(author)['cid']}",
                author.sign_write(Action.UPDATE) | {"content": CONTENT},
            )
            for author in authors
        ]

    def deliveries(self, count: int) -> list[bytes]:
        """Deliveries of events that never were, for drafts of many authors that are there."""
        authors = [self._author(number) for number in range(count)]
        return [
            self.delivery(self.create(author)["cid"], 10**9 + number, author)
            for number, author in enumerate(authors)
        ]

    def session(self, wallet: Wallet) -> str:
        answer = self._call("/auth/login", wallet.sign_login(self.authority))
        return f"Authorization: Bearer {answer['token']}\r\n"

    def create(self, author: Wallet | None = None) -> dict[str, Any]:
        body = _draft_by(author or self.alice)
        file: dict[str, Any] = self._call("/create/group", body)["updatedUpload"]
        return file

    def publish(self, price: int) -> int:
        """A post of the author that is on the chain; its id."""
        cid = self.create()["cid"]
        call = keccak256(f"createPost({_POST})".encode())[:4] + encode(
            [_POST], [(cid, "Title", "thumbnail", "", price, [])]
        )
        transaction = {"from": self.alice.address, "to": MARKETPLACE, "data": "0x" + call.hex()}
        receipt = self._ask(
            "eth_getTransactionReceipt", self._ask("eth_sendTransaction", transaction)
        )
        post_id = int(receipt["logs"][0]["topics"][1], 16)
        request = self.delivery(cid, post_id, self.alice)
        body = request.partition(b"\r\n\r\n")[2]
        self._call("/webhook/provider-a/publish", body, _signature(body))
        return post_id

    def delivery(self, cid: str, post_id: int, author: Wallet) -> bytes:
        """The request with which provider a tells that a draft was published."""
        data = encode(["string", "string", "string", "uint256"], ["Title", cid, "thumbnail", 1])
        topic = "0x" + "0" * 24 + author.address[2:]
        log = {
            "data": "0x" + data.hex(),
            "topics": ["0x" + POST_CREATED.hex(), f"0x{post_id:064x}", topic],
            "index": 0,
            "account": {"address": MARKETPLACE.lower()},
            "transaction": {"hash": "0x" + secrets.token_hex(32), "status": 1},
        }
        block = {"hash": "0x" + secrets.token_hex(32), "number": post_id, "logs": [log]}
        body = json.dumps({"type": "GRAPHQL", "event": {"data": {"block": block}}}).encode()
        return post_request("/webhook/provider-a/publish", body, _signature_line(body))

    def _author(self, number: int) -> Wallet:
        return self.authors[number % AUTHORS]

    def _call(self, path: str, body: object, headers: dict[str, str] | None = None) -> Any:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return _fetch(f"http://{self.authority}{path}", data, headers or {})

    def _ask(self, method: str, *params: object) -> Any:
        question = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return _fetch(self.rpc_url, json.dumps(question).encode(), {})["result"]


def _draft_by(author: Wallet) -> dict[str, Any]:
    return author.sign_write(Action.CREATE) | {"content": CONTENT}


def _signature(body: bytes) -> dict[str, str]:
    digest = hmac.new(WEBHOOK_SECRET.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Alchemy-Signature": digest}


def _signature_line(body: bytes) -> str:
    return f"X-Alchemy-Signature: {_signature(body)['X-Alchemy-Signature']}\r\n"


def _fetch(url: str, data: bytes, headers: dict[str, str]) -> Any:
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)
