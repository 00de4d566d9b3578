"""Logout: every replica refuses an ended session at once, on every route that uses sessions."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from tests.web.conftest import EVERY_DATABASE
from tests.world import ORIGIN, World, check_described, problem

from imprint.bootstrap import build_service, open_adapters
from imprint.web.docs.openapi import describe_interface

pytestmark = [*EVERY_DATABASE, pytest.mark.asyncio(loop_scope="module")]

ENDED = (401, "session_ended")

Session = dict[str, str]


@asynccontextmanager
async def open_replica(town: World) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a second service on the same database, store and chain."""
    adapters = open_adapters(town.settings, town.clock, town.clock.monotonic)
    transport = httpx2.ASGITransport(build_service(town.settings, adapters))
    hooks = {"response": [check_described]}
    try:
        async with httpx2.AsyncClient(
            transport=transport, base_url=ORIGIN, event_hooks=hooks
        ) as client:
            yield client
    finally:
        await adapters.close()


async def log_out(
    client: httpx2.AsyncClient, session: Session, body: object = None
) -> httpx2.Response:
    sent = {} if body is None else {"json": body}
    return await client.post("/auth/logout", headers=session, **sent)


async def list_drafts(
    client: httpx2.AsyncClient, address: str, session: Session
) -> httpx2.Response:
    return await client.get("/pendingFilesByOwner", params={"owner": address}, headers=session)


@pytest.mark.parametrize("body", [None, {}, {"all": False}])
async def test_a_logout_ends_only_its_own_session(town: World, body: object) -> None:
    reader = town.stranger()
    session, other = await town.login(reader), await town.login(reader)
    response = await log_out(town.client, session, body)
    assert (response.status_code, response.content) == (204, b"")
    assert response.headers["cache-control"] == "no-store"
    refused = await list_drafts(town.client, reader.address, session)
    assert problem(refused) == ENDED
    assert refused.headers["www-authenticate"] == 'Bearer error="invalid_token"'
    assert (await list_drafts(town.client, reader.address, other)).status_code == 200


async def test_logging_out_everywhere_ends_every_session_of_the_address(town: World) -> None:
    reader, neighbour = town.stranger(), town.stranger()
    sessions = [await town.login(reader) for _ in range(3)]
    kept = await town.login(neighbour)
    assert (await log_out(town.client, sessions[0], {"all": True})).status_code == 204
    for session in sessions:
        assert problem(await list_drafts(town.client, reader.address, session)) == ENDED
    assert (await list_drafts(town.client, neighbour.address, kept)).status_code == 200


async def test_a_login_right_after_logging_out_everywhere_is_valid(town: World) -> None:
    reader = town.stranger()
    for _ in range(3):
        # The clock of this world stands still, so logins and logouts have the same time.
        session = await town.login(reader)
        assert (await list_drafts(town.client, reader.address, session)).status_code == 200
        assert (await log_out(town.client, session, {"all": True})).status_code == 204
        assert problem(await list_drafts(town.client, reader.address, session)) == ENDED


@pytest.mark.parametrize(
    "body",
    [
        b"null",
        b"[]",
        b"true",
        b'"all"',
        b'{"all": 1}',
        b'{"all": 0}',
        b'{"all": null}',
        b'{"all": "true"}',
        b'{"All": true}',
        b'{"all": true, "more": 1}',
    ],
)
async def test_an_invalid_body_is_refused_and_ends_no_session(town: World, body: bytes) -> None:
    reader = town.stranger()
    session = await town.login(reader)
    response = await town.client.post("/auth/logout", headers=session, content=body)
    assert problem(response) == (400, "invalid_request")
    assert (await list_drafts(town.client, reader.address, session)).status_code == 200


@pytest.mark.parametrize("body", [b"{", b'{"all": true, "all": false}', b"\xff", b"{} {}"])
async def test_a_body_that_is_not_json_is_refused(town: World, body: bytes) -> None:
    session = await town.login(town.stranger())
    response = await town.client.post("/auth/logout", headers=session, content=body)
    assert problem(response) == (400, "invalid_json")


async def test_a_logout_with_query_parameters_is_refused(town: World) -> None:
    reader = town.stranger()
    session = await town.login(reader)
    response = await town.client.post("/auth/logout?all=true", headers=session)
    assert problem(response) == (400, "invalid_request")
    assert (await list_drafts(town.client, reader.address, session)).status_code == 200


async def test_a_logout_needs_a_session(town: World) -> None:
    assert problem(await log_out(town.client, {})) == (401, "session_missing")
    invalid = {"Authorization": "Bearer x"}
    assert problem(await log_out(town.client, invalid)) == (401, "session_invalid")


async def test_a_session_can_be_ended_only_once(town: World) -> None:
    reader = town.stranger()
    session, other = await town.login(reader), await town.login(reader)
    assert (await log_out(town.client, session)).status_code == 204
    assert problem(await log_out(town.client, session)) == ENDED
    assert problem(await log_out(town.client, session, {"all": True})) == ENDED
    assert (await list_drafts(town.client, reader.address, other)).status_code == 200


async def test_simultaneous_logouts_of_one_session_end_it(town: World) -> None:
    reader = town.stranger()
    session = await town.login(reader)
    responses = await asyncio.gather(*(log_out(town.client, session) for _ in range(5)))
    assert {each.status_code for each in responses} <= {204, 401}
    assert 204 in {each.status_code for each in responses}
    assert problem(await list_drafts(town.client, reader.address, session)) == ENDED


async def test_a_login_concurrent_with_logging_out_everywhere_is_live_or_ended(town: World) -> None:
    reader = town.stranger()
    first = await town.login(reader)
    session, response = await asyncio.gather(
        town.login(reader), log_out(town.client, first, {"all": True})
    )
    assert response.status_code == 204
    assert problem(await list_drafts(town.client, reader.address, first)) == ENDED
    during = await list_drafts(town.client, reader.address, session)
    assert during.status_code == 200 or problem(during) == ENDED
    after = await town.login(reader)
    assert (await list_drafts(town.client, reader.address, after)).status_code == 200


@pytest.mark.parametrize("everywhere", [False, True])
async def test_a_logout_takes_effect_on_the_next_request_to_another_replica(
    town: World, everywhere: bool
) -> None:
    reader = town.stranger()
    draft = await town.create(reader)
    async with open_replica(town) as replica:
        for here, there in ((town.client, replica), (replica, town.client)):
            session = await town.login(reader)
            requests: list[tuple[str, dict[str, str]]] = [
                ("/fileByCid", {"cid": draft["cid"]}),
                ("/pendingFilesByOwner", {"owner": reader.address}),
                ("/me/feeds", {}),
            ]
            for _ in range(3):
                for path, params in requests:
                    response = await there.get(path, params=params, headers=session)
                    assert response.status_code == 200, response.text
            assert (await log_out(here, session, {"all": everywhere})).status_code == 204
            for path, params in requests:
                response = await there.get(path, params=params, headers=session)
                assert problem(response) == ENDED
            assert problem(await log_out(there, session)) == ENDED


async def test_an_entitled_reader_is_refused_after_a_logout(town: World) -> None:
    author = town.wallet(3)
    post_id, _ = await town.post(author)
    session = await town.login(author)
    assert (await town.read_post(author, post_id, session)).status_code == 200
    content = f"/posts/{post_id}/content"
    current = await town.client.get(content, headers=session)
    tag = {"If-None-Match": current.headers["etag"]}
    assert (await log_out(town.client, session)).status_code == 204
    assert problem(await town.read_post(author, post_id, session)) == ENDED
    assert problem(await town.client.get(content, headers=session)) == ENDED
    assert problem(await town.client.get(content, headers=session | tag)) == ENDED
    # A request for a post that does not exist gets the same response.
    assert problem(await town.read_post(author, 10**20, session)) == ENDED


async def test_a_replica_without_its_database_accepts_no_session(town: World) -> None:
    reader = town.stranger()
    draft = await town.create(reader)
    live, ended = await town.login(reader), await town.login(reader)
    adapters = open_adapters(town.settings, town.clock, town.clock.monotonic)
    transport = httpx2.ASGITransport(build_service(town.settings, adapters))
    async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN) as replica:
        for session in (live, ended):
            # These requests fill all caches of the replica.
            assert (await list_drafts(replica, reader.address, session)).status_code == 200
        assert (await log_out(town.client, ended)).status_code == 204
        await adapters.close()
        for session in (live, ended):
            responses = [
                await list_drafts(replica, reader.address, session),
                await replica.get("/fileByCid", params={"cid": draft["cid"]}, headers=session),
                await replica.get("/me/feeds", headers=session),
                await log_out(replica, session, {"all": True}),
            ]
            unavailable = (503, "database_unavailable")
            assert {problem(response) for response in responses} == {unavailable}
    assert (await list_drafts(town.client, reader.address, live)).status_code == 200
    assert problem(await list_drafts(town.client, reader.address, ended)) == ENDED


async def test_an_expired_session_cannot_log_out(town: World) -> None:
    reader = town.stranger()
    session = await town.login(reader)
    town.clock.advance(7200)
    try:
        other = await town.login(reader)
        assert problem(await log_out(town.client, session)) == (401, "session_expired")
        response = await log_out(town.client, session, {"all": True})
        assert problem(response) == (401, "session_expired")
        assert (await list_drafts(town.client, reader.address, other)).status_code == 200
    finally:
        town.clock.advance(-7200)


# Page tokens of lists of drafts, which are used without a session


async def first_page(town: World, address: str, session: Session) -> str:
    token = (await list_drafts(town.client, address, session)).json()["next_page_token"]
    assert isinstance(token, str)
    return token


async def next_page(town: World, token: str) -> httpx2.Response:
    return await town.client.get("/filesByNextPageToken", params={"next_page_token": token})


@pytest.mark.parametrize("everywhere", [False, True])
async def test_a_page_token_for_drafts_ends_with_its_session(town: World, everywhere: bool) -> None:
    reader = town.stranger()
    for _ in range(23):
        await town.create(reader)
    session, other = await town.login(reader), await town.login(reader)
    token, kept = (
        await first_page(town, reader.address, session),
        await first_page(town, reader.address, other),
    )
    page = await next_page(town, token)
    assert len(page.json()["files"]) == 9
    following = page.json()["next_page_token"]
    assert (await log_out(town.client, session, {"all": everywhere})).status_code == 204
    for ended in (token, following):
        assert problem(await next_page(town, ended)) == (400, "invalid_page_token")
    assert ((await next_page(town, kept)).status_code == 200) is not everywhere


async def test_private_feeds_survive_logging_out_everywhere(town: World) -> None:
    reader = town.stranger()
    session = await town.login(reader)
    made = await town.client.post("/me/feeds", headers=session)
    assert (await log_out(town.client, session, {"all": True})).status_code == 204
    response = await town.client.get(made.json()["json"])
    assert response.status_code in {200, 503}  # 503 while the index is being filled
    assert problem(await town.client.get("/me/feeds", headers=session)) == ENDED


# Every route that takes a session

DOCUMENT = describe_interface("1.0.0")

UNDESCRIBED: dict[str, Any] = {
    "security": [],
    "parameters": [{"in": "path", "name": "id", "example": "1"}],
}
"""The operation assumed for routes of pages, which the API description omits."""


def example(operation: dict[str, Any], path: str, own: dict[str, str]) -> dict[str, Any]:
    """A request with everything that an operation requires, except for its session."""
    given: dict[str, Any] = {"params": {}, "headers": {}}
    for parameter in operation.get("parameters", ()):
        value = own.get(parameter["name"], parameter.get("example"))
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", value)
        elif parameter["in"] == "query" and parameter["required"]:
            given["params"][parameter["name"]] = value
    for media_type, media in operation.get("requestBody", {}).get("content", {}).items():
        if media_type == "application/json":
            several = [each["value"] for each in media.get("examples", {}).values()]
            given["content"] = json.dumps(several[0] if several else media["example"])
            given["headers"]["Content-Type"] = media_type
    return {**given, "url": path}


SESSIONS_OF_PAGES = {
    *(f"get /p/{{id}}/{name}" for name in ("text", "document", "changes", "first")),
    "post /studio/preview",
}
"""Routes that pages call with a session but that the API description omits."""


async def test_every_route_that_uses_a_session_refuses_an_ended_one(town: World) -> None:
    reader = town.stranger()
    live, ended = await town.login(reader), await town.login(reader)
    assert (await log_out(town.client, ended)).status_code == 204
    own = {"user": reader.address, "owner": reader.address, "address": reader.address}
    # The post must be paid, because the Markdown of a free post is the same for everybody.
    own["id"] = str((await town.post(town.wallet(1)))[0])
    await town.index()
    invalid = {"Authorization": "Bearer x"}
    with_session, described = set(), set()
    for path, method in routes_of(town.app):
        name = f"{method} {path}"
        operation = DOCUMENT["paths"].get(path, {}).get(method, UNDESCRIBED)
        request = example(operation, path, own) | {"method": method.upper()}
        headers = request.pop("headers")
        if {"session": []} in operation["security"]:
            described.add(name)
        refused = await town.client.request(**request, headers=headers | invalid)
        if refused.status_code != 401 or problem(refused)[1] != "session_invalid":
            continue
        with_session.add(name)
        response = await town.client.request(**request, headers=headers | ended)
        assert problem(response) == ENDED, name
    assert with_session == described | SESSIONS_OF_PAGES
    assert "post /auth/logout" in with_session
    assert (await list_drafts(town.client, reader.address, live)).status_code == 200


def routes_of(app: Any) -> Iterator[tuple[str, str]]:
    """The path and the method of every route."""
    for route in app.routes:
        for method in route.methods - {"HEAD"}:
            yield route.path, method.lower()
