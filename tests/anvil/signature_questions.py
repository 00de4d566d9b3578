"""The messages signed in the corpus, and ways to modify signatures."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from eth_account.messages import SignableMessage, encode_defunct, encode_typed_data
from tests.anvil.wallet_client import build_envelope, build_login, declare, hash_text
from tests.anvil.wallets import digest_of

from imprint.auth.signatures import CURVE_ORDER

SERVICE = "https://imprint.example"
CID = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"
SECONDS = 1_700_000_000
ISSUED = "2023-11-14T22:13:20.000Z"


@dataclass(frozen=True, slots=True)
class Question:
    """The message to sign: the text of a login, or the typed data of a write."""

    signable: SignableMessage
    text: str = ""
    envelope: Mapping[str, Any] | None = None
    action: str = ""

    @property
    def digest(self) -> bytes:
        return digest_of(self.signable)

    @property
    def declaration(self) -> str:
        return "" if self.envelope is None else declare(self.envelope)


def ask(address: str, rng: Random, seconds: int = SECONDS, issued: str = ISSUED) -> Question:
    """Build a random login or write by an address."""
    nonce = rng.randbytes(16).hex()
    chosen = rng.choice(["login", "create", "update", "delete"])
    if chosen == "login":
        return ask_login(address, nonce, issued)
    return ask_write(chosen, rng.choice(["imprint-1", "imprint-2"]), nonce, seconds)


def ask_login(address: str, nonce: str, issued: str = ISSUED) -> Question:
    """Build a login by an address."""
    text = build_login(address, issued, nonce)
    return Question(encode_defunct(text=text), text)


def ask_write(
    action: str, form: str, nonce: str, seconds: int = SECONDS, service: str = SERVICE
) -> Question:
    """Build a write in the given envelope form."""
    about = {"cid": CID} if action in ("update", "delete") else {}
    if action != "delete":
        about["contentHash"] = hash_text(nonce)
    envelope = build_envelope(form, action, service, seconds, nonce, **about)
    typed = encode_typed_data(envelope["domain"], envelope["types"], envelope["message"])
    return Question(typed, "", envelope, action)


def raise_s(signature: bytes) -> bytes:
    """Return the malleated form of a signature, with the high s value."""
    s = CURVE_ORDER - int.from_bytes(signature[32:64])
    return signature[:32] + s.to_bytes(32) + bytes([55 - signature[64]])


def compact(signature: bytes) -> bytes:
    """Return the 64-byte form of a signature (EIP-2098)."""
    s = int.from_bytes(signature[32:64]) | (signature[64] - 27) << 255
    return signature[:32] + s.to_bytes(32)


def flip_bit(signature: bytes, rng: Random) -> bytes:
    """Return the signature with one bit flipped."""
    changed = bytearray(signature)
    changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def encode_der(signature: bytes) -> bytes:
    """Return the signature in DER, as used by other ECDSA libraries."""
    numbers = b"".join(
        b"\x02" + bytes([len(part)]) + part
        for part in (b"\0" + signature[:32], b"\0" + signature[32:64])
    )
    return b"\x30" + bytes([len(numbers)]) + numbers
