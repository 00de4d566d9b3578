"""Compressed deliveries: gzip undone piece by piece, and not one byte more than is allowed."""

import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain

from imprint.adapters.webhooks.logs import (
    Marketplace,
    TooManyValues,
    find_logs,
    read_json,
    sort_logs,
)
from imprint.adapters.webhooks.signatures import WebhookSecrets, check_spelling, refuse_signature
from imprint.domain.addresses import Address
from imprint.domain.errors import Code, Refusal
from imprint.domain.posts import DeadLetter, Delivery, DeliveryKey

_GZIP = 16 + zlib.MAX_WBITS
"""Tells zlib to expect gzip's frame, with its checksum, and nothing else."""

_PIECE = 64 * 1024
"""How many bytes are held at once."""


def inflate(compressed: bytes, limit: int) -> Iterator[bytes]:
    """The pieces of what was compressed with gzip.

    Refuses `too_large` beyond `limit` bytes, and `invalid_request` what is cut off, damaged, or
    followed by anything.
    """
    stream = zlib.decompressobj(_GZIP)
    rest, size = compressed, 0
    while not stream.eof:
        try:
            piece = stream.decompress(rest, _PIECE)
        except zlib.error as error:
            raise _refuse_damaged() from error
        rest = stream.unconsumed_tail
        size += len(piece)
        if size > limit:
            raise Refusal(Code.TOO_LARGE, "The delivery is too large.")
        if not piece and not stream.eof:
            raise _refuse_damaged()
        yield piece
    if stream.unused_data:
        raise _refuse_damaged()


def _refuse_damaged() -> Refusal:
    return Refusal(Code.INVALID_REQUEST, "The compressed body is damaged.")


MAX_BODY = 16 * 1024 * 1024
"""How many bytes a delivery may have after its compression is undone."""

MAX_COMPRESSED_BODY = 1024 * 1024
"""How many bytes a compressed delivery may have."""

TOLERANCE = 300
"""Seconds by which the signed time may differ from ours, both ways; the provider's own number."""

_TIMESTAMP = re.compile(r"[0-9]{10}\Z")
_NONCE = re.compile(r"[!-~]{1,128}\Z")


class ProviderB:
    """A `WebhookProvider` for provider b."""

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
        self._secrets = WebhookSecrets(secrets)
        self._ours = Marketplace(chain_id, marketplace)
        self._tolerance = tolerance
        self._max_body = max_body
        self._max_compressed_body = max_compressed_body

    def check_headers(self, headers: Mapping[str, str], now: datetime) -> None:
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
        self.check_headers(headers, now)
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
