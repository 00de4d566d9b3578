"""Signed profiles: the typed data that a wallet signs to change its author's profile."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from imprint.auth.signatures import Unproved, parse_signer, prove
from imprint.auth.typed_data import (
    SigningDomain,
    StructType,
    TypedDataClaim,
    check_fresh,
    check_service,
    find_type,
    read_nonce,
    read_seconds,
    read_text,
)
from imprint.domain.drafts.files import AccountAction, Write
from imprint.domain.formats.addresses import keccak256
from imprint.domain.profiles import AvatarChange, ProfileUpdate, invalid_profile, parse_profile

PROFILE_TYPE = StructType(
    "UpdateProfile",
    (
        ("service", "string"),
        ("name", "string"),
        ("bio", "string"),
        ("links", "string"),
        ("avatar", "string"),
        ("nonce", "string"),
        ("timestamp", "uint256"),
    ),
)
"""The typed data that a wallet signs to change a profile."""

_TEXTS = ("service", "name", "bio", "links", "avatar")
_HASH = re.compile(r"0x[0-9a-fA-F]{64}")


@dataclass(frozen=True, slots=True)
class ProfileVerifier:
    """Verifies claims that change a profile at the service with this URL."""

    domain: SigningDomain
    service: str

    def verify(
        self, claim: TypedDataClaim, now: datetime, *, has_picture: bool
    ) -> ProfileUpdate | Unproved[ProfileUpdate]:
        """Return the update that `claim` proves, or would prove if its signer is a contract.

        The nonce is checked later. `check_body` checks the picture. Refuses, in this order:
        `invalid_typed_data`, `invalid_profile`, `invalid_address`, `signature_stale`,
        `body_mismatch`, `signature_invalid`.
        """
        values = self._read_envelope(claim.envelope)
        texts = parse_profile(values["name"], values["bio"], values["links"])
        avatar, body_hash = _read_avatar(values["avatar"], has_picture=has_picture)
        signer = parse_signer(claim.address)
        check_fresh(values["timestamp"], now)
        check_service(values["service"], self.service)
        write = Write(signer, AccountAction.PROFILE, values["nonce"], now, body_hash=body_hash)
        digest = keccak256(self.domain.signed_bytes(PROFILE_TYPE.hash_struct(values)))
        return prove(ProfileUpdate(write, texts, avatar), signer, digest, claim.signature)

    def _read_envelope(self, envelope: object) -> Mapping[str, Any]:
        _, declared = find_type(envelope, (PROFILE_TYPE,))
        self.domain.check(declared["domain"])
        message = PROFILE_TYPE.check_message(declared["message"])
        return {
            **{name: read_text(name, message[name]) for name in _TEXTS},
            "nonce": read_nonce(message["nonce"]),
            "timestamp": read_seconds("timestamp", message["timestamp"]),
        }


def _read_avatar(avatar: str, *, has_picture: bool) -> tuple[AvatarChange, bytes | None]:
    """The change to the picture, and the hash of the new picture, if any."""
    if avatar in (AvatarChange.KEEP, AvatarChange.NONE):
        if has_picture:
            raise invalid_profile(f"There is a file, but the member avatar is {avatar!r}.")
        return AvatarChange(avatar), None
    if not _HASH.fullmatch(avatar):
        raise invalid_profile(
            "The member avatar is 'keep', 'none', or 0x and the Keccak-256 hash of the file."
        )
    if not has_picture:
        raise invalid_profile("The member avatar is the hash of a file, but there is no file.")
    return AvatarChange.REPLACE, bytes.fromhex(avatar[2:])
