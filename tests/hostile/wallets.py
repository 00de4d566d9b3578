"""Requests signed by wallets: logins and the four types of writes."""

import io
import json
import random
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from coincurve import PrivateKey
from PIL import Image
from tests.payments import write_message

from imprint.auth.signatures import personal_digest
from imprint.auth.typed_data import SigningDomain
from imprint.domain.drafts.files import Action
from imprint.domain.formats.addresses import Address, checksum_address, keccak256, parse_address

AUTHOR_KEY = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
READER_KEY = "5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a"
HOLDER_KEY = "7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6"
"""Keys of the funded accounts 1 to 3 of every development chain. Attackers use the last one."""

DOMAIN = SigningDomain("Imprint", "1", 31337)
LOGIN_DOMAIN = "reader.example"

JSON = {"Content-Type": "application/json"}

_BOUNDARY = "------------------------hostile"
FORM = {"Content-Type": f"multipart/form-data; boundary={_BOUNDARY}"}


@dataclass(slots=True)
class Wallet:
    """A wallet whose private key signs for one service."""

    domain: SigningDomain
    login_domain: str
    key: PrivateKey = field(default_factory=PrivateKey)
    address: Address = field(init=False)

    def __post_init__(self) -> None:
        public = self.key.public_key.format(compressed=False)[1:]
        self.address = parse_address("0x" + keccak256(public)[12:].hex())

    def sign(self, action: Action) -> dict[str, Any]:
        """The fields that every signed body contains."""
        nonce, timestamp = secrets.token_hex(16), str(int(time.time()))
        kind = f"{action.value.capitalize()}File"
        members = [{"name": name, "type": "string"} for name in ("action", "nonce", "timestamp")]
        domain = self.domain
        salt = {
            "domain": {"name": domain.name, "version": domain.version, "chainId": domain.chain_id},
            "types": {kind: members},
            "primaryType": kind,
            "message": {"action": action.value, "nonce": nonce, "timestamp": timestamp},
        }
        signature = self._sign(domain.digest(action, nonce, timestamp))
        return {"salt": salt, "address": self.address, "signature": signature}

    def login(self) -> bytes:
        """The body of a login request."""
        issued = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        message = (
            f"{self.login_domain} wants you to sign in with your Ethereum account:\n"
            f"{checksum_address(self.address)}\n\n\nURI: http://{self.login_domain}\nVersion: 1\n"
            f"Chain ID: {self.domain.chain_id}\nNonce: {secrets.token_hex(8)}\n"
            f"Issued At: {issued}"
        )
        signature = self._sign(personal_digest(message.encode()))
        return _dump({"salt": message, "address": self.address, "signature": signature})

    def proof(self, challenge: Mapping[str, Any]) -> dict[str, Any]:
        """The response to the challenge of a paid post."""
        fields = {**challenge, "address": self.address}
        return {**fields, "signature": self._sign(personal_digest(write_message(fields).encode()))}

    def creation(self, content: str) -> bytes:
        """The body of a request that creates a draft."""
        return _dump(self.sign(Action.CREATE) | {"content": content})

    def deletion(self) -> bytes:
        """The body of a request that deletes a draft."""
        return _dump(self.sign(Action.DELETE))

    def publication(self, image: bytes, hashtags: str = "") -> bytes:
        """The form that publishes a draft with this image as its thumbnail."""
        signed = self.sign(Action.PUBLISH)
        texts = {**signed, "salt": json.dumps(signed["salt"]), "hashtags": hashtags}
        return form(texts, image)

    def _sign(self, digest: bytes) -> str:
        signed = self.key.sign_recoverable(digest, hasher=None)
        return "0x" + signed[:64].hex() + bytes([27 + signed[64]]).hex()


def form(texts: Mapping[str, str], image: bytes) -> bytes:
    """A multipart form with these fields and an image file."""
    parts = [
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'.encode()
        for name, text in texts.items()
    ]
    head = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n'
    parts += [head.encode(), b"Content-Type: image/png\r\n\r\n", image]
    return b"".join(parts) + f"\r\n--{_BOUNDARY}--\r\n".encode()


def _dump(value: object) -> bytes:
    return json.dumps(value).encode()


def picture(side: int) -> bytes:
    """A PNG of incompressible noise."""
    noise = Image.frombytes("RGB", (side, side), random.Random(side).randbytes(side * side * 3))
    file = io.BytesIO()
    noise.save(file, "PNG", compress_level=1)
    return file.getvalue()
