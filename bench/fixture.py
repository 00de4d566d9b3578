"""Benchmark fixture: a running service with authors, drafts and posts."""

import hashlib
import hmac
import json
import secrets
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
from itertools import count, cycle, islice
from typing import Any

from coincurve import PrivateKey
from eth_abi.abi import encode

from bench.processes import MARKETPLACE, WEBHOOK_SECRET, Measured
from bench.wallets import Wallet, WritingKey, contract_wallet_code, post_request
from imprint.adapters.chain.contract_wallets import CALLER, GAS
from imprint.auth.signatures import personal_digest
from imprint.auth.typed_data import SigningDomain
from imprint.domain.drafts.files import Action
from imprint.domain.formats.addresses import keccak256, parse_address
from imprint.domain.posts.marketplace import POST_CREATED

ALICE_KEY = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
"""The private key of the second development account."""

ALICE = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
"""The address of the second development account."""

AUTHORS = 64
"""Number of authors who write concurrently."""

CONTRACT_WALLETS = 16
"""Number of contract wallets that log in."""

CONTENT = "x" * 4096
"""The content of each draft: 4 KiB of text."""

TITLE = "Title"
"""The title of every post."""

_POST = "(string,string,string,string,uint256,string[])"


@dataclass(slots=True)
class Fixture:
    """A service, its chain and its authors."""

    service: Measured
    rpc_url: str
    domain: SigningDomain = field(default_factory=lambda: SigningDomain("Imprint", "1", 31337))
    alice: Wallet = field(init=False)
    authors: list[Wallet] = field(init=False)
    facts: dict[str, Any] = field(init=False)
    """The service's public description, from `/.well-known/imprint.json`."""
    delivered: list[bytes] = field(default_factory=list, init=False)
    """The deliveries of published posts, which may be sent again."""
    _keys: dict[str, WritingKey] = field(default_factory=dict, init=False)
    _contracts: list[Wallet] = field(default_factory=list, init=False)
    _post_ids: Iterator[int] = field(default_factory=lambda: count(10**9), init=False)

    def __post_init__(self) -> None:
        self.alice = Wallet(self.domain, PrivateKey(bytes.fromhex(ALICE_KEY)))
        self.authors = [Wallet(self.domain) for _ in range(AUTHORS)]
        self.facts = _fetch(f"http://{self.authority}/.well-known/imprint.json")

    @property
    def authority(self) -> str:
        return f"127.0.0.1:{self.service.port}"

    def logins(self, number: int) -> list[bytes]:
        """Return login requests of new wallets."""
        wallets = [Wallet(self.domain) for _ in range(number)]
        return [post_request("/auth/login", each.sign_login(self.authority)) for each in wallets]

    def creates(self, number: int) -> list[bytes]:
        """Return requests that create drafts, from many authors."""
        authors = self._authors(number)
        return [post_request("/create/group", _draft_by(author)) for author in authors]

    def updates(self, number: int) -> list[bytes]:
        """Return requests that update newly created drafts of many authors."""
        return [
            _update(
                self.create(author)["cid"], author.sign_write(Action.UPDATE) | {"content": CONTENT}
            )
            for author in self._authors(number)
        ]

    def bound_updates(self, number: int) -> list[bytes]:
        """Return updates whose signatures cover the CID and the content (`imprint-2`)."""
        return [
            _update(cid, author.sign_update(self.facts["service"], cid, CONTENT))
            for author in self._authors(number)
            if (cid := self.create(author)["cid"])
        ]

    def session_updates(self, number: int) -> list[bytes]:
        """Return updates signed by writing-session keys, one session per author."""
        service = self.facts["service"]
        return [
            _update(cid, author.sign_update_with(self.key_of(author), service, cid, CONTENT))
            for author in self._authors(number)
            if (cid := self.create(author)["cid"])
        ]

    def contract_logins(self, number: int) -> list[bytes]:
        """Return login requests of newly deployed contract wallets."""
        wallets = islice(cycle(self.contract_wallets()), number)
        return [post_request("/auth/login", each.sign_login(self.authority)) for each in wallets]

    def bad_contract_logins(self, number: int) -> list[bytes]:
        """Return login requests of these contract wallets, but with invalid signatures."""
        key = PrivateKey()
        wallets = [Wallet(self.domain, key, each.address) for each in self.contract_wallets()]
        return [
            post_request("/auth/login", each.sign_login(self.authority))
            for each in islice(cycle(wallets), number)
        ]

    def wallet_calls(self, number: int) -> list[bytes]:
        """Return the JSON-RPC requests needed for this many contract-wallet logins."""
        text = resources.files("imprint.adapters.chain").joinpath("SignatureValidator.json")
        code: str = json.loads(text.read_text("utf-8"))["bytecode"]
        requests: list[bytes] = []
        for wallet in islice(cycle(self.contract_wallets()), number):
            login = wallet.sign_login(self.authority)
            digest = personal_digest(login["salt"].encode())
            signature = bytes.fromhex(login["signature"][2:])
            data = encode(["address", "bytes32", "bytes"], [wallet.address, digest, signature])
            call = {"from": CALLER, "gas": hex(GAS), "data": code + data.hex()}
            if not requests:
                assert self._rpc("eth_call", call, "latest") == "0x01"
            request = {"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": [call, "latest"]}
            requests.append(post_request("/", request))
        return requests

    def deliveries(self, number: int) -> list[bytes]:
        """Return webhook requests that report invented events for newly created drafts."""
        return [
            self.delivery(self.create(author)["cid"], next(self._post_ids), author)
            for author in self._authors(number)
        ]

    def session(self, wallet: Wallet) -> str:
        """Return the Authorization header of a new session."""
        response = self._call("/auth/login", wallet.sign_login(self.authority))
        return f"Authorization: Bearer {response['token']}\r\n"

    def create(self, author: Wallet | None = None) -> dict[str, Any]:
        """Create a draft and return its record."""
        body = _draft_by(author or self.alice)
        file: dict[str, Any] = self._call("/create/group", body)["updatedUpload"]
        return file

    def publish(self, price: int) -> int:
        """Publish a post on the chain, deliver its event and return its id."""
        cid = self.create()["cid"]
        call = keccak256(f"createPost({_POST})".encode())[:4] + encode(
            [_POST], [(cid, TITLE, "thumbnail", "", price, [])]
        )
        transaction = {"from": self.alice.address, "to": MARKETPLACE, "data": "0x" + call.hex()}
        tx_hash = self._rpc("eth_sendTransaction", transaction)
        receipt = self._rpc("eth_getTransactionReceipt", tx_hash)
        post_id = int(receipt["logs"][0]["topics"][1], 16)
        request = _delivery_of(receipt)
        self.delivered.append(request)
        body = request.partition(b"\r\n\r\n")[2]
        self._call("/webhook/provider-a/publish", body, _signature(body))
        return post_id

    def delivery(self, cid: str, post_id: int, author: Wallet) -> bytes:
        """Return the request with which provider A would deliver an invented event of a draft."""
        data = encode(["string", "string", "string", "uint256"], [TITLE, cid, "thumbnail", 1])
        topic = "0x" + "0" * 24 + author.address[2:]
        invented = {
            "logs": [
                {
                    "data": "0x" + data.hex(),
                    "topics": ["0x" + POST_CREATED.hex(), f"0x{post_id:064x}", topic],
                    "logIndex": "0x0",
                }
            ],
            "transactionHash": "0x" + secrets.token_hex(32),
            "blockHash": "0x" + secrets.token_hex(32),
            "blockNumber": hex(post_id),
        }
        return _delivery_of(invented)

    def key_of(self, author: Wallet) -> WritingKey:
        """Return the key of an author's writing session, which is opened on first use."""
        if author.address not in self._keys:
            key = WritingKey()
            body = author.sign_writing_session(key, self.facts["service"])
            key.session = self._call("/writing/sessions", body)["session"]["id"]
            self._keys[author.address] = key
        return self._keys[author.address]

    def contract_wallets(self) -> list[Wallet]:
        """Return contract wallets and their signing keys, deployed on first use."""
        if not self._contracts:
            self._contracts = [self._deploy_wallet() for _ in range(CONTRACT_WALLETS)]
        return self._contracts

    def response_size(self, request: bytes) -> int:
        """Return the number of bytes in the body of the response to a GET request."""
        head, _, _ = request.decode().partition("\r\n\r\n")
        line, *lines = head.split("\r\n")
        headers = dict(each.split(": ", 1) for each in lines if each)
        url = f"http://{self.authority}{line.split()[1]}"
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as response:
            return len(response.read())

    def _deploy_wallet(self) -> Wallet:
        owner = Wallet(self.domain)
        code = contract_wallet_code(owner.address)
        transaction = {"from": self.alice.address, "data": "0x" + code.hex()}
        receipt = self._rpc(
            "eth_getTransactionReceipt", self._rpc("eth_sendTransaction", transaction)
        )
        return Wallet(self.domain, owner.key, parse_address(receipt["contractAddress"]))

    def _authors(self, number: int) -> Iterator[Wallet]:
        return islice(cycle(self.authors), number)

    def _call(self, path: str, body: object, headers: dict[str, str] | None = None) -> Any:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return _fetch(f"http://{self.authority}{path}", data, headers)

    def _rpc(self, method: str, *params: object) -> Any:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return _fetch(self.rpc_url, json.dumps(request).encode())["result"]


def _delivery_of(receipt: dict[str, Any]) -> bytes:
    """Return the request with which provider A delivers the event of a transaction."""
    (log,) = receipt["logs"]
    delivered = {
        "data": log["data"],
        "topics": log["topics"],
        "index": int(log["logIndex"], 16),
        "account": {"address": MARKETPLACE.lower()},
        "transaction": {"hash": receipt["transactionHash"], "status": 1},
    }
    number = int(receipt["blockNumber"], 16)
    block = {"hash": receipt["blockHash"], "number": number, "logs": [delivered]}
    body = json.dumps({"type": "GRAPHQL", "event": {"data": {"block": block}}}).encode()
    return post_request("/webhook/provider-a/publish", body, _signature_line(body))


def _draft_by(author: Wallet) -> dict[str, Any]:
    return author.sign_write(Action.CREATE) | {"content": CONTENT}


def _update(cid: str, body: dict[str, Any]) -> bytes:
    return post_request(f"/update/file?cid={cid}", body)


def _signature(body: bytes) -> dict[str, str]:
    digest = hmac.new(WEBHOOK_SECRET.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Alchemy-Signature": digest}


def _signature_line(body: bytes) -> str:
    return f"X-Alchemy-Signature: {_signature(body)['X-Alchemy-Signature']}\r\n"


def _fetch(url: str, data: bytes | None = None, headers: dict[str, str] | None = None) -> Any:
    given = {"Content-Type": "application/json", **(headers or {})}
    request = urllib.request.Request(url, data, given)
    with urllib.request.urlopen(request) as response:
        return json.load(response)
