"""Signed writes: a typed-data claim becomes the proof of who writes what.

The digest is computed from constants and settings alone. The domain and the types that a client
sends must equal ours, and are not hashed.
"""

import re
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import NoReturn

from imprint.auth.signatures import parse_signer, verify_signer
from imprint.domain.addresses import keccak256
from imprint.domain.errors import Code, Refusal
from imprint.domain.files import Action, Write

FRESHNESS_SECONDS = 60
"""How far a write's timestamp may be from now, either way; fixed by the protocol."""

MAX_NONCE_LENGTH = 200
"""The longest nonce in characters: enough for an address and any number."""

_DOMAIN_TYPE_HASH = keccak256(b"EIP712Domain(string name,string version,uint256 chainId)")
_DOMAIN_MEMBERS = [
    {"name": "name", "type": "string"},
    {"name": "version", "type": "string"},
    {"name": "chainId", "type": "uint256"},
]
_MEMBERS = [{"name": name, "type": "string"} for name in ("action", "nonce", "timestamp")]
_TIMESTAMP = re.compile(r"[0-9]{1,12}")
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,77}")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,64}")


@dataclass(frozen=True, slots=True)
class WriteType:
    """The EIP-712 type of an action, with the hashes that never change."""

    name: str
    type_hash: bytes
    action_hash: bytes


def _write_type(action: Action) -> WriteType:
    name = f"{action.value.capitalize()}File"
    encoded = f"{name}(string action,string nonce,string timestamp)"
    return WriteType(name, keccak256(encoded.encode()), keccak256(action.value.encode()))


WRITE_TYPES = MappingProxyType({action: _write_type(action) for action in Action})
"""`CreateFile`, `UpdateFile`, `PublishFile` and `DeleteFile`, by their action."""


@dataclass(frozen=True, slots=True)
class SigningDomain:
    """The EIP-712 domain of this service on its chain."""

    name: str
    version: str
    chain_id: int
    separator: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        parts = (
            _DOMAIN_TYPE_HASH,
            keccak256(self.name.encode()),
            keccak256(self.version.encode()),
            self.chain_id.to_bytes(32),
        )
        object.__setattr__(self, "separator", keccak256(b"".join(parts)))

    def digest(self, action: Action, nonce: str, timestamp: str) -> bytes:
        """Return the 32 bytes that a wallet signs for this write."""
        kind = WRITE_TYPES[action]
        parts = (
            kind.type_hash,
            kind.action_hash,
            keccak256(nonce.encode()),
            keccak256(timestamp.encode()),
        )
        return keccak256(b"\x19\x01" + self.separator + keccak256(b"".join(parts)))


@dataclass(frozen=True, slots=True)
class TypedDataClaim:
    """An unverified write: the decoded JSON of the typed data, the address and the signature."""

    envelope: object
    address: str
    signature: str = field(repr=False)


class WriteVerifier:
    """Verifies that a claim proves a write to this service."""

    def __init__(self, domain: SigningDomain) -> None:
        self._domain = domain

    def verify(self, claim: TypedDataClaim, action: Action, now: datetime) -> Write:
        """Return the write that `claim` proves; whether its nonce is unused is checked later.

        Refuses, in this order: `invalid_typed_data` unless the typed data is that of `action`,
        `invalid_address`, `signature_stale`, `signature_invalid`.
        """
        nonce, timestamp = self._read_envelope(claim.envelope, action)
        signer = parse_signer(claim.address)
        if abs(now.timestamp() - int(timestamp)) > FRESHNESS_SECONDS:
            raise Refusal(
                Code.SIGNATURE_STALE,
                f"The timestamp is more than {FRESHNESS_SECONDS} seconds away from now.",
            )
        verify_signer(self._domain.digest(action, nonce, timestamp), claim.signature, signer)
        return Write(signer, action, nonce, now)

    def _read_envelope(self, envelope: object, action: Action) -> tuple[str, str]:
        if not isinstance(envelope, dict):
            _refuse("The typed data must be an object.")
        kind = WRITE_TYPES[action].name
        if envelope.keys() - {"primaryType"} != {"domain", "types", "message"}:
            _refuse("The typed data has domain, types, message, and perhaps primaryType.")
        if envelope.get("primaryType", kind) != kind:
            _refuse(f"The primary type for this request is {kind}.")
        self._check_domain(envelope["domain"])
        _check_types(envelope["types"], kind)
        return _read_message(envelope["message"], action)

    def _check_domain(self, domain: object) -> None:
        ours = self._domain
        if not isinstance(domain, dict) or domain.keys() != {"name", "version", "chainId"}:
            _refuse("The signing domain has exactly name, version and chainId.")
        if domain["name"] != ours.name or domain["version"] != ours.version:
            _refuse("The signing domain's name or version is not that of this service.")
        if _read_chain_id(domain["chainId"]) != ours.chain_id:
            _refuse("The signing domain's chainId is not that of this service.")


def _check_types(types: object, kind: str) -> None:
    # The count comes first, so that many declared types are refused at no cost.
    if not isinstance(types, dict) or not 1 <= len(types) <= 2 or types.get(kind) != _MEMBERS:
        _refuse(f"The types must have {kind} with action, nonce and timestamp, all string.")
    if len(types) == 2 and types.get("EIP712Domain") != _DOMAIN_MEMBERS:
        _refuse(f"Beside {kind}, the types may only have EIP712Domain (name, version, chainId).")


def _read_message(message: object, action: Action) -> tuple[str, str]:
    if not isinstance(message, dict) or message.keys() != {"action", "nonce", "timestamp"}:
        _refuse("The message has exactly action, nonce and timestamp.")
    nonce, timestamp = message["nonce"], message["timestamp"]
    if message["action"] != action.value:
        _refuse(f"The action for this request is {action.value}.")
    if not isinstance(nonce, str) or not 1 <= len(nonce) <= MAX_NONCE_LENGTH:
        _refuse(f"The nonce is a text of 1 to {MAX_NONCE_LENGTH} characters.")
    if any(char == "\0" or "\ud800" <= char <= "\udfff" for char in nonce):
        _refuse("The nonce has a character that is not allowed.")
    if not isinstance(timestamp, str) or not _TIMESTAMP.fullmatch(timestamp):
        _refuse("The timestamp is the Unix time in whole seconds, as a text of digits.")
    return nonce, timestamp


def _read_chain_id(value: object) -> int | None:
    if isinstance(value, str):
        if _DECIMAL.fullmatch(value):
            return int(value)
        return int(value, 16) if _HEX.fullmatch(value) else None
    # `type`, not `isinstance`: True is an int, and a float may be rounded.
    return value if type(value) is int else None


def _refuse(detail: str) -> NoReturn:
    raise Refusal(Code.INVALID_TYPED_DATA, detail)
