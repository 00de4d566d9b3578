"""`imprint serve` and `imprint contract` as processes: what starts, and what says why not."""

import asyncio
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from tests.processes import Service, free_port
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

MISCONFIGURED = 2
GOOD_SECRET = "5f0c1b7a93e84d26a1f47c3b9e60d815"
OTHER_SECRET = "c41d9e7720fb4a8f93b6e15d08a2c7f4"


def _given(world: World, **changes: str | None) -> dict[str, str]:
    """Good settings for a service beside this world's chain, changed; None leaves one out."""
    good: dict[str, str | None] = {
        "CHAIN_RPC_URL": world.node.url,
        "CHAIN_ID": "31337",
        "MARKETPLACE_ADDRESS": world.marketplace,
        "JWT_SECRET": GOOD_SECRET,
        "WEBHOOK_A_SECRET": OTHER_SECRET,
    }
    return {name: value for name, value in (good | changes).items() if value is not None}


async def _refused(service: Service) -> str:
    """What a service that must not start says about it."""
    service.process.spawn()
    try:
        status = await asyncio.to_thread(service.process.wait)
    finally:
        service.kill()
    said = service.tail(200)
    assert status == MISCONFIGURED, said
    assert "Traceback" not in said
    return said


async def test_a_good_service_starts_serves_and_ends_well(town: World, tmp_path: Path) -> None:
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


async def test_everything_missing_is_named_at_once(tmp_path: Path) -> None:
    said = await _refused(Service(tmp_path, {}))
    for name in ("CHAIN_RPC_URL", "CHAIN_ID", "MARKETPLACE_ADDRESS", "JWT_SECRET"):
        assert f"IMPRINT_{name} is missing" in said


async def test_everything_wrong_is_named_at_once(town: World, tmp_path: Path) -> None:
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


BAD_SECRETS = {
    "short": GOOD_SECRET[:-1],
    "a placeholder": "changeme-changeme-changeme-changeme",
    "the development one": "imprint-development-only-jwt-4f1b7c09e2",
}


@pytest.mark.parametrize("secret", BAD_SECRETS.values(), ids=BAD_SECRETS.keys())
async def test_a_secret_that_protects_nothing_is_refused(
    town: World, tmp_path: Path, secret: str
) -> None:
    said = await _refused(Service(tmp_path, _given(town, JWT_SECRET=secret)))
    assert "IMPRINT_JWT_SECRET is" in said
    assert secret not in said


async def test_a_secret_can_be_read_from_a_file(town: World, tmp_path: Path) -> None:
    kept = tmp_path / "secret"
    kept.write_text("too short\n")
    given = _given(town, JWT_SECRET=None, JWT_SECRET_FILE=str(kept))
    said = await _refused(Service(tmp_path, given))
    assert "IMPRINT_JWT_SECRET" in said
    assert "at least 32" in said


async def test_the_wrong_chain_is_refused(town: World, tmp_path: Path) -> None:
    said = await _refused(Service(tmp_path, _given(town, CHAIN_ID="1")))
    assert "31337" in said
    assert "chain 1 is configured" in said


async def test_an_address_without_code_is_refused(town: World, tmp_path: Path) -> None:
    nowhere = "0x" + "11" * 20
    said = await _refused(Service(tmp_path, _given(town, MARKETPLACE_ADDRESS=nowhere)))
    assert nowhere in said


async def test_a_newer_schema_is_refused_and_left_alone(town: World, tmp_path: Path) -> None:
    service = Service(tmp_path, _given(town))
    await asyncio.to_thread(service.start)
    assert await asyncio.to_thread(service.stop) == 0
    database = tmp_path / "data" / "imprint.db"
    connection = sqlite3.connect(database)
    connection.execute("INSERT INTO schema_migrations VALUES (9999, 'of tomorrow')")
    connection.commit()
    connection.close()
    assert "schema 9999" in await _refused(service)


async def test_a_port_in_use_is_reported(town: World, tmp_path: Path) -> None:
    port = int(town.node.url.rpartition(":")[2])
    said = await _refused(Service(tmp_path, _given(town), port=port))
    assert str(port) in said


async def test_a_data_folder_that_is_a_file_is_reported(town: World, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    assert str(tmp_path / "data") in await _refused(Service(tmp_path, _given(town)))


async def test_the_path_of_a_node_is_never_shown(town: World, tmp_path: Path) -> None:
    given = _given(town, CHAIN_RPC_URL=f"{town.node.url}/v2/canarykey0123", CHAIN_ID="1")
    assert "canarykey0123" not in await _refused(Service(tmp_path, given))


async def test_a_node_that_is_down_does_not_keep_the_service_down(tmp_path: Path) -> None:
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


def _run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "imprint", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)


async def test_the_contract_is_printed_as_json() -> None:
    done = await asyncio.to_thread(_run, "contract")
    assert done.returncode == 0
    printed = json.loads(done.stdout)
    assert printed.keys() == {"abi", "bytecode"}
    assert {"createPost", "getPostInfo"} <= {entry.get("name") for entry in printed["abi"]}
    assert bytes.fromhex(printed["bytecode"].removeprefix("0x"))


async def test_an_unknown_command_is_reported() -> None:
    done = await asyncio.to_thread(_run, "sing")
    assert done.returncode == MISCONFIGURED
    assert "Traceback" not in done.stderr
