"""Endpoints about the service itself: its description, security contact, health and readiness."""

from datetime import datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from starlette.types import Receive, Scope, Send
from tests.world import ORIGIN, World, open_world, problem

from imprint.web.api.about import DRAINING

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_the_facts_contain_everything_that_a_client_needs(town: World) -> None:
    facts = (await town.client.get("/.well-known/imprint.json")).json()
    assert facts["name"] == "Imprint"
    assert facts["signing"] == {"name": "Imprint", "version": "1", "chainId": 31337}
    assert "imprint.test" in facts["login"]["domains"]
    assert facts["login"]["freshness_seconds"] == 60
    assert facts["chain"] == {
        "id": 31337,
        "marketplace": town.marketplace.lower(),
        "name": "Imprint development",
        "coin": {"symbol": "ETH", "decimals": 18},
    }
    assert facts["limits"]["content_bytes"] == 4 * 1024 * 1024
    assert set(facts["page_sizes"].values()) == {9, 12}


async def test_the_facts_name_the_adapter_if_there_is_one(tmp_path: Path) -> None:
    adapter = "0xCf7Ed3AccA5a467e9e704C703E8D87F634fB0Fc9"
    async with open_world(tmp_path, ADAPTER_ADDRESS=adapter) as world:
        facts = (await world.client.get("/.well-known/imprint.json")).json()
        assert facts["chain"]["adapter"] == adapter.lower()


async def test_the_facts_name_the_service_its_signing_forms_and_its_features(town: World) -> None:
    facts = (await town.client.get("/.well-known/imprint.json")).json()
    assert facts["service"] == ORIGIN
    assert facts["signing_forms"] == ["imprint-1", "inkdao-1", "imprint-2"]
    assert facts["features"] == [
        *("posts", "feeds", "search", "writing-sessions", "contract-wallets", "profiles"),
        *("openings", "revisions", "payment-required"),
    ]
    # Clients copy every member of this object into the domain of their typed data.
    assert facts["signing"].keys() == {"name", "version", "chainId"}


@pytest.mark.parametrize(
    ("given", "domain"),
    [
        ({"COMPATIBILITY": "inkdao"}, "InkDAO"),
        ({"COMPATIBILITY": "inkdao", "REQUIRE_BOUND_SIGNATURES": "on"}, None),
        ({}, None),
    ],
)
async def test_the_facts_state_the_domain_of_the_earlier_form_if_it_is_another_one(
    tmp_path: Path, given: dict[str, str], domain: str | None
) -> None:
    async with open_world(tmp_path, **given) as world:
        facts = (await world.client.get("/.well-known/imprint.json")).json()
        assert facts.get("inkdao_domain") == domain
        assert facts["signing"]["name"] == "Imprint"


async def test_the_facts_include_the_time_and_are_cached_for_seconds_only(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        first = await world.client.get("/.well-known/imprint.json")
        world.clock.advance(100)
        second = await world.client.get("/.well-known/imprint.json")
        assert first.json()["now"] + 100 == second.json()["now"] == world.clock.seconds
        assert first.json() | {"now": 0} == second.json() | {"now": 0}
        assert first.headers["cache-control"] == "public, max-age=5"
        assert "etag" not in first.headers


async def test_a_front_end_can_find_the_marketplace_and_its_abi(town: World) -> None:
    response = await town.client.get("/.well-known/marketplace.json")
    assert response.headers["content-type"] == "application/json"
    found = response.json()
    assert found.keys() == {"chainId", "address", "startBlock", "abi"}
    assert (found["chainId"], found["startBlock"]) == (31337, 0)
    assert found["address"] == town.marketplace.lower()
    functions = {entry["name"] for entry in found["abi"] if entry["type"] == "function"}
    assert {"createPost", "subscribePost", "updatePostPrice"} <= functions


@pytest.mark.parametrize("contact", ["mailto:safety@example.org", "https://example.org/report"])
async def test_security_txt_names_the_contact_of_the_operator(tmp_path: Path, contact: str) -> None:
    async with open_world(tmp_path, SECURITY_CONTACT=contact) as world:
        response = await world.client.get("/.well-known/security.txt")
        assert response.headers["content-type"] == "text/plain; charset=utf-8"
        fields = dict(line.split(": ", 1) for line in response.text.splitlines())
        assert fields.keys() == {"Contact", "Expires"}
        assert fields["Contact"] == contact
        life = datetime.fromisoformat(fields["Expires"]) - world.clock.now()
        assert timedelta(days=90) < life < timedelta(days=365)


async def test_without_a_contact_security_txt_is_not_found(town: World) -> None:
    response = await town.client.get("/.well-known/security.txt")
    assert problem(response) == (404, "not_found")


async def test_a_healthy_service_is_ready(town: World) -> None:
    assert (await town.client.get("/healthz")).json() == {"status": "alive"}
    response = await town.client.get("/readyz")
    assert response.status_code == 200
    names = ("database", "storage", "chain", "disk", "follower", "indexer", "collector", "records")
    checks = dict.fromkeys(names, "ok") | {"collector": "off"}
    assert response.json() == {"status": "ready", "checks": checks, "details": []}


async def test_a_service_that_does_not_follow_the_chain_reports_it(tmp_path: Path) -> None:
    async with open_world(tmp_path, CHAIN_FOLLOW_SECONDS="0", JANITOR_SECONDS="60") as world:
        facts = (await world.client.get("/.well-known/imprint.json")).json()
        assert facts["features"] == ["writing-sessions", "contract-wallets"]
        found = (await world.client.get("/readyz")).json()
        tasks = {name: found["checks"][name] for name in ("follower", "indexer", "collector")}
        assert tasks == {"follower": "off", "indexer": "off", "collector": "ok"}
        assert found["status"] == "ready"


async def test_a_stopping_service_is_not_ready(town: World) -> None:
    async def stopping(scope: Scope, receive: Receive, send: Send) -> None:
        await town.app({**scope, DRAINING: True}, receive, send)

    transport = httpx2.ASGITransport(stopping)
    async with httpx2.AsyncClient(transport=transport, base_url="http://imprint.test") as client:
        response = await client.get("/readyz")
    assert (response.status_code, response.json()["status"]) == (503, "not ready")
    assert response.json()["details"] == ["The service is stopping."]
