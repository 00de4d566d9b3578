"""`ModerationStore` in the database: the log of decisions, and reports."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from imprint.adapters.database.database import Database
from imprint.adapters.database.transaction import (
    Row,
    Sql,
    Transaction,
    Value,
    decision_checksum,
    kept_text,
    micros,
    moment_of,
)
from imprint.adapters.stores.files import END, FILE, file_of
from imprint.adapters.stores.posts.index_reader import find_tags, refuse_damaged_index
from imprint.domain.drafts.files import File
from imprint.domain.errors import Damaged
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.moderation import (
    Decision,
    Ground,
    LoggedDecision,
    Measure,
    Report,
    ReportReason,
    Show,
    Target,
    TargetKind,
    post_targets,
)

_DECISION = "SELECT id, at, measure, kind, target, ground, statement, checksum FROM measure_log"
DECISIONS_AFTER = _DECISION + " WHERE id > :after ORDER BY id LIMIT :limit"
NEWEST_DECISIONS = _DECISION + " WHERE id < :before ORDER BY id DESC LIMIT :limit"
LAST_DECISION = "SELECT id FROM measure_log WHERE id > 0 ORDER BY id DESC LIMIT 1"
ADD_DECISION = """
INSERT INTO measure_log (id, at, measure, kind, target, ground, statement, checksum)
VALUES (:id, :at, :measure, :kind, :target, :ground, :statement, :checksum)"""

MODERATION_LOCK = frozenset({"moderation"})
"""Lock under which decisions are added one at a time, so that they are numbered in commit order."""

WAIT_FOR_POSTS = Sql(
    "SELECT 1 AS one", postgresql="SELECT pg_advisory_xact_lock(5281730018833220013)"
)
"""Waits for transactions that add posts or publish files, because they may not see the decision."""

SHOW_POST = "UPDATE posts SET shown = -1 WHERE post_id = :target"
_SHOW = """
UPDATE posts SET shown = -1
WHERE place IN ({places} AND place > :after ORDER BY place LIMIT :limit) RETURNING place"""
"""Updates the visibility of some posts: triggers replace -1 with the right value. The next call
continues after the last position."""
SHOW_POSTS_OF = {
    TargetKind.POST: f"{SHOW_POST} RETURNING place",
    TargetKind.AUTHOR: _SHOW.format(places="SELECT place FROM posts WHERE author = :target"),
    TargetKind.CID: _SHOW.format(places="SELECT place FROM posts WHERE cid = :target"),
    TargetKind.TAG: _SHOW.format(places="SELECT place FROM post_tags WHERE tag = :target"),
    None: _SHOW.format(places="SELECT place FROM posts WHERE place >= 0"),
}
"""Statements that update the visibility of posts, for each type of target and for all posts."""

TAGGED_POSTS = """
SELECT t.position, f.post_id FROM file_tags t JOIN files f ON f.position = t.position
WHERE t.tag = :tag AND t.state = 'onchain' AND t.position > :after
ORDER BY t.position LIMIT :limit"""
"""Selects posts whose files have a hashtag. On the chain, the posts may have other hashtags."""

_AT_ONCE = 1_000
"""Number of posts whose visibility one statement updates."""

SHOWN_COUNTERS = "SELECT name, value FROM counters WHERE name IN ('show', 'shown')"
SET_COUNTER = """
INSERT INTO counters (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value"""
_SHOWS = (Show.ALL, Show.HOSTED, Show.ALLOWED)
"""The selections of posts to show. The table `counters` stores a selection as its index."""

AUTHORS_WITH_AVATAR = "SELECT address FROM profiles WHERE avatar_cid = :cid LIMIT :limit"

_EVENT = "SELECT post_id, author, cid FROM events WHERE canonical = 1 AND "
EVENTS_OF = {
    TargetKind.POST: _EVENT + "post_id = :target LIMIT :limit",
    TargetKind.CID: _EVENT + "cid = :target LIMIT :limit",
}
"""Selects the chain events with a post id or a cid."""

_MOST_EVENTS = 10
"""Maximum number of events to inspect, because anybody can claim a cid."""

_WITHHELD = """
SELECT 1 FROM measure_log m WHERE m.kind = '{kind}' AND m.target = :{kind}
AND m.measure = 'withheld' AND NOT EXISTS (
    SELECT 1 FROM measure_log u WHERE u.kind = '{kind}' AND u.target = :{kind} AND u.id > m.id
    AND u.measure = 'undone')"""
IS_WITHHELD = f"{_WITHHELD.format(kind='author')} UNION ALL {_WITHHELD.format(kind='cid')} LIMIT 1"

FILES_WITH_THUMBNAIL = FILE + (
    " WHERE g.thumbnail_cid = :cid AND f.state IN ('pending', 'onchain') LIMIT :limit"
)

_REPORT = "SELECT id, post_id, reason, text, contact, at, closed_at FROM reports"
OPEN_REPORTS = _REPORT + " WHERE closed_at IS NULL AND at >= 0 ORDER BY at, id LIMIT :limit"
ADD_REPORT = """
INSERT INTO reports (id, post_id, reason, text, contact, at)
VALUES (:id, :post_id, :reason, :text, :contact, :at)"""
COUNT_REPORTS = "SELECT count(*) AS count FROM reports"
DROP_CLOSED_REPORTS = """
DELETE FROM reports WHERE id IN (
    SELECT id FROM reports WHERE closed_at IS NOT NULL AND at >= 0 ORDER BY at, id LIMIT :limit)"""
DROP_OPEN_REPORTS = """
DELETE FROM reports WHERE id IN (
    SELECT id FROM reports WHERE closed_at IS NULL AND at >= 0 AND post_id = (
        SELECT post_id FROM reports WHERE closed_at IS NULL
        GROUP BY post_id ORDER BY count(*) DESC, min(at) LIMIT 1)
    ORDER BY at, id LIMIT :limit)"""
"""Drops reports of the most reported post, so that a flood of reports of one post does not displace
reports of other posts."""
CLOSE_REPORT = "UPDATE reports SET closed_at = :at WHERE id = :id AND closed_at IS NULL"


@dataclass(frozen=True, slots=True)
class SqlModerationStore:
    """The operator's decisions and the readers' reports."""

    database: Database

    async def decisions_after(self, number: int, limit: int) -> list[LoggedDecision]:
        values: dict[str, Value] = {"after": number, "limit": limit}
        return await self.database.fetch(decision_of, DECISIONS_AFTER, values, reach=limit)

    async def newest_decisions(self, limit: int) -> list[LoggedDecision]:
        values: dict[str, Value] = {"before": END, "limit": limit}
        return await self.database.fetch(decision_of, NEWEST_DECISIONS, values, reach=limit)

    async def add_decision(self, decision: Decision) -> LoggedDecision:
        return await self.database.transact(MODERATION_LOCK, _add_decision, decision)

    async def choose_shown(self, show: Show) -> None:
        chosen = _SHOWS.index(show)
        if await self.database.read(_is_chosen, chosen):
            return
        await self.database.transact(MODERATION_LOCK, _choose_shown, chosen)
        after: int | None = -1
        while after is not None:
            after = await self.database.transact(MODERATION_LOCK, _show_next, chosen, after)

    async def files_with_thumbnail(self, cid: Cid, limit: int) -> list[File]:
        values: dict[str, Value] = {"cid": cid, "limit": limit}
        return await self.database.fetch(file_of, FILES_WITH_THUMBNAIL, values, reach=limit)

    async def authors_with_avatar(self, cid: Cid, limit: int) -> list[Address]:
        values: dict[str, Value] = {"cid": cid, "limit": limit}
        return await self.database.fetch(_author_of, AUTHORS_WITH_AVATAR, values, reach=limit)

    async def tags_of_posts(self, post_ids: Sequence[int]) -> Mapping[int, Collection[str]]:
        refuse_damaged_index(self.database)
        ids = tuple(post_ids)
        return await self.database.cached(
            ("tags", ids), lambda: self.database.read(find_tags, ids, reach=2 * len(ids))
        )

    async def targets_of_event(self, target: Target) -> list[Target]:
        values: dict[str, Value] = {"target": target.value, "limit": _MOST_EVENTS}
        statement = EVENTS_OF[target.kind]
        found = await self.database.fetch(_targets_of, statement, values, reach=_MOST_EVENTS)
        return [each for targets in found for each in targets]

    async def add_report(self, report: Report, most: int) -> None:
        await self.database.transact((), _add_report, report, most)

    async def open_reports(self, limit: int) -> list[Report]:
        return await self.database.fetch(_report_of, OPEN_REPORTS, {"limit": limit}, reach=limit)

    async def close_reports(self, report_ids: Sequence[str], at: datetime) -> None:
        await self.database.transact((), _close_reports, report_ids, at)


def _targets_of(row: Row) -> list[Target]:
    return post_targets(int(row["post_id"]), Address(row["author"]), row["cid"] or "", ())


async def is_withheld(tx: Transaction, author: Address, cid: Cid | None) -> bool:
    """Whether a measure withholds an author or a document."""
    return await tx.fetchone(IS_WITHHELD, author=author, cid=cid or "") is not None


def _author_of(row: Row) -> Address:
    return Address(row["address"])


async def _add_decision(tx: Transaction, decision: Decision) -> LoggedDecision:
    await tx.fetchall(WAIT_FOR_POSTS)
    last = await tx.fetchone(LAST_DECISION)
    number = 1 if last is None else last["id"] + 1
    await add_logged(tx, LoggedDecision(number, decision))
    target = decision.target
    statement, after = SHOW_POSTS_OF[target.kind], -1
    while True:
        rows = await tx.fetchall(statement, target=target.value, after=after, limit=_AT_ONCE)
        if len(rows) < _AT_ONCE:
            break
        after = max(row["place"] for row in rows)
    if target.kind is TargetKind.TAG:
        await _show_tagged_files(tx, target.value)
    return LoggedDecision(number, decision)


async def _show_tagged_files(tx: Transaction, tag: str) -> None:
    """Update the visibility of the posts whose files have a hashtag."""
    after = -1
    while rows := await tx.fetchall(TAGGED_POSTS, tag=tag, after=after, limit=_AT_ONCE):
        await tx.executemany(SHOW_POST, [{"target": row["post_id"]} for row in rows])
        after = rows[-1]["position"]


async def add_logged(tx: Transaction, logged: LoggedDecision) -> None:
    """Add a numbered decision to the log. The caller updates the visibility of affected posts."""
    decision = logged.decision
    columns: tuple[Value, ...] = (
        logged.number,
        micros(decision.at),
        decision.measure.value,
        decision.target.kind.value,
        decision.target.value,
        decision.ground.value,
        decision.statement,
    )
    names = ("id", "at", "measure", "kind", "target", "ground", "statement")
    values: dict[str, Value] = dict(zip(names, columns, strict=True))
    await tx.execute(ADD_DECISION, **values, checksum=decision_checksum(*columns))


def decision_of(row: Row) -> LoggedDecision:
    """Decode the decision in a row. Raises `Damaged` if its checksum does not match."""
    *columns, checksum = row
    if decision_checksum(*columns) != checksum:
        raise Damaged.record(f"decision {row['id']!a} of the operator")
    decision = Decision(
        Target(TargetKind(row["kind"]), row["target"]),
        Measure(row["measure"]),
        Ground(row["ground"]),
        row["statement"],
        moment_of(row["at"]),
    )
    return LoggedDecision(row["id"], decision)


async def _is_chosen(tx: Transaction, chosen: int) -> bool:
    """Whether lists already show this selection. If nothing was ever chosen, they show all
    posts."""
    found = {row["name"]: row["value"] for row in await tx.fetchall(SHOWN_COUNTERS)}
    all_posts = _SHOWS.index(Show.ALL)
    return {found.get(name, all_posts) for name in ("show", "shown")} == {chosen}


async def _choose_shown(tx: Transaction, chosen: int) -> None:
    """Choose which posts are shown from now on. Existing posts are updated later."""
    await tx.fetchall(WAIT_FOR_POSTS)
    await tx.execute(SET_COUNTER, name="show", value=chosen)
    # Marks the update as unfinished. If this process is interrupted, the next start continues it.
    await tx.execute(SET_COUNTER, name="shown", value=-1)


async def _show_next(tx: Transaction, chosen: int, after: int) -> int | None:
    """Update the visibility of the next posts. Returns None after the last post."""
    await tx.fetchall(WAIT_FOR_POSTS)
    rows = await tx.fetchall(SHOW_POSTS_OF[None], after=after, limit=_AT_ONCE)
    if len(rows) == _AT_ONCE:
        last: int = max(row["place"] for row in rows)
        return last
    await tx.execute(SET_COUNTER, name="shown", value=chosen)
    return None


async def _add_report(tx: Transaction, report: Report, most: int) -> None:
    await tx.execute(
        ADD_REPORT,
        id=report.id,
        post_id=str(report.post_id),
        reason=report.reason.value,
        text=kept_text(report.text),
        contact=kept_text(report.contact),
        at=micros(report.at),
    )
    for statement in (DROP_CLOSED_REPORTS, DROP_OPEN_REPORTS):
        (row,) = await tx.fetchall(COUNT_REPORTS)
        if row["count"] > most:
            await tx.execute(statement, limit=row["count"] - most)


async def _close_reports(tx: Transaction, report_ids: Sequence[str], at: datetime) -> None:
    closed_at = micros(at)
    await tx.executemany(CLOSE_REPORT, [{"id": each, "at": closed_at} for each in report_ids])


def _report_of(row: Row) -> Report:
    return Report(
        row["id"],
        int(row["post_id"]),
        ReportReason(row["reason"]),
        row["text"],
        row["contact"],
        moment_of(row["at"]),
        None if row["closed_at"] is None else moment_of(row["closed_at"]),
    )
