"""Worlds are in the database that a test asks for."""

from pathlib import Path

import pytest
from tests.postgresql import records_of


# This test comes first: its module then still has a PostgreSQL server.
@pytest.mark.parametrize("records", ["postgresql"], indirect=True)
async def test_a_world_is_in_the_requested_database(tmp_path: Path, records: None) -> None:
    assert (await records_of(tmp_path)).keys() == {"IMPRINT_DATABASE_URL"}


async def test_a_world_without_a_requested_database_is_in_sqlite(tmp_path: Path) -> None:
    assert await records_of(tmp_path) == {}
