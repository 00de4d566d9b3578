"""Files as they are built from rows."""

import sqlite3
from contextlib import closing
from inspect import signature

from imprint.adapters.catalog import sql
from imprint.adapters.catalog.files import build_file
from imprint.adapters.catalog.schema import known_migrations, migrate


def test_the_columns_of_a_file_are_selected_in_the_order_in_which_it_is_built():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, known_migrations())
        selected = connection.execute(sql.VERSION_BY_ID, {"id": "any"}).description
    assert [column[0] for column in selected] == list(signature(build_file).parameters)
