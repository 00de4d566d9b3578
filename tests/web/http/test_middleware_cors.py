"""Cross-origin requests: only pages of allowed origins get permission."""

from pathlib import Path

import pytest
from tests.world import open_world, problem

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_disallowed_origin_gets_no_cors_headers(tmp_path: Path) -> None:
    async with open_world(tmp_path, CORS_ORIGINS="https://good.example") as world:
        for origin in ("https://evil.example", "https://good.example.evil", "null"):
            response = await world.client.get("/filesMetaData", headers={"Origin": origin})
            assert "access-control-allow-origin" not in response.headers
            assert response.status_code == 200


async def test_an_allowed_origin_gets_permission_without_credentials(tmp_path: Path) -> None:
    async with open_world(tmp_path, CORS_ORIGINS="https://good.example") as world:
        origin = {"Origin": "https://good.example"}
        for response in (
            await world.client.get("/filesMetaData", headers=origin),
            await world.client.get("/fileByCid", headers=origin),
        ):
            assert response.headers["access-control-allow-origin"] == "https://good.example"
            assert "origin" in response.headers["vary"].lower()
            assert "access-control-allow-credentials" not in response.headers
            exposed = response.headers["access-control-expose-headers"].split(", ")
            assert {"X-Request-Id", "Date"} <= set(exposed)


@pytest.mark.parametrize(
    ("origin", "allowed"), [("https://good.example", True), ("https://evil.example", False)]
)
async def test_a_preflight_is_granted_only_to_allowed_origins(
    tmp_path: Path, origin: str, allowed: bool
) -> None:
    async with open_world(tmp_path, CORS_ORIGINS="https://good.example") as world:
        headers = {
            "Origin": origin,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type,authorization,traceparent,tracestate,"
            "baggage,sentry-trace",
        }
        response = await world.client.options("/create/group", headers=headers)
        assert response.status_code == (200 if allowed else 204)
        assert (response.headers.get("access-control-allow-origin") == origin) is allowed
        assert ("access-control-allow-methods" in response.headers) is allowed


@pytest.mark.parametrize(
    "asked", [{"Method": "PUT"}, {"Method": "POST", "Headers": "X-Strange"}], ids=str
)
async def test_a_preflight_for_another_method_or_header_gets_no_cors_headers(
    tmp_path: Path, asked: dict[str, str]
) -> None:
    async with open_world(tmp_path, CORS_ORIGINS="https://good.example") as world:
        headers = {f"Access-Control-Request-{name}": value for name, value in asked.items()}
        headers["Origin"] = "https://good.example"
        response = await world.client.options("/create/group", headers=headers)
        assert response.status_code == 204
        assert response.content == b""
        assert not [name for name in response.headers if name.startswith("access-control-")]


async def test_a_preflight_does_not_count_towards_the_write_rate_limit(tmp_path: Path) -> None:
    strict = {"RATE_LIMITS": "on", "RATE_SIGNED": "2/60"}
    async with open_world(tmp_path, CORS_ORIGINS="https://good.example", **strict) as world:
        headers = {"Origin": "https://good.example", "Access-Control-Request-Method": "POST"}
        for _ in range(2):
            assert (await world.client.options("/create/group", headers=headers)).is_success
            assert (await world.send_create(world.wallet(1))).status_code == 200
        assert problem(await world.send_create(world.wallet(1))) == (429, "rate_limited")


async def test_without_allowed_origins_no_origin_gets_cors_headers(tmp_path: Path) -> None:
    async with open_world(tmp_path, CORS_ORIGINS="") as world:
        headers = {"Origin": "https://good.example"}
        response = await world.client.get("/filesMetaData", headers=headers)
        assert "access-control-allow-origin" not in response.headers
