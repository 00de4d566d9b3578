"""Fixtures: our marketplace and the legacy one on separate chains, each with its own ABI."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from eth_abi.abi import decode, encode

from imprint.devchain.blocks import Receipt
from imprint.devchain.calls import ExecutionReverted, call
from imprint.devchain.chain import Chain
from imprint.devchain.evm import Account, Log, keccak256
from imprint.devchain.calls import Request, sign_request, to_message
from imprint.marketplace import Artifact, artifact

LEGACY_ARTIFACT = Path(__file__).parent / "LegacyMarketplace.json"


def spell_type(part: dict[str, Any]) -> str:
    if not part["type"].startswith("tuple"):
        return str(part["type"])
    inner = ",".join(spell_type(one) for one in part["components"])
    return f"({inner})" + part["type"].removeprefix("tuple")


def spell_signature(entry: dict[str, Any]) -> str:
    return f"{entry['name']}({','.join(spell_type(part) for part in entry['inputs'])})"


@dataclass(frozen=True, slots=True)
class Refusal:
    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Market:
    chain: Chain
    abi: list[dict[str, Any]]
    address: str
    tagged: bool

    @property
    def people(self) -> tuple[str, ...]:
        return self.chain.wallet.addresses[1:]

    def entry(self, kind: str, name: str) -> dict[str, Any]:
        (found,) = (one for one in self.abi if one["type"] == kind and one["name"] == name)
        return found

    def calldata(self, name: str, *values: Any) -> bytes:
        entry = self.entry("function", name)
        types = [spell_type(part) for part in entry["inputs"]]
        return keccak256(spell_signature(entry).encode())[:4] + encode(types, values)

    def read(self, name: str, *values: Any) -> Any:
        output = call(
            self.chain, to_message(Request(to=self.address, data=self.calldata(name, *values)))
        )
        outputs = [spell_type(part) for part in self.entry("function", name)["outputs"]]
        (result,) = decode(outputs, output)
        return result

    def send(self, sender: str, name: str, *values: Any, value: int = 0) -> Receipt:
        request = Request(
            sender=sender, to=self.address, data=self.calldata(name, *values), value=value
        )
        receipt = self.chain.submit(sign_request(self.chain, request)).receipt
        assert receipt is not None
        assert receipt.success
        return receipt

    def refuse(self, sender: str, name: str, *values: Any, value: int = 0) -> Refusal:
        with pytest.raises(ExecutionReverted) as caught:
            self.send(sender, name, *values, value=value)
        return self.read_refusal(caught.value.data)

    def read_refusal(self, data: bytes) -> Refusal:
        for entry in self.abi:
            if entry["type"] != "error":
                continue
            if keccak256(spell_signature(entry).encode())[:4] == data[:4]:
                types = [spell_type(part) for part in entry["inputs"]]
                return Refusal(entry["name"], decode(types, data[4:]))
        raise AssertionError(f"no error of the interface has the selector {data[:4].hex()}")

    def events(self, logs: tuple[Log, ...], name: str) -> list[dict[str, Any]]:
        entry = self.entry("event", name)
        topic = keccak256(spell_signature(entry).encode())
        indexed = [part for part in entry["inputs"] if part["indexed"]]
        plain = [part for part in entry["inputs"] if not part["indexed"]]
        found: list[dict[str, Any]] = []
        for log in logs:
            if log.topics[0] != topic:
                continue
            values = decode([part["type"] for part in plain], log.data)
            named = {part["name"]: one for part, one in zip(plain, values, strict=True)}
            for part, word in zip(indexed, log.topics[1:], strict=True):
                named[part["name"]] = decode([part["type"]], word)[0]
            found.append(named)
        return found

    def post(self, **changes: Any) -> tuple[Any, ...]:
        fields: dict[str, Any] = {
            "postCid": "bafkreiaaa",
            "postTitle": "On ink",
            "thumbnailCid": "bafkreibbb",
            "description": "What it is made of",
            "priceInNative": 10**17,
        }
        if self.tagged:
            fields["hashtags"] = ["ink", "craft"]
        return tuple((fields | changes).values())

    def publish(self, author: str, **changes: Any) -> int:
        receipt = self.send(author, "createPost", self.post(**changes))
        (created,) = self.events(receipt.logs, "PostCreated")
        return int(created["tokenId"])

    def account(self, address: str) -> Account:
        return self.chain.account(address)


def deploy(code: Artifact, *, tagged: bool) -> Market:
    chain = Chain.open(None, lambda: 1_700_000_000)
    request = Request(sender=chain.wallet.addresses[0], data=bytes.fromhex(code.bytecode[2:]))
    receipt = chain.submit(sign_request(chain, request)).receipt
    assert receipt is not None
    assert receipt.created is not None
    return Market(chain, code.abi, receipt.created, tagged)


def deploy_legacy() -> Market:
    return deploy(Artifact(**json.loads(LEGACY_ARTIFACT.read_text())), tagged=False)


@pytest.fixture
def own_market() -> Market:
    return deploy(artifact(), tagged=True)


@pytest.fixture
def legacy_market() -> Market:
    return deploy_legacy()


@pytest.fixture(params=["own", "legacy"])
def market(request: pytest.FixtureRequest) -> Market:
    return deploy(artifact(), tagged=True) if request.param == "own" else deploy_legacy()
