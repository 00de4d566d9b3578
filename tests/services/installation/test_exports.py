"""Exports are complete, consistent at one point in time, signed, and readable by anybody."""

from dataclasses import replace
from datetime import timedelta
from hashlib import sha256

import pytest
from tests.services.installations import KEY, files_of, opened_car, verify, write_export
from tests.world import World

from imprint.auth.export_keys import ExportKey
from imprint.domain.drafts.files import Network
from imprint.domain.exports import (
    ExportedFile,
    NotAnExport,
    SignedRoot,
    read_signed_root,
    signed_bytes,
    write_signed_root,
)
from imprint.domain.formats.car import write_header, write_section
from imprint.domain.formats.cids import Codec, cid_bytes, cid_of, document_cid
from imprint.domain.formats.dag_json import node_cid
from imprint.services.installation.exports import (
    DocumentMissing,
    open_export,
    read_file,
    read_thumbnail,
    walk_records,
)


async def fill(world: World) -> None:
    """Create drafts, posts, hashtags and thumbnails, and update or delete some of them."""
    alice, bob = world.wallet(1), world.wallet(2)
    draft = await world.create(alice, "A draft with words.")
    await world.publish(alice, draft["cid"], "essay,über")
    await world.post(alice, "A post.")
    await world.update(bob, (await world.create(bob, "Old."))["cid"], "New." * 100_000)
    await world.send_delete(bob, (await world.create(bob, "Gone."))["cid"])
    await world.post(bob, "Another post.", price=0)
    await world.create(alice)


def blocks_of(car: bytes) -> dict[str, bytes]:
    """The blocks of a CAR by hexadecimal cid, parsed without any code of this project."""

    def number(at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            byte = car[at]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return value, at

    length, at = number(0)
    assert b"roots" in car[at : at + length]
    found = {}
    at += length
    while at < len(car):
        length, at = number(at)
        head = 37 if car[at + 1] == 0xA9 else 36
        cid, block = car[at : at + head], car[at + head : at + length]
        assert cid[-32:] == sha256(block).digest()
        found[cid.hex()] = block
        at += length
    return found


async def test_an_export_has_every_live_file_and_is_verifiable(world, tmp_path):
    await fill(world)
    car, manifest = await write_export(world)
    assert verify(tmp_path, car, KEY.public) == manifest
    assert manifest.files == 5
    assert manifest.made_at == world.clock.now()
    with opened_car(tmp_path, car) as archive:
        exported = list(walk_records(archive, open_export(archive).manifest))
        expected = [
            replace(each, file=replace(each.file, position=0)) for each in await files_of(world)
        ]
        assert exported == expected
        read = world.adapters.content.read
        for file in (each.file for each in expected):
            assert read_file(archive, file) == await read(file.cid, Network.PRIVATE)
            if (cid := file.thumbnail_cid) is not None:
                assert read_thumbnail(archive, cid) == await read(cid, Network.PUBLIC)


async def test_an_independent_car_reader_finds_the_documents(world):
    await fill(world)
    car, _ = await write_export(world)
    found = blocks_of(car)
    for each in await files_of(world):
        assert cid_bytes(each.file.cid).hex() in found
    documents = b"".join(found.values())
    assert b'"content":"A draft with words."' in documents
    assert b"Gone." not in documents
    assert b"Old." not in documents


async def test_the_files_of_a_single_owner_can_be_exported(world, tmp_path):
    await fill(world)
    car, manifest = await write_export(world, world.wallet(2).address)
    assert verify(tmp_path, car).owner == world.wallet(2).address
    assert manifest.files == 2
    assert b"A draft with words." not in car


async def test_an_empty_installation_can_be_exported(world, tmp_path):
    car, _ = await write_export(world)
    assert verify(tmp_path, car).files == 0


@pytest.mark.parametrize(("page_size", "width"), [(1, 2), (2, 2), (2, 10)])
async def test_many_pages_are_linked_by_indexes(world, tmp_path, page_size, width):
    await fill(world)
    car, _ = await write_export(world, page_size=page_size, width=width)
    assert verify(tmp_path, car).files == 5


async def test_an_export_is_a_snapshot_of_the_moment_it_began(world, tmp_path):
    alice = world.wallet(1)
    files = [await world.create(alice, f"Number {number}.") for number in range(3)]
    before = await files_of(world)
    content = world.adapters.content
    collector = world.collector(timedelta(0))
    destroyed = []

    class Busy:
        async def read(self, cid, network):
            if files:
                await world.update(alice, files.pop()["cid"], "Changed.")
                await world.create(alice, "New.")
                world.clock.advance(1)
                destroyed.append(await collector.collect())
            return await content.read(cid, network)

    car, _ = await write_export(world, content=Busy())
    with opened_car(tmp_path, car) as archive:
        manifest = open_export(archive).manifest
        walked = walk_records(archive, manifest)
        found = [each.file.cid for each in walked if isinstance(each, ExportedFile)]
    assert found == [each.file.cid for each in before]
    assert destroyed == [0, 0, 0]
    assert await collector.collect() == 3


async def test_a_missing_document_fails_the_export(world):
    file = await world.create(world.wallet(1))
    await world.adapters.content.remove(file["cid"], Network.PRIVATE)
    with pytest.raises(DocumentMissing, match=file["cid"]):
        await write_export(world)


async def test_an_export_with_any_changed_byte_is_rejected(world, tmp_path):
    alice = world.wallet(1)
    await world.publish(alice, (await world.create(alice))["cid"], "essay")
    await world.post(alice)
    car, _ = await write_export(world)
    for at in range(0, len(car), max(1, len(car) // 150)):
        changed = bytearray(car)
        changed[at] ^= 1
        with pytest.raises(NotAnExport):
            verify(tmp_path, bytes(changed), KEY.public)


async def test_a_truncated_export_is_rejected(world, tmp_path):
    await world.post(world.wallet(1))
    car, _ = await write_export(world)
    for end in range(0, len(car), max(1, len(car) // 150)):
        with pytest.raises(NotAnExport):
            verify(tmp_path, car[:end], KEY.public)


async def test_blocks_may_appear_in_any_order(world, tmp_path):
    await fill(world)
    car, manifest = await write_export(world)
    with opened_car(tmp_path, car) as archive:
        root = archive.roots[0]
    sections = [write_section(_cid(cid), block) for cid, block in reversed(blocks_of(car).items())]
    assert verify(tmp_path, write_header([root]) + b"".join(sections)) == manifest


async def test_an_extra_block_is_refused(world, tmp_path):
    await fill(world)
    car, _ = await write_export(world)
    with pytest.raises(NotAnExport, match="1 blocks belong to no file"):
        verify(tmp_path, car + write_section(document_cid(b"x"), b"x"))


async def test_a_signature_by_another_key_is_refused(world, tmp_path):
    await fill(world)
    car, _ = await write_export(world, key=ExportKey(bytes(32)))
    assert verify(tmp_path, car).files == 5
    with pytest.raises(NotAnExport, match="different key"):
        verify(tmp_path, car, KEY.public)


async def test_a_manifest_cannot_be_claimed_by_another_key(world, tmp_path):
    car, _ = await write_export(world, key=ExportKey(bytes(32)))
    with opened_car(tmp_path, car) as archive:
        root = read_signed_root(archive.read(archive.roots[0]))
        manifest = archive.read(root.manifest)
    for signature in (root.signature, bytes(64), b"", KEY.sign(manifest)):
        forged = write_signed_root(SignedRoot(root.manifest, KEY.public, signature))
        with pytest.raises(NotAnExport, match="signature"):
            verify(tmp_path, _car_of(forged, manifest))
    signature = KEY.sign(signed_bytes(manifest))
    true = write_signed_root(SignedRoot(root.manifest, KEY.public, signature))
    assert verify(tmp_path, _car_of(true, manifest)).files == 0


def _car_of(root: bytes, manifest: bytes) -> bytes:
    nodes = b"".join(write_section(node_cid(node), node) for node in (root, manifest))
    return write_header([node_cid(root)]) + nodes


def _cid(digits: str):
    prefix, digest = digits[:-64], bytes.fromhex(digits[-64:])
    codec = {"0155": Codec.RAW, "0170": Codec.DAG_PB, "01a902": Codec.DAG_JSON}[prefix[:-4]]
    return cid_of(codec, digest)
