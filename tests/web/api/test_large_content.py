"""Large content is split from the body as it arrives, and decoded only for a verified signer."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from tests.world import World, open_world, problem

from imprint.web.http.requests import SMALL_BODY

pytestmark = pytest.mark.asyncio(loop_scope="module")

JSON = {"Content-Type": "application/json"}
CID = "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"
CHUNK = 64 * 1024


def _create(world: World, content: str) -> str:
    """The body of a valid create, with `content` inserted unchanged."""
    return json.dumps(world.stranger().sign("create"))[:-1] + f', "content": {content}}}'


async def _post(world: World, text: str | bytes) -> httpx2.Response:
    return await world.client.post("/create/group", content=text, headers=JSON)


LONG = "a" * 100_000
"""Text that makes a body large."""


@pytest.mark.parametrize(
    "content", [LONG, LONG + r"\n\u00e9\ud83d\ude00" + "é😀", r"\u0001" * 20_000]
)
async def test_large_content_is_stored_unchanged(town: World, content: str) -> None:
    alice = town.stranger()
    text = json.dumps(alice.sign("create"))[:-1] + f', "content": "{content}"}}'
    response = await _post(town, text)
    assert response.status_code == 200
    session = await town.login(alice)
    cid = response.json()["updatedUpload"]["cid"]
    shown = await town.client.get("/fileByCid", params={"cid": cid}, headers=session)
    assert shown.json()["content"] == json.loads(f'"{content}"')


@pytest.mark.parametrize("encryption", ["off", "on"])
async def test_large_content_is_stored_under_a_number_reserved_by_the_catalog(
    tmp_path: Path, encryption: str
) -> None:
    given = {"ENCRYPTION": encryption, "ENCRYPTION_KEY": "7b" * 32}
    async with open_world(tmp_path, **given) as world:
        alice = world.wallet(0)
        await world.create(alice, "The first, of a clock that is set back then.")
        world.clock.advance(-30)
        file = await world.create(alice, LONG + "é😀")
        assert (await world.read_draft(alice, file["cid"])).json()["content"] == LONG + "é😀"


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (rb"\ud800", "invalid_json"),
        (rb"\ude00\ud83d", "invalid_json"),
        (rb"\x", "invalid_json"),
        (b"\xff", "invalid_json"),
        (b"\xed\xa0\x80", "invalid_json"),
        (b"\x01", "invalid_json"),
        (b"\x00", "invalid_json"),
        (b"\n", "invalid_json"),
        (rb"\u0000", "invalid_request"),
        (b'", "content": "', "invalid_json"),
        (b'", "salt": {}, "x": "', "invalid_json"),
        (b'"} // "', "invalid_json"),
    ],
)
async def test_large_content_is_refused_for_the_same_reasons_as_small_content(
    town: World, end: bytes, code: str
) -> None:
    for start in ("a", LONG):
        head, tail = _create(town, f'"{start}%"').split("%")
        assert problem(await _post(town, head.encode() + end + tail.encode())) == (400, code)


async def test_large_content_that_is_not_a_string_is_refused(town: World) -> None:
    for content in (f'["{LONG[:60_000]}"]', "[" + "0," * 25_000 + "0]", "null" + " " * 64_000):
        assert problem(await _post(town, _create(town, content))) == (400, "invalid_request")


async def test_large_content_is_not_decoded_before_the_signer_is_verified(town: World) -> None:
    alice, eve = town.stranger(), town.stranger()
    forged = eve.sign("create") | {"address": alice.account.address}
    text = json.dumps(forged)[:-1] + f', "content": "{LONG}' + r'\ud800"}'
    assert problem(await _post(town, text)) == (401, "signature_invalid")


async def test_large_content_is_not_decoded_beyond_the_rate_limit(tmp_path: Path) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_WRITES="1/60") as world:
        alice = world.stranger()
        found = []
        for _ in range(2):
            text = json.dumps(alice.sign("create"))[:-1] + f', "content": "{LONG}' + r'\ud800"}'
            found.append(problem(await _post(world, text)))
        assert found == [(400, "invalid_json"), (429, "rate_limited")]


async def test_large_content_is_decoded_before_the_file_is_looked_up(town: World) -> None:
    text = json.dumps(town.stranger().sign("update"))[:-1] + f', "content": "{LONG}' + r'\ud800"}'
    response = await town.client.post(
        "/update/file", params={"cid": CID}, content=text, headers=JSON
    )
    assert problem(response) == (400, "invalid_json")


class Repeated:
    """A body that repeats one chunk and counts how many bytes were read."""

    def __init__(self, start: bytes, piece: bytes, size: int) -> None:
        self.taken = 0
        self._start, self._piece, self._size = start, piece, size

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._start
        chunk = self._piece * (CHUNK // len(self._piece))
        while self.taken < self._size:
            self.taken += len(chunk)
            yield chunk


@pytest.mark.parametrize(
    ("start", "piece", "expected"),
    [
        (b'{"salt": [[]', b",[]", (400, "invalid_request")),
        (b'{"content": [[]', b",[]", (400, "invalid_request")),
        (b'{"salt": [0', b",0", (413, "too_large")),
        (b'{"salt": "', b"a", (413, "too_large")),
        (b'{"content": "', b"a", (413, "too_large")),
        (b"", b"[]", (400, "invalid_request")),
        (b"", b" ", (413, "too_large")),
    ],
)
async def test_a_body_with_an_invalid_start_is_not_read_completely(
    town: World, start: bytes, piece: bytes, expected: tuple[int, str]
) -> None:
    """The service reads only the part of the body that the middleware drains."""
    body = Repeated(start, piece, 24 * 1024 * 1024)
    headers = JSON | {"Expect": "100-continue"}
    response = await town.client.post("/create/group", content=body, headers=headers)
    assert problem(response) == expected
    most = 4 * 1024 * 1024 if start.startswith(b'{"content": "') else SMALL_BODY
    assert body.taken <= most + 2 * CHUNK


async def test_json_escapes_do_not_count_towards_the_content_limit(town: World) -> None:
    most = 4 * 1024 * 1024
    text = _create(town, '"' + r"\u0001" * most + '"')
    assert (await _post(town, text)).status_code == 200
    text = _create(town, '"' + r"\u0001" * most + '1"')
    assert problem(await _post(town, text)) == (413, "too_large")
