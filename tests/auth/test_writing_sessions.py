"""Writing sessions: how they are opened, and which writes their keys may sign."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_account.signers.local import LocalAccount
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.auth.proofs import proved
from tests.writing_sessions import OPENING_MEMBERS, bound_envelope, hash_of, signed_bytes

from imprint.auth.signatures import Unproved, parse_signer
from imprint.auth.typed_data import BOUND_FORMS, SigningDomain, TypedDataClaim, WriteVerifier
from imprint.auth.writing_sessions import (
    OPENING_TYPE,
    Opening,
    OpeningClaim,
    OpeningVerifier,
    WritingSessionKey,
)
from imprint.domain.drafts.files import Action, Write
from imprint.domain.errors import Code, Damaged, SignatureStale
from imprint.domain.formats.addresses import Address, keccak256
from imprint.domain.formats.cids import document_cid
from imprint.domain.sessions import WritingSession

SERVICE = "https://imprint.example"
OURS = SigningDomain("Imprint", "1", 31337)
VERIFIER = OpeningVerifier(OURS, SERVICE)
WRITES = WriteVerifier(OURS, SERVICE)
NOW = datetime(2030, 1, 31, 12, 0, 0, tzinfo=UTC)
SECONDS = int(NOW.timestamp())
DAY = 24 * 3600
WALLET = Account.from_key(b"\x11" * 32)
ADDRESS = parse_signer(WALLET.address)
KEY = ec.derive_private_key(7, ec.SECP256R1())
POINT = KEY.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
PRIME = 2**256 - 2**224 + 2**192 + 2**96 - 1
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
CID = document_cid(b"A document.")
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
DOMAIN_MEMBERS = [
    {"name": "name", "type": "string"},
    {"name": "version", "type": "string"},
    {"name": "chainId", "type": "uint256"},
]
Refused = Callable[[Callable[[], object]], Code | None]


def envelope(**members: Any) -> dict[str, Any]:
    message = {
        "service": SERVICE,
        "wallet": WALLET.address,
        "publicKey": "0x" + POINT.hex(),
        "actions": ["create", "update"],
        "notBefore": SECONDS,
        "expires": SECONDS + 3600,
        "nonce": "n",
    }
    return {
        "domain": {"name": "Imprint", "version": "1", "chainId": 31337},
        "types": {"WritingSession": [dict(member) for member in OPENING_MEMBERS]},
        "primaryType": "WritingSession",
        "message": message | members,
    }


def sign(said: dict[str, Any], account: LocalAccount = WALLET) -> str:
    types = {"WritingSession": said["types"]["WritingSession"]}
    signable = encode_typed_data(said["domain"], types, said["message"])
    return account.sign_message(signable).signature.to_0x_hex()


def open_with(said: Any, signature: str | None = None, address: str = WALLET.address) -> Opening:
    claim = OpeningClaim(said, address, sign(said) if signature is None else signature)
    return proved(VERIFIER.verify(claim, NOW))


# Opening


def test_a_signature_is_left_out_of_the_repr_of_its_claim() -> None:
    assert "secret" not in repr(OpeningClaim({}, ADDRESS, "secret"))


def test_a_wallet_can_open_a_session_for_a_key() -> None:
    assert open_with(envelope()) == Opening(
        ADDRESS,
        POINT,
        (Action.CREATE, Action.UPDATE),
        NOW,
        NOW + timedelta(hours=1),
        "n",
        NOW,
    )


@pytest.mark.parametrize("actions", [["create"], ["update"], ["update", "create"]])
def test_the_actions_stay_in_the_signed_order(actions: list[str]) -> None:
    assert [each.value for each in open_with(envelope(actions=actions)).actions] == actions


def test_times_may_be_strings_of_digits() -> None:
    opening = open_with(envelope(notBefore=str(SECONDS - 9), expires=str(SECONDS + 9)))
    assert (opening.not_before, opening.expires_at) == (
        NOW - timedelta(seconds=9),
        NOW + timedelta(seconds=9),
    )


def test_the_domain_type_and_primary_type_are_optional() -> None:
    said = envelope()
    signature = sign(said)
    del said["primaryType"]
    said["types"]["EIP712Domain"] = DOMAIN_MEMBERS
    assert open_with(said, signature).wallet == ADDRESS


def test_a_signature_that_only_a_contract_could_verify_is_unproved() -> None:
    said = envelope()
    claim = OpeningClaim(said, WALLET.address, "0x" + "ab" * 100)
    unproved = VERIFIER.verify(claim, NOW)
    assert isinstance(unproved, Unproved)
    assert (unproved.signer, unproved.proof) == (ADDRESS, open_with(said))
    assert Account._recover_hash(unproved.digest, signature=sign(said)) == WALLET.address


MALFORMED: dict[str, dict[str, Any]] = {
    "service is a number": {"service": 1},
    "service has a lone surrogate": {"service": "\ud800"},
    "wallet is no address": {"wallet": "0x12"},
    "wallet has a wrong checksum": {"wallet": "0x" + "aB" * 20},
    "key is a number": {"publicKey": 4},
    "key is empty": {"publicKey": "0x"},
    "key without prefix": {"publicKey": POINT.hex()},
    "key is too short": {"publicKey": "0x" + POINT[:-1].hex()},
    "key is too long": {"publicKey": "0x" + POINT.hex() + "00"},
    "key is compressed": {"publicKey": f"0x{2 + POINT[64] % 2:02x}" + POINT[1:33].hex()},
    "key is hybrid": {"publicKey": f"0x{6 + POINT[64] % 2:02x}" + POINT[1:].hex()},
    "key is the point at infinity": {"publicKey": "0x00"},
    "key is the point at infinity, padded": {"publicKey": "0x04" + "00" * 64},
    "key is off the curve": {"publicKey": "0x" + POINT[:-1].hex() + f"{POINT[-1] ^ 1:02x}"},
    "key has a coordinate beyond the prime": {
        "publicKey": "0x04" + f"{PRIME:064x}" + POINT[33:].hex()
    },
    "key ends with a line feed": {"publicKey": "0x" + POINT.hex() + "\n"},
    "no actions": {"actions": []},
    "actions are a text": {"actions": "create"},
    "actions are no list": {"actions": {"create": True}},
    "an action twice": {"actions": ["create", "create"]},
    "publish": {"actions": ["publish"]},
    "delete": {"actions": ["create", "delete"]},
    "login": {"actions": ["login"]},
    "an action in another case": {"actions": ["Create"]},
    "three actions": {"actions": ["create", "update", "create"]},
    "an action that cannot be hashed": {"actions": [["create"]]},
    "an action that is null": {"actions": [None]},
    "times are equal": {"expires": SECONDS},
    "expires before it begins": {"expires": SECONDS - 1},
    "expires after more than a day": {"expires": SECONDS + DAY + 1},
    "expires in another age": {"expires": 10**12 - 1},
    "expires is a fraction": {"expires": SECONDS + 0.5},
    "expires is true": {"expires": True},
    "expires is negative": {"notBefore": 0, "expires": -1},
    "notBefore is a text": {"notBefore": "now"},
    "notBefore is beyond every calendar": {"notBefore": 10**12},
    "nonce is empty": {"nonce": ""},
    "nonce is too long": {"nonce": "n" * 201},
    "nonce is a number": {"nonce": 1},
    "nonce has NUL": {"nonce": "a\0b"},
    "another member": {"admin": True},
}


@pytest.mark.parametrize("members", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_message_is_refused(members: dict[str, Any], refused: Refused) -> None:
    said = envelope(**members)
    assert refused(lambda: open_with(said, "0x")) is Code.INVALID_TYPED_DATA


@pytest.mark.parametrize("member", envelope()["message"])
def test_a_message_with_a_missing_member_is_refused(member: str, refused: Refused) -> None:
    said = envelope()
    del said["message"][member]
    assert refused(lambda: open_with(said, "0x")) is Code.INVALID_TYPED_DATA


@pytest.mark.parametrize(
    "change",
    [
        {"domain": {"name": "Another", "version": "1", "chainId": 31337}},
        {"domain": {"name": "Imprint", "version": "1", "chainId": 1}},
        {"types": {}},
        {"types": {"WritingSession": OPENING_MEMBERS[1:]}},
        {"types": {"WritingSession": OPENING_MEMBERS[::-1]}},
        {"types": {"WritingSession": OPENING_MEMBERS, "Another": []}},
        {"primaryType": "CreateDraft"},
        {"message": []},
        {"more": 1},
    ],
)
def test_a_wrong_envelope_is_refused(change: dict[str, Any], refused: Refused) -> None:
    said = envelope() | change
    assert refused(lambda: open_with(said, "0x")) is Code.INVALID_TYPED_DATA


@pytest.mark.parametrize("said", [None, "text", 7, [], {}])
def test_a_value_that_is_not_an_envelope_is_refused(said: object, refused: Refused) -> None:
    assert refused(lambda: open_with(said, "0x")) is Code.INVALID_TYPED_DATA


def test_a_session_may_last_at_most_a_day(refused: Refused) -> None:
    assert open_with(envelope(expires=SECONDS + DAY)).expires_at == NOW + timedelta(days=1)


@pytest.mark.parametrize(
    "members", [{"service": "https://another.example"}, {"service": SERVICE + "/"}]
)
def test_opening_a_session_for_another_service_is_refused(
    members: dict[str, Any], refused: Refused
) -> None:
    assert refused(lambda: open_with(envelope(**members))) is Code.BODY_MISMATCH


def test_opening_a_session_for_another_wallet_is_refused(
    stranger: LocalAccount, refused: Refused
) -> None:
    said = envelope(wallet=stranger.address)
    assert refused(lambda: open_with(said)) is Code.BODY_MISMATCH
    assert refused(lambda: open_with(said, address=stranger.address)) is Code.SIGNATURE_INVALID


def test_the_refusal_of_a_session_that_starts_later_contains_the_current_time(
    refused: Refused,
) -> None:
    assert open_with(envelope(notBefore=SECONDS + 5)).not_before > NOW
    with pytest.raises(SignatureStale) as stale:
        open_with(envelope(notBefore=SECONDS + 6))
    assert stale.value.now == NOW


def test_opening_an_expired_session_is_refused(refused: Refused) -> None:
    said = envelope(notBefore=SECONDS - 60, expires=SECONDS)
    assert refused(lambda: open_with(said)) is Code.WRITING_SESSION_EXPIRED
    assert open_with(envelope(notBefore=SECONDS - 60, expires=SECONDS + 1)).wallet == ADDRESS


def test_an_invalid_address_is_refused(refused: Refused) -> None:
    assert refused(lambda: open_with(envelope(), address="0x1")) is Code.INVALID_ADDRESS


def test_a_signature_by_another_wallet_is_refused(stranger: LocalAccount, refused: Refused) -> None:
    said = envelope()
    assert refused(lambda: open_with(said, sign(said, stranger))) is Code.SIGNATURE_INVALID


@pytest.mark.parametrize(
    "change",
    [
        {"publicKey": "0x" + POINT[:33].hex() + f"{PRIME - int.from_bytes(POINT[33:]):064x}"},
        {"actions": ["update", "create"]},
        {"actions": ["create"]},
        {"notBefore": SECONDS - 1},
        {"expires": SECONDS + 3601},
        {"nonce": "m"},
    ],
)
def test_changing_any_member_invalidates_the_signature(
    change: dict[str, Any], refused: Refused
) -> None:
    signature = sign(envelope())
    assert refused(lambda: open_with(envelope(**change), signature)) is Code.SIGNATURE_INVALID


@settings(max_examples=100, deadline=None)
@given(
    nonce=st.text(CHARACTERS, min_size=1, max_size=200),
    actions=st.sampled_from([["create"], ["update"], ["create", "update"], ["update", "create"]]),
    start=st.integers(0, SECONDS + 5),
    length=st.integers(1, DAY),
    number=st.integers(1, ORDER - 1),
)
def test_the_hash_matches_another_implementation(
    nonce: str, actions: list[str], start: int, length: int, number: int
) -> None:
    key = ec.derive_private_key(number, ec.SECP256R1()).public_key()
    point = key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    said = envelope(
        publicKey="0x" + point.hex(),
        actions=actions,
        notBefore=start,
        expires=start + length,
        nonce=nonce,
    )
    values = said["message"] | {"wallet": ADDRESS, "publicKey": point}
    assert OURS.signed_bytes(OPENING_TYPE.hash_struct(values)) == signed_bytes(said)


@settings(max_examples=200, deadline=None)
@given(
    member=st.sampled_from([each["name"] for each in OPENING_MEMBERS]),
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=6,
    ),
)
def test_an_invalid_member_raises_nothing_but_a_refusal(
    member: str, value: object, refused: Refused
) -> None:
    said = envelope(**{member: value})
    expected = {
        Code.INVALID_TYPED_DATA,
        Code.BODY_MISMATCH,
        Code.SIGNATURE_INVALID,
        Code.SIGNATURE_STALE,
        Code.WRITING_SESSION_EXPIRED,
    }
    assert refused(lambda: open_with(said, "0x" + "00" * 65)) in expected


# Writes


def session(**changes: Any) -> WritingSession:
    members: dict[str, Any] = {
        "id": "session",
        "wallet": ADDRESS,
        "public_key": POINT,
        "actions": (Action.CREATE, Action.UPDATE),
        "not_before": NOW - timedelta(hours=1),
        "expires_at": NOW + timedelta(hours=1),
        "created_at": NOW - timedelta(hours=1),
    }
    return WritingSession(**members | changes)


def raw(r: int, s: int) -> str:
    return "0x" + (r.to_bytes(32) + s.to_bytes(32)).hex()


def numbers(signed: bytes, key: ec.EllipticCurvePrivateKey = KEY) -> tuple[int, int]:
    return decode_dss_signature(key.sign(signed, ec.ECDSA(hashes.SHA256())))


def written(action: Action = Action.CREATE, at: datetime = NOW) -> tuple[Write, bytes]:
    """Return a write and its signed bytes."""
    message = {"contentHash": hash_of("Words.")}
    if action is Action.UPDATE:
        message = {"cid": CID} | message
    said = bound_envelope(action.value, int(at.timestamp()), service=SERVICE, **message)
    claim = TypedDataClaim(said, WALLET.address, "", "session")
    write, signed = WRITES.read(claim, action, at, CID, BOUND_FORMS)
    assert signed == signed_bytes(said)
    return write, signed


def check(
    signature: str | None = None,
    action: Action = Action.CREATE,
    at: datetime = NOW,
    **changes: Any,
) -> None:
    write, signed = written(action, at)
    text = raw(*numbers(signed)) if signature is None else signature
    WritingSessionKey.load(session(**changes)).check(write, signed, text)


@pytest.mark.parametrize("action", [Action.CREATE, Action.UPDATE])
def test_the_key_can_sign_writes_for_its_wallet(action: Action) -> None:
    check(action=action)


def test_high_and_low_s_values_are_accepted() -> None:
    write, signed = written()
    r, s = numbers(signed)
    for either in (s, ORDER - s):
        WritingSessionKey.load(session()).check(write, signed, raw(r, either))


def test_hex_digits_may_be_upper_case() -> None:
    write, signed = written()
    text = raw(*numbers(signed))
    WritingSessionKey.load(session()).check(write, signed, "0x" + text[2:].upper())


def malformed_signatures(signed: bytes) -> dict[str, str]:
    r, s = numbers(signed)
    der = KEY.sign(signed, ec.ECDSA(hashes.SHA256()))
    other = ec.derive_private_key(8, ec.SECP256R1())
    return {
        "empty": "",
        "prefix alone": "0x",
        "no prefix": raw(r, s)[2:],
        "DER": "0x" + der.hex(),
        "one byte less": raw(r, s)[:-2],
        "one byte more, as wallets have": raw(r, s) + "1b",
        "no hex digit": raw(r, s)[:-1] + "g",
        "a line feed at the end": raw(r, s) + "\n",
        "r is zero": raw(0, s),
        "s is zero": raw(r, 0),
        "both are zero": raw(0, 0),
        "r is the order": raw(ORDER, s),
        "s is the order": raw(r, ORDER),
        "r is beyond the order": raw(min(r + ORDER, 2**256 - 1), s),
        "s is beyond the order": raw(r, min(s + ORDER, 2**256 - 1)),
        "both are the greatest number": raw(2**256 - 1, 2**256 - 1),
        "swapped": raw(s, r),
        "of another key": raw(*numbers(signed, other)),
        "of the hash instead of the bytes": raw(*numbers(b"another message")),
    }


@pytest.mark.parametrize("name", malformed_signatures(b""))
def test_a_malformed_signature_is_refused(name: str, refused: Refused) -> None:
    write, signed = written()
    signature = malformed_signatures(signed)[name]
    key = WritingSessionKey.load(session())
    assert refused(lambda: key.check(write, signed, signature)) is Code.WRITING_SESSION_INVALID


def test_the_wallet_cannot_sign_in_place_of_the_key(refused: Refused) -> None:
    write, signed = written()
    wallet = Account.unsafe_sign_hash(keccak256(signed), WALLET.key).signature.to_0x_hex()
    key = WritingSessionKey.load(session())
    for text in (wallet, wallet[:-2]):
        assert refused(lambda text=text: key.check(write, signed, text)) is (
            Code.WRITING_SESSION_INVALID
        )


def test_a_session_expires_exactly_at_its_expiry_time(refused: Refused) -> None:
    end = NOW + timedelta(hours=1)
    check(at=end - timedelta(microseconds=1))
    assert refused(lambda: check(at=end)) is Code.WRITING_SESSION_EXPIRED
    assert refused(lambda: check("0x", at=end)) is Code.WRITING_SESSION_EXPIRED


def test_a_session_is_refused_before_its_start_time(refused: Refused) -> None:
    check(not_before=NOW)
    early = {"not_before": NOW + timedelta(microseconds=1)}
    assert refused(lambda: check(**early)) is Code.WRITING_SESSION_INVALID


def test_a_session_of_another_wallet_is_refused(refused: Refused) -> None:
    other = Address("0x" + "12" * 20)
    assert refused(lambda: check(wallet=other)) is Code.WRITING_SESSION_INVALID


@pytest.mark.parametrize(
    ("allowed", "action"), [(Action.CREATE, Action.UPDATE), (Action.UPDATE, Action.CREATE)]
)
def test_an_action_not_included_in_the_session_is_refused(
    allowed: Action, action: Action, refused: Refused
) -> None:
    check(action=allowed, actions=(allowed,))
    scope = refused(lambda: check(action=action, actions=(allowed,)))
    assert scope is Code.WRITING_SESSION_SCOPE


def test_a_wrong_signature_is_refused_before_the_action_is_checked(refused: Refused) -> None:
    code = refused(lambda: check("0x" + "01" * 64, Action.UPDATE, actions=(Action.CREATE,)))
    assert code is Code.WRITING_SESSION_INVALID


def test_an_invalid_stored_key_is_reported_as_damage() -> None:
    with pytest.raises(Damaged):
        WritingSessionKey.load(session(public_key=b"\x04" + bytes(64)))


@settings(max_examples=200, deadline=None)
@given(flipped=st.integers(0, 66 * 8 - 1))
def test_flipping_any_signed_bit_invalidates_the_signature(flipped: int, refused: Refused) -> None:
    write, signed = written()
    text = raw(*numbers(signed))
    changed = (int.from_bytes(signed) ^ 1 << flipped).to_bytes(66)
    key = WritingSessionKey.load(session())
    assert refused(lambda: key.check(write, changed, text)) is Code.WRITING_SESSION_INVALID
