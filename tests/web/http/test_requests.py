"""Hostile bodies are aborted while streaming, parsed strictly, and never cause a server error."""

import asyncio
import gzip
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.world import World, open_world, picture, problem

from imprint.web.http.middleware import DRAIN_SECONDS, MAX_DRAINED
from imprint.web.http.requests import MAX_QUERY

pytestmark = pytest.mark.asyncio(loop_scope="module")

JSON = {"Content-Type": "application/json"}
CID = "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"
CHUNK = 64 * 1024


class Pouring:
    """An endless body that counts how much of it was read."""

    def __init__(self, start: bytes = b"", pause: float = 0) -> None:
        self.taken = 0
        self._start = start
        self._pause = pause

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._start
        while self.taken < 256 * 1024 * 1024:
            self.taken += CHUNK
            await asyncio.sleep(self._pause)
            yield b"a" * CHUNK


LIMITS = {
    "/auth/login": 64 * 1024,
    "/delete/file": 64 * 1024,
    "/create/group": 6 * 4 * 1024 * 1024 + 64 * 1024,
    "/update/file": 6 * 4 * 1024 * 1024 + 64 * 1024,
    "/publish/file": 5 * 1024 * 1024 + 64 * 1024,
    "/webhook/provider-a/publish": 16 * 1024 * 1024,
    "/webhook/provider-b/publish": 16 * 1024 * 1024,
}


@pytest.mark.parametrize(("path", "limit"), LIMITS.items())
async def test_a_streamed_body_is_cut_off_at_its_limit(town: World, path: str, limit: int) -> None:
    body = Pouring()
    media_type = (
        "multipart/form-data; boundary=b" if "publish/file" in path else JSON["Content-Type"]
    )
    headers = {
        "Content-Type": media_type,
        "X-Alchemy-Signature": "00" * 32,
        "X-QN-Nonce": "n" * 32,
        "X-QN-Timestamp": str(town.clock.seconds),
        "X-QN-Signature": "00" * 32,
    }
    response = await town.client.post(path, params={"cid": CID}, content=body, headers=headers)
    assert problem(response) == (413, "too_large")
    assert response.headers["connection"] == "close"
    assert body.taken <= max(limit, MAX_DRAINED) + 2 * CHUNK


@pytest.mark.parametrize(("path", "limit"), LIMITS.items())
async def test_a_body_declared_too_large_is_read_no_further_than_its_limit(
    town: World, path: str, limit: int
) -> None:
    body = Pouring()
    media_type = (
        "multipart/form-data; boundary=b" if "publish/file" in path else JSON["Content-Type"]
    )
    headers = {"Content-Type": media_type, "Content-Length": str(limit + 1)}
    response = await town.client.post(path, params={"cid": CID}, content=body, headers=headers)
    assert problem(response) == (413, "too_large")
    assert body.taken <= limit + 2 * CHUNK


async def test_a_body_declared_far_too_large_is_not_read_at_all(
    town: World,
) -> None:
    body = Pouring()
    headers = JSON | {"Content-Length": str(MAX_DRAINED + 1)}
    response = await town.client.post("/create/group", content=body, headers=headers)
    assert problem(response) == (413, "too_large")
    assert response.headers["connection"] == "close"
    assert body.taken == 0


async def test_a_refused_client_that_expects_100_continue_sends_no_body(town: World) -> None:
    body = Pouring()
    headers = {"Content-Type": "text/plain", "Expect": "100-Continue"}
    response = await town.client.post("/create/group", content=body, headers=headers)
    assert problem(response) == (415, "unsupported_media_type")
    assert body.taken == 0


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        ("9" * 5000, (413, "too_large")),
        ("-1", (400, "invalid_request")),
        ("1e3", (400, "invalid_request")),
        ("x", (400, "invalid_request")),
        ("", (400, "invalid_request")),
        ("²", (400, "invalid_request")),
    ],
)
async def test_a_malformed_content_length_is_refused(
    town: World, length: str, expected: tuple[int, str]
) -> None:
    headers = JSON | {"Content-Length": length}
    request = town.client.build_request("POST", "/auth/login", content=b"{}")
    request.headers = httpx2.Headers({k: v.encode("latin-1") for k, v in headers.items()})
    response = await town.client.send(request)
    assert problem(response) == expected


async def test_a_refused_body_that_arrives_slowly_is_not_awaited(town: World) -> None:
    body = Pouring(pause=0.1)
    async with asyncio.timeout(10 * DRAIN_SECONDS):
        response = await town.client.post(
            "/create/group", content=body, headers={"Content-Type": "text/plain"}
        )
    assert problem(response) == (415, "unsupported_media_type")
    assert response.headers["connection"] == "close"


@pytest.mark.parametrize("path", ["/update/file", "/delete/file", "/publish/file"])
async def test_size_is_checked_before_media_type_and_media_type_before_content(
    town: World, path: str
) -> None:
    wrong = {"cid": "x"}
    response = await town.client.post(path, params=wrong, content=b"a" * (LIMITS[path] + 1))
    assert problem(response) == (413, "too_large")
    assert problem(await town.client.post(path, params=wrong)) == (415, "unsupported_media_type")
    kind = "multipart/form-data; boundary=b" if "publish" in path else JSON["Content-Type"]
    response = await town.client.post(path, params=wrong, headers={"Content-Type": kind})
    assert problem(response) == (400, "invalid_cid")


@pytest.mark.parametrize("salt", [None, 7, "text", [], True])
async def test_a_salt_that_is_not_an_object_is_invalid_typed_data(town: World, salt: Any) -> None:
    signed = town.stranger().sign("create") | {"salt": salt, "content": ""}
    response = await town.client.post("/create/group", json=signed)
    assert problem(response) == (400, "invalid_typed_data")
    response = await town.client.post("/delete/file", params={"cid": CID}, json=signed)
    assert problem(response) == (400, "invalid_typed_data")


async def test_a_body_that_arrives_too_slowly_is_timed_out(tmp_path: Path) -> None:
    async with open_world(tmp_path, BODY_TIMEOUT_SECONDS="0.2") as world:
        body = Pouring(b'{"content": "', pause=0.05)
        async with asyncio.timeout(20):
            response = await world.client.post("/create/group", content=body, headers=JSON)
        assert problem(response) == (408, "request_timeout")


async def test_a_client_that_disconnects_midway_causes_no_server_error(town: World) -> None:
    messages = [
        {"type": "http.request", "body": b'{"salt":', "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/create/group",
        "raw_path": b"/create/group",
        "query_string": b"",
        "root_path": "",
        "headers": [(b"content-type", b"application/json")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    await town.app(scope, receive, send)  # type: ignore[arg-type]
    assert sent[0]["status"] == 400


def _create(world: World, content: str) -> str:
    """The body of a valid create, with `content` inserted unchanged."""
    body = world.stranger().sign("create")
    return json.dumps(body)[:-1] + f', "content": {content}}}'


async def _post(world: World, text: str | bytes) -> httpx2.Response:
    return await world.client.post("/create/group", content=text, headers=JSON)


async def test_the_unmodified_body_is_accepted(town: World) -> None:
    assert (await _post(town, _create(town, '"fine"'))).status_code == 200


NOT_JSON: dict[str, Any] = {
    "nothing": b"",
    "a word": b"hello",
    "two values": b"{} {}",
    "a trailing comma": b'{"a": 1,}',
    "single quotes": b"{'a': 1}",
    "a comment": b"{} // no",
    "a BOM": b"\xef\xbb\xbf{}",
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "broken UTF-8": b'{"a": "\xff"}',
    "a surrogate in UTF-8": b'{"a": "\xed\xa0\x80"}',
    "a raw control character": b'{"a": "\x01"}',
    "a raw NUL": b'{"a": "\x00"}',
    "100 000 arrays": b"[" * 100_000,
    "100 000 objects": b'{"a":' * 100_000,
    "a deep salt": b'{"salt":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "a number of 5000 digits": b'{"a": ' + b"9" * 5000 + b"}",
}


@pytest.mark.parametrize("body", NOT_JSON.values(), ids=NOT_JSON.keys())
async def test_malformed_json_is_refused(town: World, body: bytes) -> None:
    started = time.thread_time()
    assert problem(await _post(town, body)) == (400, "invalid_json")
    assert time.thread_time() - started < 1


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
async def test_nan_and_infinity_are_refused(town: World, number: str) -> None:
    assert problem(await _post(town, _create(town, number))) == (400, "invalid_json")


async def test_a_duplicate_json_key_is_refused(town: World) -> None:
    good = _create(town, '"first"')
    for twice in (
        good[:-1] + ', "content": "second"}',
        good.replace('"message": {', '"message": {"nonce": "other", '),
    ):
        assert twice != good
        assert problem(await _post(town, twice)) == (400, "invalid_json")


@pytest.mark.parametrize("text", [r'"\ud800"', r'"\udfff"', r'"a\ud83d b"', r'"\ude00\ud83d"'])
async def test_a_lone_surrogate_is_refused(town: World, text: str) -> None:
    assert problem(await _post(town, _create(town, text))) == (400, "invalid_json")


async def test_a_complete_surrogate_pair_is_accepted(town: World) -> None:
    assert (await _post(town, _create(town, r'"\ud83d\ude00"'))).status_code == 200


async def test_an_escaped_nul_is_refused(town: World) -> None:
    assert problem(await _post(town, _create(town, r'"a\u0000b"'))) == (400, "invalid_request")


@pytest.mark.parametrize("body", ["[]", "7", '"text"', "null", "true"])
async def test_json_that_is_not_an_object_is_refused(town: World, body: str) -> None:
    assert problem(await _post(town, body)) == (400, "invalid_request")


@pytest.mark.parametrize("depth", [10, 100, 500, 900, 990, 5000])
async def test_deep_nesting_causes_no_server_error(town: World, depth: int) -> None:
    for nested in ("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth):
        body = town.stranger().sign("create") | {"content": r"\u0041"}
        text = json.dumps(body)[:-1] + f', "extra": {nested}}}'
        response = await _post(town, text)
        assert response.status_code == 200 or problem(response) == (400, "invalid_json")
        spoiled = json.dumps(body).replace('"salt": {', f'"salt": {{"extra": {nested}, ')
        assert problem(await _post(town, spoiled))[0] == 400


@pytest.mark.parametrize("path", ["/auth/login", "/create/group", "/update/file", "/delete/file"])
@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "deflate", "br", "zstd", "identity, gzip"])
async def test_a_compressed_body_is_refused_as_unsupported(
    town: World, path: str, coding: str
) -> None:
    body = gzip.compress(b"{}")
    headers = JSON | {"Content-Encoding": coding}
    response = await town.client.post(path, params={"cid": CID}, content=body, headers=headers)
    assert problem(response) == (415, "unsupported_media_type")


async def test_a_compressed_form_is_refused_as_unsupported(town: World) -> None:
    headers = {
        "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
        "Content-Encoding": "gzip",
    }
    body = gzip.compress(b"".join(_parts(town)) + END)
    response = await town.client.post(
        "/publish/file", params={"cid": CID}, content=body, headers=headers
    )
    assert problem(response) == (415, "unsupported_media_type")


async def test_an_identity_encoding_is_accepted(town: World) -> None:
    headers = JSON | {"Content-Encoding": "Identity"}
    text = _create(town, '"fine"')
    response = await town.client.post("/create/group", content=text, headers=headers)
    assert response.status_code == 200


BOUNDARY = "----boundary"


def _part(name: str, value: bytes, filename: str | None = None) -> bytes:
    disposition = f'form-data; name="{name}"' + (f'; filename="{filename}"' if filename else "")
    return f"--{BOUNDARY}\r\nContent-Disposition: {disposition}\r\n\r\n".encode() + value + b"\r\n"


def _parts(world: World) -> list[bytes]:
    fields = world.stranger().sign("publish")
    return [
        _part("salt", json.dumps(fields["salt"]).encode()),
        _part("address", fields["address"].encode()),
        _part("signature", fields["signature"].encode()),
        _part("hashtags", b"a"),
        _part("file", picture(), "cover.png"),
    ]


async def _form(world: World, body: bytes, content_type: str | None = None) -> httpx2.Response:
    headers = {"Content-Type": content_type or f"multipart/form-data; boundary={BOUNDARY}"}
    return await world.client.post(
        "/publish/file", params={"cid": CID}, content=body, headers=headers
    )


END = f"--{BOUNDARY}--\r\n".encode()


async def test_the_unmodified_form_is_accepted(town: World) -> None:
    response = await _form(town, b"".join(_parts(town)) + END)
    assert problem(response) == (404, "not_found")


def _as_blobs(parts: list[bytes]) -> list[bytes]:
    """The parts as browsers send them when every value is a Blob with a media type."""
    head = b'"; filename="blob"\r\nContent-Type: application/json\r\n\r\n'
    return [part.replace(b'"\r\n\r\n', head, 1) for part in parts]


@pytest.mark.parametrize("is_file_first", [False, True])
async def test_a_text_field_may_be_sent_as_a_blob_like_browsers_do(
    town: World, is_file_first: bool
) -> None:
    *texts, file = _parts(town)
    blobs = _as_blobs(texts)
    assert all(b'; filename="blob"' in blob for blob in blobs)
    parts = [file, *blobs] if is_file_first else [*blobs, file]
    response = await _form(town, b"".join(parts) + END)
    assert problem(response) == (404, "not_found")


async def test_a_text_field_sent_as_a_blob_has_the_limits_of_a_text_field(town: World) -> None:
    salt, *others = _parts(town)
    small, large = (
        salt.replace(b"\r\n\r\n", b"\r\n\r\n" + b" " * size, 1) for size in (60_000, 65_536)
    )
    response = await _form(town, b"".join([*_as_blobs([small]), *others]) + END)
    assert problem(response) == (404, "not_found")
    response = await _form(town, b"".join([*_as_blobs([large]), *others]) + END)
    assert problem(response) == (400, "invalid_request")


async def test_text_fields_and_blobs_count_towards_one_limit(town: World) -> None:
    parts = _parts(town)
    more = [_part(f"f{number}", b"", "blob") for number in range(5)]
    response = await _form(town, b"".join([*parts, *more[:4]]) + END)
    assert problem(response) == (404, "not_found")
    response = await _form(town, b"".join([*parts, *more]) + END)
    assert problem(response) == (400, "invalid_request")


async def test_a_picture_sent_as_a_text_field_is_refused(town: World) -> None:
    *texts, _ = _parts(town)
    response = await _form(town, b"".join([*texts, _part("file", picture())]) + END)
    assert problem(response) == (400, "invalid_request")


@pytest.mark.parametrize("field", range(5), ids=["salt", "address", "signature", "tags", "file"])
async def test_a_duplicate_form_field_is_refused(town: World, field: int) -> None:
    parts = _parts(town)
    response = await _form(town, b"".join([*parts, parts[field]]) + END)
    assert problem(response) == (400, "invalid_request")


SPOILED: dict[str, Any] = {
    "thousands of fields": lambda p: b"".join(p + [_part(f"f{n}", b"") for n in range(5000)]) + END,
    "thousands of files": lambda p: b"".join(p + [_part(f"f{n}", b"", "x") for n in range(5000)]),
    "a huge field": lambda p: b"".join([*p, _part("big", b"a" * 2_000_000)]) + END,
    "a part without a name": lambda p: (
        f"--{BOUNDARY}\r\nContent-Disposition: form-data\r\n\r\nx\r\n".encode() + END
    ),
    "a part without a header": lambda p: f"--{BOUNDARY}\r\n\r\nx\r\n".encode() + END,
    "a broken header": lambda p: f"--{BOUNDARY}\r\n\0\0: x\r\n\r\nx\r\n".encode() + END,
    "a header without an end": lambda p: f"--{BOUNDARY}\r\n".encode() + b"A" * 100_000,
    "no end": lambda p: b"".join(p)[:-30],
    "another boundary": lambda p: b"".join(p).replace(BOUNDARY.encode(), b"--other") + END,
    "nothing": lambda p: b"",
    "noise": lambda p: bytes(range(256)) * 100,
    "JSON": lambda p: b'{"salt": {}}',
}


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED.keys())
async def test_a_hostile_form_is_refused(town: World, spoil: Any) -> None:
    started = time.thread_time()
    response = await _form(town, spoil(_parts(town)))
    assert problem(response) == (400, "invalid_request")
    assert time.thread_time() - started < 1


@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        'multipart/form-data; boundary="',
        "multipart/form-data; boundary=" + "b" * 10_000,
        "multipart/form-data; boundary=\xff\xfe",
    ],
)
async def test_a_form_without_a_valid_boundary_is_refused(town: World, content_type: str) -> None:
    body = b"".join(_parts(town)) + END
    headers = {"Content-Type": content_type.encode("latin-1")}
    response = await town.client.post(
        "/publish/file", params={"cid": CID}, content=body, headers=headers
    )
    assert problem(response) == (400, "invalid_request")


@pytest.mark.parametrize(
    ("charset", "code"),
    [
        ("utf-7", "invalid_tags"),
        ("idna", "invalid_tags"),
        ("zlib", "invalid_tags"),
        ("rot13", "invalid_tags"),
        ("no-such", "invalid_tags"),
        ("\0", "invalid_request"),
    ],
)
async def test_an_unusual_form_charset_causes_no_server_error(
    town: World, charset: str, code: str
) -> None:
    content_type = f"multipart/form-data; boundary={BOUNDARY}; charset={charset}"
    parts = _parts(town)
    parts[3] = _part("hashtags", b"+2AA-")
    response = await _form(town, b"".join(parts) + END, content_type)
    assert problem(response) == (400, code)


@pytest.mark.parametrize("charset", ["utf-16", "punycode"])
async def test_names_and_texts_of_a_form_are_utf_8_in_any_charset(
    town: World, charset: str
) -> None:
    content_type = f"multipart/form-data; boundary={BOUNDARY}; charset={charset}"
    response = await _form(town, b"".join(_parts(town)) + END, content_type)
    assert problem(response) == (404, "not_found")


@pytest.mark.parametrize(
    ("salt", "code"),
    [
        (b"[" * 60_000, "invalid_json"),
        (b'{"domain": {}, "domain": {}}', "invalid_json"),
        (b'{"domain": NaN}', "invalid_json"),
        (rb'{"domain": "\ud800"}', "invalid_json"),
        (b"\xff", "invalid_json"),
    ],
)
async def test_the_salt_in_a_form_is_parsed_as_strictly_as_a_json_body(
    town: World, salt: bytes, code: str
) -> None:
    parts = _parts(town)
    parts[0] = _part("salt", salt)
    response = await _form(town, b"".join(parts) + END)
    assert problem(response) == (400, code)


@pytest.mark.parametrize(
    ("field", "code"),
    [(1, "invalid_request"), (2, "invalid_request"), (3, "invalid_tags")],
    ids=["address", "signature", "hashtags"],
)
async def test_a_text_field_that_is_not_utf_8_is_refused(
    town: World, field: int, code: str
) -> None:
    parts = _parts(town)
    name = ("salt", "address", "signature", "hashtags")[field]
    for value in (b"caf\xe9", b"\xff", b"\xed\xa0\x80"):
        parts[field] = _part(name, value)
        for charset in ("", "; charset=latin-1"):
            content_type = f"multipart/form-data; boundary={BOUNDARY}{charset}"
            response = await _form(town, b"".join(parts) + END, content_type)
            assert problem(response) == (400, code)


async def test_a_form_may_be_split_into_any_pieces(town: World) -> None:
    body = b"".join(_parts(town)) + END

    async def pieces() -> AsyncIterator[bytes]:
        for place in range(0, len(body), 7):
            yield body[place : place + 7]

    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    response = await town.client.post(
        "/publish/file", params={"cid": CID}, content=pieces(), headers=headers
    )
    assert problem(response) == (404, "not_found")


@pytest.mark.parametrize("filename", ["../../etc/passwd", "x.svg", "a\0b.png", "漢字", "." * 500])
async def test_the_file_name_of_an_image_is_ignored(town: World, filename: str) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    fields = alice.sign("publish")
    fields["salt"] = json.dumps(fields["salt"])
    files = {"file": (filename, picture(), "text/html")}
    response = await town.client.post(
        "/publish/file", params={"cid": file["cid"]}, data=fields, files=files
    )
    assert response.status_code == 200


QUERIES = ["a=%ff", "cid=%00", "tags=%ff%fe", "cid=" + "a" * 60_000, "&&&", "=", "%", "cid[]=x"]


@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
@pytest.mark.parametrize(
    "path", ["/filesMetaData", "/filesByTags", "/freeFileByPostId", "/filesByNextPageToken"]
)
async def test_arbitrary_queries_get_200_or_400(town: World, path: str, query: str) -> None:
    response = await town.client.get(f"{path}?{query}")
    assert response.status_code == 200 or problem(response)[0] == 400


@pytest.mark.parametrize(
    ("path", "code"), [("/filesMetaData", "invalid_request"), ("/filesByTags", "invalid_tags")]
)
async def test_a_query_that_is_too_long_is_refused_before_parsing(
    town: World, path: str, code: str
) -> None:
    within = await town.client.get(f"{path}?tags=a&{'&' * (MAX_QUERY - len('tags=a&'))}")
    assert within.status_code == 200
    beyond = await town.client.get(f"{path}?tags=a&{'&' * MAX_QUERY}")
    assert problem(beyond) == (400, code)


@pytest.mark.parametrize("host", ["evil.example", "", "a" * 5000, "x\0y"])
async def test_the_host_header_is_ignored(town: World, host: str) -> None:
    response = await town.client.get("/.well-known/imprint.json", headers={"Host": host})
    assert response.status_code == 200
    assert "evil.example" not in response.text
