"""Previews of drafts need a session, and are rate-limited like writes."""

from pathlib import Path

import pytest
from tests.world import World, open_world, problem

PATH = "/studio/preview"


async def test_a_preview_matches_what_the_page_will_show(world: World) -> None:
    session = await world.login(world.wallet(1))
    response = await world.client.post(PATH, json={"content": "a *b* <script>"}, headers=session)
    assert response.text == "<p>a <em>b</em> &lt;script&gt;</p>\n"
    assert response.headers["cache-control"] == "private, no-store"
    assert response.headers["content-type"] == "text/html; charset=utf-8"


async def test_a_preview_needs_a_session(world: World) -> None:
    body = {"content": "a"}
    assert problem(await world.client.post(PATH, json=body)) == (401, "session_missing")
    invalid = {"Authorization": "Bearer x"}
    response = await world.client.post(PATH, json=body, headers=invalid)
    assert problem(response) == (401, "session_invalid")
    session = await world.login(world.wallet(1))
    world.clock.advance(world.settings.sessions.seconds + 120)
    response = await world.client.post(PATH, json=body, headers=session)
    assert problem(response) == (401, "session_expired")


async def test_an_ended_session_gets_no_preview(world: World) -> None:
    session = await world.login(world.wallet(1))
    ended = await world.client.post("/auth/logout", headers=session)
    assert ended.status_code == 204
    response = await world.client.post(PATH, json={"content": "a"}, headers=session)
    assert problem(response) == (401, "session_ended")


async def test_a_client_without_a_session_is_refused_before_the_body_is_read(world: World) -> None:
    headers = {"Content-Type": "application/json"}
    response = await world.client.post(PATH, content=b"{", headers=headers)
    assert problem(response) == (401, "session_missing")


async def test_previews_have_the_same_rate_limit_as_writes_but_a_separate_count(
    tmp_path: Path,
) -> None:
    given = {"RATE_LIMITS": "on", "RATE_SIGNED": "3/60", "RATE_READS": "1/60"}
    async with open_world(tmp_path, **given) as world:
        session = await world.login(world.wallet(1))
        statuses = []
        for _ in range(4):
            response = await world.client.post(PATH, json={"content": "a"}, headers=session)
            statuses.append(response.status_code)
        assert statuses == [200, 200, 200, 429]
        await world.login(world.wallet(2))


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "invalid_json"),
        (b"{}", 400, "invalid_request"),
        (b'{"content": 1}', 400, "invalid_request"),
    ],
)
async def test_a_malformed_preview_is_refused(
    world: World, body: bytes, status: int, code: str
) -> None:
    headers = {"Content-Type": "application/json", **await world.login(world.wallet(1))}
    response = await world.client.post(PATH, content=body, headers=headers)
    assert problem(response) == (status, code)


async def test_a_preview_that_is_too_large_is_refused(tmp_path: Path) -> None:
    async with open_world(tmp_path, MAX_CONTENT_BYTES="1000") as world:
        session = await world.login(world.wallet(1))
        for length in (1001, 200_000):
            body = {"content": "a" * length}
            response = await world.client.post(PATH, json=body, headers=session)
            assert problem(response) == (413, "too_large")
