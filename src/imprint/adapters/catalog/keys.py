"""The wrapped keys of documents: listed by file, and replaced when the master key changes."""

from collections.abc import Sequence

from imprint.adapters.catalog import statements as sql
from imprint.adapters.catalog.steps import Query, Steps, Value
from imprint.ports.content import KeyRecord


def list_keys(after: str, limit: int) -> Steps[list[KeyRecord]]:
    """Up to `limit` keys by rising file id, those above `after`."""
    rows = yield Query(sql.WRAPPED_KEYS, {"after": after, "limit": limit})
    return [KeyRecord(file_id, name, bytes(wrapped_key)) for file_id, name, wrapped_key in rows]


def replace_keys(changes: Sequence[tuple[KeyRecord, bytes]]) -> Steps[int]:
    """Replace the keys that are still as they are given; how many were."""
    replaced = 0
    for record, wrapped_key in changes:
        values: dict[str, Value] = {
            "id": record.file_id,
            "old": record.wrapped_key,
            "new": wrapped_key,
        }
        rows = yield Query(sql.REWRAP_KEY, values)
        replaced += len(rows)
    return replaced
