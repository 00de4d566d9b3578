"""Problem responses: every refusal on every endpoint has the same format."""

import pytest
from tests.world import World, problem

from imprint.web.http.problems import STATUSES

pytestmark = pytest.mark.asyncio(loop_scope="module")

READS = {
    "/filesByTags": (400, "invalid_tags"),
    "/fileByCid": (401, "session_missing"),
    "/fileByPostId": (401, "session_missing"),
    "/freeFileByPostId": (400, "invalid_post_id"),
    "/pendingFilesByOwner": (401, "session_missing"),
    "/filesByNextPageToken": (400, "invalid_page_token"),
}
JSON_WRITES = ["/auth/login", "/create/group", "/update/file", "/delete/file"]
WRITES = [*JSON_WRITES, "/publish/file"]
WEBHOOKS = [
    "/webhook/provider-a/publish",
    "/webhook/provider-b/publish",
    "/webhook/alchemy/publish",
    "/webhook/quicknode/publish",
]
CID = "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"


@pytest.mark.parametrize(("path", "expected"), READS.items())
async def test_a_read_without_parameters_is_refused(
    town: World, path: str, expected: tuple[int, str]
) -> None:
    assert problem(await town.client.get(path)) == expected


@pytest.mark.parametrize("path", WRITES)
async def test_a_write_without_a_body_is_refused(town: World, path: str) -> None:
    response = await town.client.post(path, params={"cid": CID})
    assert problem(response) == (415, "unsupported_media_type")


@pytest.mark.parametrize("path", WEBHOOKS)
async def test_a_delivery_without_a_signature_is_refused(town: World, path: str) -> None:
    # Without any of provider B's headers, the request would count as its connection test.
    response = await town.client.post(path, headers={"X-QN-Nonce": "1"})
    assert problem(response) == (401, "webhook_signature_invalid")


async def test_a_problem_has_its_type_title_and_code(town: World) -> None:
    response = await town.client.get("/freeFileByPostId", params={"postId": "x"})
    assert response.json() == {
        "type": "urn:imprint:problem:invalid_post_id",
        "title": "Bad Request",
        "status": 400,
        "detail": "A post id must be a decimal number below 2^256.",
        "code": "invalid_post_id",
        "error": "A post id must be a decimal number below 2^256.",
    }


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/filesByTags//",
        "/FILESBYTAGS",
        "/create",
        "/webhook/provider-c/publish",
        "/ipfs/",
        "/.env",
        "/%00",
        "/%ff",
        "/docs/x",
    ],
)
async def test_an_unknown_path_is_not_found(town: World, path: str) -> None:
    response = await town.client.get(path, follow_redirects=False)
    assert problem(response) == (404, "not_found")


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
async def test_the_refusal_of_a_wrong_method_lists_the_allowed_methods(
    town: World, method: str, path: str
) -> None:
    response = await town.client.request(method, path)
    assert problem(response) == (405, "method_not_allowed")
    assert response.headers["allow"]
    assert method not in response.headers["allow"].split(", ")


@pytest.mark.parametrize("path", JSON_WRITES)
@pytest.mark.parametrize(
    "media_type", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""]
)
async def test_a_body_without_a_json_content_type_is_refused(
    town: World, path: str, media_type: str | None
) -> None:
    headers = {} if media_type is None else {"Content-Type": media_type}
    response = await town.client.post(path, params={"cid": CID}, content=b"{}", headers=headers)
    assert problem(response) == (415, "unsupported_media_type")


@pytest.mark.parametrize("media_type", ["application/json", "application/x-www-form-urlencoded"])
async def test_a_form_without_a_multipart_content_type_is_refused(
    town: World, media_type: str
) -> None:
    headers = {"Content-Type": media_type}
    response = await town.client.post(
        "/publish/file", params={"cid": CID}, content=b"{}", headers=headers
    )
    assert problem(response) == (415, "unsupported_media_type")


async def test_the_media_type_is_matched_regardless_of_case_and_parameters(town: World) -> None:
    headers = {"Content-Type": "Application/JSON; charset=UTF-8"}
    response = await town.client.post("/auth/login", content=b"[]", headers=headers)
    assert problem(response) == (400, "invalid_request")


async def test_every_error_code_has_exactly_one_status() -> None:
    codes = [code for group in STATUSES.values() for code in group]
    assert len(codes) == len(set(codes))
