"""The standard claim for every form and action, with the service that verifies it."""

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import product
from typing import Any

from eth_account import Account
from eth_account.signers.local import LocalAccount
from tests.auth.proofs import proved
from tests.signed_forms import ACTIONS, FORMS, Request, envelope

from imprint.auth.typed_data import SigningDomain, TypedDataClaim, WriteVerifier
from imprint.domain.drafts.files import Action, Write
from imprint.domain.errors import Code
from imprint.domain.formats.cids import Cid

CID = Cid("bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e")
SERVICE = "https://imprint.example"
OURS = SigningDomain("Imprint", "1", 31337)
VERIFIER = WriteVerifier(OURS, SERVICE)
NOW = datetime(2030, 1, 31, 12, 0, 0, tzinfo=UTC)
SECONDS = int(NOW.timestamp())
SIGNER: LocalAccount = Account.from_key(b"\x11" * 32)
PAIRS = list(product(FORMS, ACTIONS))
Refused = Callable[[Callable[[], object]], Code | None]
Sign = Callable[[LocalAccount, Any], str]


def request_of(action: str) -> Request:
    cid = "" if action == "create" else CID
    return Request(action, cid, "Words.", b"a picture", "Ink, #essay", SERVICE)


def typed_data(form: str, action: str, /, **changes: Any) -> dict[str, Any]:
    """Return the typed data of the standard request, with some message members replaced."""
    said = envelope(form, request_of(action), SIGNER.address, "n", SECONDS)
    said["message"] |= changes
    return said


def verify(
    said: object,
    action: str,
    signature: str = "",
    address: str = SIGNER.address,
    *,
    now: datetime = NOW,
    verifier: WriteVerifier = VERIFIER,
) -> Write:
    cid = None if action == "create" else CID
    claim = TypedDataClaim(said, address, signature, hashtags="Ink, #essay")
    return proved(verifier.verify(claim, Action(action), now, cid))
