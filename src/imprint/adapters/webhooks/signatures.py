"""Signatures of deliveries: HMAC-SHA256 in hexadecimal digits, under one of at most two secrets."""

import hashlib
import hmac
import re
from collections.abc import Iterable, Sequence

from imprint.domain.errors import Code, Refusal

_SIGNATURE = re.compile(r"[0-9a-fA-F]{64}\Z")


class WebhookSecrets:
    """What a provider signs with: one secret, or two while one is being replaced by the other.

    Raises ValueError for none, for more, and for an empty one.
    """

    __slots__ = ("_keys",)

    def __init__(self, secrets: Sequence[str]) -> None:
        if not 1 <= len(secrets) <= 2 or not all(secrets):
            raise ValueError("A provider has one secret or two, and none is empty.")
        self._keys = tuple(secret.encode() for secret in secrets)

    def verify(self, signature: str, pieces: Iterable[bytes]) -> bytes:
        """The digest that was signed: the HMAC of the pieces, one after the other.

        Refuses `webhook_signature_invalid`. Digits of both cases are the same signature.
        """
        check_spelling(signature)
        macs = [hmac.new(key, digestmod=hashlib.sha256) for key in self._keys]
        for piece in pieces:
            for mac in macs:
                mac.update(piece)
        claimed = bytes.fromhex(signature)
        for mac in macs:
            if hmac.compare_digest(mac.digest(), claimed):
                return claimed
        raise refuse_signature()


def check_spelling(signature: str) -> None:
    """Refuses what cannot be a signature, whatever was signed."""
    if not _SIGNATURE.match(signature):
        raise refuse_signature()


def refuse_signature() -> Refusal:
    """The one answer to everything that the provider did not sign, or not now."""
    return Refusal(Code.WEBHOOK_SIGNATURE_INVALID, "The delivery does not carry a valid signature.")
