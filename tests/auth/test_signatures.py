"""Signatures are accepted in the supported encodings, and in no others."""

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_keys.constants import SECPK1_N
from eth_keys.datatypes import PrivateKey
from hypothesis import example, given
from hypothesis import strategies as st
from tests.auth.proofs import verify_signer

from imprint.auth.signatures import (
    CURVE_ORDER,
    HIGHEST_S,
    Signature,
    Unproved,
    parse_signature,
    parse_signer,
    personal_digest,
    prove,
    recover_signer,
)
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import ZERO_ADDRESS

ACCOUNT = Account.from_key(b"\x11" * 32)
ADDRESS = parse_signer(ACCOUNT.address)
SIGNED = ACCOUNT.sign_message(encode_defunct(text="hello"))
DIGEST = bytes(SIGNED.message_hash)
R, S, V = SIGNED.r, SIGNED.s, SIGNED.v


def spell(r: int, s: int, v: int) -> str:
    return f"0x{r:064x}{s:064x}{v:02x}"


def compact(r: int, s: int, parity: int) -> str:
    return f"0x{r:064x}{s | parity << 255:064x}"


@pytest.mark.parametrize(
    "text",
    [
        spell(R, S, V),
        spell(R, S, V - 27),
        compact(R, S, V - 27),
        "0x" + spell(R, S, V)[2:].upper(),
    ],
    ids=["v 27 or 28", "v 0 or 1", "64 bytes", "upper case"],
)
def test_every_accepted_encoding_recovers_the_signer(text: str) -> None:
    assert recover_signer(DIGEST, parse_signature(text)) == ADDRESS


GOOD = spell(R, S, V)
HOSTILE = {
    "empty": "",
    "prefix alone": "0x",
    "no prefix": GOOD[2:],
    "upper-case prefix": "0X" + GOOD[2:],
    "one digit short": GOOD[:-1],
    "63 bytes": GOOD[:-4],
    "66 bytes": GOOD + "00",
    "no hex digit": GOOD[:-3] + "g" + GOOD[-2:],
    "Arabic digit": GOOD[:-1] + "٣",
    "full-width digit": GOOD[:-1] + "\uff11",
    "lone surrogate": GOOD[:-1] + "\ud800",
    "line feed after": GOOD + "\n",
    "space before": " " + GOOD,
    "underscore": GOOD[:10] + "_" + GOOD[11:],
    "twin with high s": spell(R, CURVE_ORDER - S, 55 - V),
    "compact with s just above the half": compact(R, HIGHEST_S + 1, V - 27),
    "s just above the half": spell(R, HIGHEST_S + 1, V),
    "s zero": spell(R, 0, V),
    "r zero": spell(0, S, V),
    "r the order": spell(CURVE_ORDER, S, V),
    "r all ones": spell(2**256 - 1, S, V),
    "s all ones": spell(R, 2**256 - 1, V),
    **{f"v {v}": spell(R, S, v) for v in (2, 3, 26, 29, 30, 35, 36, 37, 38, 128, 255)},
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_malformed_signature_is_refused(text: str) -> None:
    with pytest.raises(Refusal) as refusal:
        parse_signature(text)
    assert refusal.value.code is Code.SIGNATURE_INVALID


@pytest.mark.parametrize("s", [1, HIGHEST_S])
def test_s_is_at_least_one_and_at_most_half_the_curve_order(s: int) -> None:
    assert parse_signature(spell(R, s, V)).s == s


@pytest.mark.parametrize("r", [1, CURVE_ORDER - 1])
def test_r_is_at_least_one_and_below_the_curve_order(r: int) -> None:
    assert parse_signature(spell(r, S, V)).r == r


@pytest.mark.parametrize("parity", [0, 1])
def test_the_highest_bit_of_a_compact_signature_is_its_parity(parity: int) -> None:
    assert parse_signature(compact(R, S, parity)) == Signature(R, S, parity)


def test_the_curve_order_is_that_of_another_implementation() -> None:
    assert CURVE_ORDER == SECPK1_N


def test_an_r_value_that_is_not_on_the_curve_is_refused() -> None:
    # 5 is not the x of any point: 5³ + 7 = 132 is not a square in the field of the curve.
    with pytest.raises(Refusal) as refusal:
        recover_signer(DIGEST, parse_signature(spell(5, S, V)))
    assert refusal.value.code is Code.SIGNATURE_INVALID


def test_a_signature_that_recovers_to_another_address_is_refused() -> None:
    with pytest.raises(Refusal) as refusal:
        verify_signer(DIGEST, spell(R, S, 55 - V), ADDRESS)
    assert refusal.value.code is Code.SIGNATURE_INVALID


@pytest.mark.parametrize(
    ("text", "is_bytes"),
    [
        ("0x", True),
        ("0x1234", True),
        ("0x" + "ab" * 16_384, True),
        ("0x" + "ab" * 16_385, False),
        ("0x123", False),
        ("0xzz", False),
        ("1234", False),
        ("", False),
    ],
)
def test_a_contract_may_accept_any_bytes_as_a_signature(text: str, is_bytes: bool) -> None:
    if is_bytes:
        unproved = prove("proof", ADDRESS, DIGEST, text)
        assert unproved == Unproved("proof", ADDRESS, DIGEST, bytes.fromhex(text[2:]))
        return
    with pytest.raises(Refusal) as refusal:
        prove("proof", ADDRESS, DIGEST, text)
    assert refusal.value.code is Code.SIGNATURE_INVALID


def test_an_unproved_signature_is_left_out_of_its_repr() -> None:
    unproved = Unproved("proof", ADDRESS, DIGEST, b"\xab" * 65)
    assert repr(unproved.signature) not in repr(unproved)


def test_a_signature_for_the_zero_address_is_refused() -> None:
    with pytest.raises(Refusal) as refusal:
        verify_signer(DIGEST, GOOD, ZERO_ADDRESS)
    assert refusal.value.code is Code.SIGNATURE_INVALID


@pytest.mark.parametrize(
    "text",
    [
        ACCOUNT.address[2:],
        "0X" + ACCOUNT.address[2:],
        ACCOUNT.address[:-1],
        ACCOUNT.address + "0",
        ACCOUNT.address.swapcase().replace("0X", "0x"),
        ACCOUNT.address + "\n",
        "",
        "\ud800",
    ],
)
def test_an_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(Refusal) as refusal:
        parse_signer(text)
    assert refusal.value.code is Code.INVALID_ADDRESS


@given(st.binary(min_size=32, max_size=32), st.integers(1, CURVE_ORDER - 1))
def test_recovery_matches_another_implementation(digest: bytes, secret: int) -> None:
    key = PrivateKey(secret.to_bytes(32))
    parity, r, s = key.sign_msg_hash(digest).vrs
    assert recover_signer(digest, Signature(r, s, parity)) == key.public_key.to_address()


@given(st.text())
@example("\0")
def test_the_personal_message_digest_matches_another_implementation(text: str) -> None:
    signed = ACCOUNT.sign_message(encode_defunct(text=text))
    assert personal_digest(text.encode()) == bytes(signed.message_hash)


@given(st.text() | st.from_regex(r"0x[0-9a-fA-F]{126,132}"), st.binary(min_size=32, max_size=32))
def test_an_arbitrary_signature_raises_nothing_but_a_refusal(text: str, digest: bytes) -> None:
    try:
        verify_signer(digest, text, ADDRESS)
    except Refusal as refusal:
        assert refusal.code is Code.SIGNATURE_INVALID  # noqa: PT017
    else:
        pytest.fail("A made-up signature was taken for the signer's.")
