"""Building file objects from database rows."""

import sqlite3
from contextlib import closing
from inspect import signature

from imprint.adapters.database.schema import known_migrations, migrate
from imprint.adapters.stores.files import VERSION_BY_ID, build_file


def test_file_columns_are_selected_in_the_order_of_the_constructor():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, known_migrations())
        selected = connection.execute(VERSION_BY_ID, {"id": "any"}).description
    assert [column[0] for column in selected] == list(signature(build_file).parameters)
