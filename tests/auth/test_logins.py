"""Logins: the domain of a message, its validity period, and its signer."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from hypothesis import given
from hypothesis import strategies as st
from tests.auth.proofs import proved

from imprint.auth.logins import Login, LoginClaim, LoginVerifier
from imprint.domain.errors import Code, Refusal

NOW = datetime(2030, 1, 31, 12, 0, 0, tzinfo=UTC)
VERIFIER = LoginVerifier(["example.com", "localhost:8000", "[::1]:8000"], chain_id=31337)

Sign = Callable[[LocalAccount, str], str]
Refused = Callable[[Callable[[], object]], Code | None]


def write_message(account: LocalAccount, **changes: str | None) -> str:
    """Write a login message as a wallet does. A value of None leaves out its line."""
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
def test_a_login_with_a_valid_message_is_proved(
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
def test_a_correctly_signed_message_for_another_service_is_refused(
    changes: dict[str, str | None], signer: LocalAccount, sign_text: Sign, refused: Refused
) -> None:
    message = write_message(signer, **changes)
    claim = LoginClaim(message, signer.address, sign_text(signer, message))
    assert refused(lambda: VERIFIER.verify(claim, NOW)) is Code.INVALID_LOGIN_MESSAGE


ANY_PORT = LoginVerifier(["imprint.example", "localhost:*", "[::1]:*"], chain_id=31337)


@pytest.mark.parametrize("origin", ["localhost", "localhost:5173", "LOCALHOST:1", "[::1]:3000"])
def test_a_local_host_may_have_any_port(origin: str, signer: LocalAccount, sign_text: Sign) -> None:
    message = write_message(signer, origin=origin, URI=f"http://{origin}/login")
    claim = LoginClaim(message, signer.address, sign_text(signer, message))
    assert ANY_PORT.verify(claim, NOW) == Login(signer.address.lower(), "a1b2c3d4e5")


@pytest.mark.parametrize("origin", ["localhost.evil.example:80", "me@localhost:80", "127.0.0.1:80"])
def test_accepting_any_port_does_not_mean_accepting_another_host(
    origin: str, signer: LocalAccount, sign_text: Sign, refused: Refused
) -> None:
    message = write_message(signer, origin=origin, URI=None)
    claim = LoginClaim(message, signer.address, sign_text(signer, message))
    assert refused(lambda: ANY_PORT.verify(claim, NOW)) is Code.INVALID_LOGIN_MESSAGE


def test_a_domain_without_a_wildcard_accepts_no_port(
    signer: LocalAccount, sign_text: Sign, refused: Refused
) -> None:
    verifier = LoginVerifier(["imprint.example", "localhost:*"], chain_id=31337)
    message = write_message(signer, origin="imprint.example:444", URI=None)
    claim = LoginClaim(message, signer.address, sign_text(signer, message))
    assert refused(lambda: verifier.verify(claim, NOW)) is Code.INVALID_LOGIN_MESSAGE


def test_refusing_a_domain_names_the_accepted_ones_and_the_setting(
    signer: LocalAccount, sign_text: Sign
) -> None:
    message = write_message(signer, origin="evil.example", URI=None)
    claim = LoginClaim(message, signer.address, sign_text(signer, message))
    with pytest.raises(Refusal) as caught:
        ANY_PORT.verify(claim, NOW)
    assert "imprint.example, localhost:*, [::1]:*" in caught.value.detail
    assert "IMPRINT_LOGIN_DOMAINS" in caught.value.detail


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
def test_a_message_is_accepted_from_5_seconds_ahead_to_60_seconds_old(
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
def test_a_message_outside_its_validity_period_is_stale(
    changes: dict[str, str], signer: LocalAccount, sign_text: Sign, refused: Refused
) -> None:
    message = write_message(signer, **changes)
    claim = LoginClaim(message, signer.address, sign_text(signer, message))
    assert refused(lambda: VERIFIER.verify(claim, NOW)) is Code.SIGNATURE_STALE


def test_message_claim_and_signature_must_agree_on_the_address(
    signer: LocalAccount, stranger: LocalAccount, sign_text: Sign, refused: Refused
) -> None:
    people = (signer, stranger)
    for inside, beside, signed in product(people, people, people):
        message = write_message(inside)
        claim = LoginClaim(message, beside.address, sign_text(signed, message))
        code = refused(lambda c=claim: VERIFIER.verify(c, NOW))
        assert code is (None if inside is beside is signed else Code.SIGNATURE_INVALID)


def test_a_signature_is_valid_only_for_its_own_message(
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


def test_the_zero_address_can_never_log_in(
    signer: LocalAccount, sign_text: Sign, refused: Refused
) -> None:
    zero = "0x" + "0" * 40
    message = write_message(signer, address=zero)
    claim = LoginClaim(message, zero, sign_text(signer, message))
    assert refused(lambda: VERIFIER.verify(claim, NOW)) is Code.SIGNATURE_INVALID


def test_an_invalid_claimed_address_is_refused(
    signer: LocalAccount, sign_text: Sign, refused: Refused
) -> None:
    message = write_message(signer)
    claim = LoginClaim(message, signer.address[2:], sign_text(signer, message))
    assert refused(lambda: VERIFIER.verify(claim, NOW)) is Code.INVALID_ADDRESS


@pytest.mark.parametrize(
    "domain", ["", "https://example.com", "example.com/", "me@example.com", "exa mple", ":80"]
)
def test_a_login_domain_that_is_not_a_host_is_refused(domain: str) -> None:
    with pytest.raises(ValueError, match=r"host|authority"):
        LoginVerifier([domain], 1)


ACCOUNT = Account.from_key(b"\x11" * 32)
MESSAGE = write_message(ACCOUNT)


@given(
    st.just(MESSAGE) | st.text(),
    st.just(ACCOUNT.address) | st.text(),
    st.text() | st.from_regex(r"\A0x[0-9a-f]{130}\Z"),
)
def test_an_arbitrary_claim_raises_nothing_but_a_refusal(
    message: str, address: str, signature: str
) -> None:
    with pytest.raises(Refusal):
        proved(VERIFIER.verify(LoginClaim(message, address, signature), NOW))


def test_the_repr_of_a_claim_does_not_show_its_signature() -> None:
    assert "secret" not in repr(LoginClaim("", "", "secret"))
