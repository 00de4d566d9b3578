"""Webhook deliveries of both providers, signed with their secrets."""

import gzip
import hashlib
import hmac
from contextlib import suppress
from datetime import UTC, datetime

from imprint.adapters.webhooks.logs import MAX_DEAD_LETTERS, MAX_PAYLOADS
from imprint.adapters.webhooks.provider_a import ProviderA
from imprint.adapters.webhooks.provider_b import ProviderB
from imprint.domain.errors import Refusal
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.posts import DeadLetter, Delivery

NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
TIMESTAMP = str(int(NOW.timestamp()))
SECRET = "whsec_a-secret-of-some-length-0000"
MARKET = Address("0x" + "c3" * 20)
A = ProviderA([SECRET], 31337, MARKET)
B = ProviderB([SECRET], 31337, MARKET, max_decompressed=256 * 1024)
HEADERS = ("x-qn-nonce", "x-qn-timestamp", "x-qn-signature", "content-encoding", "stream-network")


def check(data: bytes) -> None:
    """Every signed body is a delivery or refused, and dead letters keep within their limits."""
    with suppress(Refusal):
        _judge(A.open({"x-alchemy-signature": _sign(data)}, data))
    nonce = "n-1"
    plain = {
        "x-qn-nonce": nonce,
        "x-qn-timestamp": TIMESTAMP,
        "x-qn-signature": _sign(nonce.encode() + TIMESTAMP.encode() + data),
    }
    B.check_headers(plain, NOW)
    with suppress(Refusal):
        delivery = B.open(plain, data)
        _judge(delivery)
        gzipped = gzip.compress(data, compresslevel=1, mtime=0)
        assert B.open(plain | {"content-encoding": "gzip"}, gzipped) == delivery
    values = data.decode("latin-1").split("\n")
    given = dict(zip(HEADERS, values, strict=False))
    with suppress(Refusal):
        B.check_headers(given, NOW)
    with suppress(Refusal):
        A.check_headers({"x-alchemy-signature": values[0], "content-encoding": values[-1]}, NOW)


def _sign(signed: bytes) -> str:
    return hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()


def _judge(delivery: Delivery) -> None:
    letters = [each for each in delivery.findings if isinstance(each, DeadLetter)]
    assert len(letters) <= MAX_DEAD_LETTERS + 1
    assert sum(len(letter.payload) for letter in letters) <= MAX_PAYLOADS
