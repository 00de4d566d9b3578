"""Database server requirements for a catalog."""

import pytest
from tests.postgresql import Server
from tests.stores import open_postgresql_stores

from imprint.adapters.database.postgresql.schema import (
    LEAST_VERSION,
    UnsuitableServer,
    check_server,
)


@pytest.mark.parametrize("version", [LEAST_VERSION, 18, 30])
def test_a_supported_server_is_accepted(version: int) -> None:
    check_server(version, "UTF8")


@pytest.mark.parametrize("version", [9, LEAST_VERSION - 1])
def test_the_refusal_of_an_older_server_names_its_version(version: int) -> None:
    with pytest.raises(UnsuitableServer, match=f"PostgreSQL {version}, but {LEAST_VERSION} is"):
        check_server(version, "UTF8")


async def test_a_database_with_an_unsupported_encoding_is_refused(postgresql: Server) -> None:
    await postgresql.execute("DROP DATABASE IF EXISTS narrow")
    await postgresql.execute(
        "CREATE DATABASE narrow ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'"
    )
    with pytest.raises(UnsuitableServer, match="LATIN1, not UTF8"):
        open_postgresql_stores(postgresql.url("narrow"))
