"""What the store of files on PostgreSQL caches: session checks, and the counts of tags."""

from datetime import UTC, datetime

from imprint.adapters.stores.postgresql_files import (
    COUNT_SECONDS,
    MOST_SESSIONS,
    MOST_TAGS,
    KnownSessions,
    TagCounts,
)
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


def test_a_list_follows_the_rarest_tag_and_counts_it_again_after_a_minute() -> None:
    now = [5.0]
    counts = TagCounts(lambda: now[0])
    tags = ("common", "rare")
    assert counts.uncounted(tags, drafts_too=False) == ["common", "rare"]
    counts.add("common", False, 9)
    now[0] += COUNT_SECONDS
    counts.add("rare", False, 1)
    assert counts.sort(tags, drafts_too=False) == ["rare", "common"]
    assert counts.uncounted(tags, drafts_too=False) == []
    assert counts.uncounted(tags, drafts_too=True) == ["common", "rare"]
    now[0] += 1
    assert counts.uncounted(tags, drafts_too=False) == ["common"]


def test_the_number_of_cached_counts_is_bounded() -> None:
    counts = TagCounts(lambda: 0.0)
    for number in range(MOST_TAGS + 1):
        counts.add(str(number), False, 1)
    assert counts.uncounted(["0", "1"], drafts_too=False) == ["0"]
