"""The tables of the index of posts: what is in them comes from the chain, and can come again.

They are in backups of SQLite, so that a restored service has to read only the blocks since then.
A migration to PostgreSQL and a repair leave them empty.
"""

from collections.abc import Callable

from imprint.adapters.catalog.schema import known_migrations

INDEX_TABLES = frozenset(
    {
        "accounts",
        "author_readers",
        "holdings",
        "index_logs",
        "index_state",
        "index_undo",
        "market_days",
        "market_totals",
        "pending_texts",
        "post_search",
        "post_tags",
        "post_texts",
        "posts",
        "price_changes",
        "purchases",
    }
)
"""Every table of the index."""

SEARCH_TABLE = "post_search"
"""The table with the words of posts; in SQLite it keeps them in further tables of its own."""

_INDEX_MODULES = frozenset({"feed_index", "index_reader", "index_writer", "search_index"})
"""The modules whose rules use no other tables than those of the index, but for the files that a
post is compared with."""

EMPTY_POSTGRESQL = (
    f"TRUNCATE {', '.join(sorted(INDEX_TABLES))}",
    "INSERT INTO market_totals (only_row) VALUES (1)",
)
"""Empties the index on PostgreSQL, as a migration has made it."""


def is_of_index(table: str) -> bool:
    """Whether a table is of the index, also one in which SQLite keeps words."""
    return table in INDEX_TABLES or table.startswith(f"{SEARCH_TABLE}_")


def is_index_rule(rule: Callable[..., object]) -> bool:
    """Whether a rule is about the index, so that damage that it meets is there."""
    module: str = getattr(rule, "__module__", "")
    return module.rpartition(".")[2] in _INDEX_MODULES


def _renew_search() -> tuple[str, str]:
    script = next(each.script for each in known_migrations() if SEARCH_TABLE in each.script)
    start = script.index(f"CREATE VIRTUAL TABLE {SEARCH_TABLE}")
    return f"DROP TABLE {SEARCH_TABLE}", script[start : script.index(";", start)]


_RENEW_SEARCH = _renew_search()
"""Empty the words of posts in SQLite, also if they are damaged. Deleting them row by row reads them
all: that takes minutes for a million posts, and fails where they are damaged."""

_EMPTY_TABLES = {
    table: f"DELETE FROM {table}"  # noqa: S608
    for table in sorted(INDEX_TABLES - {SEARCH_TABLE})
}

EMPTY_INDEX = (*_EMPTY_TABLES.values(), *_RENEW_SEARCH)
"""The statements that empty the index."""

TRUNCATIONS = {
    **{text: f"TRUNCATE {table}" for table, text in _EMPTY_TABLES.items()},
    **dict.fromkeys(_RENEW_SEARCH, f"TRUNCATE {SEARCH_TABLE}"),
}
"""The same on PostgreSQL, where deleting a million rows takes longer than a statement may."""
