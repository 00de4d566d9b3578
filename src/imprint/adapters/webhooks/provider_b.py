"""Provider B: batches of logs, possibly gzipped, signed together with a nonce and a time.

The shape of a delivery depends on the filter that its owner configured, so logs are found at any
depth. The digest and nonce of a delivery are stored, so that it is applied once.
"""

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
from imprint.adapters.webhooks.signatures import WebhookSecrets, check_spelling, signature_refusal
from imprint.domain.addresses import Address
from imprint.domain.errors import Code, Refusal
from imprint.domain.posts import DeadLetter, Delivery, DeliveryKey

MAX_DECOMPRESSED = 16 * 1024 * 1024
"""Bytes of a gzipped delivery after decompression."""

MAX_COMPRESSED = 1024 * 1024
"""Bytes of a gzipped delivery."""

TOLERANCE = 300
"""Seconds by which the signed time may differ from the clock; recommended by the provider."""

_GZIP = 16 + zlib.MAX_WBITS
"""The zlib window size that selects the gzip format, with its checksum."""

_PIECE = 64 * 1024
"""Bytes that are decompressed at once."""

_TIMESTAMP = re.compile(r"[0-9]{10}\Z")
_NONCE = re.compile(r"[!-~]{1,128}\Z")


class ProviderB:
    """`WebhookProvider` for provider B."""

    name = "provider-b"

    def __init__(
        self,
        secrets: Sequence[str],
        chain_id: int,
        marketplace: Address,
        *,
        tolerance: int = TOLERANCE,
        max_decompressed: int = MAX_DECOMPRESSED,
        max_compressed: int = MAX_COMPRESSED,
    ) -> None:
        self._secrets = WebhookSecrets(secrets)
        self._marketplace = Marketplace(chain_id, marketplace)
        self._tolerance = tolerance
        self._max_decompressed = max_decompressed
        self._max_compressed = max_compressed

    def check_headers(self, headers: Mapping[str, str], now: datetime) -> None:
        """Refuse a malformed nonce, time or signature, an old time, and an unknown compression."""
        nonce, timestamp = headers.get("x-qn-nonce", ""), headers.get("x-qn-timestamp", "")
        if not (_NONCE.match(nonce) and _TIMESTAMP.match(timestamp)):
            raise signature_refusal()
        if abs(now.timestamp() - int(timestamp)) > self._tolerance:
            raise signature_refusal()
        if _encoding(headers) not in ("", "identity", "gzip"):
            raise Refusal(Code.UNSUPPORTED_MEDIA_TYPE, "Only gzip compression is understood.")
        check_spelling(_signature(headers))

    def open(self, headers: Mapping[str, str], body: bytes) -> Delivery:
        """Verify nonce, time and decompressed body, then find the logs at any depth.

        The headers have been checked. Also refuses `too_large` and `invalid_request` for a gzipped
        body that is too large or damaged.
        """
        nonce, timestamp = headers["x-qn-nonce"], headers["x-qn-timestamp"]
        gzipped = _encoding(headers) == "gzip"
        signed = chain([nonce.encode(), timestamp.encode()], self._decompress(body, gzipped))
        digest = self._secrets.verify(_signature(headers), signed)
        # Stored hashed, so that a signature cannot be recovered from the database.
        key = DeliveryKey(self.name, hashlib.sha256(digest).hexdigest(), nonce)
        # Decompressed a second time: unverified data is never held in memory as a whole.
        return self._read(key, b"".join(self._decompress(body, gzipped)))

    def _decompress(self, body: bytes, gzipped: bool) -> Iterable[bytes]:
        if not gzipped:
            return [body]
        if len(body) > self._max_compressed:
            raise _too_large()
        return gunzip(body, self._max_decompressed)

    def _read(self, key: DeliveryKey, body: bytes) -> Delivery:
        try:
            logs = sort_logs(find_logs(read_json(body)), self._marketplace)
        except TooManyValues as error:
            letter = DeadLetter(None, str(error), "")
            return Delivery(self.name, key, dead_letters=(letter,))
        except ValueError:
            return Delivery(self.name, key, ignored=1)
        return Delivery(self.name, key, logs.events, logs.dead_letters, logs.ignored)


def _encoding(headers: Mapping[str, str]) -> str:
    return headers.get("content-encoding", "").strip().lower()


def _signature(headers: Mapping[str, str]) -> str:
    return headers.get("x-qn-signature", "").removeprefix("sha256=")


def gunzip(compressed: bytes, limit: int) -> Iterator[bytes]:
    """The decompressed bytes of one gzip member, in pieces.

    Refuses `too_large` above `limit` bytes, and `invalid_request` for a member that is truncated,
    damaged, or followed by more data.
    """
    stream = zlib.decompressobj(_GZIP)
    rest, size = compressed, 0
    while not stream.eof:
        try:
            piece = stream.decompress(rest, _PIECE)
        except zlib.error as error:
            raise _damaged() from error
        rest = stream.unconsumed_tail
        size += len(piece)
        if size > limit:
            raise _too_large()
        if not piece and not stream.eof:
            raise _damaged()
        yield piece
    if stream.unused_data:
        raise _damaged()


def _too_large() -> Refusal:
    return Refusal(Code.TOO_LARGE, "The delivery is too large.")


def _damaged() -> Refusal:
    return Refusal(Code.INVALID_REQUEST, "The compressed body is damaged.")
