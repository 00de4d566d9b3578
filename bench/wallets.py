"""Wallets, and the requests they sign before a load is sent."""

import json
import secrets
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from coincurve import PrivateKey
from tests.browser_keys import BrowserKey

from imprint.auth.signatures import personal_digest
from imprint.auth.typed_data import WRITE_TYPES, SigningDomain, SigningForm
from imprint.auth.writing_sessions import OPENING_TYPE
from imprint.domain.drafts.files import Action
from imprint.domain.formats.addresses import Address, checksum_address, keccak256, parse_address
from imprint.domain.sessions import WRITING_ACTIONS

WRITING_SECONDS = 6 * 3600
"""Lifetime of writing sessions in seconds, longer than any run."""


@dataclass(slots=True)
class Wallet:
    """A private key that signs writes and logins.

    `contract` is the address of the contract wallet that the key signs for, if any.
    """

    domain: SigningDomain
    key: PrivateKey = field(default_factory=PrivateKey)
    contract: Address | None = None
    address: Address = field(init=False)

    def __post_init__(self) -> None:
        public = self.key.public_key.format(compressed=False)[1:]
        self.address = self.contract or parse_address("0x" + keccak256(public)[12:].hex())

    def sign_write(self, action: Action) -> dict[str, Any]:
        """Return the members of a write's body that carry its signature."""
        nonce, timestamp = secrets.token_hex(16), str(int(time.time()))
        kind = WRITE_TYPES[SigningForm.IMPRINT_1][action]
        message = {"action": action.value, "nonce": nonce, "timestamp": timestamp}
        salt = self._envelope(kind.name, kind.members, message)
        signature = self.sign_digest(self.domain.digest(action, nonce, timestamp))
        return {"salt": salt, "address": self.address, "signature": signature}

    def sign_update(self, service: str, cid: str, content: str) -> dict[str, Any]:
        """Return the body of an update whose signature covers its service, CID and content.

        The signature has the form `imprint-2`.
        """
        salt, signed = self._bind_update(service, cid, content)
        signature = self.sign_digest(keccak256(signed))
        return {"salt": salt, "address": self.address, "signature": signature, "content": content}

    def sign_update_with(
        self, key: "WritingKey", service: str, cid: str, content: str
    ) -> dict[str, Any]:
        """Return the body of an `imprint-2` update, signed by a writing-session key of this
        wallet."""
        salt, signed = self._bind_update(service, cid, content)
        return {
            "salt": salt,
            "address": self.address,
            "session": key.session,
            "signature": key.sign(signed),
            "content": content,
        }

    def sign_writing_session(self, key: "WritingKey", service: str) -> dict[str, Any]:
        """Return the body of a request that opens a writing session."""
        now, nonce = int(time.time()), secrets.token_hex(16)
        actions = [action.value for action in WRITING_ACTIONS]
        values = {
            "service": service,
            "wallet": self.address,
            "publicKey": key.point,
            "actions": actions,
            "notBefore": now,
            "expires": now + WRITING_SECONDS,
            "nonce": nonce,
        }
        signed = self.domain.signed_bytes(OPENING_TYPE.hash_struct(values))
        message = {**values, "publicKey": "0x" + key.point.hex()}
        salt = self._envelope(OPENING_TYPE.name, OPENING_TYPE.members, message)
        signature = self.sign_digest(keccak256(signed))
        return {"salt": salt, "address": self.address, "signature": signature}

    def _bind_update(self, service: str, cid: str, content: str) -> tuple[dict[str, Any], bytes]:
        kind = WRITE_TYPES[SigningForm.IMPRINT_2][Action.UPDATE]
        content_hash, now = keccak256(content.encode()), int(time.time())
        message = {"service": service, "cid": cid, "nonce": secrets.token_hex(16), "timestamp": now}
        struct_hash = kind.hash_struct({**message, "contentHash": content_hash})
        message["contentHash"] = "0x" + content_hash.hex()
        salt = self._envelope(kind.name, kind.members, message)
        return salt, self.domain.signed_bytes(struct_hash)

    def _envelope(
        self, kind: str, members: tuple[tuple[str, str], ...], message: dict[str, Any]
    ) -> dict[str, Any]:
        return {
            "domain": {
                "name": self.domain.name,
                "version": self.domain.version,
                "chainId": self.domain.chain_id,
            },
            "types": {kind: [{"name": name, "type": each} for name, each in members]},
            "primaryType": kind,
            "message": message,
        }

    def sign_login(self, authority: str) -> dict[str, Any]:
        """Return the body of a login."""
        issued = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        message = (
            f"{authority} wants you to sign in with your Ethereum account:\n"
            f"{checksum_address(self.address)}\n\n\nURI: http://{authority}\nVersion: 1\n"
            f"Chain ID: {self.domain.chain_id}\nNonce: {secrets.token_hex(8)}\n"
            f"Issued At: {issued}"
        )
        signature = self.sign_digest(personal_digest(message.encode()))
        return {"salt": message, "address": self.address, "signature": signature}

    def sign_digest(self, digest: bytes) -> str:
        """Return a 65-byte signature in hex."""
        signed = self.key.sign_recoverable(digest, hasher=None)
        return "0x" + signed[:64].hex() + bytes([27 + signed[64]]).hex()


@dataclass(slots=True)
class WritingKey(BrowserKey):
    """A writing-session key, and the session's ID once it is open."""

    session: str = ""


def contract_wallet_code(owner: Address) -> bytes:
    """Return the creation code of a contract wallet that accepts one key's signatures (ERC-1271).

    The contract hashes and stores nothing, so that a scenario measures only the service and its
    call to the contract.
    """
    runtime = bytes.fromhex(
        "6004355f52"  # memory[0] = the digest
        "60a43560f81c602052"  # memory[32] = v
        "606435604052"  # memory[64] = r
        "608435606052"  # memory[96] = s
        "60205f60805f60015afa50"  # ecrecover, its result to memory[0]
        f"5f5173{owner[2:]}14"  # is it the owner?
        "631626ba7e60e01b025f5260205ff3"  # return the magic value, or 0
    )
    return bytes.fromhex(f"60{len(runtime):02x}8060095f395ff3") + runtime


def post_request(path: str, body: object, headers: str = "") -> bytes:
    """Return the bytes of a POST request with a JSON body."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return (
        f"POST {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
        f"{headers}Content-Length: {len(data)}\r\n\r\n"
    ).encode() + data


def get_request(path: str, headers: str = "") -> bytes:
    """Return the bytes of a GET request."""
    return f"GET {path} HTTP/1.1\r\nHost: bench\r\n{headers}\r\n".encode()
