"""Wallets, and the requests that they sign before a load is sent."""

import json
import secrets
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from coincurve import PrivateKey

from imprint.auth.signatures import personal_digest
from imprint.auth.typed_data import SigningDomain
from imprint.domain.addresses import Address, checksum_address, keccak256, parse_address
from imprint.domain.files import Action


@dataclass(slots=True)
class Wallet:
    """A private key that signs writes and logins."""

    domain: SigningDomain
    key: PrivateKey = field(default_factory=PrivateKey)
    address: Address = field(init=False)

    def __post_init__(self) -> None:
        public = self.key.public_key.format(compressed=False)[1:]
        self.address = parse_address("0x" + keccak256(public)[12:].hex())

    def sign_write(self, action: Action) -> dict[str, Any]:
        """The signed members of the body of a write."""
        nonce, timestamp = secrets.token_hex(16), str(int(time.time()))
        kind = f"{action.value.capitalize()}File"
        members = [{"name": name, "type": "string"} for name in ("action", "nonce", "timestamp")]
        salt = {
            "domain": {
                "name": self.domain.name,
                "version": self.domain.version,
                "chainId": self.domain.chain_id,
            },
            "types": {kind: members},
            "primaryType": kind,
            "message": {"action": action.value, "nonce": nonce, "timestamp": timestamp},
        }
        signature = self._sign(self.domain.digest(action, nonce, timestamp))
        return {"salt": salt, "address": self.address, "signature": signature}

    def sign_login(self, authority: str) -> dict[str, Any]:
        """The body of a login."""
        issued = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        message = (
            f"{authority} wants you to sign in with your Ethereum account:\n"
            f"{checksum_address(self.address)}\n\n\nURI: http://{authority}\nVersion: 1\n"
            f"Chain ID: {self.domain.chain_id}\nNonce: {secrets.token_hex(8)}\n"
            f"Issued At: {issued}"
        )
        signature = self._sign(personal_digest(message.encode()))
        return {"salt": message, "address": self.address, "signature": signature}

    def _sign(self, digest: bytes) -> str:
        signed = self.key.sign_recoverable(digest, hasher=None)
        return "0x" + signed[:64].hex() + bytes([27 + signed[64]]).hex()


def post_request(path: str, body: object, headers: str = "") -> bytes:
    """The bytes of a POST request with a JSON body."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return (
        f"POST {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
        f"{headers}Content-Length: {len(data)}\r\n\r\n"
    ).encode() + data


def get_request(path: str, headers: str = "") -> bytes:
    """The bytes of a GET request."""
    return f"GET {path} HTTP/1.1\r\nHost: bench\r\n{headers}\r\n".encode()
