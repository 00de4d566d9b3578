"""`imprint dev` with explicit settings, which take precedence or cause an error message."""

import asyncio
import re
from pathlib import Path

import httpx2
import pytest
from tests.processes import PLAIN, Process, Service, free_port, running
from tests.world import World

MISCONFIGURED = 2


def _find_url(process: Process) -> str | None:
    shown = re.search(r"Service +(http://\S+)", process.tail())
    return shown[1] if shown else None


def _refused(service: Service) -> str:
    service.process.spawn()
    try:
        assert service.process.wait() == MISCONFIGURED
    finally:
        service.kill()
    assert "Traceback" not in service.tail(200)
    return service.tail()


def test_free_ports_are_found_and_printed_in_the_welcome_message(tmp_path: Path) -> None:
    service = Service(tmp_path, {"DEV_RPC_PORT": "0"}, "dev", port=0)
    service.process.start(lambda: "\nOpen http" in service.process.tail())
    try:
        url = _find_url(service.process)
        # The output ends with one unwrapped address.
        lines = service.process.tail().splitlines()
        place = lines.index(f"Open {url}")
        assert len(lines[place]) < 80
        assert [line.strip()[:2] for line in lines[place - 3 : place]] == ["1.", "2.", "3."]
        assert "Warning: imprint dev listens on" not in service.tail(200)
        facts = httpx2.get(f"{url}/.well-known/imprint.json", verify=PLAIN, timeout=60).json()
        assert url is not None
        assert url.removeprefix("http://") in facts["login"]["domains"]
        asked = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}
        response = httpx2.post(
            facts["chain"]["rpc_url"], json=asked, verify=PLAIN, timeout=60
        ).json()
        assert int(response["result"], 16) == 31337
        assert facts["chain"]["adapter"]
        ready = httpx2.get(f"{url}/readyz", verify=PLAIN, timeout=60).json()
        assert ready["status"] == "ready"
    finally:
        service.kill()


ASK = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}


def test_a_public_host_causes_a_warning_and_the_chain_checks_the_host_header(
    tmp_path: Path,
) -> None:
    rpc_port = free_port()
    given = {"DEV_RPC_PORT": str(rpc_port), "HOST": "0.0.0.0"}
    with running(Service(tmp_path, given, "dev")) as service:
        node = f"http://127.0.0.1:{rpc_port}"
        for headers, status in (
            ({}, 200),
            ({"Host": f"localhost:{rpc_port}", "Origin": "http://localhost:5173"}, 200),
            ({"Host": f"rebound.example:{rpc_port}"}, 403),
            ({"Host": "rebound.example", "Origin": "http://rebound.example"}, 403),
            ({"Origin": "https://visited.example"}, 403),
        ):
            response = httpx2.post(node, json=ASK, headers=headers, verify=PLAIN, timeout=60)
            assert response.status_code == status
        assert "Warning: imprint dev listens on" in service.tail(200)


def test_the_development_chain_uses_the_configured_chain_id(tmp_path: Path) -> None:
    given = {"DEV_RPC_PORT": str(free_port()), "CHAIN_ID": "5"}
    with running(Service(tmp_path, given, "dev")) as service:
        facts = httpx2.get(
            f"{service.url}/.well-known/imprint.json", verify=PLAIN, timeout=60
        ).json()
        asked = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}
        response = httpx2.post(
            facts["chain"]["rpc_url"], json=asked, verify=PLAIN, timeout=60
        ).json()
        assert response["result"] == "0x5"
        ready = httpx2.get(f"{service.url}/readyz", verify=PLAIN, timeout=60).json()
        assert ready["status"] == "ready"
        assert service.stop() == 0
    said = _refused(Service(tmp_path, given | {"CHAIN_ID": "6"}, "dev"))
    assert "have 5 want 6" in said


@pytest.mark.asyncio(loop_scope="module")
async def test_a_configured_node_is_used_and_published_and_no_chain_is_started(
    town: World, tmp_path: Path
) -> None:
    rpc_port = free_port()
    given = {
        "CHAIN_RPC_URL": town.node.url,
        "DEV_RPC_PORT": str(rpc_port),
        "JWT_SECRET": "short",
    }
    service = Service(tmp_path, given, "dev")
    await asyncio.to_thread(service.start)
    try:
        async with httpx2.AsyncClient(base_url=service.url, verify=PLAIN, timeout=60) as client:
            facts = (await client.get("/.well-known/imprint.json")).json()
            assert facts["chain"]["rpc_url"] == town.node.url
            assert (await client.get("/readyz")).json()["status"] == "ready"
            with pytest.raises(httpx2.ConnectError):
                await client.post(f"http://127.0.0.1:{rpc_port}", json={})
        assert not (tmp_path / "data" / "chain.jsonl").exists()
    finally:
        service.kill()
