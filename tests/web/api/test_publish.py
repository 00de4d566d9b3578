"""Publishing over HTTP: thumbnails that contain nothing but a picture, and hashtags."""

import asyncio
import io
import json
import struct
import zlib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from PIL import Image
from tests.world import ORIGIN, World, open_world, picture, problem

from imprint.domain.errors import RateLimited
from imprint.domain.formats.addresses import Address
from imprint.domain.rate_limits import SHARE
from imprint.web.app import MAX_PUBLISHING

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_publishing_returns_the_cid_of_the_thumbnail(town: World) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    response = await town.send_publish(alice, file["cid"])
    assert response.status_code == 200
    assert response.json().keys() == {"thumbnailCid"}
    assert (await town.metadata(file["cid"]))["thumbnail_cid"] == response.json()["thumbnailCid"]


async def test_a_draft_stays_pending_after_a_publish_request(town: World) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    await town.publish(alice, file["cid"], "status,owner,onchain")
    found = await town.metadata(file["cid"])
    assert found["keyvalues"] == file["keyvalues"] | {"onchain": "onchain"}
    assert found["hashtags"] == ["status", "owner", "onchain"]
    assert {name: found[name] for name in file.keys() - {"keyvalues"}} == {
        name: value for name, value in file.items() if name != "keyvalues"
    }


@pytest.mark.parametrize(
    ("kind", "media_type"), [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/jpeg")]
)
async def test_the_thumbnail_is_public_and_immutable(
    town: World, kind: str, media_type: str
) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    image = picture(kind)
    cid = (await town.send_publish(alice, file["cid"], image=image)).json()["thumbnailCid"]
    response = await town.client.get(f"/ipfs/{cid}")
    assert response.status_code == 200
    assert response.headers["content-type"] == media_type
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "immutable" in response.headers["cache-control"]
    assert "public" in response.headers["cache-control"]
    assert response.headers["etag"] == f'"{cid}"'
    assert "sandbox" in response.headers["content-security-policy"]
    with Image.open(io.BytesIO(response.content)) as shown, Image.open(io.BytesIO(image)) as sent:
        assert (shown.get_format_mimetype(), shown.size) == (media_type, sent.size)


async def test_an_unchanged_thumbnail_gets_304(town: World) -> None:
    alice = town.stranger()
    cid = await town.publish(alice, (await town.create(alice))["cid"])
    response = await town.client.get(f"/ipfs/{cid}", headers={"If-None-Match": f'"{cid}"'})
    assert (response.status_code, response.content) == (304, b"")


async def test_a_published_image_contains_no_metadata(town: World) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    hidden = b"<script>alert('hidden')</script>"
    image = io.BytesIO()
    exif = Image.Exif()
    exif[0x010E] = hidden.decode()
    Image.new("RGB", (16, 16), "red").save(image, "JPEG", exif=exif, comment=hidden)
    assert hidden in image.getvalue()
    sent = image.getvalue() + hidden
    cid = (await town.send_publish(alice, file["cid"], image=sent)).json()["thumbnailCid"]
    shown = (await town.client.get(f"/ipfs/{cid}")).content
    assert b"script" not in shown


async def test_publishing_again_replaces_the_thumbnail_and_hashtags(town: World) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    first = await town.publish(alice, file["cid"], "one,two")
    second = await town.publish(alice, file["cid"], "three")
    found = await town.metadata(file["cid"])
    assert (found["thumbnail_cid"], found["hashtags"]) == (second, ["three"])
    for picture_cid in (first, second):
        assert (await town.client.get(f"/ipfs/{picture_cid}")).status_code == 200


async def test_the_thumbnail_of_a_post_is_the_one_named_on_the_chain(town: World) -> None:
    alice = town.wallet(4)
    file = await town.create(alice)
    first = await town.publish(alice, file["cid"])
    await town.publish(alice, file["cid"])
    entry = (file["cid"], "Title", first, "About", 0, [])
    await town.deliver_a(town.create_post_with(alice, entry))
    assert (await town.metadata(file["cid"]))["thumbnail_cid"] == first


async def test_the_thumbnail_and_hashtags_survive_an_update(town: World) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    thumbnail = await town.publish(alice, file["cid"], "one")
    new = await town.update(alice, file["cid"], "Newer.")
    found = await town.metadata(new["cid"])
    assert (found["thumbnail_cid"], found["hashtags"]) == (thumbnail, ["one"])


async def test_the_thumbnail_of_a_deleted_draft_is_no_longer_served(town: World) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    thumbnail = await town.publish(alice, file["cid"])
    await town.send_delete(alice, file["cid"])
    assert problem(await town.client.get(f"/ipfs/{thumbnail}")) == (404, "not_found")


async def test_a_thumbnail_shared_by_two_drafts_survives_the_deletion_of_one(town: World) -> None:
    alice, bob = town.stranger(), town.stranger()
    image = picture()
    hers, his = await town.create(alice), await town.create(bob)
    cids = {
        (await town.send_publish(wallet, file["cid"], image=image)).json()["thumbnailCid"]
        for wallet, file in ((alice, hers), (bob, his))
    }
    (shared,) = cids
    await town.send_delete(alice, hers["cid"])
    assert (await town.client.get(f"/ipfs/{shared}")).status_code == 200


GOOD_TAGS = {
    "": [],
    "   ": [],
    "one": ["one"],
    "#One": ["one"],
    " a , b ": ["a", "b"],
    "a,A,#a": ["a"],
    "ﬁne": ["fine"],
    "ÜBER": ["über"],
    ",a,, b ,": ["a", "b"],
    ",": [],
    "漢字,٣,snake_case,kebab-case": ["漢字", "٣", "snake_case", "kebab-case"],
    "a" * 32: ["a" * 32],
    ",".join(f"t{n}" for n in range(10)): [f"t{n}" for n in range(10)],
}


@pytest.mark.parametrize(("sent", "kept"), GOOD_TAGS.items())
async def test_hashtags_are_normalized(town: World, sent: str, kept: list[str]) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    await town.publish(alice, file["cid"], sent)
    assert (await town.metadata(file["cid"]))["hashtags"] == kept


BAD_TAGS = [
    "two words",
    "##a",
    "#",
    "a" * 33,
    ",".join(f"t{n}" for n in range(11)),
    ",".join("t" for _ in range(10_000)) + ",!",
    "a\0b",
    "a\nb",
    "😀",
    "a.b",
    "a;b",
    "a'b",
    "a\u202eb",
]


@pytest.mark.parametrize("tags", BAD_TAGS, ids=range(len(BAD_TAGS)))
async def test_an_invalid_list_of_hashtags_is_refused(town: World, tags: str) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    response = await town.send_publish(alice, file["cid"], tags)
    assert problem(response) == (400, "invalid_tags")
    assert (await town.metadata(file["cid"]))["thumbnail_cid"] is None


async def test_hashtags_may_be_left_out(town: World) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    fields = _fields(alice)
    del fields["hashtags"]
    response = await _send(town, file["cid"], fields)
    assert response.status_code == 200


def _saved(kind: str) -> bytes:
    return picture(kind)


def _png_header(width: int, height: int) -> bytes:
    """A PNG that claims this size but contains hardly any data."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    pixels = zlib.compress(b"\0" * 1000, 9)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


BAD_IMAGES = {
    "GIF": (lambda: _saved("GIF"), (415, "unsupported_media_type")),
    "a WebP without its end": (lambda: picture("WEBP")[:-2], (400, "invalid_image")),
    "BMP": (lambda: _saved("BMP"), (415, "unsupported_media_type")),
    "SVG": (
        lambda: b'<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>',
        (415, "unsupported_media_type"),
    ),
    "HTML": (lambda: b"<!doctype html>", (415, "unsupported_media_type")),
    "nothing": (lambda: b"", (415, "unsupported_media_type")),
    "a PNG cut off": (lambda: picture(size=(64, 64))[:-40], (400, "invalid_image")),
    "a PNG's beginning alone": (lambda: b"\x89PNG\r\n\x1a\n", (400, "invalid_image")),
    "a JPEG's beginning alone": (lambda: b"\xff\xd8\xff\xe0", (400, "invalid_image")),
    "a bomb": (lambda: _png_header(60_000, 60_000), (400, "invalid_image")),
    "17 megapixels": (lambda: _png_header(4250, 4000), (400, "invalid_image")),
    "a side of 16 385 pixels": (lambda: _png_header(16_385, 1), (400, "invalid_image")),
    "a JPEG without an end": (lambda: picture("JPEG")[:-2], (400, "invalid_image")),
    "a PNG without its last byte": (lambda: picture()[:-1], (400, "invalid_image")),
    "a PNG without its last 20 bytes": (lambda: picture()[:-20], (400, "invalid_image")),
    "no width": (lambda: _png_header(0, 10), (400, "invalid_image")),
}


@pytest.mark.parametrize(("image", "code"), BAD_IMAGES.values(), ids=BAD_IMAGES.keys())
async def test_an_invalid_image_is_refused(town: World, image: Any, code: tuple[int, str]) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    found = problem(await town.send_publish(alice, file["cid"], image=image()))
    assert found == code or (code[0] == 400 and found == (413, "too_large"))
    assert (await town.metadata(file["cid"]))["thumbnail_cid"] is None


async def test_a_picture_may_be_5_mib_not_counting_the_rest_of_the_form(
    town: World,
) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    largest = picture("JPEG").ljust(5 * 1024 * 1024, b"\0")
    for more in (b"\0", b"\0" * 100_000):
        refused = await town.send_publish(alice, file["cid"], image=largest + more)
        assert problem(refused) == (413, "too_large")
        assert "The picture may have at most 5242880 bytes" in refused.json()["detail"]
    assert (await town.send_publish(alice, file["cid"], image=largest)).status_code == 200


async def test_the_image_limit_can_be_configured(tmp_path: Path) -> None:
    async with open_world(tmp_path, MAX_IMAGE_BYTES="1000") as world:
        alice = world.stranger()
        file = await world.create(alice)
        image = picture() + b"\0" * 1000
        response = await world.send_publish(alice, file["cid"], image=image)
        assert problem(response) == (413, "too_large")


async def test_a_refused_image_spends_no_nonce(town: World) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    refused = await town.send_publish(alice, file["cid"], image=b"GIF89a", nonce="kept")
    assert problem(refused) == (415, "unsupported_media_type")
    taken = await town.send_publish(alice, file["cid"], nonce="kept")
    assert taken.status_code == 200


async def test_an_invalid_image_counts_as_several_writes_by_its_signer(tmp_path: Path) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_WRITES="60/60") as world:
        alice, bob = world.wallet(1), world.wallet(2)
        hers, his = await world.create(alice), await world.create(bob)
        found = [
            problem(await world.send_publish(alice, hers["cid"], image=picture()[:-1]))
            for _ in range(34)
        ]
        assert found == [(400, "invalid_image")] * 6 + [(429, "rate_limited")] * 28
        for _ in range(30):
            assert (await world.send_publish(bob, his["cid"])).status_code == 200


async def test_an_image_of_an_unsupported_type_counts_as_one_write(tmp_path: Path) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_WRITES="5/60") as world:
        alice = world.wallet(1)
        file = await world.create(alice)
        for _ in range(3):
            refused = await world.send_publish(alice, file["cid"], image=b"GIF89a")
            assert problem(refused) == (415, "unsupported_media_type")
        assert (await world.send_publish(alice, file["cid"])).status_code == 200


class HeldRecoder:
    """Holds every image until `released`. Sets `full` once it holds `limit` images."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0
        self.signers: list[Address] = []
        self.full = asyncio.Event()
        self.released = asyncio.Event()

    async def recode(self, image: bytes, signer: Address) -> bytes:
        if self.held == self.limit and not self.released.is_set():
            raise RateLimited(2)
        self.held += 1
        self.signers.append(signer)
        if self.held == self.limit:
            self.full.set()
        await self.released.wait()
        return image

    async def close(self) -> None:
        """Do nothing, because there is nothing to close."""


async def test_too_many_images_by_one_signer_are_rate_limited(tmp_path: Path) -> None:
    async with open_world(tmp_path, adapt=partial(replace, images=HeldRecoder(0))) as world:
        alice = world.wallet(1)
        file = await world.create(alice)
        response = await world.send_publish(alice, file["cid"])
        assert problem(response) == (429, "rate_limited")
        assert response.headers["retry-after"] == "2"


async def test_all_wallets_of_one_client_share_one_limit_for_waiting_images(
    tmp_path: Path,
) -> None:
    share = MAX_PUBLISHING // SHARE
    images = HeldRecoder(1)
    async with open_world(
        tmp_path, adapt=partial(replace, images=images), RATE_LIMITS="on"
    ) as world:
        wallets = [world.stranger() for _ in range(share + 1)]
        files = [await world.create(wallet) for wallet in wallets]
        sent = {
            asyncio.create_task(world.send_publish(wallet, file["cid"]))
            for wallet, file in zip(wallets, files, strict=True)
        }
        (first,), others = await asyncio.wait(sent, return_when=asyncio.FIRST_COMPLETED)
        refused = await first
        assert problem(refused) == (503, "overloaded")
        assert refused.headers["retry-after"] == "2"
        images.released.set()
        assert {each.status_code for each in await asyncio.gather(*others)} == {200}
        assert (await world.send_publish(wallets[0], files[0]["cid"])).status_code == 200


async def test_images_from_one_client_are_checked_one_at_a_time(tmp_path: Path) -> None:
    images = HeldRecoder(2)
    async with open_world(tmp_path, adapt=partial(replace, images=images)) as world:
        wallets = [world.stranger() for _ in range(4)]
        files = [await world.create(wallet) for wallet in wallets]
        sent = [
            asyncio.create_task(world.send_publish(wallet, file["cid"]))
            for wallet, file in zip(wallets, files, strict=True)
        ]
        transport = httpx2.ASGITransport(world.app, client=("203.0.113.2", 50_000))
        async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN) as other:
            stranger = world.stranger()
            file = await world.create(stranger)
            while images.held == 0:  # noqa: ASYNC110 - the recoder has no event for one image
                await asyncio.sleep(0)
            elsewhere = replace(world, client=other)
            sent.append(asyncio.create_task(elsewhere.send_publish(stranger, file["cid"])))
            await images.full.wait()
            assert images.signers[1] == stranger.address
            images.released.set()
            assert {each.status_code for each in await asyncio.gather(*sent)} == {200}


async def test_no_image_is_decoded_before_the_signer_is_verified(town: World) -> None:
    alice, eve = town.stranger(), town.stranger()
    file = await town.create(alice)
    fields = _fields(eve) | {"address": alice.account.address}
    response = await _send(town, file["cid"], fields, b"no image at all")
    assert problem(response) == (401, "signature_invalid")
    assert problem(await town.send_publish(eve, file["cid"], image=b"none")) == (403, "not_owner")


def _fields(wallet: Any) -> dict[str, str]:
    fields = wallet.sign("publish") | {"hashtags": ""}
    return fields | {"salt": json.dumps(fields["salt"])}


async def _send(world: World, cid: str, fields: dict[str, str], image: bytes | None = None) -> Any:
    files = {"file": ("cover.png", picture() if image is None else image, "image/png")}
    return await world.client.post("/publish/file", params={"cid": cid}, data=fields, files=files)


@pytest.mark.parametrize("missing", ["salt", "address", "signature", "file"])
async def test_every_field_except_the_hashtags_is_required(town: World, missing: str) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    fields: dict[str, Any] = {name: (None, value) for name, value in _fields(alice).items()}
    fields["file"] = ("cover.png", picture(), "image/png")
    del fields[missing]
    response = await town.client.post("/publish/file", params={"cid": file["cid"]}, files=fields)
    assert problem(response) == (400, "invalid_request")


@pytest.mark.parametrize("field", ["salt", "address", "signature", "hashtags"])
async def test_a_text_field_cannot_be_a_file(town: World, field: str) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    fields: dict[str, Any] = {name: (None, value) for name, value in _fields(alice).items()}
    fields[field] = ("name.txt", fields[field][1])
    response = await town.client.post("/publish/file", params={"cid": file["cid"]}, files=fields)
    assert problem(response) == (400, "invalid_request")


async def test_the_file_cannot_be_a_text_field(town: World) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    fields: dict[str, Any] = {name: (None, value) for name, value in _fields(alice).items()}
    fields["file"] = (None, "text")
    response = await town.client.post("/publish/file", params={"cid": file["cid"]}, files=fields)
    assert problem(response) == (400, "invalid_request")


@pytest.mark.parametrize("salt", ["", "null", "[]", "7", '"text"'])
async def test_the_salt_field_must_be_typed_data_in_json(town: World, salt: str) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    response = await _send(town, file["cid"], _fields(alice) | {"salt": salt})
    assert problem(response) in ((400, "invalid_json"), (400, "invalid_typed_data"))


@pytest.mark.parametrize("signed", ["create", "update", "delete"])
async def test_only_a_signature_for_publish_can_publish(town: World, signed: str) -> None:
    alice = town.stranger()
    file = await town.create(alice)
    other = alice.sign(signed)
    fields = _fields(alice) | {
        "salt": json.dumps(other["salt"]),
        "signature": other["signature"],
    }
    assert problem(await _send(town, file["cid"], fields)) == (400, "invalid_typed_data")


async def test_hashtags_cannot_change_once_the_post_is_on_the_chain(town: World) -> None:
    alice = town.wallet(1)
    file = await town.create(alice)
    await town.publish(alice, file["cid"], "first")
    await town.deliver_a(town.create_post(alice, file["cid"]))
    response = await town.send_publish(alice, file["cid"], "second")
    assert problem(response) == (409, "not_pending")
    assert (await town.metadata(file["cid"]))["hashtags"] == ["first"]
