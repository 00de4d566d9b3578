"""At scale, PostgreSQL never scans a whole table or sorts a list, whatever the parameters."""

import asyncio

import asyncpg
import pytest
from tests.adapters.stores.plans import explain_all
from tests.adapters.stores.test_stores_sql import NOT_PLANNED, WHOLE, texts

from imprint.adapters.database.postgresql import database as postgresql
from imprint.adapters.database.schema import INDEX_TABLES
from imprint.adapters.stores import postgresql_publication
from imprint.adapters.stores.drafts import postgresql_writes
from imprint.adapters.stores.ended_sessions import (
    END_SESSION,
    FIND_ENDED,
    IS_ENDED_IN_POSTGRESQL,
    for_session,
)
from imprint.adapters.stores.files import COUNT_TAG, RECOUNT_TAG, VERSION_BY_CID
from imprint.adapters.stores.postgresql_files import COUNT_TAGS, LIST_DRAFTS_FOR, LISTS

ROWS = 6_000

ONE_ROW = {
    *("NOTE_CLAIM", "RENAME_INSTALLATION", "MASTER_KEYS", "SET_MASTER_KEYS"),
    *("LAST_BACKUP", "NOTE_BACKUP", "SCHEMA_NUMBER"),
}
"""Statements on a table with only one row or a few rows."""

FILL = f"""
INSERT INTO owners SELECT 'owner-' || n, n FROM generate_series(1, {ROWS}) n;
INSERT INTO counters SELECT 'c' || n, n FROM generate_series(1, {ROWS}) n;
INSERT INTO file_groups SELECT 'group-' || n, 'owner-' || n % 500, '["a", "b"]', 'picture-' || n, n
    FROM generate_series(1, {ROWS}) n;
INSERT INTO files SELECT 'file-' || n, 'group-' || n, 'owner-' || n % 500, 'name-' || n,
    'cid-' || n, 1, n,
    CASE WHEN n % 10 < 5 THEN 'onchain' WHEN n % 10 < 8 THEN 'pending' ELSE 'superseded' END, n,
    CASE WHEN n % 10 < 5 THEN n::text END, CASE WHEN n % 10 < 5 THEN n END, NULL, 'key'
    FROM generate_series(1, {ROWS}) n;
INSERT INTO file_tags SELECT tag, n, CASE WHEN n % 10 < 5 THEN 'onchain' ELSE 'pending' END
    FROM generate_series(1, {ROWS}) n, unnest(ARRAY['a', 'b', 't' || n % 1000]) tag
    WHERE n % 10 < 8;
INSERT INTO nonces SELECT 'owner-' || n % 500, 'nonce-' || n, 'create', 'file-' || n, n
    FROM generate_series(1, {ROWS}) n;
INSERT INTO login_nonces SELECT 'owner-' || n % 500, 'nonce-' || n, n
    FROM generate_series(1, {ROWS}) n;
INSERT INTO intents SELECT 'intent-' || n, 'owner', 'nonce', 'create', 'cid-' || n, 'private', n, n
    FROM generate_series(1, {ROWS}) n;
INSERT INTO detached SELECT 'cid-' || n, 'private', n, CASE WHEN n % 100 = 0 THEN 1 ELSE 0 END
    FROM generate_series(1, {ROWS}) n;
INSERT INTO events SELECT 1, 'block-' || n, 0, n, NULL, n::text, 'owner-' || n % 500, 'cid-' || n,
    'cid-' || n, CASE WHEN n % 10 < 5 THEN 'onchain' ELSE 'unknown_file' END, 1,
    CASE WHEN n % 100 = 0 THEN 0 ELSE 1 END, CASE WHEN n % 10 < 5 THEN 'file-' || n END, NULL, n
    FROM generate_series(1, {ROWS}) n;
INSERT INTO posts SELECT n, n::text, 'owner-' || n % 500, 'cid-' || n, '', '', '', '', '[]', '', '',
    n, 'block-' || n, '' FROM generate_series(1, {ROWS}) n;
INSERT INTO dead_letters SELECT 'letter-' || n, 'reason', 'payload', NULL, n
    FROM generate_series(1, {ROWS}) n;
INSERT INTO deliveries SELECT 'a', 'digest-' || n, 'nonce-' || n, n
    FROM generate_series(1, {ROWS}) n;
INSERT INTO chain_marks SELECT n, 'stand', n, 'block' FROM generate_series(1, {ROWS}) n;
INSERT INTO disputed_blocks SELECT n, n, 'block' FROM generate_series(1, {ROWS}) n;
INSERT INTO paces SELECT 'key-' || n, n FROM generate_series(1, {ROWS}) n;
INSERT INTO ended_sessions SELECT 'subject-' || n, n, n FROM generate_series(1, {ROWS}) n;
INSERT INTO writing_sessions SELECT 'session-' || n, 'owner-' || n % 500, 'key', 'create', n, n, n
    FROM generate_series(1, {ROWS}) n;
INSERT INTO private_feeds SELECT 'feed-' || n, 'owner-' || n % 500, 'token-' || n, n, NULL
    FROM generate_series(1, {ROWS}) n;
INSERT INTO profiles (address, name, bio, links, avatar_cid, updated_at)
    SELECT 'owner-' || n, 'name', '', '', 'avatar-' || n, n FROM generate_series(1, {ROWS}) n;
INSERT INTO revisions (id, document, number, owner, name, cid, size, note, created_at, salt,
                       signature)
    SELECT 'revision-' || n, 'cid-' || n, 1, 'owner-' || n, 'name-' || n, 'revised-' || n, n, '', n,
           '', '' FROM generate_series(1, {ROWS}) n;
INSERT INTO text_facts SELECT 'revised-' || n, n, 0 FROM generate_series(1, {ROWS}) n;
INSERT INTO measure_log SELECT n, n, CASE WHEN n % 3 = 0 THEN 'undone' ELSE 'unlisted' END,
    'author', 'author-' || n % 700, 'policy', '', 0 FROM generate_series(1, {ROWS}) n;
INSERT INTO reports SELECT 'report-' || n, n::text, 'spam', 'text', '', n,
    CASE WHEN n % 2 = 0 THEN n END FROM generate_series(1, {ROWS}) n;
INSERT INTO leases SELECT 'lease-' || n, 'holder', n FROM generate_series(1, {ROWS}) n;
"""


async def find_unfilled(url):
    connection = await asyncpg.connect(url)
    rows = await connection.fetch(
        "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND reltuples < $1"
        " AND relnamespace = 'public'::regnamespace"
        # These tables have a single row, or one row for each migration.
        " AND relname NOT IN ('schema_migrations', 'installation')",
        ROWS,
    )
    await connection.close()
    # No tested statement uses the tables of the index that stay empty.
    return [row[0] for row in rows if row[0] not in INDEX_TABLES]


AT_ONCE = {
    name: text
    for name, text in {**vars(postgresql_writes), **vars(postgresql_publication)}.items()
    if name not in {*NOT_PLANNED, "UNCHANGED_DRAFT"}
    and name[0] != "_"
    and isinstance(text, str)
    and "SELECT" in text
}
NOT_RUN = {RECOUNT_TAG, COUNT_TAG, *LISTS}
"""Statements not run on PostgreSQL, which stores no tag counts and has its own list queries."""

STATEMENTS = {each.id: each.values[0] for each in texts() if each.values[0] not in NOT_RUN} | {
    **{name: text for name, text in AT_ONCE.items() if name.isupper()},
    **{f"{each.id} at once": LISTS[each.values[0]] for each in texts() if each.values[0] in LISTS},
    "list drafts for a session": LIST_DRAFTS_FOR,
    **{f"count tags {drafts_too}": text for drafts_too, text in COUNT_TAGS.items()},
    "find for a session": for_session(VERSION_BY_CID, IS_ENDED_IN_POSTGRESQL),
    "end a session": END_SESSION,
    "FIND_ENDED": FIND_ENDED,
    **{f"opening {key}": text for key, text in postgresql_writes.OPENINGS.items()},
    **{f"open create {key}": text for key, text in postgresql_writes.OPEN_CREATE.items()},
}
SCAN = "SELECT id FROM files WHERE size = :size ORDER BY created_at LIMIT :limit"


@pytest.fixture(scope="session")
def plans(postgresql):
    return asyncio.run(fill_and_explain(postgresql))


async def fill_and_explain(server):
    url = await server.create_database("plans")
    await postgresql.prepare(url)
    await server.execute(FILL, "plans")
    await server.execute("VACUUM ANALYZE", "plans")
    assert await find_unfilled(url) == []
    return await explain_all(url, {**STATEMENTS, "scan": SCAN}, 10)


@pytest.mark.parametrize("name", list(STATEMENTS))
def test_a_statement_needs_no_table_scan_or_sort_in_large_tables(plans, name):
    kinds = [node["Node Type"] for node in plans.get(name, ())]
    assert "Seq Scan" not in kinds or name in WHOLE | ONE_ROW, kinds
    # The tagged lists sort only the few rows of a page, which are already in order.
    assert "Sort" not in kinds or name.startswith("tagged") or name in WHOLE, kinds


def test_a_scan_and_a_sort_are_visible_in_the_query_plan(plans):
    kinds = {node["Node Type"] for node in plans["scan"]}
    assert {"Seq Scan", "Sort"} <= kinds


@pytest.mark.parametrize("name", [name for name in STATEMENTS if name.startswith("tagged")])
def test_a_tagged_list_scans_one_tag_in_order(plans, name):
    inner = [node for node in plans[name] if node.get("Alias") == "t"]
    assert [node["Scan Direction"] for node in inner] == ["Backward"]
