"""A file comes in: its row, its place in the lists, and the events that waited for it."""

from dataclasses import replace

from imprint.adapters.catalog import statements as sql
from imprint.adapters.catalog.ordering import next_position, retag
from imprint.adapters.catalog.rows import micros
from imprint.adapters.catalog.settling import apply_kept
from imprint.adapters.catalog.steps import Query, Steps, Value
from imprint.domain.files import File


def add_file(draft: File) -> Steps[File]:
    """Add a draft to its group, above all other files; a post at once if an event came before."""
    position = yield from next_position()
    draft = replace(draft, position=position)
    values: dict[str, Value] = {
        "id": draft.id,
        "group_id": draft.group_id,
        "owner": draft.owner,
        "name": draft.name,
        "cid": draft.cid,
        "size": draft.size,
        "created_at": micros(draft.created_at),
        "position": position,
        "wrapped_key": draft.wrapped_key,
    }
    yield Query(sql.ADD_FILE, values)
    yield from retag(None, draft)
    return (yield from apply_kept(draft))
