"""Sessions that a process knows not to be ended, on PostgreSQL.

Every logout writes a random mark, in its transaction. While a statement sees the same mark, no
session was ended since, so one that was looked for once need not be looked for again: to read the
mark takes half the time. The row of the mark makes logouts wait for each other, so whoever sees the
mark of one sees all those before it.
"""

from imprint.adapters.catalog import ended_sessions, sql
from imprint.adapters.catalog.postgresql_sql import number_values
from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.sessions import Session

MOST_SESSIONS = 10_000
"""How many sessions a process knows."""

_MARK = "(SELECT value FROM counters WHERE name = 'ended_sessions') AS mark"

_FINDS = (sql.VERSION_BY_CID, sql.VERSION_BY_POST)


def _with(text: str, *columns: str) -> str:
    return number_values(text.replace(" FROM ", f", {', '.join(columns)} FROM ", 1), None)[0]


MARKED = {number_values(text, None)[0]: _with(text, _MARK) for text in _FINDS}
"""What finds a file, and the mark."""

CHECKED = {
    number_values(text, None)[0]: _with(
        text, _MARK, f"{ended_sessions.IS_ENDED_IN_POSTGRESQL} AS ended"
    )
    for text in _FINDS
}
"""What finds a file, the mark, and whether a session is ended: its generation, its id and its
address are the first values."""


class KnownSessions:
    """Ids of sessions that were not ended when the mark was this one."""

    def __init__(self) -> None:
        self._mark: int | None = None
        self._ids: BoundedCache[str, None] = BoundedCache(MOST_SESSIONS)

    def may_know(self, session: Session) -> bool:
        """Whether this session was not ended at the mark that was seen last."""
        return session.id in self._ids

    def knows(self, session: Session, mark: int | None) -> bool:
        """Whether this session was not ended at this mark."""
        return mark == self._mark and session.id in self._ids

    def add(self, session: Session, mark: int | None) -> None:
        """Note a session that was not ended at this mark."""
        if mark != self._mark:
            self._ids.clear()
            self._mark = mark
        self._ids.put(session.id, None)
