"""Signed writes: a typed-data claim becomes the proof of who writes what.

A write may be signed in one of three forms, which are distinguished by their types:

| form        | what the signature is bound to                                            |
|-------------|---------------------------------------------------------------------------|
| `imprint-1` | the action                                                                |
| `inkdao-1`  | the action, the address, and the cid of the draft that it changes         |
| `imprint-2` | the above, the service, and the content or the thumbnail and hashtags     |

The digest is computed only from constants, settings and the message. The domain and the types that
a client sends must equal ours, and are not hashed.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

from imprint.auth.signatures import Unproved, parse_signer, prove
from imprint.domain.drafts.files import Action, Write
from imprint.domain.errors import Code, Refusal, SignatureStale
from imprint.domain.formats.addresses import Address, NotAnAddress, keccak256, parse_address
from imprint.domain.formats.cids import Cid, NotACid, parse_cid

FRESHNESS_SECONDS = 60
"""Seconds by which a write's timestamp may differ from now, fixed by the protocol."""

MAX_NONCE_LENGTH = 200
"""Length limit of a nonce, enough for an address and any number."""

_DOMAIN_TYPE_HASH = keccak256(b"EIP712Domain(string name,string version,uint256 chainId)")
_DOMAIN_MEMBERS = [
    {"name": "name", "type": "string"},
    {"name": "version", "type": "string"},
    {"name": "chainId", "type": "uint256"},
]
_TIMESTAMP = re.compile(r"[0-9]{1,12}")
_LATEST = 10**12
"""Upper bound of timestamps, which have at most twelve digits."""
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,77}")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,64}")
_HASH = re.compile(r"0x[0-9a-fA-F]{64}")


class SigningForm(StrEnum):
    """A signing form, by its name in `/.well-known/imprint.json`."""

    IMPRINT_1 = "imprint-1"
    INKDAO_1 = "inkdao-1"
    IMPRINT_2 = "imprint-2"


BOUND_FORMS = (SigningForm.IMPRINT_2,)
"""Forms whose signatures are valid for only one body and one service."""


@dataclass(frozen=True, slots=True)
class StructType:
    """An EIP-712 type whose constant hashes are precomputed."""

    name: str
    members: tuple[tuple[str, str], ...]
    """Name and type of each member, in order."""
    fixed: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Encoded values of members that can have only one value."""
    type_hash: bytes = field(init=False, repr=False)
    declared: list[dict[str, str]] = field(init=False, repr=False)
    """The members as declared in JSON."""
    names: frozenset[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "type_hash", keccak256(self.declaration.encode()))
        declared = [{"name": name, "type": kind} for name, kind in self.members]
        object.__setattr__(self, "declared", declared)
        object.__setattr__(self, "names", frozenset(name for name, _ in self.members))

    @property
    def declaration(self) -> str:
        """The type in the notation of EIP-712."""
        return f"{self.name}({','.join(f'{kind} {name}' for name, kind in self.members)})"

    def hash_struct(self, values: Mapping[str, Any]) -> bytes:
        """Return the hash of a message with these values, each parsed by its type."""
        parts = [self.type_hash]
        for name, kind in self.members:
            parts.append(self.fixed[name] if name in self.fixed else _ENCODERS[kind](values[name]))
        return keccak256(b"".join(parts))

    def check_message(self, message: object) -> dict[str, Any]:
        """Return a message with exactly these members. Refuses with `invalid_typed_data`."""
        if not isinstance(message, dict) or message.keys() != self.names:
            named = ", ".join(name for name, _ in self.members)
            refuse_typed_data(f"The message must have exactly these members: {named}.")
        return message


@dataclass(frozen=True, slots=True)
class WriteType(StructType):
    """The EIP-712 type of an action in one signing form."""

    form: SigningForm = field(kw_only=True)


def _encode_text(value: str) -> bytes:
    return keccak256(value.encode())


def _encode_number(value: int) -> bytes:
    return value.to_bytes(32)


def _encode_address(value: Address) -> bytes:
    return bytes(12) + bytes.fromhex(value[2:])


def _encode_hash(value: bytes) -> bytes:
    return value


def _encode_texts(values: Iterable[str]) -> bytes:
    return keccak256(b"".join(map(_encode_text, values)))


_ENCODERS: Mapping[str, Callable[[Any], bytes]] = {
    "string": _encode_text,
    "uint256": _encode_number,
    "address": _encode_address,
    "bytes32": _encode_hash,
    "bytes": keccak256,
    "string[]": _encode_texts,
}

_SIGNED = (("nonce", "string"), ("address", "address"), ("timestamp", "uint256"))
_BOUND = (("nonce", "string"), ("timestamp", "uint256"))
_DRAFT_MEMBERS = {
    Action.CREATE: (("contentHash", "bytes32"),),
    Action.UPDATE: (("cid", "string"), ("contentHash", "bytes32")),
    Action.PUBLISH: (("cid", "string"), ("thumbnailHash", "bytes32"), ("hashtags", "string")),
    Action.DELETE: (("cid", "string"),),
}


def _imprint_1(action: Action) -> WriteType:
    members = tuple((name, "string") for name in ("action", "nonce", "timestamp"))
    fixed = {"action": keccak256(action.value.encode())}
    name = f"{action.value.capitalize()}File"
    return WriteType(name, members, fixed, form=SigningForm.IMPRINT_1)


def _inkdao_1(action: Action) -> WriteType:
    subject = "title" if action is Action.CREATE else "cid"
    members = ((subject, "string"), *_SIGNED)
    return WriteType(f"{action.value.capitalize()}File", members, form=SigningForm.INKDAO_1)


def _imprint_2(action: Action) -> WriteType:
    members = (("service", "string"), *_DRAFT_MEMBERS[action], *_BOUND)
    return WriteType(f"{action.value.capitalize()}Draft", members, form=SigningForm.IMPRINT_2)


WRITE_TYPES: Mapping[SigningForm, Mapping[Action, WriteType]] = MappingProxyType(
    {
        form: MappingProxyType({action: build(action) for action in Action})
        for form, build in (
            (SigningForm.IMPRINT_1, _imprint_1),
            (SigningForm.INKDAO_1, _inkdao_1),
            (SigningForm.IMPRINT_2, _imprint_2),
        )
    }
)
"""The types of every form, by action."""

Struct = TypeVar("Struct", bound=StructType)


def _types_for(action: Action, service: str) -> tuple[WriteType, ...]:
    """The types of an action in all forms, for a service that accepts any form."""
    fixed = {"service": _encode_text(service)}
    kinds = (types[action] for types in WRITE_TYPES.values())
    return tuple(replace(kind, fixed={**kind.fixed, **fixed}) for kind in kinds)


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

    def signed_bytes(self, struct_hash: bytes) -> bytes:
        """Return the 66 bytes that are hashed and signed for a message with this hash."""
        return b"\x19\x01" + self.separator + struct_hash

    def digest(self, action: Action, nonce: str, timestamp: str) -> bytes:
        """Return the 32 bytes a wallet signs for this write in the form `imprint-1`."""
        kind = WRITE_TYPES[SigningForm.IMPRINT_1][action]
        struct_hash = kind.hash_struct({"nonce": nonce, "timestamp": timestamp})
        return keccak256(self.signed_bytes(struct_hash))

    def check(self, declared: object) -> None:
        """Refuse with `invalid_typed_data` unless a client declares this domain."""
        if not isinstance(declared, dict) or declared.keys() != {"name", "version", "chainId"}:
            refuse_typed_data(
                "The signing domain must have exactly the members name, version and chainId."
            )
        if declared["name"] != self.name or declared["version"] != self.version:
            refuse_typed_data(
                "The signing domain's name or version is not this service's. See `signing` in "
                "/.well-known/imprint.json."
            )
        if _read_chain_id(declared["chainId"]) != self.chain_id:
            refuse_typed_data(
                "The signing domain's chainId is not this service's. See `signing` in "
                "/.well-known/imprint.json."
            )


@dataclass(frozen=True, slots=True)
class TypedDataClaim:
    """An unverified write: the decoded JSON of the typed data, the address and the signature.

    `session` is the id of the writing session whose key signed instead of the wallet. `hashtags` is
    the form field as sent, and `client` identifies the client that sent it.
    """

    envelope: object
    address: str
    signature: str = field(repr=False)
    session: str | None = None
    hashtags: str = ""
    client: str = ""


class WriteVerifier:
    """Verifies that a claim proves a write to this service."""

    def __init__(
        self,
        domain: SigningDomain,
        service: str,
        forms: Collection[SigningForm] = tuple(SigningForm),
        inkdao_domain: SigningDomain | None = None,
    ) -> None:
        """Accept `forms` for the service at this URL.

        `inkdao_domain` is the domain of `inkdao-1` if it differs from the domain of the other
        forms.
        """
        self._service = service
        self._types = {action: _types_for(action, service) for action in Action}
        self._forms = frozenset(forms)
        self._domains = dict.fromkeys(SigningForm, domain)
        if inkdao_domain is not None:
            self._domains[SigningForm.INKDAO_1] = inkdao_domain

    def verify(
        self, claim: TypedDataClaim, action: Action, now: datetime, cid: Cid | None = None
    ) -> Write | Unproved[Write]:
        """Return the write that `claim` proves, or would prove if its signer is a contract.

        The nonce is checked later. `check_body` checks the body. Refuses as `read` does, and
        also with `signature_invalid`.
        """
        write, signed = self.read(claim, action, now, cid, self._forms)
        return prove(write, write.signer, keccak256(signed), claim.signature)

    def read(
        self,
        claim: TypedDataClaim,
        action: Action,
        now: datetime,
        cid: Cid | None,
        forms: Collection[SigningForm],
    ) -> tuple[Write, bytes]:
        """Parse a claim into an unproven write and the 66 signed bytes.

        `cid` names the draft that the request is about. Refuses, in this order:
        `invalid_typed_data` unless the typed data matches `action`, `form_not_accepted`,
        `invalid_address`, `signature_stale`, `body_mismatch`.
        """
        kind, values = self._read_envelope(claim.envelope, action)
        if kind.form not in forms:
            accepted = ", ".join(form for form in SigningForm if form in forms)
            raise Refusal(
                Code.FORM_NOT_ACCEPTED,
                f"This service does not accept writes in the form {kind.form}. Accepted forms: "
                f"{accepted}.",
            )
        signer = parse_signer(claim.address)
        check_fresh(int(values["timestamp"]), now)
        if kind.form is not SigningForm.IMPRINT_1:
            self._check_binding(values, claim, signer, cid)
        body_hash = values.get("contentHash") or values.get("thumbnailHash")
        write = Write(signer, action, values["nonce"], now, claim.session, body_hash)
        return write, self._domains[kind.form].signed_bytes(kind.hash_struct(values))

    def _read_envelope(self, envelope: object, action: Action) -> tuple[WriteType, dict[str, Any]]:
        kind, declared = find_type(envelope, self._types[action])
        self._domains[kind.form].check(declared["domain"])
        return kind, _read_message(declared["message"], kind, action)

    def _check_binding(
        self, values: Mapping[str, Any], claim: TypedDataClaim, signer: Address, cid: Cid | None
    ) -> None:
        check_service(values.get("service", self._service), self._service)
        if values.get("address", signer) != signer:
            raise body_mismatch("The signature is for another address.")
        if "cid" in values and not _is_cid(values["cid"], cid):
            raise body_mismatch("The signature is for another cid.")
        if values.get("hashtags", claim.hashtags) != claim.hashtags:
            raise body_mismatch("The signature is for different hashtags.")


def check_service(signed: str, service: str) -> None:
    """Refuse with `body_mismatch` if the signature is for another service."""
    if signed != service:
        raise body_mismatch(f"The signature is for another service; this one is {service}.")


def check_body(write: Write, body: bytes) -> None:
    """Refuse with `body_mismatch` if the signature covers other content or another thumbnail.

    Takes a few milliseconds per megabyte.
    """
    if write.body_hash is not None and keccak256(body) != write.body_hash:
        raise body_mismatch("The signature is for a different content or thumbnail.")


def check_fresh(timestamp: int, now: datetime) -> None:
    """Refuse with `signature_stale` if a timestamp is too far from now in either direction."""
    if abs(now.timestamp() - timestamp) > FRESHNESS_SECONDS:
        raise SignatureStale(
            f"The timestamp is more than {FRESHNESS_SECONDS} seconds away from now.", now
        )


def find_type(envelope: object, kinds: Sequence[Struct]) -> tuple[Struct, dict[str, Any]]:
    """Return which of these types a client's typed data has, and its members.

    The typed data may declare only this type and the type of the domain. Refuses
    with `invalid_typed_data`.
    """
    if not isinstance(envelope, dict):
        refuse_typed_data("The typed data must be an object.")
    if envelope.keys() - {"primaryType"} != {"domain", "types", "message"}:
        refuse_typed_data(
            "The typed data must have domain, types and message, and may have primaryType."
        )
    for kind in kinds:
        if _declares(envelope["types"], kind):
            break
    else:
        known = " or ".join(kind.declaration for kind in kinds)
        refuse_typed_data(
            f"The types must have {known}, and may also have EIP712Domain (name, version, chainId)."
        )
    if envelope.get("primaryType", kind.name) != kind.name:
        refuse_typed_data(f"The primary type of this request must be {kind.name}.")
    return kind, envelope


def _declares(types: object, kind: StructType) -> bool:
    if not isinstance(types, dict) or types.get(kind.name) != kind.declared:
        return False
    # The number of types is checked first, so that a long list is refused cheaply.
    return len(types) == 1 or (len(types) == 2 and types.get("EIP712Domain") == _DOMAIN_MEMBERS)


def read_nonce(nonce: object) -> str:
    """Return the nonce of a message. Refuses with `invalid_typed_data`."""
    if not isinstance(nonce, str) or not 1 <= len(nonce) <= MAX_NONCE_LENGTH:
        refuse_typed_data(f"The nonce must be a string of 1 to {MAX_NONCE_LENGTH} characters.")
    if "\0" in nonce or not _is_unicode(nonce):
        refuse_typed_data("The nonce contains a character that is not allowed.")
    return nonce


def read_seconds(name: str, value: object) -> int:
    """Parse a time in Unix seconds from a number or digits. Refuses with `invalid_typed_data`."""
    if isinstance(value, str) and _TIMESTAMP.fullmatch(value):
        return int(value)
    # `type` instead of `isinstance`, because True is an int. A float may be rounded.
    if type(value) is not int or not 0 <= value < _LATEST:
        refuse_typed_data(f"The member {name} must be the Unix time in whole seconds.")
    return value


def read_address(name: str, value: object) -> Address:
    """Return an address in a message. Refuses with `invalid_typed_data`."""
    try:
        return parse_address(value if isinstance(value, str) else "")
    except NotAnAddress as error:
        refuse_typed_data(f"The member {name} is not an address. {error}")


def read_text(name: str, value: object) -> str:
    """Return a string from a message. Refuses with `invalid_typed_data`."""
    if not isinstance(value, str) or not _is_unicode(value):
        refuse_typed_data(f"The member {name} must be a string of valid Unicode.")
    return value


def _is_unicode(text: str) -> bool:
    # Lone surrogates cannot be encoded. A loop over a long text would be far slower.
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_hash(name: str, value: object) -> bytes:
    """Return a 32-byte hash from a message. Refuses with `invalid_typed_data`."""
    if not isinstance(value, str) or not _HASH.fullmatch(value):
        refuse_typed_data(f"The member {name} must be 0x followed by 64 hex digits.")
    return bytes.fromhex(value[2:])


_READERS = {
    "string": read_text,
    "uint256": read_seconds,
    "address": read_address,
    "bytes32": read_hash,
}


def _read_message(given: object, kind: WriteType, action: Action) -> dict[str, Any]:
    message = kind.check_message(given)
    if kind.form is not SigningForm.IMPRINT_1:
        values = {name: _READERS[of](name, message[name]) for name, of in kind.members}
        read_nonce(values["nonce"])
        return values
    if message["action"] != action.value:
        refuse_typed_data(f"The action of this request must be {action.value}.")
    read_nonce(message["nonce"])
    timestamp = message["timestamp"]
    if not isinstance(timestamp, str) or not _TIMESTAMP.fullmatch(timestamp):
        refuse_typed_data(
            "The timestamp must be the Unix time in whole seconds, as a string of digits."
        )
    return message


def _is_cid(text: str, cid: Cid | None) -> bool:
    try:
        return text == cid or parse_cid(text) == cid
    except NotACid:
        return False


def _read_chain_id(value: object) -> int | None:
    if isinstance(value, str):
        if _DECIMAL.fullmatch(value):
            return int(value)
        return int(value, 16) if _HEX.fullmatch(value) else None
    return value if type(value) is int else None


def refuse_typed_data(detail: str) -> NoReturn:
    """Raise the refusal `invalid_typed_data`."""
    raise Refusal(Code.INVALID_TYPED_DATA, detail)


def body_mismatch(detail: str) -> Refusal:
    """The refusal for a signature that was made for another request."""
    return Refusal(Code.BODY_MISMATCH, detail)
