"""Challenges of paid posts: an answer is valid only for its issuer, path, time and signer."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from hypothesis import given
from hypothesis import strategies as st
from tests.auth.proofs import proved

from imprint.auth.login_message import parse_uri
from imprint.auth.sessions import CLOCK_SKEW_SECONDS, SessionKeys
from imprint.auth.sign_in_with_x import (
    CHALLENGE_TIME,
    Challenges,
    SignInClaim,
    SignInProof,
    is_challenged,
)
from imprint.auth.signatures import Unproved
from imprint.domain.errors import Code, Refusal

NOW = datetime(2030, 1, 31, 12, 0, 0, tzinfo=UTC)
SERVICE = "https://press.example:8443"
PATH = "/posts/7/content"
OLD, NEW = b"old key " * 4, b"new key " * 4

Sign = Callable[[LocalAccount, str], str]
Refused = Callable[[Callable[[], object]], Code | None]


def make_challenges(*keys: bytes, service: str = SERVICE, chain_id: int = 31337) -> Challenges:
    numbers = count(1)
    given = SessionKeys(*keys or (NEW,))
    return Challenges(given, service, chain_id, lambda size: next(numbers).to_bytes(size))


CHALLENGES = make_challenges()


def write_message(claim: SignInClaim, account: LocalAccount) -> str:
    """Build the message from the fields that a client sends, as the client does."""
    optional = {
        "Expiration Time": claim.expires_at,
        "Not Before": claim.not_before,
        "Request ID": claim.request_id,
    }
    return "\n".join(
        [
            f"{claim.domain} wants you to sign in with your Ethereum account:",
            account.address,
            "",
            *([] if claim.statement is None else [claim.statement]),
            "",
            f"URI: {claim.uri}",
            f"Version: {claim.version}",
            f"Chain ID: {claim.network.partition(':')[2]}",
            f"Nonce: {claim.nonce}",
            f"Issued At: {claim.issued_at}",
            *(f"{name}: {value}" for name, value in optional.items() if value is not None),
        ]
    )


def answer(
    account: LocalAccount,
    sign: Sign,
    challenges: Challenges = CHALLENGES,
    path: str = PATH,
    **changes: Any,
) -> SignInClaim:
    """Answer a new challenge for a path, with some fields changed before they are signed."""
    issued = challenges.issue(path, NOW)
    claim = SignInClaim(
        "press.example:8443",
        account.address,
        SERVICE + path,
        "eip155:31337",
        issued.nonce,
        issued.issued_at,
        "",
        statement="Sign in to read post 7.",
        expires_at=issued.expires_at,
    )
    claim = replace(claim, **changes)
    return replace(claim, signature=sign(account, write_message(claim, account)))


def test_a_challenge_can_be_answered_for_five_minutes() -> None:
    issued = CHALLENGES.issue(PATH, NOW + timedelta(milliseconds=999))
    assert issued.issued_at == "2030-01-31T12:00:00Z"
    assert issued.expires_at == "2030-01-31T12:05:00Z"
    assert len(bytes.fromhex(issued.nonce)) == 16


def test_the_nonce_of_a_challenge_is_the_same_in_every_release() -> None:
    # Replicas of two releases would refuse each other's challenges.
    assert make_challenges().issue(PATH, NOW).nonce == "00000000000000013dcfd0401c87587b"


def test_no_two_challenges_have_the_same_nonce() -> None:
    challenges = Challenges(SessionKeys(NEW), SERVICE, 31337)
    assert len({challenges.issue(PATH, NOW).nonce for _ in range(1_000)}) == 1_000


def test_an_answer_proves_the_address_of_its_signer(signer: LocalAccount, sign_text: Sign) -> None:
    claim = answer(signer, sign_text)
    proof = proved(CHALLENGES.verify(claim, PATH, NOW))
    assert proof == SignInProof(signer.address.lower(), claim.nonce)
    lower = replace(claim, address=signer.address.lower())
    assert proved(CHALLENGES.verify(lower, PATH, NOW)) == proof


@pytest.mark.parametrize(
    "changes",
    [
        *({"domain": "press.example"}, {"domain": "PRESS.example:8443"}, {"domain": "evil.test"}),
        *({"uri": f"{SERVICE}/posts/8/content"}, {"uri": f"{SERVICE}/posts/7.md"}),
        *(
            {"uri": f"{SERVICE}{PATH}?"},
            {"uri": f"{SERVICE}{PATH}#a"},
            {"uri": f"{SERVICE}{PATH}/"},
        ),
        *({"uri": f"http://press.example:8443{PATH}"}, {"uri": f"https://press.example{PATH}"}),
        *({"network": "eip155:1"}, {"network": "eip155:313370"}),
        *({"nonce": "0" * 32}, {"nonce": "A" * 32}, {"nonce": "12345678"}, {"nonce": "f" * 31}),
        *({"issued_at": "2030-01-31T12:00:01Z"}, {"issued_at": "2030-01-31T12:00:00.0Z"}),
        {"issued_at": "2030-01-31T13:00:00+01:00"},
    ],
)
def test_an_answer_for_another_host_path_chain_or_time_is_refused(
    signer: LocalAccount, sign_text: Sign, refused: Refused, changes: dict[str, Any]
) -> None:
    claim = answer(signer, sign_text, **changes)
    assert refused(lambda: CHALLENGES.verify(claim, PATH, NOW)) is Code.SIGNATURE_INVALID


def test_a_nonce_is_bound_to_its_path_even_if_the_message_names_another(
    signer: LocalAccount, sign_text: Sign, refused: Refused
) -> None:
    nonce = CHALLENGES.issue("/posts/8/content", NOW).nonce
    moved = answer(signer, sign_text, nonce=nonce)
    assert refused(lambda: CHALLENGES.verify(moved, PATH, NOW)) is Code.SIGNATURE_INVALID


@given(st.text("0123456789abcdef", min_size=32, max_size=32))
def test_an_invented_nonce_is_refused(nonce: str) -> None:
    claim = SignInClaim(
        "press.example:8443",
        "0x" + "11" * 20,
        SERVICE + PATH,
        "eip155:31337",
        nonce,
        "2030-01-31T12:00:00Z",
        "0x",
    )
    with pytest.raises(Refusal, match="not issued by this service"):
        CHALLENGES.verify(claim, PATH, NOW)


def test_a_nonce_with_any_changed_bit_is_refused(
    signer: LocalAccount, sign_text: Sign, refused: Refused
) -> None:
    issued = int(CHALLENGES.issue(PATH, NOW).nonce, 16)
    for bit in range(128):
        claim = answer(signer, sign_text, nonce=f"{issued ^ 1 << bit:032x}")
        assert refused(lambda: CHALLENGES.verify(claim, PATH, NOW)) is Code.SIGNATURE_INVALID  # noqa: B023


def test_a_nonce_has_only_one_spelling(
    signer: LocalAccount, sign_text: Sign, refused: Refused
) -> None:
    challenges = Challenges(SessionKeys(NEW), SERVICE, 31337, lambda size: b"\xab" * size)
    nonce = challenges.issue(PATH, NOW).nonce
    random = "ab" * 8
    assert nonce.startswith(random)
    claim = answer(signer, sign_text, challenges, nonce=random.upper() + nonce[len(random) :])
    assert refused(lambda: challenges.verify(claim, PATH, NOW)) is Code.SIGNATURE_INVALID


def test_the_previous_key_is_accepted_and_an_older_one_is_not(
    signer: LocalAccount, sign_text: Sign, refused: Refused
) -> None:
    claim = answer(signer, sign_text, make_challenges(OLD))
    assert proved(make_challenges(NEW, OLD).verify(claim, PATH, NOW)).nonce == claim.nonce
    code = refused(lambda: make_challenges(NEW).verify(claim, PATH, NOW))
    assert code is Code.SIGNATURE_INVALID
    new = answer(signer, sign_text, make_challenges(NEW, OLD))
    assert proved(make_challenges(NEW).verify(new, PATH, NOW)).nonce == new.nonce


@pytest.mark.parametrize(
    ("passed", "code"),
    [
        (CHALLENGE_TIME, Code.SIGNATURE_STALE),
        (CHALLENGE_TIME - timedelta(microseconds=1), None),
        (-timedelta(seconds=CLOCK_SKEW_SECONDS), None),
        (-timedelta(seconds=CLOCK_SKEW_SECONDS, microseconds=1), Code.SIGNATURE_STALE),
    ],
)
def test_an_answer_is_valid_only_while_its_challenge_is(
    signer: LocalAccount, sign_text: Sign, refused: Refused, passed: timedelta, code: Code | None
) -> None:
    claim = answer(signer, sign_text, expires_at=None)
    assert refused(lambda: CHALLENGES.verify(claim, PATH, NOW + passed)) is code


@pytest.mark.parametrize(
    "changes",
    [{"expires_at": "2030-01-31T12:00:00Z"}, {"not_before": "2030-01-31T12:00:00.000001Z"}],
)
def test_a_client_may_shorten_the_validity_of_its_answer(
    signer: LocalAccount, sign_text: Sign, refused: Refused, changes: dict[str, Any]
) -> None:
    claim = answer(signer, sign_text, **changes)
    assert refused(lambda: CHALLENGES.verify(claim, PATH, NOW)) is Code.SIGNATURE_STALE


def test_an_answer_is_valid_from_the_time_that_its_client_chose(
    signer: LocalAccount, sign_text: Sign, refused: Refused
) -> None:
    claim = answer(signer, sign_text, not_before="2030-01-31T12:00:00Z")
    assert refused(lambda: CHALLENGES.verify(claim, PATH, NOW)) is None


def test_the_address_must_be_the_signers_address(
    signer: LocalAccount, stranger: LocalAccount, sign_text: Sign, refused: Refused
) -> None:
    stolen = replace(answer(stranger, sign_text), address=signer.address)
    assert isinstance(CHALLENGES.verify(stolen, PATH, NOW), Unproved)
    assert refused(lambda: CHALLENGES.verify(stolen, PATH, NOW)) is Code.SIGNATURE_INVALID
    nobody = replace(stolen, address="0x" + "00" * 20)
    assert refused(lambda: CHALLENGES.verify(nobody, PATH, NOW)) is Code.SIGNATURE_INVALID


@pytest.mark.parametrize(
    "changes",
    [
        *({"statement": "a\n\nURI: b"}, {"request_id": "a\nResources:"}, {"domain": "a\nb"}),
        *(
            {"nonce": "a" * 8 + "\nIssued At: 2030-01-31T12:00:00Z"},
            {"domain": "https://press.example"},
        ),
        *({"version": "2"}, {"type": "eip1271"}, {"network": "solana:x"}, {"network": "eip155:0"}),
        *({"network": "eip155:1" + "0" * 78}, {"issued_at": "now"}, {"not_before": "now"}),
        *({"uri": "posts/7"}, {"resources": ("not a URI",)}, {"statement": "x" * 5_000}),
    ],
)
def test_a_malformed_field_is_refused(
    signer: LocalAccount, sign_text: Sign, refused: Refused, changes: dict[str, Any]
) -> None:
    claim = replace(answer(signer, sign_text), **changes)
    assert refused(lambda: CHALLENGES.verify(claim, PATH, NOW)) is Code.INVALID_LOGIN_MESSAGE


def test_the_signature_is_not_printed(signer: LocalAccount, sign_text: Sign) -> None:
    claim = answer(signer, sign_text)
    assert claim.signature[2:20] not in repr(claim)


@pytest.mark.parametrize(
    ("uri", "is_one"),
    [
        (f"{SERVICE}{PATH}", True),
        (f"{SERVICE}/posts/7.md", True),
        (f"{SERVICE}{PATH}?a=1", True),
        (f"{SERVICE}/posts/7.md#a", True),
        (f"{SERVICE}/", False),
        (f"{SERVICE}/posts/7", False),
        (f"{SERVICE}/studio?next=/posts/7/content", False),
    ],
)
def test_a_login_message_with_the_uri_of_a_challenge_is_recognized(uri: str, is_one: bool) -> None:
    assert is_challenged(parse_uri(uri)) is is_one
