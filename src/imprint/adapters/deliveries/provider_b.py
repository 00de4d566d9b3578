"""Provider b: a stream of batches, signed with a nonce and a time, compressed or not.

What is signed is the text of the nonce, the text of the time and the inflated body, one after the
other and nothing between. Where one ends and the next begins is therefore not signed: a moved
boundary gives another nonce, but the same digest, and a delivery is known by either.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain

from imprint.adapters.deliveries.compression import inflate
from imprint.adapters.deliveries.logs import Marketplace, read_json, sort_logs
from imprint.adapters.deliveries.nesting import TooManyValues, find_logs
from imprint.adapters.deliveries.signatures import (
    DeliverySecrets,
    check_spelling,
    refuse_signature,
)
from imprint.domain.addresses import Address
from imprint.domain.posts import DeadLetter, Delivery, DeliveryKey
from imprint.domain.refusals import Code, Refusal

MAX_BODY = 16 * 1024 * 1024
"""How many bytes a delivery may have after its compression is undone."""

MAX_COMPRESSED_BODY = 1024 * 1024
"""How many bytes a compressed delivery may have."""

TOLERANCE = 300
"""Seconds by which the signed time may differ from ours, both ways; the provider's own number."""

_TIMESTAMP = re.compile(r"[0-9]{10}\Z")
_NONCE = re.compile(r"[!-~]{1,128}\Z")


class ProviderB:
    """A `DeliveryReader` for provider b."""

    name = "provider-b"

    def __init__(
        self,
        secrets: Sequence[str],
        chain_id: int,
        marketplace: Address,
        *,
        tolerance: int = TOLERANCE,
        max_body: int = MAX_BODY,
        max_compressed_body: int = MAX_COMPRESSED_BODY,
    ) -> None:
        self._secrets = DeliverySecrets(secrets)
        self._ours = Marketplace(chain_id, marketplace)
        self._tolerance = tolerance
        self._max_body = max_body
        self._max_compressed_body = max_compressed_body

    def glance(self, headers: Mapping[str, str], now: datetime) -> None:
        """Refuse what its headers give away."""
        nonce, timestamp = headers.get("x-qn-nonce", ""), headers.get("x-qn-timestamp", "")
        if not (_NONCE.match(nonce) and _TIMESTAMP.match(timestamp)):
            raise refuse_signature()
        if abs(now.timestamp() - int(timestamp)) > self._tolerance:
            raise refuse_signature()
        if _encoding(headers) not in ("", "identity", "gzip"):
            raise Refusal(Code.UNSUPPORTED_MEDIA_TYPE, "Only gzip compression is understood.")
        check_spelling(_signature(headers))

    def open(self, headers: Mapping[str, str], body: bytes, now: datetime) -> Delivery:
        """Verify nonce, time and inflated body, then find the logs wherever they are.

        Also refuses `invalid_request` for a damaged compressed body.
        """
        self.glance(headers, now)
        nonce, timestamp = headers["x-qn-nonce"], headers["x-qn-timestamp"]
        encoding, signature = _encoding(headers), _signature(headers)
        signed = chain([nonce.encode(), timestamp.encode()], self._unpack(encoding, body))
        digest = self._secrets.verify(signature, signed)
        # Kept hashed: what is remembered cannot be sent again as a signature.
        key = DeliveryKey(self.name, hashlib.sha256(digest).hexdigest(), nonce)
        # Inflated a second time, so that nothing unsigned is ever held as a whole.
        return self._read(key, b"".join(self._unpack(encoding, body)))

    def _unpack(self, encoding: str, body: bytes) -> Iterable[bytes]:
        limit = self._max_compressed_body if encoding == "gzip" else self._max_body
        if len(body) > limit:
            raise Refusal(Code.TOO_LARGE, "The delivery is too large.")
        return inflate(body, self._max_body) if encoding == "gzip" else [body]

    def _read(self, key: DeliveryKey, body: bytes) -> Delivery:
        try:
            found = sort_logs(find_logs(read_json(body)), self._ours)
        except TooManyValues as error:
            letter = DeadLetter(None, str(error), "")
            return Delivery(self.name, key, dead_letters=(letter,))
        except ValueError:
            return Delivery(self.name, key, ignored=1)
        return Delivery(self.name, key, found.events, found.dead_letters, found.ignored)


def _encoding(headers: Mapping[str, str]) -> str:
    return headers.get("content-encoding", "").strip().lower()


def _signature(headers: Mapping[str, str]) -> str:
    return headers.get("x-qn-signature", "").removeprefix("sha256=")
