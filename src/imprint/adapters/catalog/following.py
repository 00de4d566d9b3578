"""What the follower of the chain remembers: the blocks that it has read, and whose turn it is."""

from collections.abc import Iterable
from datetime import datetime

from imprint.adapters.catalog import statements as sql
from imprint.adapters.catalog.holding import hold_events
from imprint.adapters.catalog.rows import event_of, identity_values, micros, moment_of
from imprint.adapters.catalog.settling import apply_claims, apply_kept, settle, unbind
from imprint.adapters.catalog.steps import Query, Row, Steps, Value
from imprint.domain.files import File
from imprint.domain.posts import (
    Advance,
    ApplyResult,
    BlockRef,
    EventReport,
    EventStatus,
    KeptLetter,
    KnownEvent,
    LogPlace,
)

STAND, FINAL = "stand", "final"
"""The two blocks of a chain that are remembered."""


def read_mark(chain_id: int, kind: str) -> Steps[BlockRef | None]:
    """The block that is remembered in this role."""
    rows = yield Query(sql.MARK, {"chain_id": chain_id, "kind": kind})
    return BlockRef(*rows[0]) if rows else None


def known_events(chain_id: int, first: int, last: int) -> Steps[list[KnownEvent]]:
    """The canonical events between two heights."""
    values: dict[str, Value] = {"chain_id": chain_id, "first": first, "last": last}
    rows = yield Query(sql.KNOWN_EVENTS, values)
    return [_known_event(row) for row in rows]


def unconfirmed_events(chain_id: int, limit: int) -> Steps[list[KnownEvent]]:
    """Canonical events that the follower has not read itself, the oldest first."""
    rows = yield Query(sql.UNCONFIRMED_EVENTS, {"chain_id": chain_id, "limit": limit})
    return [_known_event(row) for row in rows]


def report_events(limit: int) -> Steps[EventReport]:
    """Counts of all outcomes, and the newest events and letters that did not work out."""
    counts = {}
    for status in EventStatus:
        counts[status] = (yield Query(sql.COUNT_EVENTS, {"status": status.value}))[0][0]
    counts[EventStatus.DEAD_LETTER] = (yield Query(sql.COUNT_DEAD_LETTERS))[0][0]
    found = {}
    for status in (EventStatus.AUTHOR_MISMATCH, EventStatus.UNKNOWN_FILE):
        rows = yield Query(sql.EVENTS_OF_STATUS, {"status": status.value, "limit": limit})
        found[status] = tuple(map(_known_event, rows))
    rows = yield Query(sql.DEAD_LETTERS, {"limit": limit})
    letters = tuple(KeptLetter(row[0], row[1], row[2], row[3], moment_of(row[4])) for row in rows)
    return EventReport(
        counts, found[EventStatus.AUTHOR_MISMATCH], found[EventStatus.UNKNOWN_FILE], letters
    )


def advance(chain_id: int, step: Advance, at: datetime) -> Steps[ApplyResult]:
    """Take the chain's own word: undo what is lost, settle what stands, remember where we are."""
    yield from _hold(step)
    yield from _lose(step.lost)
    settlement = yield from settle(None, step.events, step.dead_letters, at, canonical=True)
    if step.cursor is not None:
        yield _note_mark(chain_id, STAND, step.cursor)
    if step.final is not None:
        yield _note_mark(chain_id, FINAL, step.final)
    return settlement


def _hold(step: Advance) -> Steps[None]:
    touched = list(step.events)
    for place in step.lost:
        rows = yield Query(sql.CANONICAL_EVENT, identity_values(place))
        touched += [event_of(row) for row in rows]
    yield hold_events(touched)


def _lose(places: Iterable[LogPlace]) -> Steps[None]:
    """Undo what events did that are not on the chain.

    Their files are drafts again, unless another event that is still canonical claims them; so are
    their post ids free, unless one claims those.
    """
    files: list[File] = []
    post_ids: set[str] = set()
    for place in places:
        rows = yield Query(sql.CANONICAL_EVENT, identity_values(place))
        for row in rows:
            post_ids.add(row[5])
            if row[10] is not None:
                files.append((yield from unbind(row[10])))
            yield Query(sql.LOSE_EVENT, identity_values(place))
    for file in files:
        yield from apply_kept(file)
    for post_id in sorted(post_ids):
        yield from apply_claims(post_id)


def _known_event(row: Row) -> KnownEvent:
    return KnownEvent(event_of(row), moment_of(row[9]), bool(row[11]))


def _note_mark(chain_id: int, kind: str, mark: BlockRef) -> Query:
    values: dict[str, Value] = {
        "chain_id": chain_id,
        "kind": kind,
        "number": mark.number,
        "block_hash": mark.block_hash.lower(),
    }
    return Query(sql.NOTE_MARK, values)


def take_lease(name: str, holder: str, now: datetime, until: datetime) -> Steps[bool]:
    """Take or prolong a lease; False while another holder has it."""
    values: dict[str, Value] = {
        "name": name,
        "holder": holder,
        "held_until": micros(until),
        "now": micros(now),
    }
    rows = yield Query(sql.TAKE_LEASE, values)
    return bool(rows)


def release_lease(name: str, holder: str) -> Steps[None]:
    """Give a lease back, if it is still this holder's."""
    yield Query(sql.RELEASE_LEASE, {"name": name, "holder": holder})
