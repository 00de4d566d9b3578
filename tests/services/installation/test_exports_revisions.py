"""Revisions are exported with their authors' signed messages, which are verified offline."""

import json
from dataclasses import replace

import pytest
from tests.revisions import published_post, revise
from tests.services.installation.test_exports_profiles import _new
from tests.services.installations import import_car, verify, write_export
from tests.web.api.test_encryption import ON
from tests.world import World, open_world

from imprint.domain.drafts.files import Network
from imprint.domain.exports import (
    NotAnExport,
    read_manifest,
    read_page,
    read_revision,
    write_manifest,
    write_revision,
    write_revisions,
)
from imprint.domain.posts.revisions import Revision

pytestmark = pytest.mark.parametrize("records", ["sqlite", "postgresql"], indirect=True)


NEWEST = 2**62


async def _revisions(world: World) -> list[Revision]:
    pages = [page async for page in world.adapters.stores.archives.walk_revisions(None, NEWEST, 10)]
    return [each for page in pages for each in page]


async def test_revisions_are_exported_and_imported(world, tmp_path):
    author = world.wallet(1)
    post = _, cid = await published_post(world, author)
    added = [await revise(world, author, post, text, note=text) for text in ("One.", "Two.")]
    car, manifest = await write_export(world)
    assert (manifest.files, manifest.revisions) == (1, 2)
    assert read_manifest(write_manifest(manifest)) == manifest
    assert verify(tmp_path, car) == manifest
    kept = await _revisions(world)
    async with open_world(tmp_path / "new", clock=world.clock, DATABASE_URL=_new(tmp_path)) as new:
        for outcome in ("added", "present"):
            assert await import_car(new, tmp_path, car) == {outcome: 1}
            assert await _revisions(new) == kept
            assert await new.adapters.stores.garbage.recount_usage() == 0
        newest = await new.adapters.stores.revisions.newest_revision(cid)
        assert newest is not None
        assert (newest.number, newest.cid) == (2, added[1]["cid"])


async def test_a_lost_document_of_a_revision_is_restored_by_an_import(world, tmp_path):
    author = world.wallet(1)
    post = await published_post(world, author)
    revision = await revise(world, author, post, "Corrected.")
    car, _ = await write_export(world)
    await world.adapters.content.remove(revision["cid"], Network.PRIVATE)
    assert await import_car(world, tmp_path, car) == {"present": 1}
    response = await world.client.get(
        f"/posts/{post[0]}/content", headers=await world.login(author)
    )
    assert (response.status_code, response.json()["content"]) == (200, "Corrected.")


async def test_an_export_has_no_revisions_of_files_that_were_added_meanwhile(
    world, tmp_path, monkeypatch
):
    author = world.wallet(1)
    post = await published_post(world, author)
    await revise(world, author, post, "Corrected.")
    archives = type(world.adapters.stores.archives)
    walk_profiles = archives.walk_profiles

    async def publish_more(self, owner, size):
        later = await published_post(world, author, "Later.")
        await revise(world, author, later, "Corrected later.")
        async for page in walk_profiles(self, owner, size):
            yield page

    monkeypatch.setattr(archives, "walk_profiles", publish_more)
    car, manifest = await write_export(world)
    assert (manifest.files, manifest.revisions) == (1, 1)
    assert verify(tmp_path, car) == manifest


async def test_encrypted_revisions_are_exported(records, tmp_path):
    async with open_world(tmp_path / "old", **ON) as world:
        author = world.wallet(1)
        post = await published_post(world, author)
        await revise(world, author, post, "Hidden.")
        car, manifest = await write_export(world, author.address)
        assert verify(tmp_path, car) == manifest
        assert manifest.revisions == 1
        assert b"Hidden." not in car


async def test_the_export_of_another_owner_contains_no_revisions(world, tmp_path):
    author, other = world.wallet(1), world.wallet(2)
    await revise(world, author, await published_post(world, author), "One.")
    await world.create(other)
    car, manifest = await write_export(world, other.address)
    assert (manifest.files, manifest.revisions) == (1, 0)
    assert b"revisions" not in write_manifest(manifest)
    assert verify(tmp_path, car) == manifest


@pytest.mark.parametrize("forged", ["note", "text", "document", "chain", "signed", "salt"])
async def test_a_revision_not_signed_by_its_author_is_refused(world, tmp_path, forged):
    author = world.wallet(1)
    post = await published_post(world, author)
    await revise(world, author, post, "One.")
    (revision,) = await _revisions(world)
    salt = json.loads(revision.salt)
    if forged == "note":
        revision = replace(revision, note="Something else.")
    elif forged == "chain":
        salt["domain"]["chainId"] = 1
    elif forged == "text":
        salt["message"]["contentHash"] = "0x" + "11" * 32
    elif forged == "document":
        salt["message"]["cid"] = revision.cid
    elif forged == "signed":
        salt["message"]["nonce"] = "another"
    if forged != "salt":
        revision = replace(revision, salt=json.dumps(salt))
    else:
        revision = replace(revision, salt="[]")

    async def forge(owner, size):
        yield [revision]

    archives = world.adapters.stores.archives
    real, world_archives = type(archives).walk_revisions, type(archives)
    world_archives.walk_revisions = lambda self, owner, newest, size: forge(owner, size)
    try:
        car, manifest = await write_export(world)
    finally:
        world_archives.walk_revisions = real
    if forged == "signed":
        # Only the chain can tell whether the contract at this address accepts the signature.
        assert verify(tmp_path, car) == manifest
    else:
        with pytest.raises(NotAnExport):
            verify(tmp_path, car)


async def test_a_malformed_revision_is_refused(world):
    author = world.wallet(1)
    await revise(world, author, await published_post(world, author), "One.")
    (revision,) = await _revisions(world)
    assert read_page(write_revisions([revision])) == [revision]
    record = write_revision(revision)
    for change in (
        {"number": 0},
        {"number": 51},
        {"number": True},
        {"note": "two\nlines"},
        {"note": "x" * 281},
        {"note": 7},
        {"owner": "0x12"},
        {"name": "name"},
        {"id": "id"},
        {"size": -1},
        {"salt": {}},
        {"salt": "x" * 9000},
        {"signature": "x" * 40_000},
        {"created_at": "today"},
        {"cid": "bafy"},
        {"document": None},
        {"wrapped_key": "key"},
        {"more": 1},
    ):
        with pytest.raises(NotAnExport):
            read_revision(record | change)
