"""A signed write needs the right envelope, and a signature for exactly this write."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_account.signers.local import LocalAccount
from hypothesis import given
from hypothesis import strategies as st
from tests.auth.proofs import proved

from imprint.auth.signatures import parse_signer
from imprint.auth.typed_data import (
    WRITE_TYPES,
    SigningDomain,
    SigningForm,
    TypedDataClaim,
    WriteVerifier,
)
from imprint.domain.drafts.files import Action, Write
from imprint.domain.errors import Code

VECTOR = json.loads((Path(__file__).parents[1] / "vectors" / "typed_data.json").read_text())
TYPES = WRITE_TYPES[SigningForm.IMPRINT_1]
SERVICE = "https://imprint.example"
OURS = SigningDomain("Imprint", "1", 31337)
VERIFIER = WriteVerifier(OURS, SERVICE)
NOW = datetime(2030, 1, 31, 12, 0, 0, tzinfo=UTC)
MEMBERS = [{"name": name, "type": "string"} for name in ("action", "nonce", "timestamp")]
DOMAIN_MEMBERS = [
    {"name": "name", "type": "string"},
    {"name": "version", "type": "string"},
    {"name": "chainId", "type": "uint256"},
]
Sign = Callable[[LocalAccount, Any], str]
Refused = Callable[[Callable[[], object]], Code | None]


def envelope(
    action: Action = Action.CREATE,
    domain: SigningDomain = OURS,
    nonce: str = "n",
    timestamp: str | None = None,
) -> dict[str, Any]:
    return {
        "domain": {"name": domain.name, "version": domain.version, "chainId": domain.chain_id},
        "types": {TYPES[action].name: [dict(member) for member in MEMBERS]},
        "primaryType": TYPES[action].name,
        "message": {
            "action": action.value,
            "nonce": nonce,
            "timestamp": str(int(NOW.timestamp())) if timestamp is None else timestamp,
        },
    }


def verify(
    said: object, signature: str, address: str, action: Action = Action.CREATE, now: datetime = NOW
) -> Write:
    return proved(VERIFIER.verify(TypedDataClaim(said, address, signature), action, now))


def test_the_hashes_match_the_known_vector() -> None:
    domain = SigningDomain("Example", "1", 1)
    message = VECTOR["message"]
    assert domain.separator.hex() == VECTOR["domainSeparator"]
    assert {kind.name: kind.type_hash.hex() for kind in TYPES.values()} == (VECTOR["typeHashes"])
    digest = domain.digest(Action.CREATE, message["nonce"], message["timestamp"])
    assert digest.hex() == VECTOR["digest"]


def test_a_write_with_the_known_vector_is_proved() -> None:
    said = {
        "domain": VECTOR["domain"],
        "types": {"CreateFile": MEMBERS},
        "message": VECTOR["message"],
    }
    at = datetime.fromtimestamp(1700000000, UTC)
    claim = TypedDataClaim(said, VECTOR["address"], VECTOR["signature"])
    write = WriteVerifier(SigningDomain("Example", "1", 1), SERVICE).verify(
        claim, Action.CREATE, at
    )
    signer = parse_signer(VECTOR["address"])
    assert write == Write(signer, Action.CREATE, VECTOR["message"]["nonce"], at)


printable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)


@given(printable, printable, st.integers(1, 2**256 - 1), st.sampled_from(Action), printable)
def test_the_digest_matches_another_implementation(
    name: str, version: str, chain_id: int, action: Action, nonce: str
) -> None:
    domain = SigningDomain(name, version, chain_id)
    said = envelope(action, domain, nonce)
    account = Account.from_key(b"\x11" * 32)
    signable = encode_typed_data(said["domain"], said["types"], said["message"])
    expected = bytes(account.sign_message(signable).message_hash)
    assert domain.digest(action, nonce, said["message"]["timestamp"]) == expected


@pytest.mark.parametrize("action", Action)
def test_each_action_is_proved_with_its_own_type(
    action: Action, signer: LocalAccount, sign_envelope: Sign
) -> None:
    said = envelope(action, nonce="one")
    write = verify(said, sign_envelope(signer, said), signer.address, action)
    assert write == Write(parse_signer(signer.address), action, "one", NOW)


PLACES = {
    "ours": OURS,
    "other name": SigningDomain("imprint", "1", 31337),
    "other version": SigningDomain("Imprint", "2", 31337),
    "other chain": SigningDomain("Imprint", "1", 1),
}


@pytest.mark.parametrize("who", ["signer", "stranger"])
def test_a_signature_is_valid_only_for_its_own_domain_action_and_signer(
    who: str, signer: LocalAccount, stranger: LocalAccount, sign_envelope: Sign, refused: Refused
) -> None:
    account = {"signer": signer, "stranger": stranger}[who]
    signatures = {
        (place, action): sign_envelope(account, envelope(action, PLACES[place]))
        for place, action in product(PLACES, Action)
    }
    for signed, (place, action) in product(signatures, product(PLACES, Action)):
        claim = TypedDataClaim(envelope(action, PLACES[place]), signer.address, signatures[signed])
        verifier = WriteVerifier(PLACES[place], SERVICE)
        code = refused(lambda v=verifier, c=claim, a=action: v.verify(c, a, NOW))
        good = signed == (place, action) and who == "signer"
        assert code is (None if good else Code.SIGNATURE_INVALID), (signed, place, action)


@pytest.mark.parametrize(("asked", "place"), list(product(Action, PLACES)))
def test_a_wrong_domain_or_action_is_refused_before_checking_the_signature(
    asked: Action, place: str, signer: LocalAccount, sign_envelope: Sign, refused: Refused
) -> None:
    for action in Action:
        said = envelope(action, PLACES[place])
        signature = sign_envelope(signer, said)
        code = refused(lambda s=said, t=signature: verify(s, t, signer.address, asked))
        good = action is asked and place == "ours"
        assert code is (None if good else Code.INVALID_TYPED_DATA)


@pytest.mark.parametrize("chain_id", [31337, "31337", "0x7a69", "0x7A69", "0x007a69"])
def test_the_chain_id_may_be_a_number_or_a_decimal_or_hex_string(
    chain_id: object, signer: LocalAccount, sign_envelope: Sign
) -> None:
    said = envelope()
    signature = sign_envelope(signer, said)
    said["domain"]["chainId"] = chain_id
    assert verify(said, signature, signer.address)


def test_true_does_not_count_as_chain_id_1(refused: Refused) -> None:
    domain = SigningDomain("Imprint", "1", 1)
    said = envelope(domain=domain)
    said["domain"]["chainId"] = True
    claim = TypedDataClaim(said, VECTOR["address"], VECTOR["signature"])
    code = refused(lambda: WriteVerifier(domain, SERVICE).verify(claim, Action.CREATE, NOW))
    assert code is Code.INVALID_TYPED_DATA


def test_the_primary_type_is_optional_and_the_domain_type_is_allowed(
    signer: LocalAccount, sign_envelope: Sign
) -> None:
    said = envelope()
    signature = sign_envelope(signer, said)
    del said["primaryType"]
    said["types"]["EIP712Domain"] = DOMAIN_MEMBERS
    assert verify(said, signature, signer.address)


@pytest.mark.parametrize("nonce", ["x", "x" * 200, "𝔫" * 200, "a b\n\t\x1b[0m", "é"])
def test_a_nonce_may_be_any_text_of_1_to_200_characters(
    nonce: str, signer: LocalAccount, sign_envelope: Sign
) -> None:
    said = envelope(nonce=nonce)
    assert verify(said, sign_envelope(signer, said), signer.address).nonce == nonce


@pytest.mark.parametrize(
    ("seconds", "code"),
    [
        (-60.9, Code.SIGNATURE_STALE),
        (-60.000001, Code.SIGNATURE_STALE),
        (-60, None),
        (-59.999999, None),
        (0, None),
        (59.999999, None),
        (60, None),
        (60.000001, Code.SIGNATURE_STALE),
        (60.9, Code.SIGNATURE_STALE),
    ],
)
def test_a_timestamp_must_be_within_sixty_seconds_of_now(
    seconds: float, code: Code | None, signer: LocalAccount, sign_envelope: Sign, refused: Refused
) -> None:
    said = envelope()
    signature = sign_envelope(signer, said)
    now = NOW + timedelta(seconds=seconds)
    assert refused(lambda: verify(said, signature, signer.address, now=now)) is code


@pytest.mark.parametrize("timestamp", ["0", "000000000000", "999999999999", "253402300800"])
def test_a_timestamp_outside_the_calendar_range_is_stale(timestamp: str, refused: Refused) -> None:
    said = envelope(timestamp=timestamp)
    code = refused(lambda: verify(said, VECTOR["signature"], VECTOR["address"]))
    assert code is Code.SIGNATURE_STALE


def test_the_structure_is_checked_before_address_time_and_signature(refused: Refused) -> None:
    stale = envelope(timestamp="1")
    assert refused(lambda: verify({}, "", "")) is Code.INVALID_TYPED_DATA
    assert refused(lambda: verify(stale, "", "")) is Code.INVALID_ADDRESS
    assert refused(lambda: verify(stale, "", VECTOR["address"])) is Code.SIGNATURE_STALE
    assert refused(lambda: verify(envelope(), "", VECTOR["address"])) is Code.SIGNATURE_INVALID


def test_the_zero_address_can_never_write(
    signer: LocalAccount, sign_envelope: Sign, refused: Refused
) -> None:
    said = envelope()
    signature = sign_envelope(signer, said)
    assert refused(lambda: verify(said, signature, "0x" + "0" * 40)) is Code.SIGNATURE_INVALID


def test_the_address_may_be_in_any_case_and_is_converted_to_lower_case(
    signer: LocalAccount, sign_envelope: Sign
) -> None:
    said = envelope()
    signature = sign_envelope(signer, said)
    spellings = (signer.address, signer.address.lower(), "0x" + signer.address[2:].upper())
    assert {verify(said, signature, text).signer for text in spellings} == {signer.address.lower()}


def test_the_repr_of_a_claim_does_not_show_its_signature() -> None:
    assert VECTOR["signature"] not in repr(TypedDataClaim({}, "", VECTOR["signature"]))
