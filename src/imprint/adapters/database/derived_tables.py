"""The tables of the index of posts, which are derived from the chain and can be rebuilt.

They are in backups of SQLite, so that a restored service has to read only the blocks since then.
A migration to PostgreSQL, a backup of PostgreSQL and a repair leave them empty.
"""

from collections.abc import Callable

from imprint.adapters.database.schema import known_migrations
from imprint.adapters.database.transaction import Sql

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
"""The table with the words of posts; SQLite keeps them in further tables."""

_INDEX_STORES = "imprint.adapters.stores.posts."
"""The modules whose rules use only the tables of the index, except for the files that a post is
compared with."""

EMPTY_POSTGRESQL = (
    f"TRUNCATE {', '.join(sorted(INDEX_TABLES))}",
    "INSERT INTO market_totals (only_row) VALUES (1)",
)
"""Empties the index on PostgreSQL, as a migration has made it."""


def is_of_index(table: str) -> bool:
    """Whether a table belongs to the index, including those in which SQLite keeps words."""
    return table in INDEX_TABLES or table.startswith(f"{SEARCH_TABLE}_")


def is_index_rule(rule: Callable[..., object]) -> bool:
    """Whether a rule is about the index, so that damage it encounters is there."""
    module: str = getattr(rule, "__module__", "")
    return module.startswith(_INDEX_STORES)


def _renew_search() -> tuple[str, str]:
    script = next(each.script for each in known_migrations() if SEARCH_TABLE in each.script)
    start = script.index(f"CREATE VIRTUAL TABLE {SEARCH_TABLE}")
    return f"DROP TABLE {SEARCH_TABLE}", script[start : script.index(";", start)]


EMPTY_INDEX = (
    *(
        Sql(f"DELETE FROM {table}", postgresql=f"TRUNCATE {table}")  # noqa: S608
        for table in sorted(INDEX_TABLES - {SEARCH_TABLE})
    ),
    *(Sql(text, postgresql=f"TRUNCATE {SEARCH_TABLE}") for text in _renew_search()),
)
"""The statements that empty the index. On PostgreSQL, deleting a million rows takes longer than a
statement may. In SQLite the table of words is dropped as a whole, even if it is damaged: deleting
row by row would read it all."""
