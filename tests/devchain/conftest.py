"""Fixtures: an in-memory chain, small hand-written contracts, and a JSON-RPC client."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from eth_abi.abi import encode

from imprint.devchain.blocks import Receipt
from imprint.devchain.calls import Request, sign_request
from imprint.devchain.chain import Chain
from imprint.devchain.deployment import deploy_marketplace
from imprint.devchain.evm import keccak256
from imprint.devchain.rpc import Dispatcher

START = 1_700_000_000


@dataclass(slots=True)
class Watch:
    """A clock that does not advance until it is set."""

    now: int = START

    def __call__(self) -> int:
        return self.now


@dataclass(frozen=True, slots=True)
class Bench:
    """A chain, and shortcuts for using it."""

    chain: Chain
    watch: Watch = field(default_factory=Watch)

    @property
    def people(self) -> tuple[str, ...]:
        return self.chain.wallet.addresses

    def send(self, **fields: Any) -> Receipt:
        request = Request(**{"sender": self.people[0], **fields})
        receipt = self.chain.submit(sign_request(self.chain, request)).receipt
        assert receipt is not None
        return receipt

    def deploy(self, runtime: str, **fields: Any) -> str:
        """Deploy a contract from its hex code and return its address."""
        code = bytes.fromhex(runtime)
        size = len(code)
        creation = bytes([0x60, size, 0x60, 0x0A, 0x5F, 0x39, 0x60, size, 0x5F, 0xF3]) + code
        created = self.send(data=creation, **fields).created
        assert created is not None
        return created

    def publish(self, marketplace: str, cid: str = "bafkreiaaa") -> Receipt:
        """Create a post on the marketplace as the second account."""
        kind = "(string,string,string,string,uint256,string[])"
        post = (cid, "On ink", "bafkreibbb", "", 5, ["ink"])
        data = keccak256(f"createPost({kind})".encode())[:4] + encode([kind], [post])
        return self.send(sender=self.people[1], to=marketplace.lower(), data=data)


@dataclass(frozen=True, slots=True)
class Client:
    """A JSON-RPC client that calls the dispatcher directly."""

    dispatcher: Dispatcher

    def post(self, content: bytes | str) -> Any:
        body = content.encode() if isinstance(content, str) else content
        response = self.dispatcher.respond(body)
        return None if response is None else json.loads(response)

    def ask(self, method: str, *params: Any) -> Any:
        response = self.reply(method, *params)
        assert "error" not in response, response
        return response["result"]

    def fail(self, method: str, *params: Any) -> dict[str, Any]:
        response = self.reply(method, *params)
        assert "result" not in response, response
        return dict(response["error"])

    def reply(self, method: str, *params: Any) -> dict[str, Any]:
        request = {"jsonrpc": "2.0", "id": 7, "method": method, "params": list(params)}
        return dict(self.post(json.dumps(request)))


@pytest.fixture
def bench() -> Bench:
    watch = Watch()
    return Bench(Chain.open(None, watch), watch)


@pytest.fixture
def marketplace(bench: Bench) -> str:
    return deploy_marketplace(bench.chain)


@pytest.fixture
def client(bench: Bench) -> Client:
    return Client(Dispatcher(bench.chain))
