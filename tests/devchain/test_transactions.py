"""Raw transactions: only the canonical encoding is accepted."""

import pytest
import rlp
from hypothesis import given, settings
from hypothesis import strategies as st

from imprint.devchain.transactions import (
    MAX_TRANSACTION_BYTES,
    TransactionRefused,
    Wallet,
    decode_transaction,
)

PERSON = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
RAW = Wallet().sign_transaction(
    PERSON,
    {"to": bytes(20), "value": 1, "gas": 21_000, "gasPrice": 5, "nonce": 0, "chainId": 31337},
)
FIELDS = rlp.decode(RAW)


def encode_list(payload: bytes) -> bytes:
    return bytes([0xF8, len(payload)]) + payload


def payload_of(fields: list[bytes]) -> list[bytes]:
    return [rlp.encode(field) for field in fields]


def test_the_canonical_encoding_is_accepted() -> None:
    assert encode_list(b"".join(payload_of(FIELDS))) == RAW
    assert decode_transaction(RAW).sender == PERSON


@pytest.mark.parametrize(
    "raw",
    [
        RAW + b"\0",
        RAW[:-1],
        RAW[:1],
        b"\xf9\x00" + RAW[1:],
        encode_list(b"".join([b"\x81\x05" if f == b"\x05" else rlp.encode(f) for f in FIELDS])),
        encode_list(b"".join([b"\xb8\x01\x05" if f == b"\x05" else rlp.encode(f) for f in FIELDS])),
        encode_list(b"".join([*payload_of(FIELDS[:-1]), rlp.encode(FIELDS[-1])[:-1]])),
        rlp.encode(RAW),
    ],
    ids=[
        "trailing byte",
        "cut off",
        "first byte alone",
        "length with a leading zero",
        "small byte with a length",
        "short string with a long length",
        "last field cut off",
        "bytes instead of a list",
    ],
)
def test_non_canonical_encodings_are_refused(raw: bytes) -> None:
    with pytest.raises(TransactionRefused):
        decode_transaction(raw)


@settings(deadline=None)
@given(st.integers(0, len(RAW) - 1), st.binary(max_size=2))
def test_every_decodable_transaction_is_canonically_encoded(at: int, inserted: bytes) -> None:
    changed = RAW[:at] + inserted + RAW[at + 1 :]
    try:
        decode_transaction(changed)
    except TransactionRefused:
        return
    assert rlp.encode(rlp.decode(changed)) == changed


def test_a_number_with_a_leading_zero_is_refused() -> None:
    with pytest.raises(TransactionRefused, match="bad integer"):
        decode_transaction(rlp.encode([b"\0", *FIELDS[1:]]))


@pytest.mark.parametrize("depth", [30, 20_000])
def test_deep_nesting_is_refused(depth: int) -> None:
    deep = b"\xc0"
    for _ in range(depth):
        deep = rlp.codec.length_prefix(len(deep), 0xC0) + deep
    with pytest.raises(TransactionRefused):
        decode_transaction(deep)


def test_a_transaction_above_the_node_size_limit_is_refused_before_decoding() -> None:
    with pytest.raises(TransactionRefused, match="oversized data"):
        decode_transaction(b"\xfa" + bytes(MAX_TRANSACTION_BYTES))
