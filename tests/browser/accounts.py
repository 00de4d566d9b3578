"""Accounts that each test creates, so that all tests can share one service.

A new account has no posts, drafts or income. It is funded by a development account, and
this process holds its key.
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
"""The index of the development account that funds all others."""


class NodeRefusal(Exception):
    """A JSON-RPC error."""

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
        """Return a call's result. Raises `NodeRefusal`, or `TransportError` if no node responds."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        said = httpx2.post(self.rpc_url, json=body, verify=PLAIN, timeout=30).json()
        if "error" in said:
            given = said["error"]
            raise NodeRefusal(given["code"], given["message"], given.get("data"))
        return said["result"]


def find_chain(url: str) -> Chain:
    """Look up the chain of a service."""
    facts = httpx2.get(f"{url}/.well-known/imprint.json", verify=PLAIN).json()
    return Chain(facts["chain"]["rpc_url"], facts["chain"]["id"])


@dataclass(frozen=True, slots=True)
class Account:
    """An address with its private key."""

    address: str
    key: str

    def client_wallet(self, imprint: Imprint) -> KeyWallet:
        """Return the account as a wallet of the Python client."""
        return KeyWallet(self.key, imprint.node())

    def sign_message(self, text: bytes) -> str:
        """Sign bytes like `personal_sign`."""
        return f"0x{Keys.sign_message(encode_defunct(primitive=text), self.key).signature.hex()}"

    def sign_typed_data(self, data: Mapping[str, Any]) -> str:
        """Sign typed data like `eth_signTypedData_v4`."""
        message = encode_typed_data(full_message=dict(data))
        return f"0x{Keys.sign_message(message, self.key).signature.hex()}"

    def send(self, chain: Chain, call: Mapping[str, str]) -> str:
        """Estimate, sign and send a transaction, and return its hash.

        Raises the same errors as `Chain.ask`.
        """
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
    """Create a new account and fund it on the development chain."""
    made = Keys.from_key(secrets.token_bytes(32))
    fund(chain, made.address, funds)
    return Account(made.address, f"0x{made.key.hex()}")


def fund(chain: Chain, address: str, amount: int) -> None:
    """Send an account the given amount in wei from the bank account."""
    bank = chain.ask("eth_accounts")[BANK]
    chain.ask("eth_sendTransaction", {"from": bank, "to": address, "value": hex(amount)})
