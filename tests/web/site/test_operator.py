"""The operator's page: access to it, and what its panels show."""

import logging
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.world import ORIGIN, World, open_world

from imprint.domain.errors import Unavailable

SECRET = "an-operator-of-these-tests-5f0d7b1c9a"
GIVEN = {"OPERATOR_SECRET": SECRET}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


async def sign_in(world: World, secret: str = SECRET, **headers: str) -> httpx2.Response:
    return await world.client.post(
        "/operator", content=f"secret={secret}", headers={**FORM, **headers}
    )


def panel_of(page: str, key: str) -> str:
    """The text of one panel of the page."""
    found = re.search(rf'<section[^>]*id="{key}".*?</section>', page, re.DOTALL)
    assert found is not None, f"there is no panel {key}"
    return " ".join(re.sub(r"<[^>]+>", " ", found[0]).split())


async def opened_page(world: World) -> str:
    assert (await sign_in(world)).status_code == 303
    return (await world.client.get("/operator")).text


async def test_without_a_secret_the_operator_page_is_not_found(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        assert (await world.client.get("/operator")).status_code == 404
        assert (await sign_in(world)).status_code == 404


async def test_without_a_site_the_operator_page_is_not_found(tmp_path: Path) -> None:
    async with open_world(tmp_path, SITE="off", **GIVEN) as world:
        assert (await world.client.get("/operator")).status_code == 404


async def test_without_a_session_the_page_shows_only_a_sign_in_form(tmp_path: Path) -> None:
    async with open_world(tmp_path, **GIVEN) as world:
        response = await world.client.get("/operator")
        assert 'type="password"' in response.text
        assert "operator-panel" not in response.text
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["x-robots-tag"] == "noindex, nofollow"


async def test_a_wrong_secret_gets_403_and_no_cookie(tmp_path: Path) -> None:
    async with open_world(tmp_path, **GIVEN) as world:
        for wrong in ("", "wrong", SECRET + "x", f"{SECRET}&secret={SECRET}", "%ff%00"):
            response = await sign_in(world, wrong)
            assert (response.status_code, "set-cookie" in response.headers) == (403, False)


async def test_the_cookie_is_for_this_page_only_and_does_not_contain_the_secret(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path, **GIVEN) as world:
        cookie = (await sign_in(world)).headers["set-cookie"]
        parts = {part.strip().lower() for part in cookie.split(";")}
        assert {"httponly", "samesite=strict", "path=/operator"} <= parts
        assert "secure" not in parts
        assert SECRET not in cookie


async def test_with_https_the_cookie_is_secure(tmp_path: Path) -> None:
    async with open_world(tmp_path, PUBLIC_URL="https://imprint.test", **GIVEN) as world:
        assert "secure" in (await sign_in(world)).headers["set-cookie"].lower()


async def test_the_operator_session_ends_after_twelve_hours(tmp_path: Path) -> None:
    async with open_world(tmp_path, **GIVEN) as world:
        cookie = (await sign_in(world)).cookies["imprint_operator"]
        headers = {"Cookie": f"imprint_operator={cookie}"}
        world.client.cookies.clear()
        assert "operator-panel" in (await world.client.get("/operator", headers=headers)).text
        world.clock.moment += timedelta(hours=12)
        assert "password" in (await world.client.get("/operator", headers=headers)).text


async def test_signing_out_ends_the_operator_session(tmp_path: Path) -> None:
    async with open_world(tmp_path, **GIVEN) as world:
        await opened_page(world)
        left = await world.client.post("/operator/sign-out", headers=FORM)
        assert (left.status_code, left.headers["location"]) == (303, "/operator")
        assert "password" in (await world.client.get("/operator")).text


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Content-Type": "text/plain"},
    ],
    ids=str,
)
async def test_a_cross_origin_form_is_refused(tmp_path: Path, headers: dict[str, str]) -> None:
    async with open_world(tmp_path, **GIVEN) as world:
        assert (await sign_in(world, **headers)).status_code == 403
        left = await world.client.post("/operator/sign-out", headers={**FORM, **headers})
        assert left.status_code == 403


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "same-origin"}, {"Origin": ORIGIN}])
async def test_a_same_origin_form_is_accepted(tmp_path: Path, headers: dict[str, str]) -> None:
    async with open_world(tmp_path, **GIVEN) as world:
        assert (await sign_in(world, **headers)).status_code == 303


async def test_sign_in_attempts_have_the_rate_limit_of_signed_requests(tmp_path: Path) -> None:
    given = {**GIVEN, "RATE_LIMITS": "on", "RATE_SIGNED": "3/60"}
    async with open_world(tmp_path, **given) as world:
        guesses = [(await sign_in(world, "wrong")).status_code for _ in range(4)]
        assert guesses == [403, 403, 403, 429]


async def test_a_failed_sign_in_is_logged_with_the_client_but_not_the_secret(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_world(tmp_path, **GIVEN) as world:
        caplog.set_level(logging.INFO)
        await sign_in(world, "a-wrong-guess")
        await sign_in(world)
    logged = {
        record.message: record
        for record in caplog.records
        if record.name == "imprint.web.site.operator"
    }
    failed = logged["a sign-in of the operator failed"]
    assert (failed.levelname, vars(failed)["client"]) == ("WARNING", "127.0.0.1")
    opened = logged["the operator signed in"]
    assert (opened.levelname, vars(opened)["client"]) == ("INFO", "127.0.0.1")
    for record in caplog.records:
        assert not {"a-wrong-guess", SECRET} & {str(value) for value in vars(record).values()}
        assert "a-wrong-guess" not in record.getMessage()


async def test_the_page_shows_publication_settings_and_lists_missing_ones(tmp_path: Path) -> None:
    named = {"PUBLICATION_NAME": "Quills", "PUBLICATION_ACCENT": "#c2185b", "CHAIN_COIN": "xDAI"}
    async with open_world(tmp_path / "named", **GIVEN, **named) as world:
        panel = panel_of(await opened_page(world), "publication")
        assert "Name Quills" in panel
        assert "Accent #c2185b on light pages, #d5608e on dark ones" in panel
        assert "Chain Imprint development, xDAI" in panel
        assert "Contact not set" in panel
        assert "imprint site preview" in panel
    async with open_world(tmp_path / "plain", **GIVEN) as world:
        assert "Name not set" in panel_of(await opened_page(world), "publication")


async def test_the_page_shows_health_process_and_versions(tmp_path: Path) -> None:
    async with open_world(tmp_path, **GIVEN) as world:
        page = await opened_page(world)
        assert "Status ready" in panel_of(page, "health")
        assert "Behind the chain" in panel_of(page, "follower")
        assert "responds" in panel_of(page, "nodes")
        assert "provider-b configured none known" in panel_of(page, "webhooks")
        assert "Dead letters 0" in panel_of(page, "dead-letters")
        assert "other than the owner 0" in panel_of(page, "mismatches")
        assert "Free on the fullest disk" in panel_of(page, "disk")
        assert "Drafts 0 Posts 0" in panel_of(page, "usage")
        assert "Last backup" in panel_of(page, "backup")
        assert "Workers configured 1" in panel_of(page, "process")
        assert "Schema" in panel_of(page, "versions")
        assert 'class="operator-problem"' not in page


async def test_the_page_shows_no_secret_and_no_node_url_path(tmp_path: Path) -> None:
    async with open_world(tmp_path, rpc_path="/a-secret-key", **GIVEN) as world:
        page = await opened_page(world)
        assert "a-secret-key" not in page
        assert SECRET not in page
        assert world.settings.sessions.jwt_secret.reveal() not in page


async def test_the_last_delivery_of_each_provider_is_shown(tmp_path: Path) -> None:
    async with open_world(tmp_path, **GIVEN) as world:
        block = world.chain.head
        assert (await world.deliver_a(block)).status_code == 200
        assert (await world.deliver_b(block)).status_code == 200
        shown = panel_of(await opened_page(world), "webhooks")
        assert "provider-a configured 0 seconds ago" in shown
        assert "provider-b configured 0 seconds ago" in shown


async def test_without_a_node_the_other_panels_are_still_shown(tmp_path: Path) -> None:
    async with open_world(tmp_path, **GIVEN) as world:
        await world.node.stop()
        page = await opened_page(world)
        assert "unknown: no node responds" in panel_of(page, "follower")
        assert "unknown: no node responds" in panel_of(page, "nodes")
        assert "Drafts 0" in panel_of(page, "usage")


class SilentStore:
    """An `OperatorFacts` whose database is unavailable or whose records cannot be read."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def _fail(self, *args: Any) -> Any:
        raise self.error

    events_to_examine = last_deliveries = database = last_backup = note_backup = _fail


@pytest.mark.parametrize("error", [Unavailable.database(), ValueError("damaged")], ids=str)
async def test_a_failing_panel_says_so_and_does_not_affect_the_others(
    tmp_path: Path, error: Exception
) -> None:
    def adapt(adapters: Any) -> Any:
        stores = replace(adapters.stores, operator_facts=SilentStore(error))
        return replace(adapters, stores=stores)

    async with open_world(tmp_path, adapt=adapt, **GIVEN) as world:
        page = await opened_page(world)
        assert "Unknown:" in panel_of(page, "dead-letters")
        assert "Unknown:" in panel_of(page, "webhooks")
        assert "Status ready" in panel_of(page, "health")


async def test_the_page_refreshes_itself_only_if_requested(tmp_path: Path) -> None:
    async with open_world(tmp_path, **GIVEN) as world:
        await opened_page(world)
        assert "refresh" not in (await world.client.get("/operator")).headers
        asked = await world.client.get("/operator", params={"refresh": "on"})
        assert asked.headers["refresh"] == "15"
