"""Logs and responses of a whole walk contain no secrets, and no client can forge a log line."""

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.canaries import CANARIES, canary
from tests.world import World, open_world, problem

from imprint.logs import JsonFormatter, TextFormatter
from imprint.web.http.middleware import request_id

GIVEN = {
    name: CANARIES[name]
    for name in (
        "JWT_SECRET",
        "JWT_SECRET_PREVIOUS",
        "PAGE_TOKEN_SECRET",
        "WEBHOOK_A_SECRET",
        "WEBHOOK_B_SECRET",
    )
}


@contextmanager
def _listening(
    style: type[JsonFormatter] | type[TextFormatter] = JsonFormatter,
) -> Iterator[io.StringIO]:
    """Capture every log record of the process as a line, without any redaction."""
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    handler.setFormatter(style((), request_id.get))
    # The test's own client is not part of the service.
    handler.addFilter(lambda record: not record.name.startswith(("httpx2", "httpcore2")))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


@dataclass(slots=True)
class Walk:
    """The secrets used in a walk, its responses, and its log."""

    secrets: dict[str, str] = field(default_factory=dict)
    responses: list[httpx2.Response] = field(default_factory=list)
    lines: str = ""


async def _walk(world: World, walk: Walk) -> None:
    async def note(response: httpx2.Response) -> None:
        await response.aread()
        walk.responses.append(response)

    async def note_request(request: httpx2.Request) -> None:
        if "X-QN-Signature" in request.headers:
            walk.secrets.setdefault("delivery b", request.headers["X-QN-Signature"])
        if "X-Alchemy-Signature" in request.headers:
            walk.secrets.setdefault("delivery a", request.headers["X-Alchemy-Signature"])

    world.client.event_hooks = {"response": [note], "request": [note_request]}
    alice, bob = world.wallet(1), world.wallet(2)
    session = await world.login(bob)
    walk.secrets["session"] = session["Authorization"].removeprefix("Bearer ")
    login = alice.sign_login(alice.login_message())
    walk.secrets["login signature"] = login["signature"]
    await world.client.post("/auth/login", json=login)
    await world.client.post("/auth/login", json=login)
    body = alice.sign("create") | {"content": "canary content of a draft"}
    walk.secrets["write signature"] = body["signature"]
    walk.secrets["content"] = body["content"]
    await world.client.post("/create/group", json=body)
    await world.client.post("/create/group", json=body)
    for _ in range(13):
        await world.create(bob)
    owner = {"owner": bob.address}
    page = await world.client.get("/pendingFilesByOwner", params=owner, headers=session)
    walk.secrets["page token"] = page.json()["next_page_token"]
    token = {"next_page_token": walk.secrets["page token"]}
    await world.client.get("/filesByNextPageToken", params=token)
    await world.client.get("/filesByNextPageToken", params=token | {"next_page_token": "A" * 99})
    draft = await world.create(alice)
    await world.publish(alice, draft["cid"], "walk")
    await world.send_publish(alice, draft["cid"], image=b"none")
    block = world.create_post(alice, draft["cid"])
    await world.deliver_a(block)
    await world.deliver_b(block)
    await world.deliver("provider-a", b"{}", {"X-Alchemy-Signature": "00" * 32})
    await world.read_post(bob, 1, session)
    world.buy(bob, 1)
    await world.read_post(bob, 1, session)
    await world.read_post(bob, 1, {"Authorization": session["Authorization"] + "x"})
    await world.node.stop()
    world.clock.advance(60)
    await world.read_post(bob, 1, session)
    await world.client.get("/readyz")
    await world.send_delete(alice, (await world.create(alice))["cid"])
    await world.client.get("/.well-known/imprint.json")
    await world.client.get("/openapi.json")
    await world.client.get("/docs")


async def _whole_walk(folder: Path) -> Walk:
    walk = Walk(GIVEN | {"RPC key": canary("CHAIN_RPC_URL")})
    with _listening() as lines:
        async with open_world(folder, **GIVEN) as world:
            await _walk(world, walk)
    walk.lines = lines.getvalue()
    return walk


async def test_no_log_line_of_a_full_walkthrough_contains_a_secret(tmp_path: Path) -> None:
    walk = await _whole_walk(tmp_path)
    assert walk.lines.count('"responded"') >= 30
    assert "chain node failed" in walk.lines
    for name, secret in walk.secrets.items():
        assert secret not in walk.lines, name
        assert secret.removeprefix("0x") not in walk.lines, name


async def test_no_response_in_a_full_walkthrough_contains_a_secret(tmp_path: Path) -> None:
    walk = await _whole_walk(tmp_path)
    meant = {"session": "/auth/login", "page token": "/pendingFilesByOwner"}
    assert len({response.request.url.path for response in walk.responses}) >= 12
    for response in walk.responses:
        text = response.text + str(response.headers)
        for name, secret in walk.secrets.items():
            if meant.get(name) != response.request.url.path:
                assert secret not in text, (name, response.request.url.path)


async def test_every_response_is_logged_in_one_line_with_its_id_and_code(world: World) -> None:
    with _listening() as lines:
        response = await world.client.get("/freeFileByPostId", params={"postId": "x"})
    (line,) = [json.loads(line) for line in lines.getvalue().splitlines() if "responded" in line]
    assert line["request_id"] == response.headers["x-request-id"]
    assert (line["status"], line["code"]) == (400, "invalid_post_id")
    assert (line["method"], line["path"]) == ("GET", "/freeFileByPostId")
    assert line["bytes"] == len(response.content)
    assert "client" not in line


async def test_the_client_address_is_logged_if_switched_on(tmp_path: Path) -> None:
    with _listening() as lines:
        async with open_world(tmp_path, LOG_CLIENT_ADDRESSES="on") as world:
            await world.client.get("/healthz")
            await world.client.head("/healthz")
    found = [json.loads(line) for line in lines.getvalue().splitlines() if "responded" in line]
    assert [line["client"] for line in found] == ["127.0.0.1"] * 2
    assert (found[0]["bytes"] > 0, found[1]["bytes"]) == (True, 0)


HOSTILE = 'line one\nline two\r\n\x1b[31mred {"level": "critical"}'


@pytest.mark.parametrize("style", [JsonFormatter, TextFormatter])
async def test_control_characters_stay_within_their_log_line(world: World, style: Any) -> None:
    alice = world.wallet(1)
    with _listening(style) as lines:
        assert (await world.send_create(alice, nonce=HOSTILE)).status_code == 200
        again = await world.send_create(alice, nonce=HOSTILE)
        assert problem(again) == (409, "nonce_used")
        await world.client.get("/nothing%0Ahere%0D%1B[31m")
        await world.client.get("/filesByTags", params={"tags": HOSTILE})
        await world.deliver_a(world.create_post(alice, HOSTILE))
    text = lines.getvalue()
    assert "\x1b" not in text
    assert "\r" not in text
    assert not any(line.startswith(("line two", "here")) for line in text.split("\n"))
    if style is JsonFormatter:
        assert all(json.loads(line) for line in text.splitlines())


async def test_query_strings_are_not_logged(world: World) -> None:
    with _listening() as lines:
        await world.client.get("/filesByTags", params={"tags": "canarytag"})
    assert "/filesByTags" in lines.getvalue()
    assert "canarytag" not in lines.getvalue()


async def test_log_lines_have_a_bounded_length_whatever_the_path(world: World) -> None:
    with _listening() as lines:
        await world.client.get("/" + "a" * 60_000)
    assert "aaaa" in lines.getvalue()
    assert max(map(len, lines.getvalue().splitlines())) < 1000
