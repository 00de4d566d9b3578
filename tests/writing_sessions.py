"""A browser with a writing session: its P-256 key, and the message that opens the session."""

import secrets
from dataclasses import dataclass
from typing import Any

import httpx2
from eth_account.messages import encode_typed_data
from tests.browser_keys import BrowserKey
from tests.signed_forms import BOUND, DOMAIN, declare
from tests.world import ORIGIN, Wallet, World

from imprint.domain.formats.addresses import keccak256

OPENING_MEMBERS = [
    {"name": "service", "type": "string"},
    {"name": "wallet", "type": "address"},
    {"name": "publicKey", "type": "bytes"},
    {"name": "actions", "type": "string[]"},
    {"name": "notBefore", "type": "uint256"},
    {"name": "expires", "type": "uint256"},
    {"name": "nonce", "type": "string"},
]


def bound_envelope(
    action: str, at: int, *, service: str = ORIGIN, nonce: str | None = None, **message: str
) -> dict[str, Any]:
    """The typed data of a write, in the form that binds the signature to the whole request."""
    kind, members = declare(BOUND, action)
    return {
        "domain": DOMAIN,
        "types": {kind: members},
        "primaryType": kind,
        "message": {
            "service": service,
            **message,
            "nonce": nonce or secrets.token_hex(16),
            "timestamp": str(at),
        },
    }


def hash_of(content: str) -> str:
    """The `contentHash` of a text."""
    return "0x" + keccak256(content.encode()).hex()


def signed_bytes(envelope: dict[str, Any]) -> bytes:
    """The 66 bytes that are hashed and signed, computed by an independent library."""
    typed = encode_typed_data(full_message={**envelope, "types": with_domain(envelope["types"])})
    return b"\x19" + typed.version + typed.header + typed.body


def with_domain(types: dict[str, Any]) -> dict[str, Any]:
    """Add the type of the EIP-712 domain, which some libraries require."""
    domain = [("name", "string"), ("version", "string"), ("chainId", "uint256")]
    return {"EIP712Domain": [{"name": name, "type": of} for name, of in domain], **types}


@dataclass(slots=True)
class WritingKey(BrowserKey):
    """A browser's key, and the id of its session once it is open."""

    wallet: Wallet
    id: str = ""

    def opening(self, **members: Any) -> dict[str, Any]:
        """The typed data that opens a session. `members` override the defaults."""
        now = self.wallet.clock.seconds
        message = {
            "service": ORIGIN,
            "wallet": self.wallet.address,
            "publicKey": "0x" + self.point.hex(),
            "actions": ["create", "update"],
            "notBefore": now,
            "expires": now + 3600,
            "nonce": secrets.token_hex(16),
        }
        return {
            "domain": DOMAIN,
            "types": {"WritingSession": OPENING_MEMBERS},
            "primaryType": "WritingSession",
            "message": message | members,
        }

    def sign_envelope(self, envelope: dict[str, Any]) -> dict[str, Any]:
        """Sign typed data, and return the fields that every write in a session contains."""
        return {
            "salt": envelope,
            "address": self.wallet.address,
            "signature": self.sign(signed_bytes(envelope)),
            "session": self.id,
        }

    def create_body(self, content: str = "Some words.", **given: str) -> dict[str, Any]:
        """The body of a request that creates a draft."""
        now = self.wallet.clock.seconds
        envelope = bound_envelope("create", now, contentHash=hash_of(content), **given)
        return self.sign_envelope(envelope) | {"content": content}

    def update_body(self, cid: str, content: str = "Other words.", **given: str) -> dict[str, Any]:
        """The body of a request that updates a draft."""
        now = self.wallet.clock.seconds
        envelope = bound_envelope("update", now, cid=cid, contentHash=hash_of(content), **given)
        return self.sign_envelope(envelope) | {"content": content}


async def send_opening(world: World, key: WritingKey, **members: Any) -> httpx2.Response:
    """Send a request to open a session. `members` override the defaults of its message."""
    body = key.wallet.sign_envelope(key.opening(**members))
    return await world.client.post("/writing/sessions", json=body)


async def open_session(world: World, wallet: Wallet, **members: Any) -> WritingKey:
    """Open a session and return its key."""
    key = WritingKey(wallet)
    response = await send_opening(world, key, **members)
    assert response.status_code == 201, response.text
    key.id = response.json()["session"]["id"]
    return key


async def send_create(world: World, key: WritingKey, **given: str) -> httpx2.Response:
    """Create a draft with a writing session."""
    return await world.client.post("/create/group", json=key.create_body(**given))


async def send_update(world: World, key: WritingKey, cid: str, **given: str) -> httpx2.Response:
    """Update a draft with a writing session."""
    body = key.update_body(cid, **given)
    return await world.client.post("/update/file", params={"cid": cid}, json=body)
