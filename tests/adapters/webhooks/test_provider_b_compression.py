"""Compressed deliveries from provider B."""

import gzip
import json
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adapters.webhooks.deliveries import (
    CHAIN_ID,
    MARKET,
    SECRET,
    deliver,
    headers_of_b,
    log_of_b,
)

from imprint.adapters.webhooks.provider_b import MAX_MEMBERS, ProviderB, gunzip
from imprint.domain.errors import Code, Refusal
from imprint.domain.posts.posts import Delivery

PROVIDER = ProviderB([SECRET], CHAIN_ID, MARKET)
BODY = json.dumps([log_of_b()]).encode()


def refusal_of(headers: dict[str, str], body: bytes, provider: ProviderB = PROVIDER) -> Code:
    with pytest.raises(Refusal) as refused:
        deliver(provider, headers, body)
    return refused.value.code


def post_ids(delivery: Delivery) -> list[int]:
    return [event.post_id for event in delivery.events]


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 200_000, 1_000_000])
def test_the_signature_covers_the_decompressed_body(size: int) -> None:
    body = json.dumps([log_of_b(), "x" * size]).encode()
    headers = headers_of_b(body) | {"content-encoding": "gzip"}
    assert post_ids(deliver(PROVIDER, headers, gzip.compress(body))) == [9]


def test_a_signature_over_the_compressed_body_is_refused() -> None:
    body = gzip.compress(BODY)
    headers = headers_of_b(body) | {"content-encoding": "gzip"}
    assert refusal_of(headers, body) is Code.WEBHOOK_SIGNATURE_INVALID


@pytest.mark.parametrize("encoding", ["", "identity", "Identity", " "])
def test_an_uncompressed_body_may_have_an_identity_encoding(encoding: str) -> None:
    assert deliver(PROVIDER, headers_of_b(BODY) | {"content-encoding": encoding}, BODY).events


@pytest.mark.parametrize(
    "encoding", ["deflate", "br", "zstd", "x-deflate", "gzip, gzip", "gzip,br", "é"]
)
def test_unsupported_content_encodings_are_refused(encoding: str) -> None:
    headers = headers_of_b(BODY) | {"content-encoding": encoding}
    assert refusal_of(headers, BODY) is Code.UNSUPPORTED_MEDIA_TYPE


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", " gzip ", "x-gzip", "X-Gzip"])
def test_gzip_and_x_gzip_are_accepted_in_any_case(encoding: str) -> None:
    headers = headers_of_b(BODY) | {"content-encoding": encoding}
    assert post_ids(deliver(PROVIDER, headers, gzip.compress(BODY))) == [9]


MEMBERS = {
    "two": [BODY[:50], BODY[50:]],
    "one for each 7 bytes": [BODY[at : at + 7] for at in range(0, len(BODY), 7)],
    "empty ones": [b"", BODY, b"", b""],
    "large ones": [b"[" + b" " * 200_000, BODY[1:], b" " * 200_000],
    "as many as allowed": [BODY, *[b""] * (MAX_MEMBERS - 1)],
}


@pytest.mark.parametrize("padding", [b"", b"\0", bytes(512), bytes(100_000)])
@pytest.mark.parametrize("members", MEMBERS.values(), ids=MEMBERS.keys())
def test_a_gzipped_body_may_have_several_members_and_trailing_zeros(
    members: list[bytes], padding: bytes
) -> None:
    headers = headers_of_b(b"".join(members)) | {"content-encoding": "gzip"}
    body = b"".join(map(gzip.compress, members)) + padding
    assert post_ids(deliver(PROVIDER, headers, body)) == [9]


def test_the_number_of_members_in_a_gzipped_body_is_limited() -> None:
    headers = headers_of_b(b"") | {"content-encoding": "gzip"}
    body = gzip.compress(b"") * (MAX_MEMBERS + 1)
    assert refusal_of(headers, body) is Code.TOO_LARGE


def test_the_size_limit_applies_to_all_members_together() -> None:
    provider = ProviderB([SECRET], CHAIN_ID, MARKET, max_decompressed=1000)
    headers = headers_of_b(bytes(1001)) | {"content-encoding": "gzip"}
    body = gzip.compress(bytes(500)) + gzip.compress(bytes(501))
    assert refusal_of(headers, body, provider) is Code.TOO_LARGE


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=5), st.integers(0, 20))
def test_decompressing_a_gzipped_body_restores_it(parts: list[bytes], padding: int) -> None:
    compressed = b"".join(map(gzip.compress, parts)) + bytes(padding)
    assert b"".join(gunzip(compressed, 10_000)) == b"".join(parts)


def with_bad_checksum(body: bytes) -> bytes:
    return body[:-8] + bytes(4) + body[-4:]


DAMAGED = {
    "nothing": b"",
    "no gzip": BODY,
    "a bad checksum": with_bad_checksum(gzip.compress(BODY)),
    "cut off in the checksum": gzip.compress(BODY)[:-3],
    "cut off in the middle": gzip.compress(BODY)[:60],
    "followed by something": gzip.compress(BODY) + b"!",
    "followed by half another": gzip.compress(BODY) + gzip.compress(BODY)[:40],
    "followed by a damaged one": gzip.compress(BODY) + with_bad_checksum(gzip.compress(BODY)),
    "zeros before it": bytes(8) + gzip.compress(BODY),
    "zeros alone": bytes(64),
    "zeros and something": gzip.compress(BODY) + bytes(8) + b"!",
    "zeros between members": gzip.compress(BODY) + bytes(8) + gzip.compress(BODY),
    "zlib instead": zlib.compress(BODY),
}


@pytest.mark.parametrize("body", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_compressed_body_is_refused(body: bytes) -> None:
    headers = headers_of_b(BODY) | {"content-encoding": "gzip"}
    assert refusal_of(headers, body) is Code.INVALID_REQUEST


def test_a_decompression_bomb_is_refused_and_uses_little_memory() -> None:
    bomb = gzip.compress(bytes(100 * 1024 * 1024))
    headers = headers_of_b(b"") | {"content-encoding": "gzip"}
    tracemalloc.start()
    code = refusal_of(headers, bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert code is Code.TOO_LARGE
    assert peak < 2 * 1024 * 1024


def test_a_body_without_a_signature_is_not_decompressed() -> None:
    headers = headers_of_b(b"") | {"content-encoding": "gzip", "x-qn-signature": ""}
    assert refusal_of(headers, b"no gzip") is Code.WEBHOOK_SIGNATURE_INVALID


def test_a_gzipped_body_that_is_too_large_is_refused() -> None:
    provider = ProviderB([SECRET], CHAIN_ID, MARKET, max_compressed=100)
    body = bytes(101)
    headers = headers_of_b(body) | {"content-encoding": "gzip"}
    assert refusal_of(headers, body, provider) is Code.TOO_LARGE


def test_a_body_that_is_too_large_after_decompression_is_refused() -> None:
    provider = ProviderB([SECRET], CHAIN_ID, MARKET, max_decompressed=1000)
    body = bytes(1001)
    headers = headers_of_b(body) | {"content-encoding": "gzip"}
    assert refusal_of(headers, gzip.compress(body), provider) is Code.TOO_LARGE
