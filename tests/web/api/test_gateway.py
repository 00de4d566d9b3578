"""The public gateway supports ranges and formats, and serves no private documents."""

import io
import time

import httpx2
import pytest
import pytest_asyncio
from PIL import Image
from tests.world import World, picture, problem, respell

from imprint.domain.formats.car import read_header, read_sections
from imprint.domain.formats.cids import Cid, assemble, blocks, document_cid
from imprint.web.api.gateway import Format, Representation

pytestmark = pytest.mark.asyncio(loop_scope="module")

RAW = "application/vnd.ipld.raw"
CAR = "application/vnd.ipld.car"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shown(town: World) -> tuple[Cid, bytes]:
    """A small thumbnail and its bytes."""
    alice = town.stranger()
    cid = await town.publish(alice, (await town.create(alice))["cid"])
    return Cid(cid), (await town.client.get(f"/ipfs/{cid}")).content


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def large(town: World) -> tuple[Cid, bytes]:
    """A thumbnail that consists of several blocks."""
    alice = town.stranger()
    file = await town.create(alice)
    image = _noise()
    response = await town.send_publish(alice, file["cid"], image=image)
    cid = response.json()["thumbnailCid"]
    body = (await town.client.get(f"/ipfs/{cid}")).content
    assert len(list(blocks(body))) > 2
    return Cid(cid), body


def _noise() -> bytes:
    file = io.BytesIO()
    Image.effect_noise((700, 700), 100).save(file, "PNG")
    return file.getvalue()


async def fetch(town: World, cid: str, query: str = "", **headers: str) -> httpx2.Response:
    named = {name.replace("_", "-"): value.encode("latin-1") for name, value in headers.items()}
    return await town.client.get(f"/ipfs/{cid}{query}", headers=named)


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ("bytes=0-3", 0, 3),
        ("bytes=5-5", 5, 5),
        ("bytes=10-", 10, None),
        ("bytes=-7", -7, None),
        ("bytes=0-999999999999999", 0, None),
        ("bytes=-999999", 0, None),
        ("bytes= 2-4 ", 2, 4),
    ],
)
async def test_a_single_range_gets_206(town, shown, asked, first, last):
    cid, body = shown
    response = await fetch(town, cid, Range=asked)
    start = first % len(body)
    end = len(body) - 1 if last is None else last
    assert response.status_code == 206
    assert response.content == body[start : end + 1]
    assert response.headers["content-range"] == f"bytes {start}-{end}/{len(body)}"
    assert response.headers["content-length"] == str(end + 1 - start)
    assert response.headers["content-type"] == "image/png"
    assert response.headers["etag"] == f'"{cid}"'


@pytest.mark.parametrize(
    "asked",
    [
        "bytes=0-1,4-5",
        "bytes=",
        "bytes=-",
        "bytes=5-2",
        "bytes=x-y",
        "items=0-1",
        "bytes=0-1-2",
        "bytes=+1-2",
        "bytes=0x1-2",
        "bytes=²-³",
        "bytes=" + "9" * 5000 + "-",
    ],
)
async def test_an_invalid_or_multiple_range_gets_the_whole_document(town, shown, asked):
    cid, body = shown
    response = await fetch(town, cid, Range=asked)
    assert (response.status_code, response.content) == (200, body)
    assert response.headers["accept-ranges"] == "bytes"


@pytest.mark.parametrize("asked", ["bytes=999999-", "bytes=999999-1000000", "bytes=-0"])
async def test_the_refusal_of_a_range_beyond_the_end_contains_the_document_size(town, shown, asked):
    cid, body = shown
    response = await fetch(town, cid, Range=asked)
    assert problem(response) == (416, "range_not_satisfiable")
    assert response.headers["content-range"] == f"bytes */{len(body)}"


async def test_a_header_with_thousands_of_ranges_is_cheap(town, shown):
    cid, body = shown
    began = time.thread_time()
    response = await fetch(town, cid, Range="bytes=" + "0-,1-," * 10_000 + "2-")
    assert (response.status_code, response.content) == (200, body)
    assert time.thread_time() - began < 0.5


@pytest.mark.parametrize("condition", ['"other"', 'W/"{cid}"', "Sun, 15 Nov 2026 00:00:00 GMT"])
async def test_a_range_with_a_non_matching_if_range_gets_the_whole_document(town, shown, condition):
    cid, body = shown
    given = {"Range": "bytes=0-1", "If-Range": condition.replace("{cid}", cid)}
    response = await town.client.get(f"/ipfs/{cid}", headers=given)
    assert (response.status_code, response.content) == (200, body)


async def test_a_range_with_a_matching_if_range_gets_206(town, shown):
    cid, body = shown
    given = {"Range": "bytes=0-1", "If-Range": f'"{cid}"'}
    response = await town.client.get(f"/ipfs/{cid}", headers=given)
    assert (response.status_code, response.content) == (206, body[:2])


async def test_if_none_match_takes_precedence_over_a_range(town, shown):
    cid, _ = shown
    given = {"Range": "bytes=0-1", "If-None-Match": f'"{cid}"'}
    response = await town.client.get(f"/ipfs/{cid}", headers=given)
    assert (response.status_code, response.content) == (304, b"")


@pytest.mark.parametrize("query", ["", "?format=raw", "?format=car"])
async def test_head_has_the_same_headers_as_get(town, large, query):
    cid, _ = large
    got = await fetch(town, cid, query, Range="bytes=0-1" if query != "?format=car" else "")
    whole = await fetch(town, cid, query)
    head = await town.client.head(f"/ipfs/{cid}{query}", headers={"Range": "bytes=0-1"})
    assert (head.status_code, head.content) == (200, b"")
    same = ("content-length", "content-type", "etag", "cache-control", "accept-ranges", "vary")
    assert {name: head.headers[name] for name in same} == {
        name: whole.headers[name] for name in same
    }
    assert got.status_code == (200 if query == "?format=car" else 206)


@pytest.mark.parametrize("asked", [{"query": "?format=raw"}, {"Accept": RAW}])
async def test_a_raw_response_is_the_root_block(town, large, asked):
    cid, body = large
    response = await fetch(town, cid, **asked)
    assert response.status_code == 200
    assert response.headers["content-type"] == RAW
    assert response.headers["content-disposition"] == f'attachment; filename="{cid}.bin"'
    assert response.headers["etag"] == f'"{cid}.raw"'
    assert response.headers["x-ipfs-roots"] == cid
    assert response.headers["x-ipfs-path"] == f"/ipfs/{cid}"
    assert response.headers["cache-tag"] == f"cid-{cid}"
    assert (cid, response.content) == next((each, bytes(block)) for each, block in blocks(body))


@pytest.mark.parametrize("asked", [{"query": "?format=car"}, {"Accept": f"{CAR}; version=1"}])
async def test_a_car_contains_every_block_and_proves_the_document(town, large, asked):
    cid, body = large
    response = await fetch(town, cid, **asked)
    assert response.headers["content-type"] == f"{CAR}; version=1; order=dfs; dups=y"
    assert response.headers["content-disposition"] == f'attachment; filename="{cid}.car"'
    stream = io.BytesIO(response.content)
    assert read_header(stream.read) == (cid,)
    found = list(read_sections(stream.read))
    assert found == [(each, bytes(block)) for each, block in blocks(body)]
    assert assemble(cid, dict(found).__getitem__, len(body)) == body


async def test_a_car_of_the_root_alone_contains_one_block(town, large):
    cid, _ = large
    response = await fetch(town, cid, "?format=car&dag-scope=block")
    stream = io.BytesIO(response.content)
    assert read_header(stream.read) == (cid,)
    assert [each for each, _ in read_sections(stream.read)] == [cid]


async def test_each_representation_has_its_own_etag(town, large):
    cid, _ = large
    queries = ("", "?format=raw", "?format=car", "?format=car&dag-scope=block")
    responses = [await fetch(town, cid, query) for query in queries]
    responses.append(await fetch(town, cid, Accept=f"{CAR};dups=n"))
    tags = [response.headers["etag"] for response in responses]
    assert len(set(tags)) == len(tags)
    assert all("Accept" in response.headers["vary"] for response in responses)
    for query, tag in zip(queries, tags, strict=False):
        again = await fetch(town, cid, query, If_None_Match=tag)
        assert (again.status_code, again.headers["etag"]) == (304, tag)
        other = await fetch(town, cid, query, If_None_Match=f'"{cid}.other"')
        assert other.status_code == 200


async def test_repeated_blocks_in_a_car_can_be_omitted():
    body = bytes(262_144 * 3)
    cid = document_cid(body)
    sizes = [
        len(
            list(
                read_sections(_after_header(Representation(Format.CAR, repeats).encode(cid, body)))
            )
        )
        for repeats in (True, False)
    ]
    assert sizes == [4, 2]


def _after_header(car: bytes):
    stream = io.BytesIO(car)
    read_header(stream.read)
    return stream.read


@pytest.mark.parametrize(
    ("query", "accept", "media_type"),
    [
        ("?format=raw", CAR, RAW),
        ("?format=car", RAW, CAR),
        ("", f"text/html, {RAW};q=0.5", RAW),
        ("", f"{RAW};q=0", "image/png"),
        ("", f"{RAW};q=0.000", "image/png"),
        ("", "*/*", "image/png"),
        ("", f"{RAW};q=0.5, {CAR}", CAR),
        ("", f"{RAW}, */*;q=0.1", RAW),
        ("", f"*/*, {RAW};q=0.5", "image/png"),
        ("", f"image/*;q=0.9, {RAW};q=0.5", "image/png"),
        ("?format=", "*/*", "image/png"),
        ("", "image/webp,,;;=", "image/png"),
    ],
)
async def test_the_format_is_negotiated_by_parameter_and_accept_header(
    town, shown, query, accept, media_type
):
    response = await fetch(town, shown[0], query, Accept=accept)
    assert response.headers["content-type"].partition(";")[0] == media_type


@pytest.mark.parametrize(
    ("query", "accept"),
    [
        ("?format=tar", "*/*"),
        ("?format=raw&format=raw", "*/*"),
        ("?format=car&dag-scope=some", "*/*"),
        ("", f"{CAR}; version=2"),
    ],
)
async def test_an_unsupported_format_is_refused(town, shown, query, accept):
    response = await fetch(town, shown[0], query, Accept=accept)
    assert problem(response) == (400, "invalid_request")


@pytest.mark.parametrize("query", ["", "?format=raw", "?format=car", "?format=car&dag-scope=block"])
async def test_private_documents_are_not_served_in_any_format(town, query):
    alice = town.wallet(2)
    draft = await town.create(alice)
    _, paid = await town.post(alice)
    session = await town.login(alice)
    for file in (draft, paid):
        for spelling in (file["cid"], respell(file["cid"])):
            for method in ("GET", "HEAD"):
                given = {**session, "If-None-Match": "*", "Range": "bytes=0-1"}
                response = await town.client.request(
                    method, f"/ipfs/{spelling}{query}", headers=given
                )
                assert response.status_code == 404


async def test_the_document_of_a_free_post_is_served_and_matches_its_cid(town):
    alice = town.wallet(3)
    post_id, file = await town.post(alice, price=0)
    cid = file["cid"]
    plain = await fetch(town, cid)
    assert plain.json()["content"] == (await town.read_free(post_id)).json()["content"]
    assert plain.headers["content-type"] == "application/json"
    assert "content-disposition" not in plain.headers
    assert document_cid(plain.content) == cid
    raw = await fetch(town, cid, "?format=raw")
    assert (raw.headers["content-type"], raw.content) == (RAW, plain.content)
    car = await fetch(town, respell(cid), Accept=CAR)
    stream = io.BytesIO(car.content)
    assert read_header(stream.read) == (cid,)
    assert list(read_sections(stream.read)) == [(cid, plain.content)]
    for response in (plain, raw, car):
        assert response.headers["cache-control"] == "public, max-age=5"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cache-tag"] == f"cid-{cid}"
    part = await fetch(town, cid, Range="bytes=0-9")
    assert (part.status_code, part.content) == (206, plain.content[:10])
    again = await fetch(town, cid, If_None_Match=plain.headers["etag"])
    assert (again.status_code, again.headers["cache-control"]) == (304, "public, max-age=5")
    scaled = await fetch(town, cid, "?img-width=64")
    assert scaled.content == plain.content


async def test_a_large_free_document_is_served_in_blocks(town):
    alice = town.wallet(4)
    draft = await town.create(alice, "A long text. " * 60_000)
    await town.deliver_a(town.create_post(alice, draft["cid"], 0))
    car = await fetch(town, draft["cid"], "?format=car")
    stream = io.BytesIO(car.content)
    assert read_header(stream.read) == (draft["cid"],)
    found = dict(read_sections(stream.read))
    assert len(found) > 2
    plain = (await fetch(town, draft["cid"])).content
    assert assemble(Cid(draft["cid"]), found.__getitem__, len(plain)) == plain


@pytest.mark.parametrize("query", ["", "?format=raw", "?format=car"])
async def test_a_document_is_public_only_while_its_post_is_free(town, query):
    alice = town.wallet(5)
    post_id, file = await town.post(alice, price=0)
    served = await fetch(town, file["cid"], query)
    assert served.status_code == 200
    await town.deliver_a(town.set_price(alice, post_id, 10**15))
    given = {"If-None-Match": served.headers["etag"]}
    response = await town.client.get(f"/ipfs/{file['cid']}{query}", headers=given)
    assert problem(response) == (404, "not_found")


async def test_a_replaced_version_of_a_free_post_is_not_served(town):
    alice = town.wallet(6)
    draft = await town.create(alice, "First.")
    newer = await town.update(alice, draft["cid"], "Second.")
    await town.deliver_a(town.create_post(alice, newer["cid"], 0))
    assert (await fetch(town, newer["cid"])).status_code == 200
    assert problem(await fetch(town, draft["cid"])) == (404, "not_found")


async def test_free_documents_are_unavailable_while_the_chain_is_down(town):
    alice = town.wallet(7)
    _, file = await town.post(alice, price=0)
    draft = await town.create(alice)
    town.node.fault = lambda said: b"nonsense"
    try:
        assert problem(await fetch(town, file["cid"])) == (503, "chain_unavailable")
        assert problem(await fetch(town, draft["cid"])) == (404, "not_found")
    finally:
        town.node.fault = None


async def test_a_document_not_in_our_json_format_is_sent_as_an_attachment():
    for body in (b"<!doctype html><script>alert(1)</script>", b' {"content":"', b"%PDF-1.4"):
        representation = Representation(Format.PLAIN)
        kind = representation.media_type(body)
        assert kind == "application/octet-stream"
        assert representation.disposition(document_cid(body), kind) == "attachment"


async def test_a_request_with_only_if_cached_gets_only_stored_documents(town, shown):
    cached = {"Cache-Control": "only-if-cached"}
    response = await town.client.get(f"/ipfs/{shown[0]}", headers=cached)
    assert (response.status_code, response.content) == (200, shown[1])
    draft = await town.create(town.wallet(2))
    for absent in (document_cid(b"never stored"), draft["cid"]):
        response = await town.client.get(f"/ipfs/{absent}", headers=cached)
        assert problem(response) == (412, "not_cached")


async def test_the_gateway_serves_the_empty_probe_cid(town):
    response = await fetch(town, "bafkqaaa", "?format=raw")
    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-type"] == RAW


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
async def test_gateway_responses_are_harmless_in_a_browser(town, kind):
    alice = town.stranger()
    file = await town.create(alice)
    sent = picture(kind)
    cid = (await town.send_publish(alice, file["cid"], image=sent)).json()["thumbnailCid"]
    for query in ("", "?format=raw", "?format=car"):
        response = await fetch(town, cid, query)
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in response.headers["content-security-policy"]
        shown_in_page = response.headers["content-type"] == f"image/{kind.lower()}"
        assert shown_in_page or response.headers["content-disposition"].startswith("attachment")


async def test_bytes_that_are_not_a_picture_are_served_as_an_attachment():
    wanted = Representation(Format.PLAIN)
    for body in (b"<html>", b"\x89PNG<script>", b"\xff\xd8", b"GIF89a", b"<svg>"):
        media_type = wanted.media_type(body)
        assert media_type == "application/octet-stream"
        assert wanted.disposition(document_cid(body), media_type) == "attachment"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def wide(town: World) -> Cid:
    """A thumbnail of 900 by 300 pixels."""
    alice = town.stranger()
    file = io.BytesIO()
    Image.effect_noise((900, 300), 100).convert("RGB").save(file, "JPEG")
    draft = await town.create(alice)
    response = await town.send_publish(alice, draft["cid"], image=file.getvalue())
    return Cid(response.json()["thumbnailCid"])


def size_of(response: httpx2.Response) -> tuple[int, int]:
    assert response.status_code == 200, response.text
    return Image.open(io.BytesIO(response.content)).size


@pytest.mark.parametrize(
    ("query", "size"),
    [
        ("img-width=640", (640, 213)),
        ("img-width=600", (640, 213)),
        ("img-width=1", (64, 21)),
        ("img-height=100", (384, 128)),
        ("img-width=99999", (900, 300)),
        ("img-width=900&img-height=128", (384, 128)),
        ("img-width=128&img-height=1280", (128, 43)),
        ("img-width=1280", (900, 300)),
        ("img-width=", (900, 300)),
        ("img-width=64&utm_source=a", (64, 21)),
    ],
)
async def test_a_picture_is_scaled_to_one_of_a_few_sizes_and_never_enlarged(
    town: World, wide: Cid, query: str, size: tuple[int, int]
) -> None:
    response = await fetch(town, wide, f"?{query}")
    assert size_of(response) == size
    assert response.headers["content-type"] == "image/jpeg"
    assert response.headers["cache-control"] == "public, max-age=31536000, immutable"


async def test_each_picture_size_has_its_own_etag_and_can_be_revalidated(
    town: World, wide: Cid
) -> None:
    small, large, whole = [
        await fetch(town, wide, query) for query in ("?img-width=64", "?img-width=640", "")
    ]
    assert len({each.headers["etag"] for each in (small, large, whole)}) == 3
    again = await fetch(town, wide, "?img-width=60", if_none_match=small.headers["etag"])
    assert again.status_code == 304
    assert "x-ipfs-roots" not in small.headers
    assert "x-ipfs-path" not in small.headers
    assert whole.headers["x-ipfs-roots"] == wide


@pytest.mark.parametrize("side", ["0", "-1", "1e3", "+64", "640px", "1000000", "٣", "64.0"])
async def test_a_picture_size_that_is_not_a_number_is_refused(
    town: World, wide: Cid, side: str
) -> None:
    for name in ("img-width", "img-height"):
        response = await town.client.get(f"/ipfs/{wide}", params={name: side})
        assert problem(response) == (400, "invalid_request")


async def test_raw_blocks_are_never_scaled(town: World, wide: Cid) -> None:
    raw = await fetch(town, wide, "?format=raw")
    assert (await fetch(town, wide, "?format=raw&img-width=64")).content == raw.content


async def test_each_size_is_generated_once_and_small_pictures_are_served_as_stored(
    town: World, shown: tuple[Cid, bytes], wide: Cid, monkeypatch: pytest.MonkeyPatch
) -> None:
    cid, body = shown
    assert (await fetch(town, cid, "?img-width=1920")).content == body
    before = (await fetch(town, wide, "?img-width=256")).content

    async def fail(*_: object) -> bytes:
        raise AssertionError

    monkeypatch.setattr(town.adapters.images, "scale", fail)
    assert (await fetch(town, wide, "?img-width=200")).content == before


async def test_a_draft_has_no_scaled_pictures(town: World) -> None:
    draft = await town.create(town.stranger())
    assert problem(await fetch(town, draft["cid"], "?img-width=64")) == (404, "not_found")


async def test_scaling_preserves_transparency(town: World) -> None:
    alice = town.stranger()
    file = io.BytesIO()
    Image.new("RGBA", (200, 100), (10, 20, 30, 40)).save(file, "PNG")
    draft = await town.create(alice)
    response = await town.send_publish(alice, draft["cid"], image=file.getvalue())
    small = await fetch(town, response.json()["thumbnailCid"], "?img-width=64")
    shown = Image.open(io.BytesIO(small.content))
    assert (shown.size, shown.mode) == ((64, 32), "RGBA")
    assert shown.getchannel("A").getextrema() == (40, 40)
