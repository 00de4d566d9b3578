"""Where files stand in the lists: their positions, and their hashtags in the index of tags."""

from imprint.adapters.catalog import statements as sql
from imprint.adapters.catalog.steps import Query, Steps, Value
from imprint.domain.files import File, State

UNPLACED = 0
"""Below every position: of a file that has none yet."""


def next_position() -> Steps[int]:
    """A position above every one that a change before this one took."""
    rows = yield Query(sql.NEXT_POSITION)
    return int(rows[0][0])


def retag(before: File | None, after: File | None) -> Steps[None]:
    """Move a file's hashtags in the index of tags from where it stood to where it stands."""
    if before is not None and before.state.live:
        for tag in before.hashtags:
            yield Query(sql.DROP_TAG, {"tag": tag, "position": before.position})
            yield _recount(tag, before.state, -1)
    if after is not None and after.state.live:
        for tag in after.hashtags:
            values: dict[str, Value] = {
                "tag": tag,
                "position": after.position,
                "state": after.state.value,
            }
            yield Query(sql.ADD_TAG, values)
            yield _recount(tag, after.state, 1)


def _recount(tag: str, state: State, by: int) -> Query:
    posts, drafts = (by, 0) if state is State.ONCHAIN else (0, by)
    return Query(sql.RECOUNT_TAG, {"tag": tag, "posts": posts, "drafts": drafts})
