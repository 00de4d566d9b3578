"""URLs that name several hosts."""

import asyncio

import asyncpg
import pytest
from tests.postgresql import Server

from imprint.adapters.database.postgresql.hosts import hosts_of
from imprint.adapters.database.postgresql.pool import connect


@pytest.fixture
def kind():
    return "postgresql"


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("postgresql://a/x", [("a", 5432)]),
        ("postgresql://u:p%40@a:1,b/x", [("a", 1), ("b", 5432)]),
        ("postgresql://[::1]:7,[::2]/x", [("::1", 7), ("::2", 5432)]),
        ("postgresql:///x?host=a,/run/p&port=1,2", [("a", 1), ("/run/p", 2)]),
        ("postgresql:///x?host=a,b&port=3", [("a", 3), ("b", 3)]),
        ("postgresql://%2Frun%2Fp,b/x", [("/run/p", 5432), ("b", 5432)]),
        ("postgresql:///x", []),
    ],
)
def test_the_hosts_of_a_url(url: str, hosts: list[tuple[str, int]]):
    assert hosts_of(url) == hosts


async def test_a_host_that_does_not_respond_keeps_nobody_from_the_others(server: Server):
    asked: list[asyncio.StreamWriter] = []
    silent = await asyncio.start_server(lambda _, writer: asked.append(writer), "127.0.0.1", 0)
    async with silent:
        port = silent.sockets[0].getsockname()[1]
        for hosts, ports in (
            (f"127.0.0.1,{server.folder}", f"{port},5432"),
            (f"{server.folder},127.0.0.1,{server.folder}", f"5432,{port},5432"),
        ):
            url = f"postgresql://postgres@/postgres?host={hosts}&port={ports}"
            connection = await connect(url)
            assert await connection.fetchval("SELECT 1") == 1
            await connection.close()
        for each in asked:
            each.close()
    assert asked


async def test_the_reason_of_a_host_that_refuses_is_reported(server: Server):
    url = f"postgresql://postgres@/missing?host={server.folder},{server.folder}"
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await connect(url)
