"""Clients that use the service with a contract wallet, in each form of signed writes."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
from eth_account.messages import encode_defunct, encode_typed_data
from tests import signed_forms
from tests.anvil.client import LOGIN_DOMAIN, Client, RunningClock
from tests.anvil.node import CHAIN_ID, PRICE, Receipt
from tests.anvil.wallets import ContractWallet
from tests.world import picture

from imprint.domain.formats.addresses import keccak256

ATTEMPTS = 5
"""Maximum number of attempts for a request, because the node may be slow on a busy machine."""

FORMS = ("imprint-1", "imprint-2")


def build_envelope(
    form: str, action: str, service: str, seconds: int, nonce: str, **about: str
) -> dict[str, Any]:
    """Build the typed data for a write. `about` holds members that the form `imprint-1` lacks."""
    kind, members = signed_forms.declare(form, action)
    message: dict[str, Any] = {"action": action, "nonce": nonce, "timestamp": str(seconds)}
    if form != "imprint-1":
        message = {"service": service, **about, "nonce": nonce, "timestamp": seconds}
    return {
        "domain": {"name": "Imprint", "version": "1", "chainId": CHAIN_ID},
        "types": {kind: members},
        "primaryType": kind,
        "message": message,
    }


def declare(envelope: Mapping[str, Any]) -> str:
    """Return the type in EIP-712 notation."""
    ((name, members),) = envelope["types"].items()
    described = ",".join(f"{member['type']} {member['name']}" for member in members)
    return f"{name}({described})"


def build_login(address: str, issued: str, nonce: str) -> str:
    """Build the login message to sign (EIP-4361)."""
    return (
        f"{LOGIN_DOMAIN} wants you to sign in with your Ethereum account:\n{address}\n\n"
        f"Welcome back\n\nURI: http://{LOGIN_DOMAIN}/\nVersion: 1\nChain ID: {CHAIN_ID}\n"
        f"Nonce: {nonce}\nIssued At: {issued}"
    )


@dataclass(frozen=True, slots=True)
class WalletClient:
    """A client that uses a service with this wallet."""

    client: Client
    wallet: ContractWallet

    def send_login(self) -> httpx2.Response:
        issued = RunningClock().now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        message = build_login(self.wallet.address, issued, secrets.token_hex(8))
        signature = self.wallet.sign(encode_defunct(text=message))
        body = {"salt": message, "address": self.wallet.address, "signature": to_text(signature)}
        return send(self.client, "/auth/login", json=body)

    def log_in(self) -> dict[str, str]:
        """Log in and return the headers of the session."""
        return {"Authorization": f"Bearer {_json(self.send_login())['token']}"}

    def sign(self, form: str, action: str, **about: str) -> dict[str, Any]:
        """Return the members common to all signed bodies."""
        service = _json(self.client.http.get("/.well-known/imprint.json"))["service"]
        nonce, now = secrets.token_hex(16), RunningClock().seconds
        envelope = build_envelope(form, action, service, now, nonce, **about)
        typed = encode_typed_data(envelope["domain"], envelope["types"], envelope["message"])
        signature = self.wallet.sign(typed, declare(envelope))
        return {
            "salt": envelope,
            "address": self.wallet.address,
            "signature": to_text(signature),
        }

    def create(self, form: str, content: str) -> dict[str, Any]:
        body = self.sign(form, "create", contentHash=hash_text(content)) | {"content": content}
        return dict(_json(send(self.client, "/create/group", json=body))["updatedUpload"])

    def update(self, form: str, cid: str, content: str) -> dict[str, Any]:
        signed = self.sign(form, "update", cid=cid, contentHash=hash_text(content))
        body = signed | {"content": content}
        response = send(self.client, "/update/file", params={"cid": cid}, json=body)
        return dict(_json(response)["upload"])

    def publish(self, form: str, cid: str, hashtags: str = "") -> str:
        image = picture()
        about = {"cid": cid, "thumbnailHash": to_text(keccak256(image)), "hashtags": hashtags}
        fields = self.sign(form, "publish", **about) | {"hashtags": hashtags}
        fields["salt"] = json.dumps(fields["salt"])
        files = {"file": ("cover.png", image, "image/png")}
        response = send(self.client, "/publish/file", params={"cid": cid}, data=fields, files=files)
        return str(_json(response)["thumbnailCid"])

    def delete(self, form: str, cid: str) -> httpx2.Response:
        body = self.sign(form, "delete", cid=cid)
        return send(self.client, "/delete/file", params={"cid": cid}, json=body)

    def create_post(self, cid: str, thumbnail: str) -> Receipt:
        """Publish a CID with a transaction sent by the wallet itself."""
        anvil = self.wallet.anvil
        return self.wallet.send(anvil.marketplace, anvil.encode_post(cid, thumbnail))

    def buy(self, post_id: int) -> Receipt:
        """Buy a post with a transaction sent by the wallet itself."""
        anvil = self.wallet.anvil
        return self.wallet.send(anvil.marketplace, anvil.encode_purchase(post_id), PRICE)

    def read_post(self, post_id: int, session: dict[str, str]) -> httpx2.Response:
        wanted = {"user": self.wallet.address, "postId": str(post_id)}
        return self.client.http.get("/fileByPostId", params=wanted, headers=session)


def send(client: Client, path: str, **given: Any) -> httpx2.Response:
    """Send a request and return the response, retrying if the node took too long.

    A signature that could not be checked has spent no nonce.
    """
    for _ in range(ATTEMPTS):
        response = client.http.post(path, **given)
        if response.status_code != 503:
            break
    return response


def hash_text(content: str) -> str:
    """Return the hash of a text, as it appears in signed messages."""
    return to_text(keccak256(content.encode()))


def to_text(value: bytes) -> str:
    """Return bytes as hexadecimal digits."""
    return f"0x{value.hex()}"


def _json(response: httpx2.Response) -> Any:
    assert response.status_code == 200, response.text
    return response.json()
