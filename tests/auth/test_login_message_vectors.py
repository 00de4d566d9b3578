"""Logins with the public vectors of signed messages, and the verdict on each."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.auth.proofs import proved

from imprint.auth.login_message import parse_instant
from imprint.auth.logins import Login, LoginClaim, LoginVerifier
from imprint.auth.signatures import parse_signature, personal_digest, recover_signer
from imprint.domain.errors import Code

VECTORS = Path(__file__).parents[1] / "vectors" / "siwe"
POSITIVE: dict[str, Any] = json.loads((VECTORS / "verification_positive.json").read_text())
NEGATIVE: dict[str, Any] = json.loads((VECTORS / "verification_negative.json").read_text())
CONTRACT_WALLETS: dict[str, Any] = json.loads((VECTORS / "eip1271.json").read_text())
AGES = timedelta(days=365 * 200)
Refused = Callable[[Callable[[], object]], Code | None]


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
    """Verify a vector at the time that it states, if any, and accept any age."""
    domain = vector.get("domainBinding", vector["domain"])
    verifier = LoginVerifier([domain], vector["chainId"], freshness=AGES, skew=AGES)
    now = parse_instant(vector.get("time", "2026-01-01T00:00:00Z")).moment
    claim = LoginClaim(write_vector(vector), vector["address"], vector["signature"])
    return proved(verifier.verify(claim, now))


@pytest.mark.parametrize("name", sorted(POSITIVE.keys() - {"recovery byte starting at 0"}))
def test_a_login_with_a_valid_vector_is_proved(name: str) -> None:
    vector = POSITIVE[name]
    assert verify_vector(vector) == Login(vector["address"].lower(), vector["nonce"])


def test_a_signed_vector_with_a_uri_on_another_host_is_refused(
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
def test_an_invalid_vector_is_refused(name: str, refused: Refused) -> None:
    assert refused(lambda: verify_vector(NEGATIVE[name])) is EXPECTED[name]


def test_the_nonce_is_returned_without_comparing_it_to_an_issued_one() -> None:
    # No endpoint issues nonces: instead, each may be used once per address.
    vector = NEGATIVE["custom nonce"]
    assert verify_vector(vector).nonce == vector["nonce"] != vector["matchNonce"]


def test_every_negative_vector_is_tested() -> None:
    assert NEGATIVE.keys() == EXPECTED.keys() | {"custom nonce"}


@pytest.mark.parametrize("vector", CONTRACT_WALLETS.values(), ids=CONTRACT_WALLETS)
def test_a_contract_wallet_cannot_log_in(vector: dict[str, str], refused: Refused) -> None:
    # Only a contract could verify the signature of a contract wallet, and none is called.
    address = vector["message"].split("\n")[1]
    claim = LoginClaim(vector["message"], address, vector["signature"])
    verifier = LoginVerifier(["localhost:4361"], 1, freshness=AGES, skew=AGES)
    assert (
        refused(lambda: verifier.verify(claim, parse_instant("2026-01-01T00:00:00Z").moment))
        is Code.SIGNATURE_INVALID
    )
