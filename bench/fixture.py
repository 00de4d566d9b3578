"""The fixture of a benchmark: a service with authors, drafts and posts to send requests about."""

import hashlib
import hmac
import json
import secrets
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, cycle, islice
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
"""The private key of the second development account."""

ALICE = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
"""Its address."""

AUTHORS = 64
"""Authors who write concurrently."""

CONTENT = "x" * 4096
"""The content of every draft: 4 KiB."""

_POST = "(string,string,string,string,uint256,string[])"


@dataclass(slots=True)
class Fixture:
    """A service, its chain, and authors."""

    service: Measured
    rpc_url: str
    domain: SigningDomain = field(default_factory=lambda: SigningDomain("Imprint", "1", 31337))
    alice: Wallet = field(init=False)
    authors: list[Wallet] = field(init=False)
    _post_ids: Iterator[int] = field(default_factory=lambda: count(10**9), init=False)

    def __post_init__(self) -> None:
        self.alice = Wallet(self.domain, PrivateKey(bytes.fromhex(ALICE_KEY)))
        self.authors = [Wallet(self.domain) for _ in range(AUTHORS)]

    @property
    def authority(self) -> str:
        return f"127.0.0.1:{self.service.port}"

    def logins(self, number: int) -> list[bytes]:
        """Logins of new wallets."""
        wallets = [Wallet(self.domain) for _ in range(number)]
        return [post_request("/auth/login", each.sign_login(self.authority)) for each in wallets]

    def creates(self, number: int) -> list[bytes]:
        """New drafts of many authors."""
        authors = self._authors(number)
        return [post_request("/create/group", _draft_by(author)) for author in authors]

    def updates(self, number: int) -> list[bytes]:
        """Updates of new drafts of many authors, which are created first."""
        return [
            post_request(
                f"/update/file?cid={self.create(author)['cid']}",
                author.sign_write(Action.UPDATE) | {"content": CONTENT},
            )
            for author in self._authors(number)
        ]

    def deliveries(self, number: int) -> list[bytes]:
        """Deliveries of invented events for new drafts of many authors, which are created first."""
        return [
            self.delivery(self.create(author)["cid"], next(self._post_ids), author)
            for author in self._authors(number)
        ]

    def session(self, wallet: Wallet) -> str:
        """The Authorization header of a new session."""
        response = self._call("/auth/login", wallet.sign_login(self.authority))
        return f"Authorization: Bearer {response['token']}\r\n"

    def create(self, author: Wallet | None = None) -> dict[str, Any]:
        """Create a draft; returns its record."""
        body = _draft_by(author or self.alice)
        file: dict[str, Any] = self._call("/create/group", body)["updatedUpload"]
        return file

    def publish(self, price: int) -> int:
        """Publish a post on the chain and deliver its event; returns its id."""
        cid = self.create()["cid"]
        call = keccak256(f"createPost({_POST})".encode())[:4] + encode(
            [_POST], [(cid, "Title", "thumbnail", "", price, [])]
        )
        transaction = {"from": self.alice.address, "to": MARKETPLACE, "data": "0x" + call.hex()}
        tx_hash = self._rpc("eth_sendTransaction", transaction)
        receipt = self._rpc("eth_getTransactionReceipt", tx_hash)
        post_id = int(receipt["logs"][0]["topics"][1], 16)
        request = self.delivery(cid, post_id, self.alice)
        body = request.partition(b"\r\n\r\n")[2]
        self._call("/webhook/provider-a/publish", body, _signature(body))
        return post_id

    def delivery(self, cid: str, post_id: int, author: Wallet) -> bytes:
        """The request in which provider a delivers the event of a published draft."""
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

    def _authors(self, number: int) -> Iterator[Wallet]:
        return islice(cycle(self.authors), number)

    def _call(self, path: str, body: object, headers: dict[str, str] | None = None) -> Any:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return _fetch(f"http://{self.authority}{path}", data, headers or {})

    def _rpc(self, method: str, *params: object) -> Any:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return _fetch(self.rpc_url, json.dumps(request).encode(), {})["result"]


def _draft_by(author: Wallet) -> dict[str, Any]:
    return author.sign_write(Action.CREATE) | {"content": CONTENT}


def _signature(body: bytes) -> dict[str, str]:
    digest = hmac.new(WEBHOOK_SECRET.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Alchemy-Signature": digest}


def _signature_line(body: bytes) -> str:
    return f"X-Alchemy-Signature: {_signature(body)['X-Alchemy-Signature']}\r\n"


def _fetch(url: str, data: bytes, headers: dict[str, str]) -> Any:
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request) as response:
        return json.load(response)
