"""Webhook signatures: hexadecimal HMAC-SHA256 with one of up to two secrets."""

import hashlib
import hmac
import re
from collections.abc import Iterable, Sequence

from imprint.domain.errors import Code, Refusal

_SIGNATURE = re.compile(r"[0-9a-fA-F]{64}\Z")


class WebhookSecrets:
    """A provider's secrets: one, or two during a rotation.

    Raises ValueError for any other number, and for an empty secret.
    """

    __slots__ = ("_keys",)

    def __init__(self, secrets: Sequence[str]) -> None:
        if not 1 <= len(secrets) <= 2 or not all(secrets):
            raise ValueError("A provider must have one or two secrets, and none may be empty.")
        self._keys = tuple(secret.encode() for secret in secrets)

    def verify(self, signature: str, pieces: Iterable[bytes]) -> bytes:
        """Return the HMAC of the concatenated pieces if the signature, in any letter case, matches.

        Refuses everything else with `webhook_signature_invalid`.
        """
        macs = [hmac.new(key, digestmod=hashlib.sha256) for key in self._keys]
        for piece in pieces:
            for mac in macs:
                mac.update(piece)
        claimed = signature.lower().encode(errors="replace")
        for mac in macs:
            if hmac.compare_digest(mac.hexdigest().encode(), claimed):
                return mac.digest()
        raise signature_refusal()


def check_spelling(signature: str) -> None:
    """Refuse text that cannot be a signature before anything is hashed."""
    if not _SIGNATURE.match(signature):
        raise signature_refusal()


def signature_refusal() -> Refusal:
    """The refusal for a delivery that the provider did not sign, or did not sign recently."""
    return Refusal(Code.WEBHOOK_SIGNATURE_INVALID, "The delivery has no valid signature.")
