"""Writing sessions: a wallet authorizes a key once, and the key signs the wallet's writes.

The wallet signs typed data that names the service, the key, the actions that the key may sign, and
its validity period. The key is a P-256 key, which browsers can keep non-extractable. It signs the
bytes that a wallet would hash for the same write.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, encode_dss_signature

from imprint.auth.signatures import Unproved, parse_signer, prove
from imprint.auth.typed_data import (
    SigningDomain,
    StructType,
    body_mismatch,
    check_service,
    find_type,
    read_address,
    read_nonce,
    read_seconds,
    read_text,
    refuse_typed_data,
)
from imprint.domain.drafts.files import Action, Write
from imprint.domain.errors import Code, Damaged, Refusal, SignatureStale
from imprint.domain.formats.addresses import Address, keccak256
from imprint.domain.sessions import (
    WRITING_ACTIONS,
    WRITING_SESSION_SECONDS,
    WritingSession,
    no_writing_session,
)

EARLY = timedelta(seconds=5)
"""How long before its `notBefore` a writing session can be opened, because clocks differ."""

OPENING_TYPE = StructType(
    "WritingSession",
    (
        ("service", "string"),
        ("wallet", "address"),
        ("publicKey", "bytes"),
        ("actions", "string[]"),
        ("notBefore", "uint256"),
        ("expires", "uint256"),
        ("nonce", "string"),
    ),
)
"""The typed data that a wallet signs to open a writing session."""

_ACTIONS = {action.value: action for action in WRITING_ACTIONS}

_CURVE = ec.SECP256R1()
_PREHASHED = ec.ECDSA(Prehashed(hashes.SHA256()))
_POINT = re.compile(r"0x04[0-9a-fA-F]{128}")
_SIGNATURE = re.compile(r"0x[0-9a-fA-F]{128}")


@dataclass(frozen=True, slots=True)
class OpeningClaim:
    """A request to open a writing session. `client` identifies the sender."""

    envelope: object
    address: str
    signature: str = field(repr=False)
    client: str = ""


@dataclass(frozen=True, slots=True)
class Opening:
    """A wallet's proven request to open a writing session, with the nonce it spends."""

    wallet: Address
    public_key: bytes = field(repr=False)
    actions: tuple[Action, ...]
    not_before: datetime
    expires_at: datetime
    nonce: str
    at: datetime

    def session(self, session_id: str) -> WritingSession:
        """The writing session to be opened."""
        return WritingSession(
            session_id,
            self.wallet,
            self.public_key,
            self.actions,
            self.not_before,
            self.expires_at,
            self.at,
        )


@dataclass(frozen=True, slots=True)
class OpeningVerifier:
    """Verifies claims that open a writing session for the service at this URL."""

    domain: SigningDomain
    service: str

    def verify(self, claim: OpeningClaim, now: datetime) -> Opening | Unproved[Opening]:
        """Return the request that `claim` proves, or would prove if its signer is a contract.

        The nonce is checked later. Refuses, in this order: `invalid_typed_data`, `invalid_address`,
        `body_mismatch`, `signature_stale`, `writing_session_expired`, `signature_invalid`.
        """
        values = self._read_envelope(claim.envelope)
        seconds = now.timestamp()
        if values["expires"] <= values["notBefore"]:
            refuse_typed_data("A writing session must expire after its notBefore.")
        if values["expires"] > seconds + WRITING_SESSION_SECONDS:
            refuse_typed_data(
                f"A writing session must expire within {WRITING_SESSION_SECONDS} seconds from now."
            )
        wallet = parse_signer(claim.address)
        self._check_binding(values, wallet)
        if values["notBefore"] > seconds + EARLY.total_seconds():
            raise SignatureStale("The notBefore of this writing session is in the future.", now)
        if values["expires"] <= seconds:
            raise _expired()
        opening = Opening(
            wallet,
            values["publicKey"],
            values["actions"],
            datetime.fromtimestamp(values["notBefore"], UTC),
            datetime.fromtimestamp(values["expires"], UTC),
            values["nonce"],
            now,
        )
        digest = keccak256(self.domain.signed_bytes(OPENING_TYPE.hash_struct(values)))
        return prove(opening, wallet, digest, claim.signature)

    def _read_envelope(self, envelope: object) -> dict[str, Any]:
        _, declared = find_type(envelope, (OPENING_TYPE,))
        self.domain.check(declared["domain"])
        message = OPENING_TYPE.check_message(declared["message"])
        return {
            "service": read_text("service", message["service"]),
            "wallet": read_address("wallet", message["wallet"]),
            "publicKey": _read_public_key(message["publicKey"]),
            "actions": _read_actions(message["actions"]),
            "notBefore": read_seconds("notBefore", message["notBefore"]),
            "expires": read_seconds("expires", message["expires"]),
            "nonce": read_nonce(message["nonce"]),
        }

    def _check_binding(self, values: Mapping[str, Any], wallet: Address) -> None:
        check_service(values["service"], self.service)
        if values["wallet"] != wallet:
            raise body_mismatch("The signature is for another wallet.")


@dataclass(frozen=True, slots=True)
class WritingSessionKey:
    """A writing session with its public key loaded."""

    session: WritingSession
    key: ec.EllipticCurvePublicKey = field(repr=False)

    @classmethod
    def load(cls, session: WritingSession) -> "WritingSessionKey":
        """Load a session's key. Raises `Damaged` if the stored bytes are not a key."""
        try:
            key = ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, session.public_key)
        except ValueError as error:
            raise Damaged.record(f"writing session {session.id}") from error
        return cls(session, key)

    def check(self, write: Write, signed: bytes, signature: str) -> None:
        """Refuse a write unless this key may sign it and signed these bytes.

        Refuses with `writing_session_invalid`, `writing_session_expired` or
        `writing_session_scope`. Revocation is checked when the write is opened.
        """
        session = self.session
        if session.wallet != write.signer or write.at < session.not_before:
            raise no_writing_session()
        if write.at >= session.expires_at:
            raise _expired()
        if not _SIGNATURE.fullmatch(signature):
            raise no_writing_session()
        # A high `s` is accepted: WebCrypto produces such signatures, and a nonce works only once.
        encoded = encode_dss_signature(int(signature[2:66], 16), int(signature[66:], 16))
        try:
            self.key.verify(encoded, sha256(signed).digest(), _PREHASHED)
        except InvalidSignature:
            raise no_writing_session() from None
        if write.action not in session.actions:
            raise beyond_scope(write.action)


def _read_public_key(value: object) -> bytes:
    """The 65 bytes of a point. The point at infinity is refused: its encoding is shorter."""
    if not isinstance(value, str) or not _POINT.fullmatch(value):
        refuse_typed_data("The member publicKey must be 0x04 followed by 128 hex digits.")
    point = bytes.fromhex(value[2:])
    try:
        ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, point)
    except ValueError:
        refuse_typed_data("The member publicKey is not a point on P-256.")
    return point


def _read_actions(value: object) -> tuple[Action, ...]:
    """The actions in the order in which they are signed."""
    known = f"The member actions must list one or more of {', '.join(WRITING_ACTIONS)}, each once."
    if not isinstance(value, list) or not 1 <= len(value) <= len(WRITING_ACTIONS):
        refuse_typed_data(known)
    # Only texts are looked up, because other values may not be hashable.
    actions = tuple(_ACTIONS[each] for each in value if isinstance(each, str) and each in _ACTIONS)
    if len(set(actions)) != len(value):
        refuse_typed_data(known)
    return actions


def beyond_scope(action: str) -> Refusal:
    """The refusal for an action outside a writing session's scope."""
    return Refusal(
        Code.WRITING_SESSION_SCOPE,
        f"The key of this writing session may not sign the action {action}.",
    )


def _expired() -> Refusal:
    return Refusal(Code.WRITING_SESSION_EXPIRED, "The writing session has expired.")
