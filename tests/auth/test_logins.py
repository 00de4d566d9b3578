"""Logins: whom a message is for, when it is good, and who signed it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from hypothesis import given
from hypothesis import strategies as st

from imprint.auth.instants import parse_instant
from imprint.auth.logins import Login, LoginClaim, LoginVerifier
from imprint.auth.signatures import parse_signature, personal_digest, recover_signer
from imprint.domain.refusals import Code, Refusal

VECTORS = Path(__file__).parents[1] / "vectors" / "siwe"
POSITIVE: dict[str, Any] = json.loads((VECTORS / "verification_positive.json").read_text())
NEGATIVE: dict[str, Any] = json.loads((VECTORS / "verification_negative.json").read_text())
CONTRACT_WALLETS: dict[str, Any] = json.loads((VECTORS / "eip1271.json").read_text())

NOW = datetime(2030, 1, 31, 12, 0, 0, tzinfo=UTC)
VERIFIER = LoginVerifier(["example.com", "localhost:8000", "[::1]:8000"], chain_id=31337)
AGES = timedelta(days=365 * 200)

Sign = Callable[[LocalAccount, str], str]
Refused = Callable[[Callable[[], object]], Code | None]


def write_message(account: LocalAccount, **changes: str | None) -> str:
    """A login message as wallets write it; a change to None leaves the line out."""
    fields = {
        "origin": "example.com",
        "address": account.address,
        "statement": "Please log in.",
        "URI": "https://example.com/login",
        "Version": "1",
        "Chain ID": "31337",
        "Nonce": "a1b2c3d4e5",
        "Issued At": "2030-01-31T12:00:00Z",
        **changes,
    }
    origin, address, statement = (fields.pop(name) for name in ("origin", "address", "statement"))
    return "\n".join(
        [
            f"{origin} wants you to sign in with your Ethereum account:",
            f"{address}",
            "",
            *([] if statement is None else [statement]),
            "",
            *(f"{name}: {value}" for name, value in fields.items() if value is not None),
        ]
    )


def write_vector(vector: dict[str, Any]) -> str:
    optional = {"Expiration Time": "expirationTime", "Not Before": "notBefore"}
    return "\n".join(
        [
            f"{vector['domain']} wants you to sign in with your Ethereum account:",
            vector["address"],
            "",
            vector["statement"],
            "",
            f"URI: {vector['uri']}",
            f"Version: {vector['version']}",
            f"Chain ID: {vector['chainId']}",
            f"Nonce: {vector['nonce']}",
            f"Issued At: {vector['issuedAt']}",
            *(f"{label}: {vector[key]}" for label, key in optional.items() if key in vector),
        ]
    )


def verify_vector(vector: dict[str, Any]) -> Login:
    """Verify as the vectors expect: at their time if they name one, and however old they are."""
    domain = vector.get("domainBinding", vector["domain"])
    verifier = LoginVerifier([domain], vector["chainId"], freshness=AGES, skew=AGES)
    now = parse_instant(vector.get("time", "2026-01-01T00:00:00Z")).moment
    claim = LoginClaim(write_vector(vector), vector["address"], vector["signature"])
    return verifier.verify(claim, now)


@pytest.mark.parametrize("name", sorted(POSITIVE.keys() - {"recovery byte starting at 0"}))
def test_a_good_vector_proves_its_login(name: str) -> None:
    vector = POSITIVE[name]
    assert verify_vector(vector) == Login(vector["address"].lower(), vector["nonce"])


def test_a_good_vector_with_its_uri_on_another_host_has_a_good_signature_but_is_refused(
    refused: Refused,
) -> None:
    # The message is for www.tally.xyz and its URI is on tally.xyz, which is another authority.
    vector = POSITIVE["recovery byte starting at 0"]
    digest = personal_digest(write_vector(vector).encode())
    signer = recover_signer(digest, parse_signature(vector["signature"]))
    assert signer == vector["address"].lower()
    assert refused(lambda: verify_vector(vector)) is Code.INVALID_LOGIN_MESSAGE


EXPECTED = {
    "expired message": Code.SIGNATURE_STALE,
    "domain binding": Code.INVALID_LOGIN_MESSAGE,
    "custom time": Code.SIGNATURE_STALE,
    "malformed signature": Code.SIGNATURE_INVALID,
    "wrong signature": Code.SIGNATURE_INVALID,
    "not yet valid": Code.SIGNATURE_STALE,
    "invalid issuedAt": Code.INVALID_LOGIN_MESSAGE,
    "invalid notBefore": Code.INVALID_LOGIN_MESSAGE,
    "invalid expirationTime": Code.INVALID_LOGIN_MESSAGE,
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_bad_vector_is_refused(name: str, refused: Refused) -> None:
    assert refused(lambda: verify_vector(NEGATIVE[name])) is EXPECTED[name]


def test_a_nonce_is_not_compared_with_an_issued_one_but_given_on_to_be_spent() -> None:
    # There is no endpoint that issues nonces: each is single use per address instead.
    vector = NEGATIVE["custom nonce"]
    assert verify_vector(vector).nonce == vector["nonce"] != vector["matchNonce"]


def test_no_vector_is_left_out() -> None:
    assert NEGATIVE.keys() == EXPECTED.keys() | {"custom nonce"}


@pytest.mark.parametrize("vector", CONTRACT_WALLETS.values(), ids=CONTRACT_WALLETS)
def test_a_contract_wallet_cannot_log_in(vector: dict[str, str], refused: Refused) -> None:
    # Their signatures mean something only to a contract on a chain, which is not asked.
    address = vector["message"].split("\n")[1]
    claim = LoginClaim(vector["message"], address, vector["signature"])
    verifier = LoginVerifier(["localhost:4361"], 1, freshness=AGES, skew=AGES)
    assert refused(lambda: verifier.verify(claim, NOW)) is Code.SIGNATURE_INVALID


GOOD: dict[str, dict[str, str | None]] = {
    "as wallets write it": {},
    "with scheme": {"origin": "https://example.com"},
    "without statement": {"statement": None},
    "without URI": {"URI": None},
    "without statement and URI": {"statement": None, "URI": None},
    "with port": {"origin": "localhost:8000", "URI": "http://localhost:8000"},
    "with IPv6": {"origin": "[::1]:8000", "URI": "http://[::1]:8000/x?y#z"},
    "host in upper case": {"origin": "EXAMPLE.com", "URI": "HTTPS://Example.COM"},
    "another zone": {"Issued At": "2030-01-31T17:30:00.000000001+05:30"},
    "not expired": {"Expiration Time": "2030-01-31T12:00:00.000001Z"},
    "just valid": {"Not Before": "2030-01-31T12:00:00Z"},
    "with request id": {"Request ID": "r"},
}


@pytest.mark.parametrize("changes", GOOD.values(), ids=GOOD)
def test_a_good_message_proves_a_login(
    changes: dict[str, str | None], signer: LocalAccount, sign_text: Sign
) -> None:
    message = write_message(signer, **changes)
    claim = LoginClaim(message, signer.address, sign_text(signer, message))
    assert VERIFIER.verify(claim, NOW) == Login(signer.address.lower(), "a1b2c3d4e5")


MEANT_FOR_OTHERS: dict[str, dict[str, str | None]] = {
    "another domain": {"origin": "evil.example", "URI": "https://evil.example"},
    "another domain without URI": {"origin": "evil.example", "URI": None},
    "subdomain": {"origin": "www.example.com", "URI": "https://www.example.com"},
    "longer domain": {"origin": "example.com.evil.example", "URI": None},
    "domain ending in ours": {"origin": "evilexample.com", "URI": None},
    "dot at the end": {"origin": "example.com.", "URI": "https://example.com."},
    "port added": {"origin": "example.com:444", "URI": "https://example.com:444"},
    "empty port added": {"origin": "example.com:", "URI": "https://example.com:"},
    "other port": {"origin": "localhost:8001", "URI": "http://localhost:8001"},
    "port dropped": {"origin": "localhost", "URI": "http://localhost"},
    "user information": {"origin": "me@example.com", "URI": "https://me@example.com"},
    "user information that looks like us": {"origin": "example.com@evil.example", "URI": None},
    "empty user information": {"origin": "@example.com", "URI": None},
    "escaped host": {"origin": "%65xample.com", "URI": None},
    "other scheme": {"origin": "ftp://example.com"},
    "URI on another host": {"URI": "https://evil.example"},
    "URI on a subdomain": {"URI": "https://www.example.com"},
    "URI on another port": {"URI": "https://example.com:444"},
    "URI with user information": {"URI": "https://example.com@evil.example"},
    "URI without authority": {"URI": "urn:example.com"},
    "URI with empty authority": {"URI": "https:///example.com"},
    "URI of another scheme": {"URI": "javascript://example.com/%0Aalert(1)"},
    "other chain": {"Chain ID": "1"},
    "other version": {"Version": "2"},
}


@pytest.mark.parametrize("changes", MEANT_FOR_OTHERS.values(), ids=MEANT_FOR_OTHERS)
def test_a_message_for_others_is_refused_though_well_signed(
    changes: dict[str, str | None], signer: LocalAccount, sign_text: Sign, refused: Refused
) -> None:
    message = write_message(signer, **changes)
    claim = LoginClaim(message, signer.address, sign_text(signer, message))
    assert refused(lambda: VERIFIER.verify(claim, NOW)) is Code.INVALID_LOGIN_MESSAGE


@pytest.mark.parametrize(
    ("age", "code"),
    [
        (timedelta(seconds=-6), Code.SIGNATURE_STALE),
        (timedelta(seconds=-5, microseconds=-1), Code.SIGNATURE_STALE),
        (timedelta(seconds=-5), None),
        (timedelta(0), None),
        (timedelta(seconds=59), None),
        (timedelta(seconds=60), None),
        (timedelta(seconds=60, microseconds=1), Code.SIGNATURE_STALE),
        (timedelta(seconds=61), Code.SIGNATURE_STALE),
    ],
)
def test_a_message_is_at_most_sixty_seconds_old_and_five_ahead(
    age: timedelta, code: Code | None, signer: LocalAccount, sign_text: Sign, refused: Refused
) -> None:
    message = write_message(signer)
    claim = LoginClaim(message, signer.address, sign_text(signer, message))
    assert refused(lambda: VERIFIER.verify(claim, NOW + age)) is code


@pytest.mark.parametrize(
    "changes",
    [
        {"Issued At": "9999-12-31T23:59:59Z"},
        {"Issued At": "0001-01-01T00:00:00Z"},
        {"Issued At": "2030-01-31T12:00:00+02:00"},
        {"Expiration Time": "2030-01-31T12:00:00Z"},
        {"Expiration Time": "2030-01-31T11:59:59Z"},
        {"Expiration Time": "0001-01-01T00:00:00Z"},
        {"Not Before": "2030-01-31T12:00:01Z"},
        {"Not Before": "9999-12-31T23:59:59Z"},
    ],
    ids=str,
)
def test_a_message_out_of_its_time_is_stale(
    changes: dict[str, str], signer: LocalAccount, sign_text: Sign, refused: Refused
) -> None:
    message = write_message(signer, **changes)
    claim = LoginClaim(message, signer.address, sign_text(signer, message))
    assert refused(lambda: VERIFIER.verify(claim, NOW)) is Code.SIGNATURE_STALE


def test_the_address_in_the_message_beside_it_and_of_the_signer_are_one(
    signer: LocalAccount, stranger: LocalAccount, sign_text: Sign, refused: Refused
) -> None:
    people = (signer, stranger)
    for inside, beside, signed in product(people, people, people):
        message = write_message(inside)
        claim = LoginClaim(message, beside.address, sign_text(signed, message))
        code = refused(lambda c=claim: VERIFIER.verify(c, NOW))
        if inside is not beside:
            assert code is Code.INVALID_LOGIN_MESSAGE
        else:
            assert code is (None if signed is beside else Code.SIGNATURE_INVALID)


def test_a_signature_is_good_for_its_message_only(
    signer: LocalAccount, sign_text: Sign, refused: Refused
) -> None:
    signature = sign_text(signer, write_message(signer))
    for changes in GOOD.values():
        message = write_message(signer, **changes)
        code = refused(
            lambda m=message: VERIFIER.verify(LoginClaim(m, signer.address, signature), NOW)
        )
        same = message == write_message(signer)
        assert code is (None if same else Code.SIGNATURE_INVALID)


def test_the_zero_address_never_logs_in(
    signer: LocalAccount, sign_text: Sign, refused: Refused
) -> None:
    zero = "0x" + "0" * 40
    message = write_message(signer, address=zero)
    claim = LoginClaim(message, zero, sign_text(signer, message))
    assert refused(lambda: VERIFIER.verify(claim, NOW)) is Code.SIGNATURE_INVALID


def test_what_is_no_address_beside_a_good_message_is_refused(
    signer: LocalAccount, sign_text: Sign, refused: Refused
) -> None:
    message = write_message(signer)
    claim = LoginClaim(message, signer.address[2:], sign_text(signer, message))
    assert refused(lambda: VERIFIER.verify(claim, NOW)) is Code.INVALID_ADDRESS


@pytest.mark.parametrize(
    "domain", ["", "https://example.com", "example.com/", "me@example.com", "exa mple", ":80"]
)
def test_a_domain_that_no_message_can_name_is_not_taken(domain: str) -> None:
    with pytest.raises(ValueError, match=r"host|authority"):
        LoginVerifier([domain], 1)


ACCOUNT = Account.from_key(b"\x11" * 32)
MESSAGE = write_message(ACCOUNT)


@given(
    st.just(MESSAGE) | st.text(),
    st.just(ACCOUNT.address) | st.text(),
    st.text() | st.from_regex(r"\A0x[0-9a-f]{130}\Z"),
)
def test_only_a_refusal_ever_escapes(message: str, address: str, signature: str) -> None:
    with pytest.raises(Refusal):
        VERIFIER.verify(LoginClaim(message, address, signature), NOW)


def test_a_claim_does_not_show_its_signature() -> None:
    assert "secret" not in repr(LoginClaim("", "", "secret"))
