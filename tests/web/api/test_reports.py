"""Readers report posts to the operator with `POST /reports`."""

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest
from tests.world import World, open_world, problem

from imprint.domain.moderation import Report, ReportReason

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


async def send(world: World, **members: Any) -> httpx2.Response:
    body = {"postId": "1", "reason": "spam", "text": "Buy!"} | members
    return await world.client.post("/reports", json=body)


async def kept(world: World) -> list[Report]:
    return await world.adapters.stores.moderation.open_reports(10)


@pytest.mark.parametrize("records", ["sqlite", "postgresql"], indirect=True)
async def test_a_report_is_accepted_and_stored_for_the_operator(world: World) -> None:
    await world.post(world.wallet(1))
    response = await send(world, contact="me@example.com")
    assert response.status_code == 202
    (report,) = await kept(world)
    assert response.json() == {"report": {"id": report.id}}
    assert (report.post_id, report.reason, report.text) == (1, ReportReason.SPAM, "Buy!")
    assert report.contact == "me@example.com"


@pytest.mark.parametrize(
    "members",
    [
        {"reason": "boring"},
        {"reason": 7},
        {"text": None},
        {"text": ["Buy!"]},
        {"text": "x" * 2_001},
        {"contact": "x" * 201},
        {"contact": 5},
        {"postId": 1},
    ],
)
async def test_a_malformed_report_is_refused(world: World, members: dict[str, Any]) -> None:
    await world.post(world.wallet(1))
    assert problem(await send(world, **members)) == (400, "invalid_request")
    assert await kept(world) == []


async def test_a_report_of_an_unknown_post_is_refused(world: World) -> None:
    assert problem(await send(world, postId="99")) == (404, "not_found")
    assert problem(await send(world, postId="-1")) == (400, "invalid_post_id")


async def test_a_report_is_plain_text_without_control_characters(world: World) -> None:
    await world.post(world.wallet(1))
    hostile = "<script>alert(1)</script>\x00\x1b[2J\u202egnp\u2066\nsecond line"
    assert (await send(world, text=hostile)).status_code in (202, 400)
    await send(world, text=hostile.replace("\x00", ""))
    report = (await kept(world))[-1]
    assert report.text == "<script>alert(1)</script>[2Jgnp\nsecond line"


async def test_the_contact_in_a_report_is_a_single_line(world: World) -> None:
    await world.post(world.wallet(1))
    hostile = "a@example.com\r\nBcc: all@example.com\n\n\tBody\u2028\u202e"
    assert (await send(world, contact=hostile)).status_code == 202
    (report,) = await kept(world)
    assert report.contact == "a@example.com Bcc: all@example.com Body"


async def test_a_report_form_sent_without_scripts_redirects_to_the_post(world: World) -> None:
    await world.post(world.wallet(1))
    fields = {"postId": "1", "reason": "abuse", "text": "Two\r\nlines", "contact": ""}
    response = await world.client.post("/reports", content=urlencode(fields), headers=FORM)
    assert (response.status_code, response.headers["location"]) == (303, "/p/1#reported")
    (report,) = await kept(world)
    assert (report.text, report.contact) == ("Two\nlines", "")
    twice = await world.client.post(
        "/reports", content=f"{urlencode(fields)}&postId=2", headers=FORM
    )
    assert problem(twice) == (400, "invalid_request")


async def test_the_reports_of_one_client_are_rate_limited(tmp_path: Path) -> None:
    given = {"RATE_LIMITS": "on", "RATE_REPORTS": "2/60"}
    async with open_world(tmp_path, **given) as world:
        await world.post(world.wallet(1))
        assert [(await send(world)).status_code for _ in range(3)] == [202, 202, 429]
        world.clock.advance(31)
        assert (await send(world)).status_code == 202


@pytest.mark.parametrize("records", ["sqlite", "postgresql"], indirect=True)
async def test_the_oldest_closed_reports_are_dropped_if_there_are_too_many(world: World) -> None:
    store, clock = world.adapters.stores.moderation, world.clock
    for number in range(4):
        clock.advance(1)
        report = Report(f"report-{number}", 1, ReportReason.SPAM, "", "", clock())
        if number == 3:
            await store.close_reports(["report-1"], clock())
        await store.add_report(report, 3)
    assert [each.id for each in await kept(world)] == ["report-0", "report-2", "report-3"]
    await store.add_report(Report("report-4", 1, ReportReason.SPAM, "", "", clock()), 3)
    assert [each.id for each in await kept(world)] == ["report-2", "report-3", "report-4"]


@pytest.mark.parametrize("records", ["sqlite", "postgresql"], indirect=True)
async def test_a_flood_about_one_post_displaces_no_report_of_another(world: World) -> None:
    store, clock = world.adapters.stores.moderation, world.clock
    await store.add_report(Report("genuine", 1, ReportReason.ABUSE, "", "", clock()), 3)
    for number in range(5):
        clock.advance(1)
        await store.add_report(Report(f"flood-{number}", 2, ReportReason.SPAM, "", "", clock()), 3)
    assert [each.id for each in await kept(world)] == ["genuine", "flood-3", "flood-4"]
