"""Cached session checks are no longer used once a logout has set a new mark."""

from datetime import UTC, datetime

from imprint.adapters.stores.postgresql_files import MOST_SESSIONS, KnownSessions
from imprint.domain.formats.addresses import Address
from imprint.domain.sessions import Session


def session_of(name: str) -> Session:
    return Session(Address("0x" + "ab" * 20), datetime(2030, 1, 1, tzinfo=UTC), name)


ONE, TWO = session_of("one"), session_of("two")


def test_a_cached_session_is_valid_only_until_the_logout_mark_changes() -> None:
    known = KnownSessions()
    assert not known.may_know(ONE)
    known.add(ONE, None)
    assert known.may_know(ONE)
    assert known.knows(ONE, None)
    assert not known.knows(ONE, 7)
    assert not known.knows(TWO, None)


def test_a_new_logout_mark_clears_every_cached_session() -> None:
    known = KnownSessions()
    known.add(ONE, 7)
    known.add(TWO, 8)
    assert not known.may_know(ONE)
    assert not known.knows(ONE, 7)
    assert not known.knows(ONE, 8)
    assert known.knows(TWO, 8)


def test_the_number_of_cached_sessions_is_bounded() -> None:
    known = KnownSessions()
    for number in range(MOST_SESSIONS + 1):
        known.add(session_of(str(number)), 7)
    assert not known.may_know(session_of("0"))
    assert known.knows(session_of(str(MOST_SESSIONS)), 7)
