"""The HTTP side of JSON-RPC."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from imprint.devchain.rpc import MAX_BODY_BYTES, rpc_app

ASK = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}


@pytest.fixture
async def http(bench: Any) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(rpc_app(bench.chain))
    async with httpx2.AsyncClient(transport=transport, base_url="http://chain") as client:
        yield client


async def test_the_response_is_json(http: httpx2.AsyncClient) -> None:
    response = await http.post("/", json=ASK)
    assert response.json() == {"jsonrpc": "2.0", "id": 1, "result": "0x7a69"}
    assert response.headers["content-type"] == "application/json"


async def test_a_mistake_in_the_body_is_still_a_200(http: httpx2.AsyncClient) -> None:
    response = await http.post("/", content=b"{")
    assert response.status_code == 200
    assert response.json()["error"]["code"] == -32700


async def test_a_notification_gets_no_content(http: httpx2.AsyncClient) -> None:
    response = await http.post("/", json={"jsonrpc": "2.0", "method": "eth_chainId"})
    assert (response.status_code, response.content) == (204, b"")


async def test_a_body_over_the_limit_is_refused(http: httpx2.AsyncClient) -> None:
    response = await http.post("/", content=b" " * (MAX_BODY_BYTES + 1))
    assert response.status_code == 413


async def test_a_page_of_any_origin_may_ask(http: httpx2.AsyncClient) -> None:
    origin = {"Origin": "https://example.org"}
    response = await http.post("/", json=ASK, headers=origin)
    assert response.headers["access-control-allow-origin"] == "*"
    preflight = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    allowed = await http.options("/", headers=origin | preflight)
    assert allowed.status_code == 200
    assert "content-type" in allowed.headers["access-control-allow-headers"].lower()


async def test_only_post_is_allowed(http: httpx2.AsyncClient) -> None:
    assert (await http.get("/")).status_code == 405
