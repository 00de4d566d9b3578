"""Provider B: batches of logs, possibly gzipped, signed together with a nonce and a time.

The shape of a delivery depends on the filter its owner configured, so logs are found at any depth.
The digest and nonce of a delivery are stored, so that it is applied once.
"""

import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain

from imprint.adapters.webhooks.logs import (
    MAX_PAYLOAD,
    Marketplace,
    find_logs,
    is_given,
    sort_logs,
)
from imprint.adapters.webhooks.payloads import network_names, read_payload
from imprint.adapters.webhooks.signatures import WebhookSecrets, check_spelling, signature_refusal
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.posts import Delivery, DeliveryKey

MAX_DECOMPRESSED = 16 * 1024 * 1024
"""Size limit of a gzipped delivery after decompression, in bytes."""

MAX_COMPRESSED = 1024 * 1024
"""Size limit of a gzipped delivery, in bytes."""

TOLERANCE = 300
"""Allowed difference in seconds between the signed time and the clock, as the provider
recommends."""

_GZIP = 16 + zlib.MAX_WBITS
"""zlib window size that selects the gzip format with its checksum."""

_PIECE = 64 * 1024
"""Number of output bytes per decompression step."""

_INPUT = 16 * 1024
"""Number of input bytes per decompression step."""

MAX_MEMBERS = 1_000
"""Maximum number of gzip members per delivery. A sender may flush its compressor after each
part."""

_GZIP_NAMES = ("gzip", "x-gzip")
"""Content codings for gzip, which a recipient treats alike (RFC 9110, section 8.4.1.3)."""

_HEADERS = ("x-qn-nonce", "x-qn-timestamp", "x-qn-signature")
"""Headers of a signed delivery."""

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
        networks: Iterable[str] = (),
        *,
        tolerance: int = TOLERANCE,
        max_decompressed: int = MAX_DECOMPRESSED,
        max_compressed: int = MAX_COMPRESSED,
    ) -> None:
        self._secrets = WebhookSecrets(secrets)
        self._marketplace = Marketplace(chain_id, marketplace, network_names(chain_id, networks))
        self._tolerance = tolerance
        self._max_decompressed = max_decompressed
        self._max_compressed = max_compressed

    def is_connection_test(self, headers: Mapping[str, str]) -> bool:
        """Whether all three headers of a signed delivery are missing.

        The provider's dashboard tests a URL this way and expects 200.
        """
        return not any(name in headers for name in _HEADERS)

    def check_headers(self, headers: Mapping[str, str], now: datetime) -> None:
        """Refuse a malformed nonce, time or signature, an old time, or an unknown compression."""
        nonce, timestamp = headers.get("x-qn-nonce", ""), headers.get("x-qn-timestamp", "")
        if not (_NONCE.match(nonce) and _TIMESTAMP.match(timestamp)):
            raise signature_refusal()
        if abs(now.timestamp() - int(timestamp)) > self._tolerance:
            raise signature_refusal()
        if _encoding(headers) not in ("", "identity", *_GZIP_NAMES):
            raise Refusal(Code.UNSUPPORTED_MEDIA_TYPE, "Only gzip compression is supported.")
        check_spelling(_signature(headers))

    def open(self, headers: Mapping[str, str], body: bytes) -> Delivery:
        """Verify nonce, time and decompressed body, then find the logs at any depth.

        The headers have been checked. Also refuses a gzipped body that is too large or
        damaged, with `too_large` or `invalid_request`.
        """
        nonce, timestamp = headers["x-qn-nonce"], headers["x-qn-timestamp"]
        gzipped = _encoding(headers) in _GZIP_NAMES
        signed = chain([nonce.encode(), timestamp.encode()], self._decompress(body, gzipped))
        digest = self._secrets.verify(_signature(headers), signed)
        # Stored as a hash, so that a signature cannot be recovered from the database.
        key = DeliveryKey(self.name, hashlib.sha256(digest).hexdigest(), nonce)
        # Decompressed a second time: unverified data is never held in memory as a whole.
        read = b"".join(self._decompress(body, gzipped))
        # Not signed, but in some deliveries nothing else names the network.
        network = headers.get("stream-network")
        return self._read(key, read, (network,) if is_given(network) else ())

    def _decompress(self, body: bytes, gzipped: bool) -> Iterable[bytes]:
        if not gzipped:
            return [body]
        if len(body) > self._max_compressed:
            raise _too_large()
        return gunzip(body, self._max_decompressed)

    def _read(self, key: DeliveryKey, body: bytes, networks: tuple[object, ...]) -> Delivery:
        payload = read_payload(body, MAX_PAYLOAD)
        if not (payload.documents or payload.problem):
            return Delivery(self.name, key, ignored=1)
        sent = chain.from_iterable(find_logs(each, networks) for each in payload.documents)
        logs = sort_logs(sent, payload, self._marketplace)
        return Delivery(self.name, key, logs.findings, logs.access_changes, logs.ignored)


def _encoding(headers: Mapping[str, str]) -> str:
    return headers.get("content-encoding", "").strip().lower()


def _signature(headers: Mapping[str, str]) -> str:
    return headers.get("x-qn-signature", "").removeprefix("sha256=")


def gunzip(compressed: bytes, limit: int) -> Iterator[bytes]:
    """Yield the decompressed bytes of all gzip members. Zeros after them are padding.

    Refuses with `too_large` above `limit` bytes or `MAX_MEMBERS` members, and `invalid_request` for
    a truncated or damaged member, or for anything else after a member.
    """
    rest = memoryview(compressed)
    size = 0
    for _ in range(MAX_MEMBERS):
        stream = zlib.decompressobj(_GZIP)
        while not stream.eof:
            # Input and output are small, because zlib copies the input that it has not used.
            given = rest[:_INPUT]
            try:
                piece = stream.decompress(given, _PIECE)
            except zlib.error as error:
                raise _damaged() from error
            left = stream.unused_data if stream.eof else stream.unconsumed_tail
            used = len(given) - len(left)
            if not (used or piece or stream.eof):
                raise _damaged()
            rest = rest[used:]
            size += len(piece)
            if size > limit:
                raise _too_large()
            yield piece
        if not rest or (rest[0] == 0 and not rest.tobytes().strip(b"\0")):
            return
    raise _too_large()


def _too_large() -> Refusal:
    return Refusal(Code.TOO_LARGE, "The delivery is too large.")


def _damaged() -> Refusal:
    return Refusal(Code.INVALID_REQUEST, "The compressed body is damaged.")
