"""Reads: a file by what names it, and lists by falling position."""

from dataclasses import dataclass

from imprint.adapters.catalog import statements as sql
from imprint.adapters.catalog.rows import file_of
from imprint.adapters.catalog.steps import Query, Steps, Value
from imprint.domain.cids import Cid
from imprint.domain.files import File
from imprint.domain.lists import ListFilter, OwnDrafts, PublicList

_END = 2**63 - 1
"""Above every position, for a list from its beginning."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A list, ready to be read; `reach` is how many rows it may have to look at, at most."""

    query: Query
    reach: int


def find(text: str, values: dict[str, Value]) -> Steps[File | None]:
    """The file that a query about one file finds."""
    rows = yield Query(text, values)
    return file_of(rows[0]) if rows else None


def find_public(cid: Cid) -> Steps[bool]:
    """Whether a live file has this thumbnail."""
    rows = yield Query(sql.THUMBNAIL_OF_LIVE, {"cid": cid})
    return bool(rows)


def plan_list(which: ListFilter, before: int | None, limit: int) -> Steps[Plan | None]:
    """How to read a list; None if it is empty. Of several tags the rarest leads."""
    end = _END if before is None else before
    values: dict[str, Value] = {"before": end, "limit": limit}
    if isinstance(which, OwnDrafts):
        return Plan(Query(sql.LIST_DRAFTS, values | {"owner": which.owner}), limit)
    if not which.tags:
        return Plan(Query(sql.LIST_LIVE if which.drafts_too else sql.LIST_POSTS, values), limit)
    counted = []
    for tag in dict.fromkeys(which.tags):
        count = yield from _count(tag, which)
        if not count:
            return None
        counted.append((count, tag))
    counted.sort()
    tags: dict[str, Value] = {f"tag{n}": tag for n, (_, tag) in enumerate(counted)}
    text = sql.list_tagged(len(counted), which.drafts_too)
    return Plan(Query(text, values | tags), limit if len(counted) == 1 else counted[0][0])


def read_list(plan: Plan) -> Steps[list[File]]:
    """The files of a planned list."""
    rows = yield plan.query
    return [file_of(row) for row in rows]


def _count(tag: str, which: PublicList) -> Steps[int]:
    rows = yield Query(sql.COUNT_TAG, {"tag": tag})
    if not rows:
        return 0
    posts, drafts = rows[0]
    return int(posts + drafts if which.drafts_too else posts)
