"""JSON-RPC over HTTP."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from imprint.devchain.rpc import MAX_BODY_BYTES, rpc_app

ASK = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}


@pytest.fixture
async def http(bench: Any) -> AsyncIterator[httpx2.AsyncClient]:
    app = rpc_app(bench.chain, hosts=["dev.example"], origins=["https://app.example"])
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost:8545") as client:
        yield client


async def test_the_response_is_json(http: httpx2.AsyncClient) -> None:
    response = await http.post("/", json=ASK)
    assert response.json() == {"jsonrpc": "2.0", "id": 1, "result": "0x7a69"}
    assert response.headers["content-type"] == "application/json"


async def test_a_malformed_body_still_gets_status_200(http: httpx2.AsyncClient) -> None:
    response = await http.post("/", content=b"{")
    assert response.status_code == 200
    assert response.json()["error"]["code"] == -32700


async def test_a_notification_gets_an_empty_response(http: httpx2.AsyncClient) -> None:
    response = await http.post("/", json={"jsonrpc": "2.0", "method": "eth_chainId"})
    assert (response.status_code, response.content) == (204, b"")


async def test_a_body_above_the_limit_is_refused(http: httpx2.AsyncClient) -> None:
    response = await http.post("/", content=b" " * (MAX_BODY_BYTES + 1))
    assert response.status_code == 413


PREFLIGHT = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "content-type",
}

ALLOWED_ORIGINS = [
    "http://localhost:5173",
    "http://127.0.0.1:8000",
    "https://localhost",
    "http://[::1]:3000",
    "http://app.localhost:3000",
    "chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn",
    "moz-extension://2c127fa4-62c7-7e4f-90e5-472b45eecfdc",
    "https://app.example",
    "http://dev.example:5173",
]


@pytest.mark.parametrize("origin", ALLOWED_ORIGINS)
async def test_an_allowed_origin_may_call_the_chain(http: httpx2.AsyncClient, origin: str) -> None:
    response = await http.post("/", json=ASK, headers={"Origin": origin})
    assert response.json()["result"] == "0x7a69"
    assert response.headers["access-control-allow-origin"] == "*"
    allowed = await http.options("/", headers={"Origin": origin} | PREFLIGHT)
    assert allowed.status_code == 200
    assert "content-type" in allowed.headers["access-control-allow-headers"].lower()


OTHER_ORIGINS = [
    "https://example.org",
    "http://localhost.example.org:8545",
    "http://app.example",
    "https://app.example:444",
    "http://notlocalhost",
    "http://127.0.0.1.example.org",
    "null",
    "",
    "http://[",
]


@pytest.mark.parametrize("origin", OTHER_ORIGINS)
async def test_a_disallowed_origin_gets_403(http: httpx2.AsyncClient, origin: str) -> None:
    for response in (
        await http.post("/", json=ASK, headers={"Origin": origin}),
        await http.options("/", headers={"Origin": origin} | PREFLIGHT),
    ):
        assert response.status_code == 403
        assert "IMPRINT_CORS_ORIGINS" in response.text
        assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8545",
        "LOCALHOST.",
        "127.0.0.1:8545",
        "127.0.0.2",
        "[::1]:8545",
        "chain.localhost",
        "dev.example",
        "DEV.example:8545",
    ],
)
async def test_a_loopback_or_configured_host_header_is_accepted(
    http: httpx2.AsyncClient, host: str
) -> None:
    assert (await http.post("/", json=ASK, headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["example.org", "localhost.example.org", "example.org:8545", "192.168.7.7", "", "[", "x@y"],
)
async def test_an_unknown_host_header_gets_403(http: httpx2.AsyncClient, host: str) -> None:
    for page in ({}, {"Origin": f"http://{host}"}):
        response = await http.post("/", json=ASK, headers={"Host": host} | page)
        assert response.status_code == 403
        assert "--host" in response.text


async def test_a_repeated_host_header_gets_403(http: httpx2.AsyncClient) -> None:
    twice = [("Host", "localhost"), ("Host", "example.org")]
    assert (await http.post("/", json=ASK, headers=twice)).status_code == 403


@pytest.mark.parametrize(
    ("address", "host", "known"),
    [
        ("192.168.7.7", "192.168.7.7:8545", True),
        ("192.168.7.7", "192.168.7.8:8545", False),
        ("fd00::1", "[fd00:0::1]:8545", True),
        ("example.org", "example.org", False),
    ],
)
async def test_a_host_header_that_matches_the_connection_address_is_accepted(
    bench: Any, address: str, host: str, known: bool
) -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": json.dumps(ASK).encode()}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "query_string": b"",
        "headers": [(b"host", host.encode())],
        "server": (address, 8545),
    }
    await rpc_app(bench.chain)(scope, receive, send)
    assert sent[0]["status"] == (200 if known else 403)


async def test_only_post_is_allowed(http: httpx2.AsyncClient) -> None:
    assert (await http.get("/")).status_code == 405
