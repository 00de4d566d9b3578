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

_SEARCH = "post_search"
"""The table with the words of posts; in SQLite it keeps them in further tables of its own."""

_INDEX_MODULES = frozenset(
    {"index_reader", "index_writer", "post_words", "postgresql_search", "sqlite_search"}
)
"""The modules whose rules use no other tables than those of the index, but for the files that a
post is compared with."""

EMPTY_POSTGRESQL = (
    f"TRUNCATE {', '.join(sorted(INDEX_TABLES))}",
    "INSERT INTO market_totals (only_row) VALUES (1)",
)
"""Empties the index on PostgreSQL, as a migration has made it."""


def is_of_index(table: str) -> bool:
    """Whether a table is of the index, also one in which SQLite keeps words."""
    return table in INDEX_TABLES or table.startswith(f"{_SEARCH}_")


def is_index_rule(rule: Callable[..., object]) -> bool:
    """Whether a rule is about the index, so that damage that it meets is there."""
    module: str = getattr(rule, "__module__", "")
    return module.rpartition(".")[2] in _INDEX_MODULES


def renew_search() -> tuple[str, str]:
    """Two statements that empty the words of posts in SQLite, also if they are damaged.

    Deleting them row by row reads them, which takes long and fails where they are damaged.
    """
    script = next(each.script for each in known_migrations() if _SEARCH in each.script)
    start = script.index(f"CREATE VIRTUAL TABLE {_SEARCH}")
    return f"DROP TABLE {_SEARCH}", script[start : script.index(";", start)]
