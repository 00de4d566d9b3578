"""Verification of webhook signatures."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adapters.webhooks.deliveries import SECRET, mac

from imprint.adapters.webhooks.signatures import WebhookSecrets, check_spelling
from imprint.domain.errors import Code, Refusal

SECRETS = WebhookSecrets([SECRET])
SIGNATURE = mac(SECRET, b"body")

MALFORMED = {
    "empty": "",
    "short": SIGNATURE[:-1],
    "long": SIGNATURE + "0",
    "a line end": SIGNATURE + "\n",
    "spaces between digits": " ".join(SIGNATURE),
    "no digits": "z" * 64,
    "not ASCII": "é" * 64,
    "half a surrogate pair": "\udcff" * 64,
    "wide digits": "".join(chr(ord(digit) + 0xFEE0) for digit in SIGNATURE),
    "a hash of something else": hashlib.sha256(b"body").hexdigest(),
}


def test_a_body_in_several_chunks_is_verified_as_a_whole() -> None:
    assert SECRETS.verify(SIGNATURE, [b"bo", b"", b"dy"]).hex() == SIGNATURE


@pytest.mark.parametrize("signature", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_signature_is_refused(signature: str) -> None:
    with pytest.raises(Refusal) as refused:
        SECRETS.verify(signature, [b"body"])
    assert refused.value.code is Code.WEBHOOK_SIGNATURE_INVALID


@given(st.text(st.characters(codec=None), max_size=70))
def test_arbitrary_text_is_refused_as_a_signature(signature: str) -> None:
    with pytest.raises(Refusal):
        SECRETS.verify(signature, [b"body"])


@pytest.mark.parametrize("signature", [SIGNATURE, SIGNATURE.upper()])
def test_a_signature_may_have_letters_in_any_case(signature: str) -> None:
    check_spelling(signature)
    assert SECRETS.verify(signature, [b"body"]).hex() == SIGNATURE


@pytest.mark.parametrize("signature", [*MALFORMED.values()][:-1], ids=[*MALFORMED][:-1])
def test_a_text_that_cannot_be_a_signature_is_refused_before_hashing(signature: str) -> None:
    with pytest.raises(Refusal) as refused:
        check_spelling(signature)
    assert refused.value.code is Code.WEBHOOK_SIGNATURE_INVALID


@pytest.mark.parametrize("other", [["new"], ["new", SECRET], [SECRET, "new"]])
def test_a_signature_with_one_of_two_secrets_is_accepted(other: list[str]) -> None:
    secrets = WebhookSecrets(other)
    assert secrets.verify(mac("new", b"body"), [b"body"]).hex() == mac("new", b"body")


@pytest.mark.parametrize("secrets", [[], [""], [SECRET, ""], [SECRET, "b", "c"]])
def test_a_provider_has_one_or_two_secrets_and_no_empty_one(secrets: list[str]) -> None:
    with pytest.raises(ValueError, match="one or two secrets"):
        WebhookSecrets(secrets)
