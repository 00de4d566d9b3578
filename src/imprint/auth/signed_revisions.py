"""Signed revisions: the typed data that a wallet signs to correct a post."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from imprint.auth.signatures import (
    Unproved,
    parse_signature,
    parse_signer,
    prove,
    recover_signer,
)
from imprint.auth.typed_data import (
    SigningDomain,
    StructType,
    TypedDataClaim,
    body_mismatch,
    check_fresh,
    check_service,
    find_type,
    read_hash,
    read_nonce,
    read_seconds,
    read_text,
    refuse_typed_data,
)
from imprint.domain.drafts.files import PostAction, Write
from imprint.domain.errors import Refusal
from imprint.domain.formats.addresses import Address, keccak256
from imprint.domain.formats.cids import Cid, NotACid, parse_cid
from imprint.domain.posts.revisions import MAX_NOTE, SignedRevision, is_note

REVISION_TYPE = StructType(
    "RevisePost",
    (
        ("service", "string"),
        ("postId", "string"),
        ("cid", "string"),
        ("contentHash", "bytes32"),
        ("note", "string"),
        ("nonce", "string"),
        ("timestamp", "uint256"),
    ),
)
"""The typed data that a wallet signs to revise a post."""

_TEXTS = ("service", "postId", "cid", "note")


@dataclass(frozen=True, slots=True)
class RevisionVerifier:
    """Verifies claims that correct a post at the service with this URL."""

    domain: SigningDomain
    service: str

    def verify(
        self, claim: TypedDataClaim, post_id: int, now: datetime
    ) -> SignedRevision | Unproved[SignedRevision]:
        """Return the revision that `claim` proves, or would prove if its signer is a contract.

        The nonce and the post's cid are checked later. `check_body` checks the content. Refuses, in
        this order: `invalid_typed_data`, `invalid_address`, `signature_stale`, `body_mismatch`,
        `signature_invalid`.
        """
        envelope, values = self._read_envelope(claim.envelope)
        signer = parse_signer(claim.address)
        check_fresh(values["timestamp"], now)
        check_service(values["service"], self.service)
        if values["postId"] != str(post_id):
            raise body_mismatch("The signature is for another post.")
        write = Write(
            signer, PostAction.REVISE, values["nonce"], now, body_hash=values["contentHash"]
        )
        document, note = _read_cid(values["cid"]), values["note"]
        signed = SignedRevision(write, post_id, document, note, envelope, claim.signature)
        digest = keccak256(self.domain.signed_bytes(REVISION_TYPE.hash_struct(values)))
        return prove(signed, signer, digest, claim.signature)

    def _read_envelope(self, envelope: object) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        declared, values = _read_declared(envelope)
        self.domain.check(declared["domain"])
        return declared, values


@dataclass(frozen=True, slots=True)
class StatedRevision:
    """A stored revision as described by its signed typed data."""

    document: Cid
    note: str
    content_hash: bytes
    is_signed: bool
    """Whether the owner's key signed the revision. If not, only a contract can verify it."""


def read_stated(envelope: object, owner: Address, signature: str) -> StatedRevision:
    """Read stored typed data for a verifier without access to the chain. Refuses malformed data."""
    declared, values = _read_declared(envelope)
    domain = declared["domain"]
    try:
        domain = SigningDomain(domain["name"], domain["version"], int(str(domain["chainId"]), 0))
        domain.check(declared["domain"])
        digest = keccak256(domain.signed_bytes(REVISION_TYPE.hash_struct(values)))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        refuse_typed_data("The signing domain of a revision is malformed.")
    try:
        is_signed = recover_signer(digest, parse_signature(signature)) == owner
    except Refusal:
        is_signed = False
    return StatedRevision(
        _read_cid(values["cid"]), values["note"], values["contentHash"], is_signed
    )


def _read_declared(envelope: object) -> tuple[dict[str, Any], dict[str, Any]]:
    _, declared = find_type(envelope, (REVISION_TYPE,))
    message = REVISION_TYPE.check_message(declared["message"])
    values: dict[str, Any] = {
        **{name: read_text(name, message[name]) for name in _TEXTS},
        "contentHash": read_hash("contentHash", message["contentHash"]),
        "nonce": read_nonce(message["nonce"]),
        "timestamp": read_seconds("timestamp", message["timestamp"]),
    }
    if not is_note(values["note"]):
        refuse_typed_data(
            f"The member note must be one line of at most {MAX_NOTE} characters, without control "
            "characters."
        )
    return declared, values


def _read_cid(text: str) -> Cid:
    try:
        return parse_cid(text)
    except NotACid as error:
        refuse_typed_data(f"The member cid is not a CID. {error}")
