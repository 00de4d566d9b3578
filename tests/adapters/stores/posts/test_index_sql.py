"""No statement that reads the index scans a whole table or sorts rows, on either database."""

import asyncio
import sqlite3
from contextlib import closing

import pytest
from tests.adapters.stores.plans import explain_all
from tests.adapters.stores.test_stores_sql import Nothing

from imprint.adapters.database.postgresql import database as postgresql
from imprint.adapters.database.schema import known_migrations, migrate
from imprint.adapters.stores.moderation import SHOW_POSTS_OF
from imprint.adapters.stores.posts import index_sql

ROWS = 8_000

PARTS = {"HOSTED", "POST_COLUMNS", "NEWEST_REVISION", "_SHOWN_TEXT"}
"""Fragments of statements, not run on their own."""

ONE_ROW = {"INDEX_STATE", "IS_COMPLETE", "TOTALS"}
"""Statements on a table with a single row."""

FILL = f"""
INSERT INTO posts SELECT n::bigint * 1048576, n::text, 'author-' || n % 700, NULL, 'c',
    ('t' || n)::bytea, 'T', 'd',
    '[]', decode(lpad(to_hex(n % 50), 64, '0'), 'hex'),
    decode(lpad(to_hex(n % 50), 64, '0'), 'hex'), n, 'block', 'tx', n % 100, '0', 0
    FROM generate_series(1, {ROWS}) n;
INSERT INTO post_tags SELECT tag, n::bigint * 1048576 FROM generate_series(1, {ROWS}) n,
    unnest(ARRAY['a', 't' || n % 1000]) tag;
INSERT INTO purchases SELECT n, n::text, 'author-' || n % 700, 'buyer-' || n % 700, '1', n, 'b', 't'
    FROM generate_series(1, {ROWS}) n;
INSERT INTO price_changes SELECT n, (n % 700)::text, '1', n FROM generate_series(1, {ROWS}) n;
INSERT INTO holdings SELECT 'holder-' || n % 700, n::text, '1', 1, n, n, NULL
    FROM generate_series(1, {ROWS}) n;
INSERT INTO accounts (address) SELECT 'author-' || n FROM generate_series(1, {ROWS}) n;
INSERT INTO profiles (address, name, bio, links, updated_at)
    SELECT 'author-' || n, 'name', '', '', n FROM generate_series(1, {ROWS}) n;
INSERT INTO revisions (id, document, number, owner, name, cid, size, note, created_at, salt,
                       signature)
    SELECT 'revision-' || n, 'cid-' || n, 1, 'author-' || n, 'name-' || n, 'revised-' || n, n, '',
           n, '', '' FROM generate_series(1, {ROWS}) n;
INSERT INTO text_facts SELECT 'revised-' || n, n, 0 FROM generate_series(1, {ROWS}) n;
INSERT INTO market_days (day) SELECT n FROM generate_series(1, {ROWS}) n;
INSERT INTO counters SELECT 'c' || n, n FROM generate_series(1, {ROWS}) n;
INSERT INTO measure_log SELECT n, n, CASE WHEN n % 3 = 0 THEN 'undone' ELSE 'unlisted' END,
    CASE n % 4 WHEN 0 THEN 'post' WHEN 1 THEN 'author' WHEN 2 THEN 'cid' ELSE 'tag' END,
    'target-' || n % 700, 'policy', '', 0 FROM generate_series(1, {ROWS}) n;
INSERT INTO file_groups SELECT 'group-' || n, 'owner', '[]', NULL, n
    FROM generate_series(1, {ROWS}) n;
INSERT INTO files SELECT 'file-' || n, 'group-' || n, 'owner', 'name-' || n, 'cid-' || n, 1, n,
    'onchain', n, n::text, n, NULL, NULL FROM generate_series(1, {ROWS}) n;
"""

ALSO = [
    index_sql.Also(),
    index_sql.Also(price=True),
    index_sql.Also((0,), author=True),
    index_sql.Also((0, 1, 2), author=True, price=True),
    index_sql.Also(shown=1),
    index_sql.Also((0,), author=True, shown=2),
]


def statements() -> dict[str, str]:
    """Return every statement, including those built for each type of list."""
    found = {
        name: text
        for name, text in vars(index_sql).items()
        if name.isupper() and isinstance(text, str) and name not in PARTS
    }
    for number, walk in enumerate(index_sql.WALKS):
        found[f"end {number}"] = index_sql.end_of_walk(walk)
        for kind, also in enumerate(ALSO):
            found[f"walk {number} {kind}"] = index_sql.find_places(walk, also)
    for kind, also in enumerate(ALSO):
        for value in ("sales", "price"):
            found[f"author by {value} {kind}"] = index_sql.places_of_author(value, also)
            found[f"tag by {value} {kind}"] = index_sql.places_of_tag(value, also)
        for count in index_sql.BATCHES:
            found[f"places {count} {kind}"] = index_sql.posts_at(count, also)
    for target, text in SHOW_POSTS_OF.items():
        found[f"show {target}"] = text
    for count in index_sql.BATCHES:
        found[f"ids {count}"] = index_sql.posts_with_ids(count)
    return found


STATEMENTS = statements()


@pytest.fixture(scope="session")
def connection():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, known_migrations())
        yield connection


@pytest.mark.parametrize("name", list(STATEMENTS))
def test_a_statement_needs_no_table_scan_or_sort(connection, name):
    text = f"EXPLAIN QUERY PLAN {STATEMENTS[name]}"
    details = [row[3] for row in connection.execute(text, Nothing())]
    # Candidates and counted rows may be scanned, because their number is limited.
    scans = [each for each in details if each.startswith("SCAN")]
    bounded = {"SCAN c", "SCAN counted", "SCAN (subquery-1)", "SCAN t VIRTUAL TABLE INDEX 1:"}
    assert [each for each in scans if each not in bounded] == []
    assert [each for each in details if "TEMP" in each] == []


async def fill_and_explain(server) -> dict[str, list[dict]]:
    url = await server.create_database("index_plans")
    await postgresql.prepare(url)
    await server.execute(FILL, "index_plans")
    await server.execute("VACUUM ANALYZE", "index_plans")
    return await explain_all(url, STATEMENTS, 20)


@pytest.fixture(scope="session")
def plans(postgresql):
    return asyncio.run(fill_and_explain(postgresql))


@pytest.mark.parametrize("name", [name for name in STATEMENTS if name not in ONE_ROW])
def test_a_statement_needs_no_table_scan_or_sort_in_large_tables(plans, name):
    kinds = {node["Node Type"] for node in plans[name]}
    assert not kinds & {"Seq Scan", "Sort", "Incremental Sort", "Hash Join", "Merge Join"}, kinds
