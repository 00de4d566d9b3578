"""The typed data (EIP-712) that wallets and writing sessions sign, in every form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from imprint.auth.signed_profiles import PROFILE_TYPE
from imprint.auth.signed_revisions import REVISION_TYPE
from imprint.auth.typed_data import WRITE_TYPES, SigningDomain, SigningForm, StructType
from imprint.auth.writing_sessions import OPENING_TYPE
from imprint.domain.drafts.files import Action
from imprint.domain.formats.addresses import keccak256, parse_address
from imprint.interface.service import SigningFacts

_DOMAIN_MEMBERS = (("name", "string"), ("version", "string"), ("chainId", "uint256"))


@dataclass(frozen=True, slots=True)
class TypedData:
    """Typed data to sign, which is a message of one type in the service's domain.

    Wallets of other libraries take `declared`. Wallets that sign hashes take `digest`.
    """

    kind: StructType
    facts: SigningFacts
    values: Mapping[str, Any]

    @property
    def message(self) -> dict[str, Any]:
        """The message as JSON, with bytes in hex."""
        return {name: _write_value(self.values[name]) for name, _ in self.kind.members}

    @property
    def salt(self) -> dict[str, Any]:
        """The typed data in the form that the service accepts."""
        domain = {"name": self.facts.name, "version": self.facts.version}
        return {
            "domain": {**domain, "chainId": self.facts.chain_id},
            "types": {self.kind.name: self.kind.declared},
            "primaryType": self.kind.name,
            "message": self.message,
        }

    @property
    def declared(self) -> dict[str, Any]:
        """The typed data for `eth_signTypedData_v4`, with its domain's type."""
        salt = self.salt
        members = [{"name": name, "type": kind} for name, kind in _DOMAIN_MEMBERS]
        return {**salt, "types": {"EIP712Domain": members, **salt["types"]}}

    @property
    def signed_bytes(self) -> bytes:
        """The 66 bytes that are hashed. A writing session's key signs them with SHA-256."""
        facts = self.facts
        domain = SigningDomain(facts.name, facts.version, facts.chain_id)
        return domain.signed_bytes(self.kind.hash_struct(self.values))

    @property
    def digest(self) -> bytes:
        """The 32 bytes that a private key signs."""
        return keccak256(self.signed_bytes)


@dataclass(frozen=True, slots=True)
class Write:
    """The content of a signed write. Each form signs different members of it."""

    action: Action
    cid: str = ""
    content: str = ""
    thumbnail: bytes = b""
    hashtags: str = ""
    title: str = ""


def write_typed_data(
    form: SigningForm,
    facts: SigningFacts,
    service: str,
    write: Write,
    *,
    address: str,
    nonce: str,
    timestamp: int,
) -> TypedData:
    """Return a write's typed data in one form."""
    kind = WRITE_TYPES[form][write.action]
    parts: dict[str, Any] = {
        "action": write.action.value,
        "address": parse_address(address),
        "cid": write.cid,
        "hashtags": write.hashtags,
        "nonce": nonce,
        "service": service,
        "timestamp": str(timestamp) if form is SigningForm.IMPRINT_1 else timestamp,
        "title": write.title,
    }
    # Hashing a large text takes a while, so hash only the members that the form signs.
    if "contentHash" in kind.names:
        parts["contentHash"] = keccak256(write.content.encode())
    if "thumbnailHash" in kind.names:
        parts["thumbnailHash"] = keccak256(write.thumbnail)
    return TypedData(kind, facts, {name: parts[name] for name, _ in kind.members})


def opening_typed_data(
    facts: SigningFacts,
    service: str,
    *,
    wallet: str,
    public_key: bytes,
    actions: Sequence[str],
    not_before: int,
    expires: int,
    nonce: str,
) -> TypedData:
    """Return the typed data with which a wallet authorizes a writing session's key."""
    values = {
        "service": service,
        "wallet": parse_address(wallet),
        "publicKey": public_key,
        "actions": list(actions),
        "notBefore": not_before,
        "expires": expires,
        "nonce": nonce,
    }
    return TypedData(OPENING_TYPE, facts, values)


def profile_typed_data(
    facts: SigningFacts,
    service: str,
    *,
    name: str,
    bio: str,
    links: Sequence[str],
    avatar: str,
    nonce: str,
    timestamp: int,
) -> TypedData:
    """Return the typed data with which a wallet changes the profile of its author."""
    values = {
        "service": service,
        "name": name,
        "bio": bio,
        "links": "\n".join(links),
        "avatar": avatar,
        "nonce": nonce,
        "timestamp": timestamp,
    }
    return TypedData(PROFILE_TYPE, facts, values)


def revision_typed_data(
    facts: SigningFacts,
    service: str,
    *,
    post_id: str,
    cid: str,
    content: str,
    note: str,
    nonce: str,
    timestamp: int,
) -> TypedData:
    """Return the typed data with which a wallet corrects a post of its author."""
    values = {
        "service": service,
        "postId": post_id,
        "cid": cid,
        "contentHash": keccak256(content.encode()),
        "note": note,
        "nonce": nonce,
        "timestamp": timestamp,
    }
    return TypedData(REVISION_TYPE, facts, values)


def _write_value(value: object) -> object:
    return f"0x{value.hex()}" if isinstance(value, bytes) else value
