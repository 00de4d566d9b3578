"""The operator's desk: reports, measures, and their log."""

import csv
from pathlib import Path
from urllib.parse import urlencode

import httpx2
from tests.web.site.publication import publish
from tests.web.site.test_operator import FORM, GIVEN, sign_in
from tests.world import World, open_world

DESK = "/operator/desk"


async def send(world: World, **fields: str) -> httpx2.Response:
    return await world.client.post(DESK, content=urlencode(fields), headers=FORM)


async def report(world: World, post_id: str, text: str) -> None:
    body = {"postId": post_id, "reason": "abuse", "text": text}
    assert (await world.client.post("/reports", json=body)).status_code == 202


async def test_the_moderation_desk_needs_the_operator_secret(tmp_path: Path) -> None:
    async with open_world(tmp_path, **GIVEN) as world:
        post_id = await publish(world, 1)
        assert 'type="password"' in (await world.client.get(DESK)).text
        refused = await send(world, kind="post", target=post_id, measure="withheld")
        assert refused.status_code == 403
        assert (await world.client.get("/operator/log.json")).status_code == 403
        assert (await world.client.get("/operator/log.csv")).status_code == 403
        assert (await world.client.get(f"/posts/{post_id}")).status_code == 200


async def test_a_measure_submitted_from_another_site_is_refused(tmp_path: Path) -> None:
    async with open_world(tmp_path, **GIVEN) as world:
        post_id = await publish(world, 1)
        await sign_in(world)
        form = urlencode({"kind": "post", "target": post_id, "measure": "withheld"})
        for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.test"}):
            response = await world.client.post(DESK, content=form, headers=FORM | headers)
            assert response.status_code == 403
        assert (await world.client.get(f"/posts/{post_id}")).status_code == 200


async def test_a_report_is_shown_as_text_next_to_its_post_and_closed_by_a_measure(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path, **GIVEN) as world:
        post_id = await publish(world, 1, title="The reported one")
        await report(world, post_id, "<script>alert(1)</script>")
        await sign_in(world)
        page = (await world.client.get(DESK)).text
        assert "The reported one" in page
        assert "&lt;script&gt;alert(1)" in page
        assert "<script>alert" not in page
        (kept,) = await world.adapters.stores.moderation.open_reports(10)
        fields = {"kind": "post", "target": post_id, "measure": "withheld", "reports": kept.id}
        done = await send(world, ground="legal", statement="By law.", **fields)
        assert f"http://imprint.test/p/{post_id}" in done.text
        assert "There are no open reports." in done.text
        # This process applies the measure at once.
        assert (await world.client.get(f"/posts/{post_id}")).status_code == 451
        await send(world, kind="post", target=post_id, measure="undone")
        assert (await world.client.get(f"/posts/{post_id}")).status_code == 200


async def test_a_report_can_be_closed_without_a_measure(tmp_path: Path) -> None:
    async with open_world(tmp_path, **GIVEN) as world:
        post_id = await publish(world, 1)
        await report(world, post_id, "Boring.")
        await sign_in(world)
        (kept,) = await world.adapters.stores.moderation.open_reports(10)
        await send(world, kind="post", target=post_id, measure="none", reports=kept.id)
        assert await world.adapters.stores.moderation.open_reports(10) == []
        assert (await world.client.get(f"/posts/{post_id}")).status_code == 200


async def test_the_moderation_log_is_exported_completely(tmp_path: Path) -> None:
    async with open_world(tmp_path, **GIVEN) as world:
        post_id = await publish(world, 1, "ink")
        await sign_in(world)
        await send(world, kind="tag", target="#Ink", measure="unlisted", statement="=1+1")
        await send(world, kind="post", target=post_id, measure="withheld", ground="legal")
        await send(world, kind="tag", target="ink", measure="undone")
        records = (await world.client.get("/operator/log.json")).json()
        told = [(each["number"], each["measure"], each["target"]) for each in records]
        assert told == [(1, "unlisted", "ink"), (2, "withheld", post_id), (3, "undone", "ink")]
        rows = list(csv.reader((await world.client.get("/operator/log.csv")).text.splitlines()))
        assert rows[0] == ["number", "at", "measure", "kind", "target", "ground", "statement"]
        assert rows[1][-1] == "'=1+1"
        assert len(rows) == 4


async def test_an_invalid_decision_shows_an_error(tmp_path: Path) -> None:
    async with open_world(tmp_path, **GIVEN) as world:
        await sign_in(world)
        wrong = [
            {"kind": "post", "target": "99", "measure": "withheld"},
            {"kind": "post", "target": "x", "measure": "withheld"},
            {"kind": "author", "target": "0x12", "measure": "refused"},
            {"kind": "tag", "target": "ink", "measure": "refused"},
            {"kind": "tag", "target": "ink", "measure": "undone"},
            {"kind": "planet", "target": "x", "measure": "withheld"},
            {"kind": "tag", "target": "ink", "measure": "burnt"},
            {"kind": "tag", "target": "ink", "measure": "unlisted", "statement": "x" * 2_001},
            {"measure": "withheld"},
        ]
        for fields in wrong:
            response = await send(world, **fields)
            assert response.status_code == 400, fields
            assert 'role="alert"' in response.text
        assert (await world.client.get("/operator/log.json")).json() == []
