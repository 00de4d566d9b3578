"""Sessions issued here can be read by any JWT library, and all other sessions are refused."""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from tests.auth.tokens import (
    AT,
    AUDIENCE,
    CLAIMS,
    HEADER,
    ISSUER,
    KEY,
    NOW,
    OTHER,
    READER,
    SESSIONS,
    Refused,
    read,
    sign,
)

from imprint.auth.sessions import SessionKeys, Sessions, key_id
from imprint.domain.errors import Code, Refusal
from imprint.domain.sessions import Session


def test_an_issued_session_is_read_back() -> None:
    issued = SESSIONS.issue(READER, NOW)
    assert issued.expires_at == datetime.fromtimestamp(AT + 7200, UTC)
    session = read(issued.token)
    assert (session.address, session.expires_at) == (READER, issued.expires_at)


def test_an_issued_session_can_be_read_by_another_jwt_library() -> None:
    random = Sessions(SessionKeys(KEY), ISSUER, AUDIENCE, random_bytes=lambda n: b"\x07" * n)
    token = random.issue(READER, NOW).token
    options: Any = {"verify_exp": False, "verify_iat": False, "require": list(CLAIMS)}
    claims = jwt.decode(
        token, KEY, algorithms=["HS256"], audience=AUDIENCE, issuer=ISSUER, options=options
    )
    assert claims == {**CLAIMS, "jti": "0-" + "07" * 16, "address": READER}
    assert jwt.get_unverified_header(token) == HEADER


def test_the_id_of_a_key_is_the_same_in_every_release() -> None:
    # Replicas of two releases would refuse each other's sessions.
    assert key_id(KEY) == "f88f1221"


def test_a_session_encoded_by_another_jwt_library_is_read() -> None:
    token = jwt.encode(CLAIMS, KEY, algorithm="HS256", headers={"kid": key_id(KEY)})
    assert read(token) == Session(READER, datetime.fromtimestamp(AT + 7200, UTC), CLAIMS["jti"])


@pytest.mark.parametrize("added", [{}, {"address": READER}])
def test_a_session_from_an_older_release_without_the_address_is_read(added: dict[str, str]) -> None:
    assert read(sign(claims=CLAIMS | added)).address == READER


def test_no_two_sessions_are_the_same() -> None:
    assert SESSIONS.issue(READER, NOW) != SESSIONS.issue(READER, NOW)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
def test_the_scheme_is_case_insensitive(scheme: str) -> None:
    assert SESSIONS.read(f"{scheme} {sign()}", NOW).address == READER


def test_a_missing_header_is_a_missing_session(refused: Refused) -> None:
    assert refused(lambda: SESSIONS.read(None, NOW)) is Code.SESSION_MISSING


@pytest.mark.parametrize(
    ("later", "code"),
    [
        (timedelta(seconds=7199), None),
        (timedelta(seconds=7200), Code.SESSION_EXPIRED),
        (timedelta(days=3650), Code.SESSION_EXPIRED),
    ],
)
def test_a_session_lasts_two_hours(later: timedelta, code: Code | None, refused: Refused) -> None:
    token = SESSIONS.issue(READER, NOW.replace(microsecond=0)).token
    assert refused(lambda: read(token, NOW.replace(microsecond=0) + later)) is code


@pytest.mark.parametrize(("ahead", "code"), [(5, None), (6, Code.SESSION_INVALID)])
def test_the_clock_of_the_issuer_may_be_five_seconds_ahead(
    ahead: int, code: Code | None, refused: Refused
) -> None:
    now = NOW.replace(microsecond=0)
    token = SESSIONS.issue(READER, now + timedelta(seconds=ahead)).token
    assert refused(lambda: read(token, now)) is code


def test_after_a_rotation_the_previous_key_can_read_but_not_sign_sessions(
    refused: Refused,
) -> None:
    old = SESSIONS.issue(READER, NOW).token
    rotated = Sessions(SessionKeys(OTHER, previous=KEY), ISSUER, AUDIENCE)
    new = rotated.issue(READER, NOW).token
    assert read(old, sessions=rotated).address == read(new, sessions=rotated).address == READER
    assert jwt.get_unverified_header(new)["kid"] == key_id(OTHER)
    assert refused(lambda: read(new)) is Code.SESSION_INVALID
    forgotten = Sessions(SessionKeys(OTHER), ISSUER, AUDIENCE)
    assert refused(lambda: read(old, sessions=forgotten)) is Code.SESSION_INVALID


@pytest.mark.parametrize("keys", [(b"", None), (KEY, b"")])
def test_an_empty_key_is_refused(keys: tuple[bytes, bytes | None]) -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        SessionKeys(*keys)


def test_the_repr_of_keys_and_sessions_hides_secrets() -> None:
    issued = SESSIONS.issue(READER, NOW)
    assert "kkkk" not in repr(SessionKeys(KEY, KEY))
    assert issued.token not in repr(issued)


def test_a_key_id_is_not_a_prefix_of_the_plain_key_hash() -> None:
    assert key_id(KEY) != hashlib.sha256(KEY).hexdigest()[:8]


@pytest.mark.parametrize("generation", [0, 1, 2**62 - 1])
def test_a_session_has_the_generation_it_was_issued_with(generation: int) -> None:
    session = read(SESSIONS.issue(READER, NOW, generation).token)
    assert session.generation == generation
    assert session.id.startswith(f"{generation}-")


def test_a_session_from_an_older_release_has_no_generation() -> None:
    assert read(sign()).generation == 0


@pytest.mark.parametrize("jti", ["-", "-00", "x-00", "1.5-00", "0x1-00"])
def test_a_session_with_a_non_numeric_generation_is_refused(jti: str, refused: Refused) -> None:
    assert refused(lambda: read(sign(claims=CLAIMS | {"jti": jti}))) is Code.SESSION_INVALID


@pytest.mark.parametrize("seconds", [1, 60, 5400, 7200])
def test_a_session_lasts_as_long_as_configured(seconds: int, refused: Refused) -> None:
    now = NOW.replace(microsecond=0)
    sessions = Sessions(SessionKeys(KEY), ISSUER, AUDIENCE, seconds)
    issued = sessions.issue(READER, now)
    assert issued.expires_at == now + timedelta(seconds=seconds)
    assert read(issued.token, issued.expires_at - timedelta(seconds=1)).address == READER
    assert refused(lambda: read(issued.token, issued.expires_at)) is Code.SESSION_EXPIRED


def test_a_session_that_was_read_before_is_not_verified_again(
    count_calls: Callable[[Callable[[], object]], int],
) -> None:
    sessions, other = (Sessions(SessionKeys(KEY), ISSUER, AUDIENCE) for _ in range(2))
    authorization = f"Bearer {sign()}"
    # Fills the caches that all sessions share, such as the cache of parsed addresses.
    other.read(authorization, NOW)
    first, again = (count_calls(lambda: sessions.read(authorization, NOW)) for _ in range(2))
    assert again < first


def test_a_session_issued_with_a_longer_duration_stays_valid() -> None:
    old = SESSIONS.issue(READER, NOW)
    shorter = Sessions(SessionKeys(KEY), ISSUER, AUDIENCE, 60)
    assert read(old.token, NOW + timedelta(seconds=7000), shorter).expires_at == old.expires_at


@pytest.mark.parametrize("given", ["{}", "Token {}", "Basic {}", "", "Bearer{}", "bear {}"])
def test_a_header_without_the_scheme_is_refused_with_a_hint(given: str) -> None:
    with pytest.raises(Refusal, match="word Bearer is missing") as caught:
        SESSIONS.read(given.format(sign()), NOW)
    assert caught.value.code is Code.SESSION_INVALID


@pytest.mark.parametrize("given", ["Bearer", "bearer ", "BEARER x", "beaRer  {}", "Bearer {}x"])
def test_an_invalid_header_with_the_scheme_is_refused_without_the_hint(given: str) -> None:
    with pytest.raises(Refusal, match="is not valid") as caught:
        SESSIONS.read(given.format(sign()), NOW)
    assert caught.value.code is Code.SESSION_INVALID
