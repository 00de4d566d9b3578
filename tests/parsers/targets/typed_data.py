"""Typed data (EIP-712) of drafts, profiles, revisions and writing sessions."""

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from imprint.auth.signed_profiles import ProfileVerifier
from imprint.auth.signed_revisions import RevisionVerifier, read_stated
from imprint.auth.typed_data import SigningDomain, TypedDataClaim, WriteVerifier
from imprint.auth.writing_sessions import OpeningClaim, OpeningVerifier
from imprint.domain.drafts.files import Action
from imprint.domain.errors import Refusal
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.web.http.requests import parse_json

NOW = datetime(2026, 11, 1, 12, 0, 0, tzinfo=UTC)
SERVICE = "https://imprint.example"
CID = Cid("bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e")
OWNER = Address("0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a")
DOMAIN = SigningDomain("Imprint", "1", 31337)
WRITES = WriteVerifier(DOMAIN, SERVICE)
PROFILES = ProfileVerifier(DOMAIN, SERVICE)
REVISIONS = RevisionVerifier(DOMAIN, SERVICE)
OPENINGS = OpeningVerifier(DOMAIN, SERVICE)


def check(data: bytes) -> None:
    """A body with `salt`, `address` and `signature` is proved or refused as each kind of write."""
    with suppress(Refusal):
        body = parse_json(data)
        if isinstance(body, dict):
            _verify(body.get("salt"), _text(body, "address"), _text(body, "signature"))


def _verify(envelope: Any, address: str, signature: str) -> None:
    claim = TypedDataClaim(envelope, address, signature, hashtags="ink")
    for action in Action:
        with suppress(Refusal):
            WRITES.verify(claim, action, NOW, None if action is Action.CREATE else CID)
    for has_picture in (False, True):
        with suppress(Refusal):
            PROFILES.verify(claim, NOW, has_picture=has_picture)
    with suppress(Refusal):
        REVISIONS.verify(claim, 7, NOW)
    with suppress(Refusal):
        read_stated(envelope, OWNER, signature)
    with suppress(Refusal):
        OPENINGS.verify(OpeningClaim(envelope, address, signature), NOW)


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    return value if isinstance(value, str) else ""
