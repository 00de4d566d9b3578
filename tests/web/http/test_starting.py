"""A service waiting for a dependency is alive but not ready, and refuses everything else."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from tests.world import ORIGIN, open_world

from imprint.bootstrap import build_starting_service
from imprint.domain.errors import Unavailable
from imprint.web.app import StartingApp


@pytest.fixture
async def starting(tmp_path: Path) -> AsyncIterator[tuple[StartingApp, httpx2.AsyncClient]]:
    async with open_world(tmp_path) as world:
        app = build_starting_service(world.settings)
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN) as client:
            yield app, client


Starting = tuple[StartingApp, httpx2.AsyncClient]


async def test_a_starting_service_is_alive(starting: Starting) -> None:
    response = await starting[1].get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "alive"})


@pytest.mark.parametrize(
    ("missing", "name"), [(Unavailable.database(), "database"), (Unavailable.storage(), "storage")]
)
async def test_readiness_names_the_missing_dependency(
    starting: Starting, missing: Unavailable, name: str
) -> None:
    app, client = starting
    app.wait_for(missing)
    response = await client.get("/readyz")
    assert response.status_code == 503
    ready = response.json()
    assert ready["status"] == "not ready"
    assert ready["details"] == [f"The service is starting. {missing.detail}"]
    assert ready["checks"][name] == "unavailable"
    assert {word for check, word in ready["checks"].items() if check != name} == {"unknown"}


async def test_readiness_has_the_same_checks_as_after_startup(
    starting: Starting, tmp_path: Path
) -> None:
    ready = (await starting[1].get("/readyz")).json()
    async with open_world(tmp_path / "later") as world:
        later = (await world.client.get("/readyz")).json()
    assert ready["checks"].keys() == later["checks"].keys()


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/filesMetaData"), ("POST", "/create/group"), ("GET", "/none"), ("PUT", "/healthz")],
)
async def test_requests_during_startup_get_the_error_code_of_the_missing_dependency(
    starting: Starting, method: str, path: str
) -> None:
    app, client = starting
    app.wait_for(Unavailable.storage())
    response = await client.request(method, path, json={"content": "Too early."})
    assert response.status_code == 503
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.json()["code"] == "storage_unavailable"
    assert int(response.headers["Retry-After"]) >= 1
    assert "X-Request-Id" in response.headers


BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.mark.parametrize("path", ["/", "/p/1", "/studio", "/docs", "/none"])
async def test_a_browser_gets_a_page_that_asks_to_reload(starting: Starting, path: str) -> None:
    app, client = starting
    app.wait_for(Unavailable.storage())
    response = await client.get(path, headers=BROWSER)
    assert response.status_code == 503
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert int(response.headers["retry-after"]) >= 1
    assert response.headers["cache-control"] == "no-store"
    assert "script-src 'self';" in response.headers["content-security-policy"]
    assert "The service is starting." in response.text
    assert "Please reload the page in a moment." in response.text


async def test_the_assets_of_the_page_shown_during_startup_are_served(starting: Starting) -> None:
    client = starting[1]
    text = (await client.get("/", headers=BROWSER)).text
    names = re.findall(r'"(/assets/[^"]+)"', text)
    assert names
    for name in names:
        assert (await client.get(name)).status_code == 200


async def test_without_a_site_a_browser_gets_problem_json(tmp_path: Path) -> None:
    async with open_world(tmp_path, SITE="off") as world:
        transport = httpx2.ASGITransport(app=build_starting_service(world.settings))
        async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN) as client:
            response = await client.get("/", headers=BROWSER)
    assert response.status_code == 503
    assert response.headers["content-type"] == "application/problem+json"
