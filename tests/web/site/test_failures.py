"""Unexpected errors are HTML pages for browsers that request one, and JSON for everybody else."""

import logging
from pathlib import Path
from typing import Any

import pytest
from tests.web.site.publication import publish
from tests.world import open_world, problem

from imprint.services.posts.posts import Posts

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make lists of posts fail with an unexpected error."""

    async def fail(self: Posts, request: Any) -> Any:
        raise RuntimeError("a secret cause")

    monkeypatch.setattr(Posts, "list", fail)


@pytest.mark.usefixtures("broken")
async def test_a_failing_page_is_served_as_an_error_page(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_world(tmp_path) as world:
        for path in ("/", "/t/essay", "/search?q=ink"):
            caplog.clear()
            response = await world.client.get(path, headers=BROWSER)
            assert response.status_code == 500
            assert response.headers["content-type"] == "text/html; charset=utf-8"
            assert response.headers["cache-control"] == "no-store"
            assert "script-src 'self';" in response.headers["content-security-policy"]
            assert response.headers["x-request-id"]
            assert "Something went wrong on our side." in response.text
            assert "a secret cause" not in response.text
            (record,) = [each for each in caplog.records if each.levelno == logging.ERROR]
            assert record.message == "unexpected failure"


@pytest.mark.usefixtures("broken")
async def test_failures_are_json_for_programs_and_for_browsers_requesting_json(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path) as world:
        assert problem(await world.client.get("/")) == (500, "internal_error")
        response = await world.client.get("/posts", headers=BROWSER)
        assert problem(response) == (500, "internal_error")


@pytest.mark.usefixtures("broken")
async def test_without_a_site_a_failure_gets_problem_json(tmp_path: Path) -> None:
    async with open_world(tmp_path, SITE="off") as world:
        response = await world.client.get("/posts", headers=BROWSER)
        assert problem(response) == (500, "internal_error")


async def test_an_endpoint_below_a_post_sends_browsers_no_page(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        post_id = await publish(world, 1, price=7)
        browser = {"Accept": "text/html", "Authorization": "Bearer x"}
        for path in ("content", "proof.json", "opening", "revisions"):
            response = await world.client.get(f"/posts/{post_id}/{path}?x=1", headers=browser)
            assert response.headers["content-type"] == "application/problem+json", path
        refused = await world.client.get(f"/posts/{post_id}/content", headers=browser)
        assert problem(refused) == (401, "session_invalid")
        offer = await world.client.get(f"/posts/{post_id}/content", headers={"Accept": "text/html"})
        assert problem(offer) == (402, "payment_required")
        assert offer.headers["cache-control"] == "private, no-store"
        page = await world.client.get(f"/p/{post_id}/text", headers=browser)
        assert (page.status_code, page.headers["content-type"][:9]) == (401, "text/html")
        assert page.headers["www-authenticate"].startswith("Bearer")


async def test_a_line_feed_after_a_path_is_part_of_it(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        post_id = await publish(world, 1)
        for path in (f"/posts/{post_id}/content", f"/posts/{post_id}.md"):
            assert (await world.client.get(f"{path}%0A")).status_code in (400, 404)
        page = f"/p/{post_id}/a-title"
        redirected = await world.client.get(f"{page}%0A")
        assert (redirected.status_code, redirected.headers["location"]) == (301, page)
