"""`imprint serve` as a process: successful starts, and reasons for refusing to start."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx2
import pytest
from tests.processes import Service, free_port
from tests.stores import open_sqlite_stores
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

MISCONFIGURED = 2
GOOD_SECRET = "5f0c1b7a93e84d26a1f47c3b9e60d815"
OTHER_SECRET = "c41d9e7720fb4a8f93b6e15d08a2c7f4"


def _given(world: World, **changes: str) -> dict[str, str]:
    """Valid settings for a service on this world's chain, with some changes."""
    good = {
        "CHAIN_RPC_URL": world.node.url,
        "CHAIN_ID": "31337",
        "MARKETPLACE_ADDRESS": world.marketplace,
        "JWT_SECRET": GOOD_SECRET,
        "WEBHOOK_A_SECRET": OTHER_SECRET,
    }
    return good | changes


async def _refused(service: Service) -> str:
    """The error message of a service that must not start."""
    service.process.spawn()
    try:
        status = await asyncio.to_thread(service.process.wait)
    finally:
        service.kill()
    said = service.tail(200)
    assert status == MISCONFIGURED, said
    assert "Traceback" not in said
    return said


async def test_a_configured_service_starts_serves_and_stops(town: World, tmp_path: Path) -> None:
    service = Service(tmp_path, _given(town))
    await asyncio.to_thread(service.start)
    try:
        async with httpx2.AsyncClient(base_url=service.url, timeout=60) as client:
            ready = await client.get("/readyz")
            assert ready.json()["status"] == "ready"
            facts = (await client.get("/.well-known/imprint.json")).json()
            assert "rpc_url" not in facts["chain"]
            hook = await client.post("/webhook/provider-b/publish", content=b"{}")
            assert hook.status_code == 404
            hook = await client.post("/webhook/provider-a/publish", content=b"{}")
            assert hook.status_code == 401
            preflight = await client.get("/filesMetaData", headers={"Origin": "http://a.example"})
            assert "access-control-allow-origin" not in preflight.headers
        assert await asyncio.to_thread(service.stop) == 0
    finally:
        service.kill()
    assert GOOD_SECRET not in service.tail(200)


async def test_all_invalid_settings_are_reported_together(town: World, tmp_path: Path) -> None:
    wrong = {
        "CHAIN_ID": "zero",
        "MARKETPLACE_ADDRESS": "0x1234",
        "JWT_SECRET": "short",
        "WEBHOOK_A_SECRET": "changeme" * 8,
        "MAX_CONTENT_BYTES": "-1",
        "RATE_LIMITS": "perhaps",
        "CORS_ORIGINS": "not an origin",
    }
    said = await _refused(Service(tmp_path, _given(town, **wrong)))
    for name in wrong:
        assert f"IMPRINT_{name}" in said
    assert "short" not in said.replace("shorter", "").replace("too short", "")


async def test_the_wrong_chain_is_refused(town: World, tmp_path: Path) -> None:
    given = _given(town, CHAIN_RPC_URL=f"{town.node.url}/v2/canarykey0123", CHAIN_ID="1")
    said = await _refused(Service(tmp_path, given))
    assert "31337" in said
    assert "chain 1 is configured" in said
    assert "canarykey0123" not in said


async def test_a_contract_address_without_code_is_refused(town: World, tmp_path: Path) -> None:
    nowhere = "0x" + "11" * 20
    said = await _refused(Service(tmp_path, _given(town, MARKETPLACE_ADDRESS=nowhere)))
    assert nowhere in said


async def test_a_newer_schema_is_refused_and_left_alone(town: World, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    database = tmp_path / "data" / "imprint.db"
    await open_sqlite_stores(database).close()
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("INSERT INTO schema_migrations VALUES (9999, 'of tomorrow')")
        connection.commit()
    before = database.read_bytes()
    assert "schema 9999" in await _refused(Service(tmp_path, _given(town)))
    assert database.read_bytes() == before


async def test_a_port_in_use_is_reported(town: World, tmp_path: Path) -> None:
    port = int(town.node.url.rpartition(":")[2])
    said = await _refused(Service(tmp_path, _given(town), port=port))
    assert str(port) in said


async def test_a_data_folder_that_is_a_file_is_reported(town: World, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    assert str(tmp_path / "data") in await _refused(Service(tmp_path, _given(town)))


async def test_a_service_can_start_while_the_node_is_down(tmp_path: Path) -> None:
    given = {
        "CHAIN_RPC_URL": f"http://127.0.0.1:{free_port()}/v2/canarykey0123",
        "CHAIN_ID": "31337",
        "MARKETPLACE_ADDRESS": "0x" + "11" * 20,
        "JWT_SECRET": GOOD_SECRET,
    }
    service = Service(tmp_path, given)
    await asyncio.to_thread(service.start)
    try:
        async with httpx2.AsyncClient(base_url=service.url, timeout=60) as client:
            assert (await client.get("/readyz")).json()["status"] == "degraded"
    finally:
        service.kill()
    assert "canarykey0123" not in service.tail(200)
