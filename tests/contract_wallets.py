"""Contract wallets for tests: creation, calls, and accepted signatures."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from eth_abi.abi import encode
from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data
from eth_account.signers.local import LocalAccount
from tests.world import MNEMONIC, Wallet, World

from imprint.devchain.calls import Request, sign_request
from imprint.devchain.chain import Chain
from imprint.domain.formats.addresses import Address, checksum_address, keccak256, parse_address

ROOT = Path(__file__).parents[1]
MARK = bytes.fromhex("6492" * 16)
"""The last 32 bytes of an ERC-6492 signature."""

NO_URL = ""


def behaviours(contract: str) -> list[str]:
    """Return the behaviours of a hostile contract, ordered by number."""
    source = (ROOT / "contracts" / "test" / "HostileWallets.sol").read_text(encoding="utf-8")
    body = source.partition(f"contract {contract} {{")[2].partition("enum Behaviour {")[2]
    return re.findall(r"\w+", body.partition("}")[0])


WALLET_BEHAVIOURS = behaviours("HostileWallet")
FACTORY_BEHAVIOURS = behaviours("HostileFactory")

ACCEPTED_WALLETS = {"Accept", "AcceptByPrice"}
"""Behaviours of wallets that accept every signature."""

EITHER_WALLETS = {"AcceptByBlock", "AcceptByCoinbase"}
"""Behaviours of wallets whose verdict depends on the chain and on the node."""

ACCEPTED_FACTORIES = {
    "Deploy",
    "DeployAndReturnMegabyte",
    "DeployAndCallBack",
    "DeployAndDestroyItself",
}
"""Behaviours of factories that deploy the right wallet and do not fail."""


def creation(contract: str, *values: Any) -> bytes:
    """Return the code that creates a contract with these arguments."""
    artifact = _artifact(contract)
    kinds = next((_kinds(each) for each in artifact["abi"] if each["type"] == "constructor"), [])
    return bytes.fromhex(artifact["bytecode"][2:]) + encode(kinds, values)


def calldata(contract: str, name: str, *values: Any) -> bytes:
    """Return the call data of a function."""
    (entry,) = (each for each in _artifact(contract)["abi"] if each.get("name") == name)
    kinds = _kinds(entry)
    return keccak256(f"{name}({','.join(kinds)})".encode())[:4] + encode(kinds, values)


def hostile_wallet(behaviour: str, url: str = NO_URL) -> bytes:
    """Return the code that creates a wallet with this behaviour."""
    return creation("HostileWallet", WALLET_BEHAVIOURS.index(behaviour), url)


def hostile_factory(behaviour: str, url: str = NO_URL) -> bytes:
    """Return the code that creates a factory with this behaviour."""
    return creation("HostileFactory", FACTORY_BEHAVIOURS.index(behaviour), url)


def deploy_on(chain: Chain, code: bytes) -> Address:
    """Create a contract on a development chain."""
    sender = chain.wallet.addresses[0]
    receipt = chain.submit(sign_request(chain, Request(sender=sender, data=code))).receipt
    assert receipt is not None
    assert receipt.created is not None
    return parse_address(receipt.created)


def send_to(chain: Chain, contract: str, data: bytes, sender: str | None = None) -> None:
    """Call a contract on a development chain in a transaction."""
    request = Request(sender=sender or chain.wallet.addresses[0], to=contract, data=data)
    receipt = chain.submit(sign_request(chain, request)).receipt
    assert receipt is not None
    assert receipt.success


def predict(factory: str, code: bytes, salt: bytes = bytes(32)) -> Address:
    """Return the address at which a factory creates a contract with this code (CREATE2)."""
    parts = b"\xff", bytes.fromhex(factory[2:]), salt, keccak256(code)
    return parse_address("0x" + keccak256(b"".join(parts))[12:].hex())


def deployment(code: bytes, salt: bytes = bytes(32)) -> bytes:
    """Return the call with which a factory creates a contract with this code."""
    return calldata("WalletFactory", "deploy", code, salt)


def wrap(factory: str, prepare: bytes, signature: bytes) -> bytes:
    """Build an ERC-6492 signature."""
    return encode(["address", "bytes", "bytes"], [factory, prepare, signature]) + MARK


def sign_digest(owner: LocalAccount, digest: bytes) -> bytes:
    """Return the 65 bytes of an owner's signature."""
    return bytes(owner.unsafe_sign_hash(digest).signature)  # type: ignore[no-untyped-call]


def new_owner() -> LocalAccount:
    """Create a new account."""
    return Account.create()


def funded_owner(index: int) -> LocalAccount:
    """Return one of the funded accounts of a development chain."""
    account: LocalAccount = Account.from_mnemonic(MNEMONIC, account_path=f"m/44'/60'/0'/0/{index}")
    return account


def keep(signature: bytes) -> bytes:
    """Return the owner's signature unchanged."""
    return signature


@dataclass(frozen=True, slots=True)
class ContractWallet(Wallet):
    """A wallet on the chain. `account` signs for it, and `enclose` wraps the signature."""

    contract: Address
    enclose: Callable[[bytes], bytes] = keep

    @property
    def address(self) -> str:
        return self.contract

    def sign_envelope(self, envelope: dict[str, Any]) -> dict[str, Any]:
        message = encode_typed_data(envelope["domain"], envelope["types"], envelope["message"])
        return self._signed(envelope, self.account.sign_message(message).signature)

    def login_message(self, *args: Any, **lines: Any) -> str:
        # slots=True makes another class of this one, which super() without arguments cannot find.
        message = Wallet.login_message(self, *args, **lines)
        return message.replace(self.account.address, checksum_address(self.contract))

    def sign_login(self, message: str) -> dict[str, Any]:
        signed = self.account.sign_message(encode_defunct(text=message))
        return self._signed(message, signed.signature)

    def _signed(self, salt: object, signature: bytes) -> dict[str, Any]:
        enclosed = "0x" + self.enclose(bytes(signature)).hex()
        return {"salt": salt, "address": checksum_address(self.contract), "signature": enclosed}


KINDS = ["deployed", "proxy", "counterfactual"]
"""The deployment states of a wallet."""


def open_wallet(world: World, kind: str = "deployed") -> ContractWallet:
    """Open a new contract wallet with a new owner."""
    owner = new_owner()
    code = creation("OwnedWallet", owner.address)
    if kind == "deployed":
        return ContractWallet(owner, world.clock, deploy_on(world.chain, code))
    if kind == "proxy":
        behind = deploy_on(world.chain, creation("OwnedWallet", new_owner().address))
        proxy = deploy_on(world.chain, creation("WalletProxy", behind, owner.address))
        return ContractWallet(owner, world.clock, proxy)
    assert kind == "counterfactual"
    factory, prepare = deploy_on(world.chain, creation("WalletFactory")), deployment(code)
    return ContractWallet(
        owner, world.clock, predict(factory, code), lambda each: wrap(factory, prepare, each)
    )


def _kinds(entry: dict[str, Any]) -> list[str]:
    return [part["type"] for part in entry["inputs"]]


@cache
def _artifact(contract: str) -> dict[str, Any]:
    path = ROOT / "tests" / "contracts" / f"{contract}.json"
    return dict(json.loads(path.read_text(encoding="utf-8")))
