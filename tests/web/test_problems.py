"""Answers that all endpoints share: one body for every refusal, and headers on everything."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.world import World, open_world, problem

from imprint.web.problems import STATUSES

pytestmark = pytest.mark.asyncio(loop_scope="module")

READS = [
    "/filesByTags",
    "/fileByCid",
    "/fileByPostId",
    "/freeFileByPostId",
    "/pendingFilesByOwner",
    "/filesByNextPageToken",
]
JSON_WRITES = ["/auth/login", "/create/group", "/update/file", "/delete/file"]
WRITES = [*JSON_WRITES, "/publish/file"]
WEBHOOKS = [
    "/webhook/provider-a/publish",
    "/webhook/provider-b/publish",
    "/webhook/alchemy/publish",
    "/webhook/quicknode/publish",
]
CID = "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"


@pytest.mark.parametrize("path", READS)
async def test_a_read_without_its_parameters_is_a_problem(town: World, path: str) -> None:
    assert problem(await town.client.get(path))[0] in (400, 401)


@pytest.mark.parametrize("path", [*WRITES, *WEBHOOKS])
async def test_a_write_of_nothing_is_a_problem(town: World, path: str) -> None:
    assert problem(await town.client.post(path, params={"cid": CID}))[0] in (401, 415)


async def test_a_problem_tells_its_type_title_and_code(town: World) -> None:
    answer = await town.client.get("/freeFileByPostId", params={"postId": "x"})
    assert answer.json() == {
        "type": "urn:imprint:problem:invalid_post_id",
        "title": "Bad Request",
        "status": 400,
        "detail": "A post id is a decimal number below 2^256.",
        "code": "invalid_post_id",
        "error": "A post id is a decimal number below 2^256.",
    }


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/nothing",
        "/filesByTags/",
        "/FILESBYTAGS",
        "/create",
        "/webhook/provider-c/publish",
        "/ipfs/",
        "/.env",
        "//",
        "/%00",
        "/%ff",
        "/docs/x",
    ],
)
async def test_an_unknown_path_is_not_found(town: World, path: str) -> None:
    answer = await town.client.get(path, follow_redirects=False)
    assert problem(answer) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/create/group"),
        ("PUT", "/update/file"),
        ("DELETE", "/delete/file"),
        ("GET", "/auth/login"),
        ("POST", "/filesByTags"),
        ("GET", "/webhook/provider-a/publish"),
        ("PATCH", "/fileByCid"),
        ("TRACE", "/filesMetaData"),
        ("BREW", "/filesMetaData"),
        ("OPTIONS", "/healthz"),
    ],
)
async def test_another_method_is_refused_with_the_right_ones(
    town: World, method: str, path: str
) -> None:
    answer = await town.client.request(method, path)
    assert problem(answer) == (405, "method_not_allowed")
    assert answer.headers["allow"]
    assert method not in answer.headers["allow"].split(", ")


@pytest.mark.parametrize("path", JSON_WRITES)
@pytest.mark.parametrize(
    "media_type", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""]
)
async def test_a_body_that_is_not_called_json_is_refused(
    town: World, path: str, media_type: str | None
) -> None:
    headers = {} if media_type is None else {"Content-Type": media_type}
    answer = await town.client.post(path, params={"cid": CID}, content=b"{}", headers=headers)
    assert problem(answer) == (415, "unsupported_media_type")


@pytest.mark.parametrize("media_type", ["application/json", "application/x-www-form-urlencoded"])
async def test_a_form_that_is_not_called_one_is_refused(town: World, media_type: str) -> None:
    headers = {"Content-Type": media_type}
    answer = await town.client.post(
        "/publish/file", params={"cid": CID}, content=b"{}", headers=headers
    )
    assert problem(answer) == (415, "unsupported_media_type")


async def test_the_media_type_is_read_without_case_and_parameters(town: World) -> None:
    headers = {"Content-Type": "Application/JSON; charset=UTF-8"}
    answer = await town.client.post("/auth/login", content=b"[]", headers=headers)
    assert problem(answer) == (400, "invalid_request")


async def _every_kind_of_answer(world: World) -> dict[str, Any]:
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


async def test_every_answer_keeps_browsers_from_guessing_and_running(town: World) -> None:
    for kind, answer in (await _every_kind_of_answer(town)).items():
        assert answer.headers["x-content-type-options"] == "nosniff", kind
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"], kind
        assert answer.headers["referrer-policy"] == "no-referrer", kind


async def test_every_answer_has_the_id_of_its_request(town: World) -> None:
    answers = await _every_kind_of_answer(town)
    ids = [answer.headers["x-request-id"] for answer in answers.values()]
    assert len(set(ids)) == len(ids)
    assert all(len(each) >= 8 for each in ids)


async def test_only_what_is_public_may_be_kept(town: World) -> None:
    public = {"free post", "thumbnail", "facts", "description", "docs"}
    for kind, answer in (await _every_kind_of_answer(town)).items():
        stored = answer.headers["cache-control"] != "no-store"
        assert stored == (kind in public), kind


async def test_no_answer_sets_a_cookie_or_names_its_server(town: World) -> None:
    for kind, answer in (await _every_kind_of_answer(town)).items():
        assert "set-cookie" not in answer.headers, kind
        assert "server" not in answer.headers, kind


async def test_a_good_request_id_is_kept(town: World) -> None:
    headers = {"X-Request-Id": "from-a-proxy-0001"}
    answer = await town.client.get("/healthz", headers=headers)
    assert answer.headers["x-request-id"] == "from-a-proxy-0001"


@pytest.mark.parametrize("given", ["short", "x" * 65, "a b c d e f", "<script>1</script>", "é" * 9])
async def test_a_strange_request_id_is_replaced(town: World, given: str) -> None:
    answer = await town.client.get("/healthz", headers={"X-Request-Id": given.encode("latin-1")})
    assert answer.headers["x-request-id"] != given
    assert given not in answer.headers["x-request-id"]


async def test_an_origin_that_is_not_allowed_gets_no_permission(tmp_path: Path) -> None:
    async with open_world(tmp_path, CORS_ORIGINS="https://good.example") as world:
        for origin in ("https://evil.example", "https://good.example.evil", "null"):
            answer = await world.client.get("/filesMetaData", headers={"Origin": origin})
            assert "access-control-allow-origin" not in answer.headers
            assert answer.status_code == 200


async def test_an_allowed_origin_gets_permission_without_credentials(tmp_path: Path) -> None:
    async with open_world(tmp_path, CORS_ORIGINS="https://good.example") as world:
        origin = {"Origin": "https://good.example"}
        for answer in (
            await world.client.get("/filesMetaData", headers=origin),
            await world.client.get("/fileByCid", headers=origin),
        ):
            assert answer.headers["access-control-allow-origin"] == "https://good.example"
            assert "origin" in answer.headers["vary"].lower()
            assert "access-control-allow-credentials" not in answer.headers
            assert "X-Request-Id" in answer.headers["access-control-expose-headers"]


@pytest.mark.parametrize(
    ("origin", "allowed"), [("https://good.example", True), ("https://evil.example", False)]
)
async def test_a_preflight_is_answered_for_allowed_origins_alone(
    tmp_path: Path, origin: str, allowed: bool
) -> None:
    async with open_world(tmp_path, CORS_ORIGINS="https://good.example") as world:
        headers = {
            "Origin": origin,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type,authorization",
        }
        answer = await world.client.options("/create/group", headers=headers)
        assert answer.status_code == (200 if allowed else 204)
        assert (answer.headers.get("access-control-allow-origin") == origin) is allowed
        assert ("access-control-allow-methods" in answer.headers) is allowed


@pytest.mark.parametrize(
    "asked", [{"Method": "DELETE"}, {"Method": "POST", "Headers": "X-Strange"}], ids=str
)
async def test_a_preflight_for_more_than_is_taken_gets_no_permission(
    tmp_path: Path, asked: dict[str, str]
) -> None:
    async with open_world(tmp_path, CORS_ORIGINS="https://good.example") as world:
        headers = {f"Access-Control-Request-{name}": value for name, value in asked.items()}
        headers["Origin"] = "https://good.example"
        answer = await world.client.options("/create/group", headers=headers)
        assert answer.status_code == 204
        assert answer.content == b""
        assert not [name for name in answer.headers if name.startswith("access-control-")]


async def test_asking_for_permission_is_not_paced_as_writing(tmp_path: Path) -> None:
    strict = {"RATE_LIMITS": "on", "RATE_SIGNED": "2/60"}
    async with open_world(tmp_path, CORS_ORIGINS="https://good.example", **strict) as world:
        headers = {"Origin": "https://good.example", "Access-Control-Request-Method": "POST"}
        for _ in range(2):
            assert (await world.client.options("/create/group", headers=headers)).is_success
            assert (await world.send_create(world.wallet(1))).status_code == 200
        assert problem(await world.send_create(world.wallet(1))) == (429, "rate_limited")


async def test_without_allowed_origins_nobody_else_is_let_in(tmp_path: Path) -> None:
    async with open_world(tmp_path, CORS_ORIGINS="") as world:
        headers = {"Origin": "https://good.example"}
        answer = await world.client.get("/filesMetaData", headers=headers)
        assert "access-control-allow-origin" not in answer.headers


async def test_a_paced_client_is_told_when_to_come_back(tmp_path: Path) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_READS="2/60") as world:
        for _ in range(2):
            assert (await world.client.get("/filesMetaData")).status_code == 200
        answer = await world.client.get("/filesMetaData")
        assert problem(answer) == (429, "rate_limited")
        world.clock.advance(int(answer.headers["retry-after"]))
        assert (await world.client.get("/filesMetaData")).status_code == 200


async def test_health_is_never_paced(tmp_path: Path) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_READS="1/60") as world:
        for _ in range(5):
            assert (await world.client.get("/healthz")).status_code == 200


async def test_a_forwarded_address_is_believed_from_a_trusted_proxy_alone(tmp_path: Path) -> None:
    paced = {"RATE_LIMITS": "on", "RATE_READS": "1/60"}
    for folder, trusted, statuses in (
        ("open", "", [200, 429]),
        ("behind", "127.0.0.1", [200, 200]),
    ):
        async with open_world(tmp_path / folder, TRUSTED_PROXIES=trusted, **paced) as world:
            answers = [
                await world.client.get("/filesMetaData", headers={"X-Forwarded-For": address})
                for address in ("203.0.113.1", "203.0.113.2")
            ]
            assert [answer.status_code for answer in answers] == statuses


async def test_the_facts_tell_a_client_what_it_needs(town: World) -> None:
    facts = (await town.client.get("/.well-known/imprint.json")).json()
    assert facts["name"] == "Imprint"
    assert facts["signing"] == {"name": "Imprint", "version": "1", "chainId": 31337}
    assert "imprint.test" in facts["login"]["domains"]
    assert facts["login"]["freshness_seconds"] == 60
    assert facts["chain"] == {"id": 31337, "marketplace": town.marketplace}
    assert facts["limits"]["content_bytes"] == 4 * 1024 * 1024
    assert set(facts["page_sizes"].values()) == {9, 12}


@pytest.mark.parametrize("contact", ["mailto:safety@example.org", "https://example.org/report"])
async def test_the_operators_contact_is_found_where_researchers_look(
    tmp_path: Path, contact: str
) -> None:
    async with open_world(tmp_path, SECURITY_CONTACT=contact) as world:
        answer = await world.client.get("/.well-known/security.txt")
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        fields = dict(line.split(": ", 1) for line in answer.text.splitlines())
        assert fields.keys() == {"Contact", "Expires"}
        assert fields["Contact"] == contact
        life = datetime.fromisoformat(fields["Expires"]) - world.clock.now()
        assert timedelta(days=90) < life < timedelta(days=365)


async def test_without_a_contact_there_is_no_text_about_one(town: World) -> None:
    answer = await town.client.get("/.well-known/security.txt")
    assert problem(answer) == (404, "not_found")


async def test_a_healthy_service_is_ready(town: World) -> None:
    assert (await town.client.get("/healthz")).json() == {"status": "alive"}
    answer = await town.client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {
        "status": "ready",
        "checks": {"database": "ok", "storage": "ok", "chain": "ok"},
    }


async def test_every_code_has_one_status() -> None:
    codes = [code for group in STATUSES.values() for code in group]
    assert len(codes) == len(set(codes))


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
