"""Where tables begin in a catalog that has lost its schema."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from imprint.adapters.catalog.schema import known_migrations, migrate
from imprint.adapters.catalog.sqlite_salvage import PAGE_SIZE, describe_trees, find_roots
from imprint.adapters.sqlite_pages import PageFile

ROOTS = "SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0"
RELEASES = range(5, len(known_migrations()) + 1)
"""How many migrations each release had that catalogs were made with."""


@pytest.mark.parametrize("restored", [False, True])
@pytest.mark.parametrize("release", RELEASES)
def test_all_tables_of_a_catalog_are_found_whichever_release_made_it(
    tmp_path: Path, release: int, restored: bool
) -> None:
    path = tmp_path / "catalog.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, known_migrations()[:release])
        if restored:
            connection.execute("VACUUM")
        made = dict(connection.execute(ROOTS))
        # Pages are used before the next release adds its tables.
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO owners (owner, last_number) VALUES (?, 1)",
            [(f"0x{n:040x}",) for n in range(2000)],
        )
        connection.execute("COMMIT")
        migrate(connection, known_migrations())
    content = path.read_bytes()
    path.write_bytes(bytes(PAGE_SIZE) + content[PAGE_SIZE:])
    trees = describe_trees()
    with PageFile(path, PAGE_SIZE, tmp_path / "catalog.db-wal") as source:
        found = find_roots(source, trees)
    expected = {name: root for name, root in made.items() if name in trees}
    assert expected.items() <= found.items()
