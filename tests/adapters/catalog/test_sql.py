"""No statement of the catalog walks a whole table or sorts, so that none slows down with age."""

import sqlite3
from contextlib import closing

import pytest

from imprint.adapters.catalog import sql
from imprint.adapters.catalog.schema import known_migrations, migrate
from imprint.domain.drafts.tags import MAX_TAGS

NOT_PLANNED = {"FILE_COLUMNS", "SAVEPOINT", "RELEASE_SAVEPOINT", "ROLL_BACK_TO_SAVEPOINT"}
"""Parts of statements, and statements that read nothing."""

WHOLE = {
    "COUNT_DEAD_LETTERS",
    "COMPARE_USAGE",
    "ADD_INSTALLATION",
    "WRONG_TAGS",
    "MISCOUNTED_TAGS",
    "COUNT_DUE",
    "LIST_DUE",
    "HAS_WRAPPED_KEY",
}
"""Statements whose question is about a whole table: operators ask some, the garbage collector and
the scrub others, once a day, and a new catalog asks whether it has any files, once. A start asks
whether a master key that is no longer given is in use."""


class Nothing(dict):
    def __missing__(self, name):
        return None


def texts():
    for name, text in vars(sql).items():
        if name.isupper() and not name.startswith("_") and name not in NOT_PLANNED:
            yield pytest.param(text, id=name)
    for tags in range(1, MAX_TAGS + 1):
        for drafts_too in (False, True):
            yield pytest.param(sql.list_tagged(tags, drafts_too), id=f"tagged-{tags}-{drafts_too}")


@pytest.fixture(scope="module")
def connection():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, known_migrations())
        yield connection


@pytest.mark.parametrize("text", [each for each in texts() if each.id not in WHOLE])
def test_a_statement_only_searches_indexes(connection, text):
    plan = connection.execute(f"EXPLAIN QUERY PLAN {text}", Nothing()).fetchall()
    details = [row[3] for row in plan]
    scans = [each for each in details if each.startswith("SCAN") and each != "SCAN CONSTANT ROW"]
    assert not scans + [each for each in details if "TEMP" in each]


def test_a_scan_and_a_sort_are_visible_in_the_query_plan(connection):
    text = "EXPLAIN QUERY PLAN SELECT * FROM files WHERE size = 1 ORDER BY size + position"
    details = [row[3] for row in connection.execute(text)]
    assert any(detail.startswith("SCAN") for detail in details)
    assert any("TEMP" in detail for detail in details)
