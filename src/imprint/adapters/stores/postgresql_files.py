"""`FileStore` on PostgreSQL: the statements of the rules with less overhead.

Every logout writes a random mark in its transaction. While a statement sees the same mark, no
session has been ended, so a session that was checked once need not be checked again. Reading the
mark takes half the time of checking a session. The row of the mark serializes logouts, so a reader
that sees the mark of one logout sees all earlier logouts.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from imprint.adapters.database.postgresql.database import PostgresqlDatabase
from imprint.adapters.database.postgresql.pool import Connection
from imprint.adapters.database.postgresql.snapshots import SNAPSHOT
from imprint.adapters.database.postgresql.transaction import number_values, translate
from imprint.adapters.database.transaction import Value
from imprint.adapters.stores.ended_sessions import (
    IS_ENDED_IN_POSTGRESQL,
    refuse_ended,
    session_values,
)
from imprint.adapters.stores.files import (
    END,
    FILE_COLUMNS,
    LIST_DRAFTS,
    LIST_LIVE,
    LIST_POSTS,
    VERSION_BY_CID,
    VERSION_BY_POST,
    WIDTH,
    SqlFileStore,
    build_file,
    list_tagged,
    live_file_of,
)
from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.files import File
from imprint.domain.drafts.tags import MAX_TAGS
from imprint.domain.errors import Damaged
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.indexed_posts import ListFilter, OwnDrafts, PublicList
from imprint.domain.sessions import Session, session_ended
from imprint.ports import Monotonic, monotonic
from imprint.ports.files import FileList

# Single files

MOST_SESSIONS = 10_000
"""Number of sessions that a process caches."""

_MARK = "(SELECT value FROM counters WHERE name = 'ended_sessions') AS mark"

_BY_CID, _ = number_values(VERSION_BY_CID, None)
_BY_POST, _ = number_values(VERSION_BY_POST, None)


def _with(text: str, *columns: str) -> str:
    return number_values(text.replace(" FROM ", f", {', '.join(columns)} FROM ", 1), None)[0]


_FINDS = {_BY_CID: VERSION_BY_CID, _BY_POST: VERSION_BY_POST}

MARKED = {find: _with(text, _MARK) for find, text in _FINDS.items()}
"""Statement that finds a file and the mark."""

CHECKED = {
    find: _with(text, _MARK, f"{IS_ENDED_IN_POSTGRESQL} AS ended") for find, text in _FINDS.items()
}
"""Statement that finds a file, the mark, and whether a session is ended. The session's generation,
id and address are the first parameters."""


class KnownSessions:
    """Ids of sessions that were live when this mark was current."""

    def __init__(self) -> None:
        self._mark: int | None = None
        self._ids: BoundedCache[str, None] = BoundedCache(MOST_SESSIONS)

    def may_know(self, session: Session) -> bool:
        """Whether this session was live at the last mark seen."""
        return session.id in self._ids

    def knows(self, session: Session, mark: int | None) -> bool:
        """Whether this session was live at this mark."""
        return mark == self._mark and session.id in self._ids

    def add(self, session: Session, mark: int | None) -> None:
        """Record a session that was live at this mark."""
        if mark != self._mark:
            self._ids.clear()
            self._mark = mark
        self._ids.put(session.id, None)


# Lists

_COUNTED = 20_000
"""Maximum number of files to count per tag. This takes some milliseconds."""

COUNT_SECONDS = 60.0
"""Seconds after which a tag is counted again."""

MOST_TAGS = 10_000
"""Number of tags whose counts a process caches."""

_CHANGED = f"{SNAPSHOT} <> :known"
"""Condition that the snapshot has changed, evaluated once before any row is read."""

_LIST = f"""
SELECT page.*, {SNAPSHOT} AS snapshot, {{ended}} AS ended
FROM (SELECT 1) AS one
LEFT JOIN LATERAL (SELECT listed.*, true AS present FROM ({{text}}) AS listed) AS page ON true"""  # noqa: S608

COUNT_TAGS = {
    drafts_too: f"""
SELECT given.tag, (
    SELECT count(*) FROM (
        SELECT 1 FROM file_tags c WHERE c.tag = given.tag {wanted} LIMIT {_COUNTED}
    ) AS counted
) AS files FROM unnest(CAST(:tags AS TEXT[])) AS given (tag)"""  # noqa: S608
    for drafts_too, wanted in ((False, "AND c.state = 'onchain'"), (True, ""))
}
"""Counts the files of each tag, with or without drafts."""


class TagCounts:
    """How many files each tag has, counted at most once a minute.

    Counting two frequent tags takes many times as long as reading a page of their list. With an old
    count, a list may follow the wrong tag, which is slower but has the same result.
    """

    def __init__(self, clock: Monotonic = monotonic) -> None:
        self._clock = clock
        self._counts: BoundedCache[tuple[str, bool], tuple[int, float]] = BoundedCache(MOST_TAGS)

    def uncounted(self, tags: Iterable[str], drafts_too: bool) -> list[str]:
        """Those of the tags that must be counted."""
        oldest = self._clock() - COUNT_SECONDS
        uncounted = (0, -math.inf)
        return [t for t in tags if self._counts.get((t, drafts_too), uncounted)[1] < oldest]

    def add(self, tag: str, drafts_too: bool, files: int) -> None:
        """Record the number of files that have just been counted."""
        self._counts.put((tag, drafts_too), (files, self._clock()))

    def sort(self, tags: Iterable[str], drafts_too: bool) -> list[str]:
        """The tags in the order in which a list narrows them down, rarest first."""
        return sorted(tags, key=lambda tag: self._counts.get((tag, drafts_too), (0, 0.0))[0])


_LIST_TAGGED = """
WITH found AS MATERIALIZED (
    SELECT t.position FROM file_tags t WHERE t.tag = :tag0 AND t.position < :before {also}
    ORDER BY t.position DESC LIMIT :limit
) {columns} FROM found
LEFT JOIN LATERAL (SELECT * FROM files x WHERE x.position = found.position LIMIT 1) f ON true
LEFT JOIN LATERAL (SELECT * FROM file_groups x WHERE x.id = f.group_id LIMIT 1) g ON true
ORDER BY found.position DESC"""
"""Finds the positions before it reads any file, and reads each file in a separate subquery, so that
the tags are walked in list order no matter what the planner estimates."""

_ALSO_TAGGED = """
AND (SELECT true FROM file_tags o WHERE o.tag = :tag AND o.position = t.position)"""


def _list_tagged(tags: int, drafts_too: bool, also: str = "") -> str:
    also += "" if drafts_too else " AND t.state = 'onchain'"
    also += "".join(_ALSO_TAGGED.replace(":tag", f":tag{number}") for number in range(1, tags))
    return _LIST_TAGGED.format(columns=FILE_COLUMNS, also=also)


LISTS: Mapping[str, str] = {
    **{
        text: _LIST.format(text=text.replace(" WHERE ", f" WHERE {_CHANGED} AND "), ended="false")
        for text in (LIST_DRAFTS, LIST_LIVE, LIST_POSTS)
    },
    **{
        list_tagged(tags, drafts_too): _LIST.format(
            text=_list_tagged(tags, drafts_too, f"AND {_CHANGED}"), ended="false"
        )
        for tags in range(1, MAX_TAGS + 1)
        for drafts_too in (False, True)
    },
}
"""Reads a list by its rule's statement, in one round trip, and only if the list has changed."""

LIST_DRAFTS_FOR = LISTS[LIST_DRAFTS].replace("false AS", f"{IS_ENDED_IN_POSTGRESQL} AS")
"""Reads a list of drafts for a session."""


def list_statement(
    which: ListFilter, before: int | None, limit: int, session: Session | None
) -> tuple[str, dict[str, Value]]:
    """A single statement that reads a list unless the snapshot is `known`.

    A list by several tags follows the first tag. The statement always returns a row. If nothing was
    read or the list is empty, that row is not `present`. Each row says whether the session is
    `ended`.
    """
    values: dict[str, Value] = {"before": END if before is None else before, "limit": limit}
    if isinstance(which, OwnDrafts):
        values["owner"] = which.owner
        if session is None:
            return LISTS[LIST_DRAFTS], values
        return LIST_DRAFTS_FOR, values | session_values(session)
    if not which.tags:
        return LISTS[LIST_LIVE if which.drafts_too else LIST_POSTS], values
    tags = dict.fromkeys(which.tags)
    values |= {f"tag{number}": tag for number, tag in enumerate(tags)}
    return LISTS[list_tagged(len(tags), which.drafts_too)], values


@dataclass(frozen=True, slots=True)
class PostgresqlFileStore(SqlFileStore):
    """Files of all owners. Lists are cached until a transaction ends."""

    database: PostgresqlDatabase
    _sessions: KnownSessions = field(default_factory=KnownSessions, init=False)
    _counts: TagCounts = field(default_factory=TagCounts, init=False)

    async def file_by_cid(self, cid: Cid, session: Session | None = None) -> File | None:
        return await self._find(_BY_CID, cid, session)

    async def file_by_post_id(self, post_id: int, session: Session | None = None) -> File | None:
        return await self._find(_BY_POST, str(post_id), session)

    async def _find(self, text: str, value: str, session: Session | None) -> File | None:
        retry_read, rows_of = self.database.retry_read, self.database.pool.rows
        if session is None:
            rows = await retry_read(rows_of, text, (value,))
            return self.live(rows[0] if rows else None)
        if self._sessions.may_know(session):
            rows = await retry_read(rows_of, MARKED[text], (value,))
            # Another request may have seen another mark meanwhile.
            if rows and self._sessions.knows(session, rows[0]["mark"]):
                return self.live(rows[0][:WIDTH])
        values = (session.generation, session.id, session.address, value)
        rows = await retry_read(rows_of, CHECKED[text], values)
        if not rows:
            await self.database.read(refuse_ended, session)
            return self.live(None)
        if rows[0]["ended"]:
            raise session_ended()
        self._sessions.add(session, rows[0]["mark"])
        return self.live(rows[0][:WIDTH])

    def live(self, row: Iterable[Any] | None) -> File | None:
        """The file of a row if it is live."""
        try:
            file = live_file_of(row)
        except Damaged as problem:
            self.database.note(problem)
            raise
        if file is None:
            self._refuse_miss()
        return file

    async def list_files(
        self, which: ListFilter, before: int | None, limit: int, session: Session | None = None
    ) -> FileList:
        self._refuse_miss()
        return await self.database.retry_read(self._read_list, which, before, limit, session)

    async def _read_list(
        self, which: ListFilter, before: int | None, limit: int, session: Session | None
    ) -> FileList:
        """Read a list, unless the cached one is still current.

        A list cached for a session was read while the session was live. If the session had been
        ended since, a transaction would have ended, too.
        """
        lists = self.database.lists
        key = which, before, limit, None if session is None else session.id
        known: tuple[tuple[str, str], FileList] | None = lists.known(key)
        if known is not None and await lists.is_current(known[0]):
            return known[1]
        async with self.database.pool.connection() as connection:
            server = connection.server
            if isinstance(which, PublicList) and len(which.tags) > 1:
                which = await self._rarest_first(connection, which)
            text, values = list_statement(which, before, limit, session)
            values["known"] = known[0][1] if known and known[0][0] == server else ""
            rows = await connection.run(*translate(text, values))
        if rows[0]["ended"]:
            raise session_ended()
        snapshot = server, rows[0]["snapshot"]
        if known and known[0] == snapshot:
            files = known[1]
        else:
            files = FileList(build_file(*row[:WIDTH]) for row in rows if row["present"])
        lists.remember(key, snapshot, files)
        return files

    async def _rarest_first(self, connection: Connection, which: PublicList) -> PublicList:
        drafts_too = which.drafts_too
        if uncounted := self._counts.uncounted(which.tags, drafts_too):
            counted = translate(COUNT_TAGS[drafts_too], {"tags": uncounted})
            for row in await connection.run(*counted):
                self._counts.add(row["tag"], drafts_too, row["files"])
        return replace(which, tags=tuple(self._counts.sort(which.tags, drafts_too)))
