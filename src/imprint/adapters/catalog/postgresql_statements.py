"""The statements of the catalog as PostgreSQL takes them: translated once, and a few of its own."""

import re
from collections.abc import Mapping
from functools import lru_cache

from imprint.adapters.catalog import statements as sql
from imprint.adapters.catalog.steps import Query, Value
from imprint.domain.tags import MAX_TAGS

_NAME = re.compile(r"(?<!:):([a-z_][a-z0-9_]*)")

_LIMIT = "limit"
"""This value is written into its statement: plans are made once for all values, and one for a page
of ten rows is another one than for a tenth of the table."""

_COUNTED = 20_000
"""How far the files of a tag are counted, to see which tag is the rarest: some milliseconds."""

_COLUMNS = sql.list_tagged(1, True).partition(" FROM ")[0]

_COUNT_IN_STATE = """
(SELECT count(*) FROM
 (SELECT 1 FROM file_tags WHERE tag = :tag AND state = '{state}' LIMIT {counted}) AS counted)"""

_LIST_TAGGED = """
WITH found AS MATERIALIZED (
    SELECT t.position FROM file_tags t WHERE t.tag = :tag0 AND t.position < :before {also}
    ORDER BY t.position DESC LIMIT :limit
) {columns} FROM found
CROSS JOIN LATERAL (SELECT * FROM files x WHERE x.position = found.position LIMIT 1) f
CROSS JOIN LATERAL (SELECT * FROM file_groups x WHERE x.id = f.group_id LIMIT 1) g
ORDER BY found.position DESC"""
"""Positions are found before any file is read, and each by a question of its own: so the tags are
walked in the order of the list, however the planner guesses."""

_ALSO_TAGGED = """
AND (SELECT true FROM file_tags o WHERE o.tag = :tag AND o.position = t.position)"""


def _count_in(state: str) -> str:
    return _COUNT_IN_STATE.format(state=state, counted=_COUNTED)


def _list_tagged(tags: int, drafts_too: bool) -> str:
    wanted = "" if drafts_too else "AND t.state = 'onchain'"
    others = (_ALSO_TAGGED.replace(":tag", f":tag{number}") for number in range(1, tags))
    return _LIST_TAGGED.format(columns=_COLUMNS, also=wanted + "".join(others))


OWN: Mapping[str, str | None] = {
    sql.NEXT_POSITION: "SELECT nextval('positions')",
    # A count kept for each tag would be a row that all who publish under a common tag wait for.
    sql.RECOUNT_TAG: None,
    sql.COUNT_TAG: f"SELECT {_count_in('onchain')}, {_count_in('pending')}",
    **{
        sql.list_tagged(tags, drafts_too): _list_tagged(tags, drafts_too)
        for tags in range(1, MAX_TAGS + 1)
        for drafts_too in (False, True)
    },
}
"""Statements that PostgreSQL has its own of; None is nothing to do."""


def translate(query: Query) -> tuple[str, list[Value]] | None:
    """A query's statement with numbered values, and these in order; None if there is none."""
    limit = query.values.get(_LIMIT)
    known = _translate_text(query.text, None if limit is None else int(limit))
    if known is None:
        return None
    text, names = known
    return text, [query.values[name] for name in names]


@lru_cache(maxsize=1024)
def _translate_text(text: str, limit: int | None) -> tuple[str, tuple[str, ...]] | None:
    own = OWN.get(text, text)
    if own is None:
        return None
    numbers: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        name = match[1]
        if name == _LIMIT:
            return str(limit)
        return f"${numbers.setdefault(name, len(numbers) + 1)}"

    return _NAME.sub(number, own), tuple(numbers)
