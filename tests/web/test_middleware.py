"""The middleware around every response: request ids, security headers, rate and load limits."""

from pathlib import Path
from typing import Any

import pytest
from tests.world import World, open_world, problem

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def _every_kind_of_response(world: World) -> dict[str, Any]:
    alice = world.wallet(1)
    file = await world.create(alice)
    thumbnail = await world.publish(alice, file["cid"])
    post_id, _ = await world.post(alice, price=0)
    return {
        "create": await world.send_create(alice),
        "login": await world.client.post(
            "/auth/login", json=alice.sign_login(alice.login_message())
        ),
        "draft": await world.read_draft(alice, file["cid"]),
        "post": await world.read_post(alice, post_id),
        "free post": await world.read_free(post_id),
        "list": await world.client.get("/filesMetaData"),
        "drafts": await world.client.get(
            "/pendingFilesByOwner",
            params={"owner": alice.address},
            headers=await world.login(alice),
        ),
        "thumbnail": await world.client.get(f"/ipfs/{thumbnail}"),
        "delivery": await world.send_a(b"{}"),
        "refusal": await world.client.get("/fileByCid"),
        "unknown path": await world.client.get("/nothing"),
        "wrong method": await world.client.get("/create/group"),
        "health": await world.client.get("/healthz"),
        "readiness": await world.client.get("/readyz"),
        "facts": await world.client.get("/.well-known/imprint.json"),
        "description": await world.client.get("/openapi.json"),
        "docs": await world.client.get("/docs"),
    }


async def test_every_response_keeps_browsers_from_guessing_and_running(town: World) -> None:
    for kind, response in (await _every_kind_of_response(town)).items():
        assert response.headers["x-content-type-options"] == "nosniff", kind
        assert "frame-ancestors 'none'" in response.headers["content-security-policy"], kind
        assert response.headers["referrer-policy"] == "no-referrer", kind


async def test_every_response_has_the_id_of_its_request(town: World) -> None:
    responses = await _every_kind_of_response(town)
    ids = [response.headers["x-request-id"] for response in responses.values()]
    assert len(set(ids)) == len(ids)
    assert all(len(each) >= 8 for each in ids)


async def test_only_what_is_public_may_be_kept(town: World) -> None:
    public = {"free post", "thumbnail", "facts", "description", "docs"}
    for kind, response in (await _every_kind_of_response(town)).items():
        stored = response.headers["cache-control"] != "no-store"
        assert stored == (kind in public), kind


async def test_no_response_sets_a_cookie_or_names_its_server(town: World) -> None:
    for kind, response in (await _every_kind_of_response(town)).items():
        assert "set-cookie" not in response.headers, kind
        assert "server" not in response.headers, kind


async def test_a_good_request_id_is_kept(town: World) -> None:
    headers = {"X-Request-Id": "from-a-proxy-0001"}
    response = await town.client.get("/healthz", headers=headers)
    assert response.headers["x-request-id"] == "from-a-proxy-0001"


@pytest.mark.parametrize("given", ["short", "x" * 65, "a b c d e f", "<script>1</script>", "é" * 9])
async def test_a_strange_request_id_is_replaced(town: World, given: str) -> None:
    response = await town.client.get("/healthz", headers={"X-Request-Id": given.encode("latin-1")})
    assert response.headers["x-request-id"] != given
    assert given not in response.headers["x-request-id"]


async def test_a_rate_limited_client_learns_when_to_retry(tmp_path: Path) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_READS="2/60") as world:
        for _ in range(2):
            assert (await world.client.get("/filesMetaData")).status_code == 200
        response = await world.client.get("/filesMetaData")
        assert problem(response) == (429, "rate_limited")
        world.clock.advance(int(response.headers["retry-after"]))
        assert (await world.client.get("/filesMetaData")).status_code == 200


async def test_health_has_no_rate_limit(tmp_path: Path) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_READS="1/60") as world:
        for _ in range(5):
            assert (await world.client.get("/healthz")).status_code == 200


async def test_too_many_requests_at_once_are_turned_away(tmp_path: Path) -> None:
    async with open_world(tmp_path, MAX_CONCURRENT_REQUESTS="1") as world:
        inner: list[Any] = []

        async def slow_body() -> Any:
            inner.append(await world.client.get("/filesMetaData"))
            inner.append(await world.client.get("/healthz"))
            yield b"{}"

        headers = {"Content-Type": "application/json"}
        await world.client.post("/auth/login", content=slow_body(), headers=headers)
        turned_away, health = inner
        assert problem(turned_away) == (503, "overloaded")
        assert turned_away.headers["retry-after"]
        assert health.status_code == 200
