"""Accounts that each test creates, so that all tests can share one service.

A new account holds no posts, has no drafts and no income. It gets its money from a development
account, and this process keeps its key.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
from eth_account import Account as Keys
from eth_account.messages import encode_defunct, encode_typed_data
from tests.processes import PLAIN

from imprint.client import Imprint, KeyWallet
from imprint.domain.formats.addresses import checksum_address, parse_address

FUNDS = 10 * 10**18
"""The initial balance of an account, in wei."""

BANK = 8
"""The development account that pays for all others."""


class NodeRefusal(Exception):
    """An error of JSON-RPC."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


@dataclass(frozen=True, slots=True)
class Chain:
    """The development chain of a service."""

    rpc_url: str
    id: int

    def ask(self, method: str, *parameters: Any) -> Any:
        """The result of a request. Raises `NodeRefusal`, and `TransportError` without a node."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        said = httpx2.post(self.rpc_url, json=body, verify=PLAIN, timeout=30).json()
        if "error" in said:
            given = said["error"]
            raise NodeRefusal(given["code"], given["message"], given.get("data"))
        return said["result"]


def find_chain(url: str) -> Chain:
    """Ask a service for its chain."""
    facts = httpx2.get(f"{url}/.well-known/imprint.json", verify=PLAIN).json()
    return Chain(facts["chain"]["rpc_url"], facts["chain"]["id"])


@dataclass(frozen=True, slots=True)
class Account:
    """An address with its private key."""

    address: str
    key: str

    def client_wallet(self, imprint: Imprint) -> KeyWallet:
        """The account as the Python client uses it."""
        return KeyWallet(self.key, imprint.node())

    def sign_message(self, text: bytes) -> str:
        """Sign bytes as `personal_sign` does."""
        return f"0x{Keys.sign_message(encode_defunct(primitive=text), self.key).signature.hex()}"

    def sign_typed_data(self, data: Mapping[str, Any]) -> str:
        """Sign as `eth_signTypedData_v4` does."""
        message = encode_typed_data(full_message=dict(data))
        return f"0x{Keys.sign_message(message, self.key).signature.hex()}"

    def send(self, chain: Chain, call: Mapping[str, str]) -> str:
        """Estimate, sign and send a transaction; returns its hash. Raises as `Chain.ask` does."""
        gas = call.get("gas") or chain.ask("eth_estimateGas", {**call, "from": self.address})
        signed = Keys.sign_transaction(
            {
                "chainId": chain.id,
                "nonce": int(chain.ask("eth_getTransactionCount", self.address, "pending"), 16),
                "to": checksum_address(parse_address(call["to"])),
                "data": call.get("data", "0x"),
                "value": int(call.get("value", "0x0"), 16),
                "gas": int(gas, 16),
                "gasPrice": int(chain.ask("eth_gasPrice"), 16),
            },
            self.key,
        )
        return str(chain.ask("eth_sendRawTransaction", f"0x{signed.raw_transaction.hex()}"))


NewAccount = Callable[..., Account]


def make_account(chain: Chain, funds: int = FUNDS) -> Account:
    """A new account with coins of the development chain."""
    made = Keys.from_key(secrets.token_bytes(32))
    fund(chain, made.address, funds)
    return Account(made.address, f"0x{made.key.hex()}")


def fund(chain: Chain, address: str, amount: int) -> None:
    """Send an account some of the bank's coins, in wei."""
    bank = chain.ask("eth_accounts")[BANK]
    chain.ask("eth_sendTransaction", {"from": bank, "to": address, "value": hex(amount)})
