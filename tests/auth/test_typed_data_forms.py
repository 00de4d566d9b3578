"""The three forms of a signed write: the values each accepts, and the data its signature covers."""

from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from eth_utils.crypto import keccak
from libipld import encode_multibase
from tests.auth.forms import (
    CID,
    NOW,
    OURS,
    PAIRS,
    SECONDS,
    SERVICE,
    SIGNER,
    Refused,
    Sign,
    request_of,
    typed_data,
    verify,
)
from tests.signed_forms import ACTIONS, BOUND, FORMS, declare, envelope

from imprint.auth.signatures import parse_signer
from imprint.auth.typed_data import BOUND_FORMS, SigningDomain, WriteVerifier, check_body
from imprint.domain.drafts.files import Action, Write
from imprint.domain.errors import Code, Refusal, SignatureStale
from imprint.domain.formats.cids import cid_bytes

OTHER_CID = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"


def body_hash(form: str, action: str) -> bytes | None:
    if form != BOUND or action == "delete":
        return None
    return keccak(b"a picture" if action == "publish" else b"Words.")


# What is accepted


@pytest.mark.parametrize(("form", "action"), PAIRS)
def test_each_form_can_prove_each_action(form: str, action: str, sign_envelope: Sign) -> None:
    said = typed_data(form, action)
    write = verify(said, action, sign_envelope(SIGNER, said))
    signer = parse_signer(SIGNER.address)
    assert write == Write(signer, Action(action), "n", NOW, None, body_hash(form, action))


@pytest.mark.parametrize(("form", "action"), PAIRS)
def test_the_primary_type_is_optional(form: str, action: str, sign_envelope: Sign) -> None:
    said = typed_data(form, action)
    signature = sign_envelope(SIGNER, said)
    kind, _ = declare(form, action)
    assert verify(said | {"primaryType": kind}, action, signature)
    assert verify({name: said[name] for name in ("message", "types", "domain")}, action, signature)


@pytest.mark.parametrize(("form", "action"), PAIRS)
def test_the_domain_type_may_be_declared(form: str, action: str, sign_envelope: Sign) -> None:
    said = typed_data(form, action)
    signature = sign_envelope(SIGNER, said)
    members = [("name", "string"), ("version", "string"), ("chainId", "uint256")]
    said["types"]["EIP712Domain"] = [{"name": name, "type": kind} for name, kind in members]
    assert verify(said, action, signature)


@pytest.mark.parametrize(("form", "action"), [pair for pair in PAIRS if pair[0] != "imprint-1"])
def test_a_timestamp_may_be_a_number_or_a_string_of_digits(
    form: str, action: str, sign_envelope: Sign
) -> None:
    said = typed_data(form, action)
    signature = sign_envelope(SIGNER, said)
    for timestamp in (SECONDS, str(SECONDS), f"00{SECONDS}"):
        said["message"]["timestamp"] = timestamp
        assert verify(said, action, signature)


@pytest.mark.parametrize(("form", "action"), list(product(("inkdao-1", BOUND), ACTIONS[1:])))
@pytest.mark.parametrize("base", "fbBkzu")
def test_the_cid_may_be_in_another_encoding(
    form: str, action: str, base: str, sign_envelope: Sign
) -> None:
    said = typed_data(form, action, cid=encode_multibase(base, cid_bytes(CID)))
    assert verify(said, action, sign_envelope(SIGNER, said))


@pytest.mark.parametrize("action", ACTIONS)
def test_the_address_in_the_message_may_be_in_any_case(action: str, sign_envelope: Sign) -> None:
    said = typed_data("inkdao-1", action)
    signature = sign_envelope(SIGNER, said)
    spellings = (SIGNER.address, SIGNER.address.lower(), "0x" + SIGNER.address[2:].upper())
    for inside, outside in product(spellings, spellings):
        said["message"]["address"] = inside
        assert verify(said, action, signature, outside)


def test_a_hash_may_be_in_upper_case(sign_envelope: Sign) -> None:
    said = typed_data(BOUND, "create")
    signature = sign_envelope(SIGNER, said)
    said["message"]["contentHash"] = "0x" + said["message"]["contentHash"][2:].upper()
    assert verify(said, "create", signature)


@pytest.mark.parametrize("title", ["", "a\0b", "\x1b[0m", "墨 🖋", "x" * 10_000])
def test_a_title_may_be_any_text(title: str, sign_envelope: Sign) -> None:
    said = typed_data("inkdao-1", "create", title=title)
    assert verify(said, "create", sign_envelope(SIGNER, said))


def test_the_inkdao_form_may_have_its_own_signing_domain(
    sign_envelope: Sign, refused: Refused
) -> None:
    verifier = WriteVerifier(OURS, SERVICE, inkdao_domain=SigningDomain("InkDAO", "1", 31337))
    for form, action, name in product(FORMS, ACTIONS, ("Imprint", "InkDAO")):
        request = request_of(action)
        said = envelope(form, request, SIGNER.address, "n", SECONDS, name=name)
        signature = sign_envelope(SIGNER, said)
        code = refused(lambda s=said, a=action, t=signature: verify(s, a, t, verifier=verifier))
        is_good = (form == "inkdao-1") == (name == "InkDAO")
        assert code is (None if is_good else Code.INVALID_TYPED_DATA), (form, action, name)


# The data that a signature covers

CHANGED: dict[str, tuple[Any, Code]] = {
    "action": ("other", Code.INVALID_TYPED_DATA),
    "address": ("0x" + "12" * 20, Code.BODY_MISMATCH),
    "cid": (OTHER_CID, Code.BODY_MISMATCH),
    "contentHash": ("0x" + "12" * 32, Code.SIGNATURE_INVALID),
    "hashtags": ("ink,essay", Code.BODY_MISMATCH),
    "nonce": ("m", Code.SIGNATURE_INVALID),
    "service": ("https://other.example", Code.BODY_MISMATCH),
    "thumbnailHash": ("0x" + "12" * 32, Code.SIGNATURE_INVALID),
    "timestamp": (str(SECONDS + 1), Code.SIGNATURE_INVALID),
    "title": ("Another title", Code.SIGNATURE_INVALID),
}
MEMBERS = [
    (form, action, member["name"]) for form, action in PAIRS for member in declare(form, action)[1]
]


@pytest.mark.parametrize(("form", "action", "member"), MEMBERS)
def test_every_member_is_covered_by_the_signature(
    form: str, action: str, member: str, sign_envelope: Sign, refused: Refused
) -> None:
    signature = sign_envelope(SIGNER, typed_data(form, action))
    value, code = CHANGED[member]
    changed = typed_data(form, action, **{member: value})
    assert refused(lambda: verify(changed, action, signature)) is code


BINDINGS = [each for each in MEMBERS if CHANGED[each[2]][1] is Code.BODY_MISMATCH]


@pytest.mark.parametrize(("form", "action", "member"), BINDINGS)
def test_a_valid_signature_for_a_different_body_is_a_mismatch(
    form: str, action: str, member: str, sign_envelope: Sign, refused: Refused
) -> None:
    said = typed_data(form, action, **{member: CHANGED[member][0]})
    signature = sign_envelope(SIGNER, said)
    assert refused(lambda: verify(said, action, signature)) is Code.BODY_MISMATCH


SPELLINGS = ["", "Words.", CID[:-1], f"{CID}=", f" {CID}", f"/ipfs/{CID}", "z" * 60_000]


@pytest.mark.parametrize("cid", SPELLINGS, ids=lambda each: each[:12])
@pytest.mark.parametrize("form", ["inkdao-1", BOUND])
def test_an_invalid_cid_is_a_mismatch(form: str, cid: str, refused: Refused) -> None:
    said = typed_data(form, "update", cid=cid)
    assert refused(lambda: verify(said, "update")) is Code.BODY_MISMATCH


@pytest.mark.parametrize(
    "service",
    [
        f"{SERVICE}/",
        SERVICE.upper(),
        "http://imprint.example",
        "imprint.example",
        "",
        f" {SERVICE}",
    ],
)
@pytest.mark.parametrize("action", ACTIONS)
def test_a_service_name_must_match_exactly(action: str, service: str, refused: Refused) -> None:
    said = typed_data(BOUND, action, service=service)
    assert refused(lambda: verify(said, action)) is Code.BODY_MISMATCH


@pytest.mark.parametrize(
    ("body", "code"),
    [(b"Words.", None), (b"words.", Code.BODY_MISMATCH), (b"", Code.BODY_MISMATCH)],
)
def test_a_write_is_bound_to_its_body(
    body: bytes, code: Code | None, sign_envelope: Sign, refused: Refused
) -> None:
    said = typed_data(BOUND, "create")
    write = verify(said, "create", sign_envelope(SIGNER, said))
    assert refused(lambda: check_body(write, body)) is code
    assert refused(lambda: check_body(replace(write, body_hash=None), body)) is None


# Other deployments

DOMAINS: dict[str, dict[str, Any]] = {
    "another name": {"name": "Gazette"},
    "another version": {"version": "2"},
    "another chain": {"chainId": 1},
}


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
@pytest.mark.parametrize(("form", "action"), PAIRS)
def test_a_signature_for_another_domain_is_refused(
    form: str, action: str, domain: dict[str, Any], sign_envelope: Sign, refused: Refused
) -> None:
    said = envelope(form, request_of(action), SIGNER.address, "n", SECONDS, **domain)
    signature = sign_envelope(SIGNER, said)
    assert refused(lambda: verify(said, action, signature)) is Code.INVALID_TYPED_DATA
    ours = typed_data(form, action)
    assert refused(lambda: verify(ours, action, signature)) is Code.SIGNATURE_INVALID


@pytest.mark.parametrize("action", ACTIONS)
def test_only_the_bound_form_is_refused_by_another_service_with_the_same_domain(
    action: str, sign_envelope: Sign, refused: Refused
) -> None:
    other = WriteVerifier(OURS, "https://other.example")
    for form in FORMS:
        said = typed_data(form, action)
        signature = sign_envelope(SIGNER, said)
        code = refused(lambda s=said, t=signature: verify(s, action, t, verifier=other))
        assert code is (Code.BODY_MISMATCH if form == BOUND else None)


# Timestamps, and the order of checks


@pytest.mark.parametrize(("form", "action"), PAIRS)
def test_every_form_is_valid_for_sixty_seconds_before_and_after_its_timestamp(
    form: str, action: str, sign_envelope: Sign, refused: Refused
) -> None:
    said = typed_data(form, action)
    signature = sign_envelope(SIGNER, said)
    for seconds in (-60.000001, 60.000001, -(10**6), 10**6):
        now = NOW + timedelta(seconds=seconds)
        with pytest.raises(SignatureStale) as stale:
            verify(said, action, signature, now=now)
        assert (stale.value.code, stale.value.now) == (Code.SIGNATURE_STALE, now)
    for seconds in (-60, 60):
        now = NOW + timedelta(seconds=seconds)
        assert refused(lambda n=now: verify(said, action, signature, now=n)) is None


@pytest.mark.parametrize("action", ACTIONS)
def test_disabled_forms_are_refused(action: str, sign_envelope: Sign, refused: Refused) -> None:
    bound = WriteVerifier(OURS, SERVICE, BOUND_FORMS)
    for form in FORMS:
        said = typed_data(form, action)
        signature = sign_envelope(SIGNER, said)
        code = refused(lambda s=said, t=signature: verify(s, action, t, verifier=bound))
        assert code is (None if form == BOUND else Code.FORM_NOT_ACCEPTED)


def test_refusing_a_disabled_form_names_the_accepted_ones() -> None:
    verifier = WriteVerifier(OURS, SERVICE, BOUND_FORMS)
    with pytest.raises(Refusal, match=r"in the form inkdao-1\. Accepted forms: imprint-2\."):
        verify(typed_data("inkdao-1", "create"), "create", verifier=verifier)


def test_checks_are_made_in_a_fixed_order(refused: Refused) -> None:
    bound = WriteVerifier(OURS, SERVICE, BOUND_FORMS)
    weak = typed_data("inkdao-1", "update", timestamp=1, address="0x" + "12" * 20)
    stale = typed_data(BOUND, "update", timestamp=1, service="")
    swapped = typed_data(BOUND, "update", service="")
    codes = [
        refused(lambda: verify(weak | {"extra": 1}, "update", address="", verifier=bound)),
        refused(lambda: verify(weak, "update", address="", verifier=bound)),
        refused(lambda: verify(stale, "update", address="")),
        refused(lambda: verify(stale, "update")),
        refused(lambda: verify(swapped, "update")),
        refused(lambda: verify(typed_data(BOUND, "update"), "update")),
    ]
    assert codes == [
        Code.INVALID_TYPED_DATA,
        Code.FORM_NOT_ACCEPTED,
        Code.INVALID_ADDRESS,
        Code.SIGNATURE_STALE,
        Code.BODY_MISMATCH,
        Code.SIGNATURE_INVALID,
    ]
