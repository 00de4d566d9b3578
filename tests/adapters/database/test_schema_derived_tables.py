"""Which tables are derived from the chain, and how full-text tables are emptied."""

import sqlite3
from contextlib import closing

import pytest

from imprint.adapters.database.schema import (
    EMPTY_INDEX,
    INDEX_TABLES,
    is_index_rule,
    is_of_index,
    known_migrations,
    migrate,
)
from imprint.adapters.stores.drafts.drafts import add_file
from imprint.adapters.stores.posts.index_reader import SqlIndexReader
from imprint.adapters.stores.posts.index_writer import SqlIndexWriter
from imprint.adapters.stores.posts.search_index import find_in_sqlite

LASTING = {
    "chain_marks",
    "counters",
    "dead_letters",
    "deliveries",
    "detached",
    "disputed_blocks",
    "ended_sessions",
    "events",
    "file_groups",
    "file_tags",
    "files",
    "installation",
    "intents",
    "leases",
    "login_nonces",
    "measure_log",
    "nonces",
    "owners",
    "paces",
    "private_feeds",
    "profiles",
    "reports",
    "revisions",
    "schema_migrations",
    "tags",
    "writing_sessions",
}
"""Tables not derived from the chain. Backup, repair and migration cover them."""


@pytest.fixture
def empty():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, known_migrations())
        yield connection


def test_every_table_is_either_permanent_or_derived(empty):
    names = {
        name for (name,) in empty.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    }
    assert {name for name in names if not is_of_index(name)} - {"sqlite_stat1"} == LASTING
    assert names >= INDEX_TABLES


@pytest.mark.parametrize(
    "rule",
    [
        SqlIndexReader.addresses,
        SqlIndexReader.library,
        SqlIndexWriter.advance_index,
        find_in_sqlite,
    ],
)
def test_rules_that_use_the_post_index_are_recognized(rule):
    assert is_index_rule(rule)
    assert not is_index_rule(add_file)


def test_a_damaged_full_text_index_can_be_emptied(empty):
    before = empty.execute("SELECT * FROM sqlite_schema WHERE name LIKE 'post_search%'").fetchall()
    empty.execute("INSERT INTO post_search (rowid, title) VALUES (1, 'hello')")
    empty.execute("UPDATE post_search_data SET block = x'ffffffffffffffff'")
    with pytest.raises(sqlite3.DatabaseError):
        empty.execute("DELETE FROM post_search")
    for statement in EMPTY_INDEX:
        empty.execute(statement)
    assert empty.execute("SELECT count(*) FROM post_search").fetchone() == (0,)
    after = empty.execute("SELECT * FROM sqlite_schema WHERE name LIKE 'post_search%'").fetchall()
    assert sorted(row[:2] + row[4:] for row in after) == sorted(row[:2] + row[4:] for row in before)
