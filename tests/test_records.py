"""Test worlds store their records in the database that the test requests."""

from pathlib import Path

import pytest
from tests.postgresql import records_of


# This test comes first: its module then still has a PostgreSQL server.
@pytest.mark.parametrize("records", ["postgresql"], indirect=True)
async def test_a_world_uses_the_requested_database(tmp_path: Path, records: None) -> None:
    assert (await records_of(tmp_path)).keys() == {"IMPRINT_DATABASE_URL"}


async def test_a_world_uses_sqlite_if_no_database_is_requested(tmp_path: Path) -> None:
    assert await records_of(tmp_path) == {}
