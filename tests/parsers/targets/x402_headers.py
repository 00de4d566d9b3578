"""x402 headers: a client's payment and proof, and the offer that a client reads."""

from base64 import b64encode
from contextlib import suppress
from datetime import UTC, datetime

from starlette.requests import Request

from imprint.auth.sessions import SessionKeys
from imprint.auth.sign_in_with_x import Challenges
from imprint.client.payments import InvalidOffer, Seller, check_offer, find_entry
from imprint.domain.errors import Refusal
from imprint.web.api.paywall import (
    _claim_of,
    _parse_transaction,
    _payment_claim,
    _signed_challenge,
)

NOW = datetime(2026, 11, 1, 12, 0, 0, tzinfo=UTC)
SERVICE = "https://imprint.example"
PATH = "/posts/7/content"
CHALLENGES = Challenges(SessionKeys(b"k" * 32), SERVICE, 31337, lambda size: b"r" * size)
SELLER = Seller(SERVICE, 31337, "0x" + "c3" * 20)


def check(data: bytes) -> None:
    """Every header is read or refused, as it is and as the base64 of the input."""
    for header in (data, b64encode(data)):
        _read(header)
        with suppress(InvalidOffer):
            check_offer(find_entry(header.decode("latin-1")), SELLER)
    with suppress(InvalidOffer):
        check_offer(data, SELLER)


def _read(header: bytes) -> None:
    names = (b"sign-in-with-x", b"payment-signature")
    request = Request({"type": "http", "headers": [(name, header) for name in names]})
    with suppress(Refusal):
        signed = _signed_challenge(request)
        if signed is not None:
            CHALLENGES.verify(_claim_of(signed, "client"), PATH, NOW)
    with suppress(Refusal):
        payment = _payment_claim(request, "eip155:31337")
        if payment is not None:
            _parse_transaction(payment.transaction)
            if payment.sign_in is not None:
                CHALLENGES.verify(_claim_of(payment.sign_in, "client"), PATH, NOW)
