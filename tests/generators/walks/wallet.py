"""A wallet that signs requests to the service and calls the marketplace."""

import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
from eth_abi.abi import encode
from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data
from eth_account.signers.local import LocalAccount
from eth_utils.crypto import keccak

Account.enable_unaudited_hdwallet_features()

MNEMONIC = "test test test test test test test test test test test junk"
POST = "(string,string,string,string,uint256,string[])"
MEMBERS = [{"name": name, "type": "string"} for name in ("action", "nonce", "timestamp")]
UPDATE_MEMBERS = [
    {"name": "service", "type": "string"},
    {"name": "cid", "type": "string"},
    {"name": "contentHash", "type": "bytes32"},
    {"name": "nonce", "type": "string"},
    {"name": "timestamp", "type": "uint256"},
]

T = TypeVar("T")


class Wallet:
    """An account of the development chain. `facts` is the JSON of `/.well-known/imprint.json`."""

    def __init__(self, facts: dict[str, Any], index: int) -> None:
        path = f"m/44'/60'/0'/0/{index}"
        self.account: LocalAccount = Account.from_mnemonic(MNEMONIC, account_path=path)
        self.address = str(self.account.address)
        self.signing: dict[str, Any] = facts["signing"]
        self.chain: dict[str, Any] = facts["chain"]
        self.service = str(facts["service"])

    def sign_login(self, url: str) -> dict[str, Any]:
        """The body of a login request (EIP-4361)."""
        message = (
            f"{urlsplit(url).netloc} wants you to sign in with your Ethereum account:\n"
            f"{self.address}\n\n\nURI: {url}\nVersion: 1\nChain ID: {self.chain['id']}\n"
            f"Nonce: {secrets.token_hex(8)}\n"
            f"Issued At: {datetime.now(UTC).isoformat(timespec='milliseconds')}"
        )
        signed = self.account.sign_message(encode_defunct(text=message))
        return self._signed(message, signed.signature.to_0x_hex())

    def sign_write(self, action: str) -> dict[str, Any]:
        """The fields that every signed write contains (EIP-712)."""
        kind = f"{action.capitalize()}File"
        nonce = f"{self.address}_{secrets.token_hex(8)}"
        message = {"action": action, "nonce": nonce, "timestamp": str(int(time.time()))}
        return self._sign_typed_data(kind, MEMBERS, message)

    def sign_update(self, cid: str, content: str) -> dict[str, Any]:
        """The fields of an update, signed for this service, draft and content."""
        message = {
            "service": self.service,
            "cid": cid,
            "contentHash": f"0x{keccak(text=content).hex()}",
            "nonce": secrets.token_hex(16),
            "timestamp": int(time.time()),
        }
        return self._sign_typed_data("UpdateDraft", UPDATE_MEMBERS, message)

    def _sign_typed_data(
        self, kind: str, members: list[dict[str, str]], message: dict[str, Any]
    ) -> dict[str, Any]:
        types = {kind: members}
        signed = self.account.sign_message(encode_typed_data(self.signing, types, message))
        salt = {"domain": self.signing, "types": types, "primaryType": kind, "message": message}
        return self._signed(salt, signed.signature.to_0x_hex())

    def create_post(self, cid: str, thumbnail: str, price: int, hashtags: list[str]) -> str:
        """Publish on the chain, and return the id of the new post."""
        post = (cid, "Hello", thumbnail, "", price, hashtags)
        receipt = self._transact(keccak(text=f"createPost({POST})")[:4] + encode([POST], [post]))
        topic = keccak(text="PostCreated(uint256,string,string,string,address,uint256)").hex()
        (created,) = [log for log in receipt["logs"] if log["topics"][0] == f"0x{topic}"]
        return str(int(created["topics"][1], 16))

    def buy_post(self, post_id: str, price: int) -> None:
        """Buy a token of the post."""
        call = keccak(text="subscribePost(uint256)")[:4] + encode(["uint256"], [int(post_id)])
        self._transact(call, price)

    def _signed(self, salt: object, signature: str) -> dict[str, Any]:
        return {"salt": salt, "address": self.address, "signature": signature}

    def _transact(self, call: bytes, value: int = 0) -> dict[str, Any]:
        transaction = {
            "from": self.address,
            "to": self.chain["marketplace"],
            "data": f"0x{call.hex()}",
            "value": hex(value),
        }
        receipt: dict[str, Any] = self._ask(
            "eth_getTransactionReceipt", self._ask("eth_sendTransaction", transaction)
        )
        assert receipt["status"] == "0x1", receipt
        return receipt

    def _ask(self, method: str, *params: object) -> Any:
        question = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return httpx.post(self.chain["rpc_url"], json=question).json()["result"]


def until(ask: Callable[[], T | None], seconds: float = 30) -> T:
    """Poll until `ask` returns a result."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if (found := ask()) is not None:
            return found
        time.sleep(0.1)
    raise TimeoutError("It did not happen in time.")
