"""Statements for PostgreSQL: named values become numbered ones, and some are replaced by others."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from imprint.adapters.catalog import post_words, sql
from imprint.adapters.catalog.derived_tables import TRUNCATIONS
from imprint.adapters.catalog.ended_sessions import (
    END_SESSION,
    IS_ENDED_IN_POSTGRESQL,
    session_values,
)
from imprint.adapters.catalog.files import END
from imprint.adapters.catalog.index_tables import LOADS, in_postgresql
from imprint.adapters.catalog.transaction import Value
from imprint.domain.drafts.tags import MAX_TAGS
from imprint.domain.posts.lists import ListFilter, OwnDrafts
from imprint.domain.sessions import Session

_NAME = re.compile(r"(?<!:):([a-z_][a-z0-9_]*)")

_LIMIT = "limit"
"""This value is written into its statement: there is one plan for all values, and the plan for a
page of ten rows differs from the plan for a tenth of the table."""

_COUNTED = 20_000
"""The files of a tag are counted up to this number to find the rarest tag: some milliseconds."""

_COUNT_IN_STATE = """
(SELECT count(*) FROM
 (SELECT 1 FROM file_tags WHERE tag = :tag AND state = '{state}' LIMIT {counted}) AS counted)"""

_SNAPSHOT = "CAST(pg_current_snapshot() AS TEXT)"
"""Which transactions the statement sees. Two statements on one server that have the same snapshot
see the same rows: see docs/decisions/query-cache.md."""

READ_SNAPSHOT = f"SELECT {_SNAPSHOT}"
"""What tells whether a list that was read before is still the same."""

_CHANGED = f"{_SNAPSHOT} <> :known"
"""Evaluated once, before any row is read."""

_LIST = f"""
SELECT page.*, {_SNAPSHOT} AS snapshot, {{ended}} AS ended
FROM (SELECT 1) AS one
LEFT JOIN LATERAL (SELECT listed.*, true AS present FROM ({{text}}) AS listed) AS page ON true"""  # noqa: S608

_RAREST = """
WITH rarest AS MATERIALIZED (
    SELECT given.tag FROM unnest(ARRAY[{tags}]) AS given (tag)
    ORDER BY (
        SELECT count(*) FROM (
            SELECT 1 FROM file_tags c WHERE c.tag = given.tag {wanted} LIMIT {counted}
        ) AS counted
    ) LIMIT 1
), found"""
"""The list walks the rarest of its tags."""

_LIST_TAGGED = """
{found} AS MATERIALIZED (
    SELECT t.position FROM file_tags t WHERE t.tag = {walked} AND t.position < :before {also}
    ORDER BY t.position DESC LIMIT :limit
) {columns} FROM found
LEFT JOIN LATERAL (SELECT * FROM files x WHERE x.position = found.position LIMIT 1) f ON true
LEFT JOIN LATERAL (SELECT * FROM file_groups x WHERE x.id = f.group_id LIMIT 1) g ON true
ORDER BY found.position DESC"""
"""Positions are found before any file is read, and each file with a subquery of its own, so the
tags are walked in the order of the list whatever the planner estimates."""

_ALSO_TAGGED = """
AND (SELECT true FROM file_tags o WHERE o.tag = :tag AND o.position = t.position)"""


def _count_in(state: str) -> str:
    return _COUNT_IN_STATE.format(state=state, counted=_COUNTED)


def _list_tagged(tags: int, drafts_too: bool, also: str = "") -> str:
    also += "" if drafts_too else " AND t.state = 'onchain'"
    found, walked = "WITH found", ":tag0"
    if tags > 1:
        names = [f":tag{number}" for number in range(tags)]
        wanted = "" if drafts_too else "AND c.state = 'onchain'"
        given = ", ".join(f"CAST({name} AS TEXT)" for name in names)
        found = _RAREST.format(tags=given, wanted=wanted, counted=_COUNTED)
        walked = "(SELECT tag FROM rarest)"
        also += "".join(_ALSO_TAGGED.replace(":tag", name) for name in names)
    return _LIST_TAGGED.format(found=found, walked=walked, columns=sql.FILE_COLUMNS, also=also)


NOT_NEEDED = frozenset({sql.RECOUNT_TAG})
"""A stored count for each tag would be one row that all writers of this tag wait for."""

_SERVER_NOW = """
COALESCE(CAST(:now AS BIGINT), CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT))"""
"""The time of the server, unless another clock is given."""

_MARK_END = """
WITH marked AS (
    INSERT INTO counters (name, value)
    VALUES ('ended_sessions', CAST(random() * 4611686018427387904 AS BIGINT))
    ON CONFLICT (name) DO UPDATE SET value = excluded.value
)"""
"""What every logout does besides: see `postgresql_sessions`."""

_OWN: Mapping[str, str] = {
    **{
        text: text.replace(":now", _SERVER_NOW)
        for text in (sql.TAKE_LEASE, sql.RELEASE_LEASE, sql.FIND_LEASE, sql.NOW)
    },
    **{text: in_postgresql(text) for text in LOADS},
    **TRUNCATIONS,
    **post_words.IN_POSTGRESQL,
    END_SESSION: _MARK_END + END_SESSION,
    sql.NEXT_POSITION: "SELECT nextval('positions') AS value",
    sql.MISCOUNTED_TAGS: "SELECT 0 AS count",
    sql.COUNT_TAG: f"SELECT {_count_in('onchain')} AS posts, {_count_in('pending')} AS drafts",
    **{
        sql.list_tagged(tags, drafts_too): _list_tagged(tags, drafts_too)
        for tags in range(1, MAX_TAGS + 1)
        for drafts_too in (False, True)
    },
}


LISTS: Mapping[str, str] = {
    **{
        text: _LIST.format(text=text.replace(" WHERE ", f" WHERE {_CHANGED} AND "), ended="false")
        for text in (sql.LIST_DRAFTS, sql.LIST_LIVE, sql.LIST_POSTS)
    },
    **{
        sql.list_tagged(tags, drafts_too): _LIST.format(
            text=_list_tagged(tags, drafts_too, f"AND {_CHANGED}"), ended="false"
        )
        for tags in range(1, MAX_TAGS + 1)
        for drafts_too in (False, True)
    },
}
"""What reads a list, for the statement in `sql`: in one round trip, and only if it has changed."""

LIST_DRAFTS_FOR = LISTS[sql.LIST_DRAFTS].replace("false AS", f"{IS_ENDED_IN_POSTGRESQL} AS")
"""What reads a list of drafts for a session."""


def translate(text: str, values: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """A statement with numbered values, and these values in order."""
    limit = values.get(_LIMIT)
    numbered, names = number_values(text, None if limit is None else int(limit))
    return numbered, [values[name] for name in names]


def list_statement(
    which: ListFilter, before: int | None, limit: int, session: Session | None
) -> tuple[str, dict[str, Value]]:
    """A list as one statement that reads it unless the snapshot is `known`.

    It has a row even then, and for an empty list: one that is not `present`. Each row says whether
    the session is `ended`.
    """
    values: dict[str, Value] = {"before": END if before is None else before, "limit": limit}
    if isinstance(which, OwnDrafts):
        values["owner"] = which.owner
        if session is None:
            return LISTS[sql.LIST_DRAFTS], values
        return LIST_DRAFTS_FOR, values | session_values(session)
    if not which.tags:
        return LISTS[sql.LIST_LIVE if which.drafts_too else sql.LIST_POSTS], values
    tags = dict.fromkeys(which.tags)
    values |= {f"tag{number}": tag for number, tag in enumerate(tags)}
    return LISTS[sql.list_tagged(len(tags), which.drafts_too)], values


@lru_cache(maxsize=1024)
def number_values(text: str, limit: int | None) -> tuple[str, tuple[str, ...]]:
    """A statement with numbered values, and the names of these in order."""
    numbers: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        name = match[1]
        if name == _LIMIT:
            return str(limit)
        return f"${numbers.setdefault(name, len(numbers) + 1)}"

    return _NAME.sub(number, _OWN.get(text, text)), tuple(numbers)
