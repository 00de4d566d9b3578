"""No statement scans a whole table or sorts rows, so none slows down as tables grow."""

import inspect
import pkgutil
import sqlite3
from contextlib import closing
from functools import cache
from importlib import import_module

import pytest

from imprint.adapters import stores
from imprint.adapters.database.schema import known_migrations, migrate
from imprint.adapters.stores.files import list_tagged
from imprint.domain.drafts.tags import MAX_TAGS

NOT_PLANNED = {"FILE_COLUMNS", "FILE", "UNCHANGED_DRAFT"}
"""Fragments of statements, not run on their own."""

STATEMENTS = ("SELECT ", "INSERT ", "UPDATE ", "DELETE ")

ELSEWHERE = ("posts.", "drafts.postgresql", "postgresql")
"""Modules with their own tests: the post index, and PostgreSQL-only statements."""

WHOLE = {
    "COUNT_DEAD_LETTERS",
    "COMPARE_USAGE",
    "COUNT_SOME_DEAD_LETTERS",
    "COUNT_SOME_EVENTS",
    "WRONG_TAGS",
    "MISCOUNTED_TAGS",
    "COUNT_DUE",
    "LIST_DUE",
    "HAS_WRAPPED_KEY",
    "MEASURE",
    "COUNT_REPORTS",
    "DROP_OPEN_REPORTS",
    "FILES_OF_OWNER",
    "HASTEN_OWNED",
}
"""Statements that may read a whole table.

Operators run some of them. The garbage collector and the scrub run others once a day. At
startup, one of them checks whether a removed master key is still in use. The statements that
count rows stop at a limit.
"""


class Nothing(dict):
    def __missing__(self, name):
        return None


def texts():
    prefix = f"{stores.__name__}."
    for found in pkgutil.walk_packages(stores.__path__, prefix):
        if found.name.removeprefix(prefix).startswith(ELSEWHERE):
            continue
        module = import_module(found.name)
        for name, text in vars(module).items():
            if f"\n{name} = " in source_of(module) and is_statement(name, text):
                yield pytest.param(text, id=name)
    for tags in range(1, MAX_TAGS + 1):
        for drafts_too in (False, True):
            yield pytest.param(list_tagged(tags, drafts_too), id=f"tagged-{tags}-{drafts_too}")


def is_statement(name, text):
    return (
        name.isupper()
        and not name.startswith("_")
        and name not in NOT_PLANNED
        and isinstance(text, str)
        and text.lstrip().startswith(STATEMENTS)
    )


@cache
def source_of(module):
    return inspect.getsource(module)


@pytest.fixture(scope="module")
def connection():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, known_migrations())
        yield connection


@pytest.mark.parametrize("text", [each for each in texts() if each.id not in WHOLE])
def test_a_statement_needs_no_table_scan_or_sort(connection, text):
    plan = connection.execute(f"EXPLAIN QUERY PLAN {text}", Nothing()).fetchall()
    details = [row[3] for row in plan]
    scans = [each for each in details if each.startswith("SCAN") and each != "SCAN CONSTANT ROW"]
    assert not scans + [each for each in details if "TEMP" in each]


def test_a_scan_and_a_sort_are_visible_in_the_query_plan(connection):
    text = "EXPLAIN QUERY PLAN SELECT * FROM files WHERE size = 1 ORDER BY size + position"
    details = [row[3] for row in connection.execute(text)]
    assert any(detail.startswith("SCAN") for detail in details)
    assert any("TEMP" in detail for detail in details)
