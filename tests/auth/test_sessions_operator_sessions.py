"""Sessions for the operator's page."""

from datetime import UTC, datetime, timedelta

import pytest

from imprint.auth.sessions import LIFETIME, OperatorSessions

SECRET = b"the secret of an operator, long enough"
NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture
def sessions() -> OperatorSessions:
    return OperatorSessions(SECRET)


def test_only_the_exact_secret_is_accepted(sessions: OperatorSessions) -> None:
    assert sessions.is_secret(SECRET)
    assert not any(map(sessions.is_secret, (b"", SECRET[:-1], SECRET + b" ", SECRET.upper())))


def test_a_session_is_valid_until_it_expires(sessions: OperatorSessions) -> None:
    session = sessions.issue(NOW)
    assert sessions.is_valid(session, NOW + timedelta(hours=12, seconds=-1))
    assert not sessions.is_valid(session, NOW + timedelta(hours=12))


def test_a_session_is_the_same_in_every_release(sessions: OperatorSessions) -> None:
    # Replicas of two releases would refuse each other's sessions.
    signature = "42b223a3a0c442b4b9945d96ef065232c8eb7238bca7c9be9aee5905c858463a"
    assert sessions.issue(NOW) == f"1794873600.{signature}"


def test_changing_the_secret_ends_all_sessions(sessions: OperatorSessions) -> None:
    assert not OperatorSessions(SECRET + b"2").is_valid(sessions.issue(NOW), NOW)


def test_the_previous_secret_and_its_sessions_are_accepted(sessions: OperatorSessions) -> None:
    new = OperatorSessions(b"the next secret of the operator, long", SECRET)
    assert new.is_secret(SECRET)
    assert new.is_valid(sessions.issue(NOW), NOW)
    assert not new.is_valid(sessions.issue(NOW), NOW + LIFETIME)
    assert not sessions.is_valid(new.issue(NOW), NOW)
    assert not new.is_secret(b"another")


def test_a_session_cannot_be_extended_by_its_holder(sessions: OperatorSessions) -> None:
    expires, _, signature = sessions.issue(NOW).partition(".")
    assert not sessions.is_valid(f"{int(expires) + 60}.{signature}", NOW)


@pytest.mark.parametrize("text", ["", ".", "1", "x.y", "9999999999." + "0" * 64, "é." + "a" * 64])
def test_a_forged_session_is_not_valid(sessions: OperatorSessions, text: str) -> None:
    assert not sessions.is_valid(text, NOW)


def test_a_session_does_not_contain_the_secret(sessions: OperatorSessions) -> None:
    assert SECRET.decode() not in sessions.issue(NOW)
